"""Which fold each example is in, and how the models of a proxy's folds are joined.

With F folds a proxy is F models. An example's values *in fold* are the mean over the F − 1 of
them that trained on it; it counts as correct where that mean margin is above 0, and its rival is
the class that most of them name, of equals the first. Its values *out of fold* come from the one
model that did not train on it.
"""

from collections.abc import Mapping
from heapq import heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.streams import rng_for

Positions = NDArray[np.int64]
_MIXED = np.uint64(0x9E3779B97F4A7C15)
_AT_ONCE = 1 << 20
MIN_DISTINCT_SHARE = 0.5


def folds_of(
    labels: NDArray[np.int64], together: Positions, folds: int, *, rng: np.random.Generator
) -> Positions:
    """The fold, 0..F-1, of each example; those with the same number in `together` share one.

    Folds are equally large but for one, unless a group is more than a fold holds, and hold as many
    examples of each label as they can.
    """
    n = len(labels)
    shuffled = rng.permutation(n)
    group, sizes = np.unique(together, return_inverse=True, return_counts=True)[1:]
    alone = sizes[group] == 1
    fold = np.full(n, -1, dtype=np.int64)
    several = shuffled[~alone[shuffled]]
    heads = several[np.unique(group[several], return_index=True)[1]]  # one member of each group
    # The largest groups first, each to the emptiest fold; among equals by label, so that the
    # groups of one label are dealt out in turn.
    heads = rng.permutation(heads)
    heads = heads[np.lexsort((labels[heads], -sizes[group[heads]]))]
    where = np.full(len(sizes), -1, dtype=np.int64)
    filled = [(0, f) for f in range(folds)]
    for at, size in zip(group[heads].tolist(), sizes[group[heads]].tolist(), strict=True):
        held, where[at] = filled[0]
        heapreplace(filled, (held + size, int(where[at])))
    fold[~alone] = where[group[~alone]]
    rest = shuffled[alone[shuffled]]
    rest = rest[np.argsort(labels[rest], kind="stable")]
    held_by = {f: held for held, f in filled}
    fold[rest] = _deal(np.array([held_by[f] for f in range(folds)]), len(rest))
    return fold


def _deal(filled: Positions, count: int) -> Positions:
    """A fold for each of `count` examples in a row, so that folds end up equal and even."""
    wanted = np.zeros(len(filled), dtype=np.int64)
    left, by_size = count, np.argsort(filled, kind="stable")
    # Fill the emptiest to the level of the next, then all alike: water into unequal glasses.
    level, width = filled[by_size], np.arange(1, len(filled) + 1)
    deep = int((np.cumsum(level) + left >= width * level).sum())
    total = int(level[:deep].sum()) + left
    share, more = divmod(total, deep)
    wanted[by_size[:deep]] = share - level[:deep] + (np.arange(deep) < more)
    place = [(np.arange(size) + 0.5) / max(size, 1) for size in wanted.tolist()]
    owner = np.repeat(np.arange(len(filled)), wanted)
    return owner[np.argsort(np.concatenate(place), kind="stable")]


def in_and_out(
    columns: Mapping[str, NDArray[Any]], fold: Positions
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Columns (fold, ..., example) of a proxy's models as its values in fold and out of fold."""
    first = next(iter(columns.values()))
    count, n, depth = len(first), len(fold), (1,) * (first.ndim - 2)
    trained = (np.arange(count)[:, None] != fold).reshape(count, *depth, n)
    # Where in a flat column the model stands that an example is outside of.
    within = first.size // count
    at = fold * within + np.arange(within).reshape(first.shape[1:])
    counted: dict[Any, NDArray[Any]] = {}  # as numbers of each type: a product of two is slow
    inside: dict[str, NDArray[Any]] = {}
    outside: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        outside[name] = column.take(at)
        if name == "rival":
            inside[name] = _most_named(column, trained)
        elif name != "correct":
            kind = column.dtype
            if kind not in counted:
                counted[kind] = trained.astype(kind)
            inside[name] = np.multiply(column, counted[kind]).sum(axis=0) / kind.type(count - 1)
        elif count == 2:  # one model, which has decided ties by itself
            inside[name] = column.take((1 - fold) * within + at - fold * within)
    if "correct" in columns and count > 2:
        inside["correct"] = inside["margin"] > 0
    return {name: inside[name] for name in columns}, outside


def _most_named(rivals: NDArray[np.int32], trained: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The class that most models which trained on the example name; of equals the first."""
    named: NDArray[np.int32] = rivals[0].copy()
    split = (rivals != named).any(axis=0)  # elsewhere there is nothing to count
    if not split.any():
        return named
    rivals, trained = rivals[:, split], np.broadcast_to(trained, rivals.shape)[:, split]
    best = np.full(rivals.shape[1:], np.iinfo(np.int32).max, dtype=np.int32)
    most = np.zeros(rivals.shape[1:], dtype=np.int64)
    for own, counts in zip(rivals, trained, strict=True):
        votes = ((rivals == own) & trained).sum(axis=0) * counts
        wins = (votes > most) | ((votes == most) & (own < best) & (votes > 0))
        best, most = np.where(wins, own, best), np.where(wins, votes, most)
    named[split] = best
    return named


def rows_together(x: Any, groups: Positions | None, n: int) -> Positions:
    """For each of n rows the first that it shares a fold with: a copy of it, or one of its group.

    Copies may chain groups together; where that makes more than a quarter of all rows, groups alone
    count. Rows of a Dataset are not compared.

    >>> x = np.array([[0.0], [1.0], [2.0], [3.0], [2.0], [5.0], [6.0], [7.0]])
    >>> rows_together(x, np.array([7, 7, 8, 5, 6, 4, 3, 2]), 8).tolist()
    [0, 0, 2, 3, 2, 5, 6, 7]
    """
    copies = copies_in(x) if isinstance(x, np.ndarray) else np.arange(n)
    if groups is None:
        return copies
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    own = np.unique(groups, return_inverse=True)[1]
    count = int(own.max()) + 1
    edges = coo_array((np.ones(n), (own, count + copies)), shape=(count + n, count + n))
    joined: NDArray[Any] = connected_components(edges, directed=False)[1][own]
    if np.bincount(joined).max() > max(n // 4, np.bincount(own).max()):
        joined = own
    _, first, inverse = np.unique(joined, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.int64)


def copies_in(x: NDArray[Any]) -> Positions:
    """For each row the position of the first row equal to it, in float32 (by a 64-bit hash).

    Where fewer than half of the rows are distinct, equal ones are chance and no copies.
    """
    _, first, inverse = np.unique(_hashes(x), return_index=True, return_inverse=True)
    if first.size < MIN_DISTINCT_SHARE * inverse.size:
        return np.arange(inverse.size)
    return np.asarray(first[inverse], dtype=np.int64)


def _hashes(x: NDArray[Any]) -> NDArray[np.uint64]:
    flat = x.reshape(len(x), -1)
    # An odd number for each column, the same in every run.
    salt = rng_for(0, "copies").integers(2**63, size=flat.shape[1], dtype=np.uint64) | np.uint64(1)
    out = np.empty(len(flat), dtype=np.uint64)
    step = max(1, _AT_ONCE // flat.shape[1])
    for a in range(0, len(flat), step):
        single = flat[a : a + step].astype(np.float32, order="C") + np.float32(0)  # so that -0 is 0
        # Every bit of a word moved into every other place: floats end in many zeros.
        mixed = single.view(np.uint32).astype(np.uint64) * _MIXED
        out[a : a + step] = ((mixed ^ (mixed >> np.uint64(29))) * _MIXED) @ salt
    return out
