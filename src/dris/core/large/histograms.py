"""Histograms that add up: counted shard by shard, merged in any order, refined where heavy.

A `Grid` cuts ranges of keys into cells, a `Histogram` says for each cell that is not empty how many
keys fell into it and which were the smallest and the largest. Where these are equal the cell is
*pure*, an exact tie; any other is *mixed*.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.large.mapped import Keys
from dris.core.validate import check_count, same_value

PIECES = 8  # bits: a heavy cell is cut into 256


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Disjoint ranges of keys in increasing order, each cut into 2^bits cells of 2^shift keys."""

    low: Keys  # the first key of each range
    high: Keys  # the last key of each range
    shifts: Keys  # the logarithm of a cell's width, for each range
    bits: int  # the logarithm of how many cells a range has

    @classmethod
    def whole(cls, dtype: "np.dtype[Any]", *, bits: int) -> "Grid":
        """All keys of 32 or 64 bits in one range."""
        width = 8 * dtype.itemsize
        if not PIECES < check_count(bits, "bits", at_least=0) <= 28:
            raise InputError(
                f"bits must be in {PIECES + 1}..28, got {bits}; 22 takes 64 MB a proxy"
            )
        whole = np.array([0], dtype), np.array([np.iinfo(dtype).max], dtype)
        return cls(*whole, np.array([width - bits], dtype), bits)

    @classmethod
    def over(cls, low: Keys, high: Keys, *, bits: int) -> "Grid":
        """The given ranges, in cells as narrow as `bits` allow."""
        lengths = [max(0, int(h - g).bit_length() - bits) for g, h in zip(low, high, strict=True)]
        return cls(low, high, np.array(lengths, low.dtype), bits)

    def cells(self, keys: Keys) -> NDArray[np.int64]:
        """The cell of each key; every key must lie in one of the ranges."""
        if self.low.size == 1:
            return np.asarray((keys - self.low[0]) >> self.shifts[0], dtype=np.int64)
        at = np.searchsorted(self.low, keys, side="right") - 1
        pieces = (keys - self.low[at]) >> self.shifts[at]
        return (at << self.bits) + pieces.astype(np.int64)

    def inside(self, keys: Keys) -> Keys:
        """Those of the sorted keys that lie in one of the ranges."""
        if self.low.size == 1:
            begin = np.searchsorted(keys, self.low[0], side="left")
            return keys[begin : np.searchsorted(keys, self.high[0], side="right")]
        at = np.searchsorted(self.low, keys, side="right") - 1
        return keys[(at >= 0) & (keys <= self.high[at])]


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The cells of a grid that are not empty, in increasing order, and what lies in each."""

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    low: Keys
    high: Keys

    __eq__ = same_value

    @property
    def total(self) -> int:
        """How many keys were counted."""
        return int(self.counts.sum())

    @property
    def mixed(self) -> NDArray[np.bool_]:
        """Where keys differ: only there is a rank uncertain."""
        return np.asarray(self.low < self.high)

    def heavy(self, total: int, bits: int) -> NDArray[np.bool_]:
        """Mixed cells of more than total/2^(bits − 8) keys: cut into 2^8 each they fit a grid."""
        return np.asarray(self.mixed & (self.counts > total / 2 ** (bits - PIECES)))

    def refine(self, total: int, bits: int) -> Grid | None:
        """A grid over the heavy cells, each from its smallest key to its largest; None if none."""
        heavy = self.heavy(total, bits)
        return Grid.over(self.low[heavy], self.high[heavy], bits=PIECES) if heavy.any() else None


class Counter:
    """Counts keys into the cells of one grid; its memory depends on the grid alone."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        size, dtype = grid.low.size << grid.bits, grid.low.dtype
        self._counts = np.zeros(size, dtype=np.int64)
        self._low, self._high = np.empty(size, dtype=dtype), np.empty(size, dtype=dtype)

    def add(self, keys: Keys) -> None:
        """Count the keys that lie in the grid; ignore the others."""
        ordered = self._grid.inside(np.sort(keys))
        if not ordered.size:
            return
        every = self._grid.cells(ordered)
        starts = _starts(every)
        ends = np.append(starts[1:], ordered.size)
        cells, low, high = every[starts], ordered[starts], ordered[ends - 1]
        new = self._counts[cells] == 0
        self._low[cells] = np.where(new, low, np.minimum(self._low[cells], low))
        self._high[cells] = np.where(new, high, np.maximum(self._high[cells], high))
        self._counts[cells] += ends - starts

    def histogram(self) -> Histogram:
        """What was counted so far."""
        cells = np.flatnonzero(self._counts)
        return Histogram(cells, self._counts[cells], self._low[cells], self._high[cells])


