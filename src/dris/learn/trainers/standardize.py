"""Features as tables want them: float32 rows, each column with mean 0 and deviation 1.

Large data are standardised straight into a temporary file, which every worker maps.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dris.core.errors import InputError
from dris.core.large.mapped import release
from dris.learn.trainers.job import Columns, Data, Group, Normalize, Untangled

MAX_GROUP_WEIGHT = 16  # columns; chosen on texts and categories that nothing was tested on
MAX_BYTES_IN_MEMORY = 1 << 25  # bytes of features that stay in memory; more go into a file
MAX_UNTANGLED_COLUMNS = 600  # columns that are untangled; more cost more than they would save
MAX_ROWS_FOR_CORRELATIONS = 20_000  # rows, by which correlations are known well enough
DAMPING = 0.1  # of a standardised column's variance: what varies less is rather noise, stays faint
DAMPING_PER_COLUMN = 4.0  # times columns / rows more: of few rows each would stand alone


def as_table(
    data: Data, normalize: Normalize, folder: Path | None = None, *, constant: bool = False
) -> Data:
    """The data as a table: float32 rows, images flattened, features standardized.

    With a folder, x that is large becomes a file there, mapped read-only. `constant` adds a last
    column of ones, which a bias multiplies. `normalize` may be the widths of groups of columns
    that are one thing, such as the components of a text: each group is divided by one number,
    after which it weighs as much as its columns would, at most sixteen, or as many as stand beside
    the width: (6, 1) are six that weigh as one.
    """
    if not isinstance(data.x, np.ndarray):
        raise InputError("this model needs an array, got a Dataset; use a torch model")
    flat = data.x.reshape(len(data.x), -1)
    columns = normalize.columns if isinstance(normalize, Untangled) else normalize
    mean, scale = _mean_and_scale(flat, columns) if columns else (0.0, 1.0)
    apart = None
    if isinstance(normalize, Untangled):
        some = flat[:: -(-len(flat) // MAX_ROWS_FOR_CORRELATIONS)]
        with threadpool_limits(limits=1):  # so that no bit depends on how many there are
            apart = _untangling((some - mean) / scale)

    def scaled(rows: NDArray[Any]) -> NDArray[np.float32]:
        even = (rows - mean) / scale if columns else rows
        if apart is not None:
            with threadpool_limits(limits=1):
                even = even @ apart
        single = as_single(even)
        return np.pad(single, ((0, 0), (0, 1)), constant_values=1) if constant else single

    def prepare(x: NDArray[Any], folder: Path | None = None) -> NDArray[np.float32]:
        rows = x.reshape(len(x), -1)
        if not columns and not constant:
            return as_single(rows)
        parts = (scaled(rows[block]) for block in _blocks(rows))
        shape = (len(rows), rows.shape[1] + constant)
        if folder is not None and 4 * rows.size > MAX_BYTES_IN_MEMORY:
            name = "features" if apart is None else "untangled"
            return _in_file(parts, shape, folder / f"{name}.f32")
        out = np.empty(shape, dtype=np.float32)
        for block, part in zip(_blocks(rows), parts, strict=True):
            out[block] = part  # worked out in double precision, but never all of it at once
        return out

    test = None if data.test_x is None else prepare(data.test_x)
    made = replace(data, x=prepare(flat, folder), test_x=test)
    release(flat)  # models read what was made of it
    return made


def can_be_untangled(x: Any) -> bool:
    """True for an array of few enough columns to be made uncorrelated."""
    return isinstance(x, np.ndarray) and int(np.prod(x.shape[1:])) <= MAX_UNTANGLED_COLUMNS


def as_single(x: NDArray[Any]) -> NDArray[np.float32]:
    """Features in single precision, in which proxies train; refused when they do not fit."""
    if np.abs(x).max() > np.finfo(np.float32).max:
        raise InputError(f"x does not fit single precision, up to {np.abs(x).max():g}; rescale it")
    return x.astype(np.float32, copy=False)


def _in_file(
    parts: Iterator[NDArray[np.float32]], shape: tuple[int, ...], path: Path
) -> NDArray[np.float32]:
    try:
        with path.open("wb") as file:
            for part in parts:
                file.write(np.ascontiguousarray(part).data)
    except OSError as error:
        raise InputError(
            f"cannot write {4 * shape[0] * shape[1] / 1e9:.1f} GB of features to {path.parent} "
            f"({error.strerror}); name another folder in TMPDIR"
        ) from None
    return np.memmap(path, dtype=np.float32, mode="r", shape=shape)


def _untangling(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """U·diag(1/√(v + d))·Uᵀ of the eigenvectors and -values of the covariance of centred columns.

    d = 0.1 + 4·columns/rows; each column is then given back the variance it had.
    """
    rows, columns = x.shape
    covariance = x.T @ x / rows
    values, vectors = np.linalg.eigh(covariance)
    damped = DAMPING + DAMPING_PER_COLUMN * columns / rows
    made = (vectors / np.sqrt(np.maximum(values, 0) + damped)) @ vectors.T
    before, after = np.diag(covariance), ((covariance @ made) * made).sum(axis=0)
    # A column that is the same in all of these rows, though not in others, stays as it is.
    back = np.where(before > 0, np.sqrt(before / np.maximum(after, 1e-12)), np.sqrt(damped))
    return np.asarray(made * back)


def _mean_and_scale(x: NDArray[Any], normalize: Columns) -> tuple[Any, Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        mean = x.mean(axis=0, dtype=np.float64)
        squares = sum(((x[block] - mean) ** 2).sum(axis=0) for block in _blocks(x))
        spread = np.sqrt(squares / len(x))
        if not isinstance(normalize, bool):
            spread = _together(spread, normalize)
    if not np.isfinite(spread).all():
        raise InputError(f"x is too large to standardize, up to {np.abs(x).max():g}; rescale it")
    return mean, divisor_of(spread, mean)


def _together(spread: NDArray[Any], groups: tuple[Group, ...]) -> NDArray[np.float64]:
    """One deviation for each group of columns, so that none weighs more than it should."""
    pairs = [(s, min(s, MAX_GROUP_WEIGHT)) if isinstance(s, int) else s for s in groups]
    widths = [width for width, _ in pairs]
    if sum(widths) != len(spread):
        raise InputError(
            f"the groups of columns must add up to all {len(spread)}, got {sum(widths)}; "
            "name the width of each"
        )
    wide, weight = np.array(widths), np.array([weight for _, weight in pairs])
    whose = np.repeat(np.arange(len(wide)), wide)
    total = np.bincount(whose, weights=spread**2, minlength=len(wide))
    return np.asarray(np.sqrt(total / weight)[whose])


def _blocks(x: NDArray[Any]) -> Iterator[slice]:
    step = max(1, (1 << 20) // x.shape[1])
    return (slice(start, start + step) for start in range(0, len(x), step))


def divisor_of(spread: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard deviations to divide by: 1 for a constant, whatever the features are for."""
    # The mean of equal numbers may be off by rounding; that is not a deviation.
    return np.asarray(np.where(spread > 1e-12 * np.abs(mean), spread, 1.0))
