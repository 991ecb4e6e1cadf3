"""Rows that nearly copy each other, and rows far from all others.

Up to 5,000 different rows are compared each with each. More go into trees that halve them along
random directions, and rows that meet are compared; large distances are computed exactly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]
NEIGHBOURS = 10  # whose mean distance says how far a row is from the others
MAX_EXACT_ROWS = 5_000
LEAF, TREES = 256, 8
NEAR = 0.13  # of the median distance to the nearest other row: nearer ones are near-copies
FAR = 6.0  # spreads above the median, in logarithms: from there on a row is an outlier
MIN_ROWS = 50  # fewer say nothing of what is usual
_BLOCK = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """What the distances between rows show."""

    groups: Indices  # of each row, the number of its group of near-copies; -1 where it has none
    nearest: NDArray[np.float64]  # the distance to its nearest other row; 0 for an exact copy
    distance: NDArray[np.float64]  # the mean distance to its ten nearest, copies counted once
    outliers: Indices  # positions of rows far from all others, the farthest first


def find_neighbours(
    x: Floats, copies: Indices | None = None, *, rng: np.random.Generator
) -> Neighbours:
    """Near-copies and outliers among standardised rows (N, D); `copies` numbers exact copies."""
    n = len(x)
    keys = np.arange(n) if copies is None else copies
    _, first, own = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) < MIN_ROWS:
        return Neighbours(np.full(n, -1), np.zeros(n), np.zeros(n), np.zeros(0, np.int64))
    different = np.ascontiguousarray(x[first], dtype=np.float32)
    near, apart = nearest_rows(different, NEIGHBOURS, rng=rng)
    mean = apart.mean(axis=1)
    logs = np.log(np.maximum(mean, 1e-12))
    middle = np.median(logs)
    edge = middle + FAR * max(1.4826 * np.median(np.abs(logs - middle)), 0.05)
    far = np.flatnonzero(logs > edge)
    if len(different) > MAX_EXACT_ROWS:  # by trees: too large, if anything
        far = far[np.argsort(-logs[far], kind="stable")[:_BLOCK]]
        mean[far] = _nearest_of(different, far, NEIGHBOURS)[1].mean(axis=1)
        far = far[np.log(np.maximum(mean[far], 1e-12)) > edge]
    groups = _join(near, apart <= NEAR * np.median(apart[:, 0]))[own]
    alone = np.bincount(groups)[groups] < 2
    _, groups = np.unique(np.where(alone, -1, groups), return_inverse=True)
    nearest = np.where(np.bincount(own)[own] > 1, 0.0, apart[own, 0])
    rows = np.flatnonzero(np.isin(own, far))
    order = np.argsort(-mean[own[rows]], kind="stable")
    return Neighbours(groups - int(alone.any()), nearest, mean[own], rows[order])


def nearest_rows(
    x: Floats, k: int, *, rng: np.random.Generator
) -> tuple[Indices, NDArray[np.float64]]:
    """The k nearest other rows of each, and their distances, both (N, k), the nearest first."""
    if len(x) <= MAX_EXACT_ROWS:
        return _nearest_of(x, np.arange(len(x)), k)
    index = np.full((len(x), k), -1)
    apart = np.full((len(x), k), np.inf, dtype=np.float32)
    for _ in range(TREES):
        for leaf in _leaves(x, rng):
            here, squared = _within(x[leaf], min(k, len(leaf) - 1))
            both = np.concatenate([index[leaf], leaf[here]], axis=1)
            far = np.concatenate([apart[leaf], squared], axis=1)
            order = np.argsort(both, axis=1, kind="stable")
            both, far = (np.take_along_axis(one, order, axis=1) for one in (both, far))
            far[:, 1:][both[:, 1:] == both[:, :-1]] = np.inf  # met before
            best = np.argpartition(far, k - 1, axis=1)[:, :k]
            index[leaf] = np.take_along_axis(both, best, axis=1)
            apart[leaf] = np.take_along_axis(far, best, axis=1)
    return _measured(x, np.arange(len(x)), index)


def _leaves(x: Floats, rng: np.random.Generator) -> list[Indices]:
    """The rows in parts of a few hundred, halved along differences of two rows."""
    levels = int(np.ceil(np.log2(len(x) / LEAF)))
    ends = rng.choice(len(x), (2, levels), replace=len(x) < 2 * levels)
    along = x @ (x[ends[0]] - x[ends[1]]).T
    parts = [np.arange(len(x))]
    for level in range(levels):
        halves = []
        for part in parts:
            middle = len(part) // 2
            order = np.argpartition(along[part, level], middle)
            halves += [part[order[:middle]], part[order[middle:]]]
        parts = halves
    return parts


def _within(rows: Floats, k: int) -> tuple[Indices, Floats]:
    """The k nearest of each row among these, and the squares of their distances."""
    rows = rows - rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", rows, rows)
    squared = norms[:, None] + norms - 2 * (rows @ rows.T)
    np.fill_diagonal(squared, np.inf)
    near = np.argpartition(squared, k - 1, axis=1)[:, :k]
    return near, np.take_along_axis(squared, near, axis=1)


def _nearest_of(x: Floats, rows: Indices, k: int) -> tuple[Indices, NDArray[np.float64]]:
    """The k nearest other rows of some, compared with every row."""
    k = min(k, len(x) - 1)
    norms = np.einsum("ij,ij->i", x, x)
    index = np.empty((len(rows), k), dtype=np.int64)
    for begin in range(0, len(rows), _BLOCK):
        some = rows[begin : begin + _BLOCK]
        squared = norms - 2 * (x[some] @ x.T)
        squared[np.arange(len(some)), some] = np.inf
        index[begin : begin + len(some)] = np.argpartition(squared, k - 1, axis=1)[:, :k]
    return _measured(x, rows, index)


def _measured(x: Floats, rows: Indices, index: Indices) -> tuple[Indices, NDArray[np.float64]]:
    """The neighbours in order of their distances, which are computed without cancellation."""
    apart = np.empty(index.shape)
    for begin in range(0, len(rows), _BLOCK):
        here = slice(begin, begin + _BLOCK)
        away = x[index[here]] - x[rows[here], None]
        apart[here] = np.sqrt(np.einsum("ijk,ijk->ij", away, away, dtype=np.float64))
    order = np.argsort(apart, axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(apart, order, axis=1)


def _join(near: Indices, close: NDArray[np.bool_]) -> Indices:
    """The number of the group that each row is joined to by close neighbours."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    row, place = np.nonzero(close)
    links = coo_array((np.ones(len(row)), (row, near[row, place])), shape=(len(near), len(near)))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
