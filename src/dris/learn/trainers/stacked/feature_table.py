"""The features as stacked models read them: rows of float32 that end in a 1, or a sparse matrix.

Both gather batches, multiply them by stacked weights whose last row is the bias, and add up the
weights' gradients. The sparse one is never filled with zeros.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.learn.trainers.job import Data, Normalize
from dris.learn.trainers.standardize import as_table

Floats = NDArray[np.float32]
# The mean squared length that sparse rows are given: that of a hundred standardized features.
SPARSE_LENGTH = 100.0


class FeatureTable(ABC):
    """What a stack asks of its features; axis 0 of everything stacked is the model."""

    width: int  # of a row, and of the 1 that the bias multiplies

    @abstractmethod
    def __len__(self) -> int:
        """N, the number of rows."""

    @abstractmethod
    def room(self, models: int, batch: int) -> Any:
        """A buffer for the batches of some models."""

    @abstractmethod
    def gather(self, at: NDArray[np.int64], room: Any) -> Any:
        """The rows at (model, batch), in `room` where there is one."""

    @abstractmethod
    def rows(self, begin: int, end: int, models: int) -> Any:
        """Consecutive rows, the same for all models."""

    @abstractmethod
    def product(self, batch: Any, weights: Floats, out: Floats) -> None:
        """Each model's batch times its weights (inputs + 1, outputs), into (model, batch, out)."""

    @abstractmethod
    def gradients(self, batch: Any, errors: Floats, out: Floats) -> None:
        """Each model's batch, transposed, times the errors (model, batch, out)."""


class _DenseTable(FeatureTable):
    def __init__(self, x: Floats) -> None:
        self._x = x
        self.width = x.shape[1]

    def __len__(self) -> int:
        return len(self._x)

    def room(self, models: int, batch: int) -> Floats:
        return np.empty((models, batch, self.width), dtype=np.float32)

    def gather(self, at: NDArray[np.int64], room: Floats) -> Floats:
        # Any mode but "raise", which would gather into a copy of its own first.
        return np.take(self._x, at, axis=0, out=room, mode="clip")

    def rows(self, begin: int, end: int, models: int) -> Floats:
        return self._x[None, begin:end]

    def product(self, batch: Floats, weights: Floats, out: Floats) -> None:
        np.matmul(batch, weights, out=out)

    def gradients(self, batch: Floats, errors: Floats, out: Floats) -> None:
        np.matmul(batch.transpose(0, 2, 1), errors, out=out)


class _SparseTable(FeatureTable):
    """A CSR matrix of SciPy's; the bias is added beside it."""

    def __init__(self, x: Any) -> None:
        self._x = x
        self.width = x.shape[1] + 1

    def __len__(self) -> int:
        return int(self._x.shape[0])

    def room(self, models: int, batch: int) -> None:
        """Nothing: the number of entries of a batch is not known before."""

    def gather(self, at: NDArray[np.int64], room: None) -> list[Any]:
        return [self._x[of_model] for of_model in at]

    def rows(self, begin: int, end: int, models: int) -> list[Any]:
        return [self._x[begin:end]] * models

    def product(self, batch: list[Any], weights: Floats, out: Floats) -> None:
        for rows, weight, place in zip(batch, weights, out, strict=True):
            np.add(rows @ weight[:-1], weight[-1], out=place)

    def gradients(self, batch: list[Any], errors: Floats, out: Floats) -> None:
        for rows, error, place in zip(batch, errors, out, strict=True):
            place[:-1] = rows.T @ np.ascontiguousarray(error)
            place[-1] = error.sum(axis=0)


def table_of(x: Any) -> FeatureTable:
    """The table of what `as_features` prepared."""
    return _SparseTable(x) if hasattr(x, "indptr") else _DenseTable(x)


def as_features(data: Data, normalize: Normalize, folder: Path | None = None) -> Data:
    """The data with x as `table_of` reads it; large dense features become a file in `folder`.

    Sparse features keep their zeros, so they are not centred: all are multiplied by one number,
    after which rows have a mean squared length of `SPARSE_LENGTH`.

    >>> as_features(Data(np.array([[1.0], [3.0]]), np.array([0, 1])), True).x.tolist()
    [[-1.0, 1.0], [1.0, 1.0]]
    """
    if not hasattr(data.x, "indptr"):
        return as_table(data, normalize, folder, constant=True)
    with np.errstate(over="ignore"):
        mean_square = float((data.x.data.astype(np.float64) ** 2).sum()) / data.x.shape[0]
    if not np.isfinite(mean_square):
        raise InputError("x is too large to standardize; rescale it")
    scale = np.sqrt(SPARSE_LENGTH / mean_square) if normalize and mean_square else 1.0
    made = [None if x is None else _scale(x, scale) for x in (data.x, data.test_x)]
    return replace(data, x=made[0], test_x=made[1])


def _scale(x: Any, scale: float) -> Any:
    out = x.copy()
    out.data = (out.data * scale).astype(np.float32)
    out.sum_duplicates()
    out.eliminate_zeros()
    return out
