"""Ranks looked up in a merged histogram, and how far they may be from the true ones.

Every example of a cell gets the mean rank of the cell, as if they were all tied. In a pure cell
they are, and the rank is exact. In a mixed cell of c examples the true rank is one of c
neighbours, so that the error is below c/2: e = c/(2N) of a normalized rank, for the largest c.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.core.large.histograms import Grid, Histogram
from dris.core.large.mapped import Keys

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

    Attributes:
        total: N, the number of examples.
        rank_error: e, never exceeded by the error of a normalized rank; 0 when all are exact.
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


def variance_error(variance: ArrayLike, rank_errors: Sequence[float]) -> NDArray[np.float64]:
    """How far a rank variance may be from the true one: 2·σ̂·e + e², e² the mean of the e_k².

    Ranks that are off by d_k have standard deviation σ̂ with |σ̂ − σ| ≤ sd(d) ≤ e, since the
    standard deviation is a seminorm; so |σ̂² − σ²| ≤ e·(σ̂ + σ) ≤ e·(2σ̂ + e), and the same with
    σ in the place of σ̂. A variance of ranks is at most 1/4, so that e + e² covers them all.
    """
    e = mean_error(rank_errors)
    return np.asarray(2 * e * np.sqrt(np.asarray(variance, dtype=np.float64)) + e * e)


def mean_error(rank_errors: Sequence[float]) -> float:
    """e, the root mean square of the errors e_k of the proxies."""
    errors = np.asarray(rank_errors, dtype=np.float64)
    if errors.size == 0 or not ((errors >= 0) & (errors <= 1)).all():
        raise InputError(f"rank errors must be in [0, 1], one per proxy, got {errors.tolist()}")
    return float(np.sqrt(np.mean(errors**2)))