def merge_histograms(*histograms: Histogram) -> Histogram:
    """The histogram of all keys, from histograms on one grid in any order."""
    cells = np.concatenate([h.cells for h in histograms])
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    starts = _starts(cells)
    counts, low, high = (
        np.concatenate([getattr(h, name) for h in histograms])[order]
        for name in ("counts", "low", "high")
    )
    total, ends = np.add.reduceat(counts, starts), np.maximum.reduceat(high, starts)
    return Histogram(cells[starts], total, np.minimum.reduceat(low, starts), ends)


def _starts(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each run of equal values begins."""
    first = ordered[:1] == ordered[:1]  # true, and nothing of nothing
    return np.flatnonzero(np.concatenate((first, ordered[1:] != ordered[:-1])))


@dataclass(frozen=True, slots=True)
class Place:
    """A key, how many keys are smaller and how many are equal to it."""

    key: int
    below: int
    equal: int


def key_at(place: int, grid: Grid, count: Callable[[Grid], Histogram]) -> Place:
    """The key that stands at `place` (the smallest at 0).

    `count` returns the histogram of all keys on a grid; each time the cell that holds the place is
    cut into 2^bits, three times at most for 64 bits in 22.
    """
    below = 0
    while True:
        counted = count(grid)
        ends = below + np.cumsum(counted.counts)
        at = int(np.searchsorted(ends, place, side="right"))
        below = int(ends[at] - counted.counts[at])
        low, high = counted.low[at : at + 1], counted.high[at : at + 1]
        if low[0] == high[0]:
            return Place(int(low[0]), below, int(counted.counts[at]))
        grid = Grid.over(low, high, bits=grid.bits)


Doubled = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The cells that were not refined, over all levels, in the order of their keys."""

    low: Keys
    counts: NDArray[np.int64]
    mixed: NDArray[np.bool_]


class RankTable:
    """The doubled rank of every key of one proxy, from the histograms of its levels.

    The first histogram is over all keys, each further one over the heavy cells of the one before.
    Every example of a cell gets its mean rank; in a mixed cell of c the error of a normalized rank
    is below `rank_error`, e = c/(2N) for the largest c.
    """

    def __init__(self, histograms: Sequence[Histogram], *, bits: int) -> None:
        self._levels: list[tuple[Grid, int, Doubled]] = []
        self.total = histograms[0].total
        self._leaves = []
        grid = Grid.whole(histograms[0].low.dtype, bits=bits)
        below, largest = np.zeros(1, np.int64), 0
        for depth, level in enumerate(histograms):
            before = np.cumsum(level.counts) - level.counts
            parents = level.cells >> grid.bits
            first = np.searchsorted(parents, np.arange(grid.low.size))
            before += (below - before[first])[parents]
            last = depth + 1 == len(histograms)
            heavy = np.zeros(level.cells.size, bool) if last else level.heavy(self.total, bits)
            ranks = np.where(heavy, 0, 2 * before + level.counts + 1).astype(np.uint64)
            # From the first cell that is not empty to the last: few of them, as a rule.
            table = np.zeros(level.cells[-1] - level.cells[0] + 1, dtype=np.uint64)
            table[level.cells - level.cells[0]] = ranks
            self._levels.append((grid, int(level.cells[0]), table))
            kept = ~heavy
            self._leaves.append((level.low[kept], level.counts[kept], level.mixed[kept]))
            largest = max(largest, int(level.counts[kept & level.mixed].max(initial=0)))
            below = before[heavy]
            grid = level.refine(self.total, bits) or grid
        self.rank_error = largest / (2 * self.total)

    def leaves(self) -> Leaves:
        """The cells that ranks come from."""
        low, counts, mixed = (np.concatenate(part) for part in zip(*self._leaves, strict=True))
        order = np.argsort(low)
        return Leaves(low[order], counts[order], mixed[order])

    def doubled_ranks(self, keys: Keys) -> Doubled:
        """Twice the mean rank of each key's cell; every key must be one that was counted."""
        grid, first, table = self._levels[0]
        out = table[grid.cells(keys) - first]
        for grid, first, table in self._levels[1:]:
            deeper = np.flatnonzero(out == 0)  # ranks begin at 2 when doubled
            if not deeper.size:
                break
            out[deeper] = table[grid.cells(keys[deeper]) - first]
        return out


def mean_error(rank_errors: Sequence[float]) -> float:
    """e, the root mean square of the errors e_k of the proxies.

    The standard deviation of ranks that are off by d_k is off by at most sd(d) ≤ e.
    """
    return float(np.sqrt(np.mean(np.square(rank_errors))))
