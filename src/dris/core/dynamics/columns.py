"""The columns of a `Dynamics`: their names, what is allowed in them, and where to get them."""

import importlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.trajectories import Column
from dris.core.errors import InputError
from dris.core.validate import check_count, check_labels, first_not_finite

# Columns with a value per (proxy, epoch, example), and those with one per example.
TRAJECTORIES = ("loss", "margin", "correct", "error_norm", "gradient_norm", "rival")
ON_DEMAND = ("gradient_norm", "rival")  # recorded only when asked for
PER_EXAMPLE = ("reference_loss", "features")

REMEDY = {
    "margin": "build the Dynamics from logits or probabilities, or pass margin=",
    "correct": "build the Dynamics from logits or probabilities, or pass correct=",
    "error_norm": "build the Dynamics from logits or probabilities, or pass error_norm=",
    "gradient_norm": "record it: train_proxies(..., gradient_norm=True), or pass gradient_norm=",
    "rival": "record it: train_proxies(..., rival=True), or pass rival=",
    "reference_loss": "add it: dynamics.with_columns(reference_loss=...), one loss per example "
    "from a model trained on held-out data",
    "features": "add them: dynamics.with_columns(features=...), one row per example",
}


class Axes(TypedDict, total=False):
    """What names the axes of a `Dynamics`."""

    ids: ArrayLike | None
    epochs: Sequence[int] | None
    scored_epoch: int | None
    provenance: Mapping[str, Any] | None


def check_column(name: str, value: ArrayLike) -> Column:
    """A trajectory column as (K, E, N): finite float32/float64, booleans, or classes as int32."""
    a = np.asarray(value)
    if a.ndim == 2:
        a = a[:, np.newaxis]
    if a.ndim != 3:
        raise InputError(
            f"{name} must be (proxy, epoch, example) or (proxy, example), got {a.shape}"
        )
    if name == "correct":
        if a.dtype != np.bool_:
            raise InputError(f"correct must be booleans, got {a.dtype}")
        return a
    if name == "rival":
        if a.dtype.kind not in "iu" or (a.size and not 0 <= a.min() <= a.max() < 2**31):
            raise InputError(f"rival must be classes, whole numbers from 0, got {a.dtype}")
        return a.astype(np.int32, copy=False)
    if a.dtype.kind not in "fiu":
        raise InputError(f"{name} must be numbers, got {a.dtype}")
    if a.dtype not in (np.float32, np.float64):
        a = a.astype(np.float32 if a.dtype == np.float16 else np.float64)
    refuse_not_finite(a, name)
    return a


def refuse_not_finite(a: Column, name: str) -> None:
    """Raise at the first NaN or infinity, naming its place."""
    bad = first_not_finite(a)
    if bad is None:
        return
    place = np.unravel_index(bad, a.shape)
    axes = ("proxy", "epoch", "example")[-a.ndim :] if name in TRAJECTORIES else ("row", "column")
    where = ", ".join(f"{axis} {int(i)}" for axis, i in zip(axes, place, strict=False))
    raise InputError(f"{name} must be finite, got {a[place]} at {where}")


def check_outputs(values: ArrayLike, name: str) -> Column:
    """Model outputs as a finite (K, E, N, C) array with at least two classes."""
    a = np.asarray(values)
    if a.dtype.kind not in "fiu":
        raise InputError(f"{name} must be numbers, got {a.dtype}")
    if a.ndim == 3:
        a = a[:, np.newaxis]
    if a.ndim != 4 or a.shape[-1] < 2:
        raise InputError(
            f"{name} must be (proxy, [epoch,] example, class) with at least two classes, "
            f"got shape {np.shape(values)}"
        )
    if a.dtype not in (np.float32, np.float64):
        a = a.astype(np.float32 if a.dtype == np.float16 else np.float64)
    bad = first_not_finite(a)
    if bad is not None:
        raise InputError(f"{name} must be finite, got {a.flat[bad]} at position {bad}")
    return a


def labels_for(labels: ArrayLike, n: int, classes: int | None = None) -> NDArray[np.int64]:
    """Given labels, one per example; a single class is fine here."""
    y = check_labels(labels, classes, least=1)
    if len(y) != n:
        raise InputError(f"labels must be one per example: {n} examples, {len(y)} labels")
    return y


def check_per_example(name: str, value: ArrayLike, n: int) -> Column:
    """A column with one value (or row of features) per example."""
    if name not in PER_EXAMPLE:
        raise InputError(f"unknown column {name!r}; choose from {', '.join(PER_EXAMPLE)}")
    a = np.asarray(value)
    depth = 2 if name == "features" else 1
    if a.dtype.kind not in "fiu" or a.ndim != depth or len(a) != n:
        raise InputError(
            f"{name} must be numbers, {depth}-dimensional over {n} examples, "
            f"got {a.dtype} of shape {a.shape}"
        )
    refuse_not_finite(a, name)
    return a


def check_epochs(epochs: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """The recorded epochs, increasing; 1..E when not given."""
    given = range(1, count + 1) if epochs is None else epochs
    at = tuple(check_count(e, "epochs", at_least=0) for e in given)
    if len(at) != count or any(b <= a for a, b in pairwise(at)):
        raise InputError(f"epochs must be {count} increasing numbers, got {list(at)}")
    return at


def spans(epochs: Sequence[int]) -> str:
    """The recorded epochs in words."""
    if len(epochs) == 1:
        return f"epoch {epochs[0]}"
    return f"{len(epochs)} epochs, {epochs[0]} to {epochs[-1]}"


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
