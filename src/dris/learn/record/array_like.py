"""Whatever holds numbers, as a NumPy array: tensors are known by what they can do, not by type."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError


def as_array(values: Any) -> NDArray[Any]:
    """Tensors (of any device or precision, with gradients or not), lists and arrays as an array.

    NumPy has no bfloat16: such a tensor comes back as float32, which holds it exactly. The
    array may share memory with what was passed.
    """
    if not hasattr(values, "detach"):
        return np.asarray(values)
    array: NDArray[Any]
    try:
        array = values.numpy(force=True)
    except TypeError:  # torch's words for a number format that NumPy lacks
        array = values.float().numpy(force=True)
    return array


def divisor_of(spread: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard deviations to divide by: 1 for a constant, whatever the features are for."""
    # The mean of equal numbers may be off by rounding; that is not a deviation.
    divisor: NDArray[np.float64] = np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)
    return divisor


def refuse_other_index(x: Any, y: Any) -> None:
    """Stop when x and y are pandas objects whose rows carry different names, or another order."""
    if not (hasattr(x, "iloc") and hasattr(y, "iloc")) or len(x) != len(y):
        return
    if not x.index.equals(y.index):
        starts = " and ".join(f"{list(a.index[:3])}" for a in (x, y))
        raise InputError(
            f"x and y must have the same index, theirs differ (they begin {starts}); pass "
            "y.loc[x.index] to match rows by name, or reset_index(drop=True) of both to match "
            "them by position"
        )
