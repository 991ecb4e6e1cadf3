"""What the frozen value objects share: arrays nobody can write to, equality by value."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def read_only(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """The values as a read-only array; copied unless they are one already."""
    array = np.asarray(values, dtype=dtype)
    if array.flags.writeable:
        # A list was just turned into an array of our own; anything else may have another owner.
        array = array.copy() if isinstance(values, np.ndarray) else array
        array.flags.writeable = False
    return array


def same_value(one: "DataclassInstance", other: object) -> bool:
    """Whether two value objects are of one kind and agree in every field, arrays included."""
    if type(one) is not type(other):
        return False
    pairs = ((getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b) for a, b in pairs
    )
