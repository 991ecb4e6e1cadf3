"""Columns as a pandas or polars frame."""

import importlib
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError

FrameKind = Literal["pandas", "polars"]


def frame_of(columns: Mapping[str, NDArray[Any]], kind: FrameKind = "pandas") -> Any:
    """Columns of equal length as a `DataFrame` of pandas or polars."""
    if kind not in ("pandas", "polars"):
        raise InputError(f"kind must be pandas or polars, got {kind!r}")
    try:
        library = importlib.import_module(kind)
    except ModuleNotFoundError:
        raise InputError(f"{kind} is not installed; get it with: pip install {kind}") from None
    return library.DataFrame(dict(columns))


def long_columns(columns: Mapping[str, NDArray[Any]], **marks: NDArray[Any]) -> dict[str, Any]:
    """(proxy, epoch, example) values as columns of K·E·N rows, beside the names along each axis.

    Each mark lies along one axis, in their order.
    """
    grids = np.meshgrid(*(np.asarray(mark) for mark in marks.values()), indexing="ij")
    axes = {name: grid.ravel() for name, grid in zip(marks, grids, strict=True)}
    return {**axes, **{name: np.asarray(values).ravel() for name, values in columns.items()}}
