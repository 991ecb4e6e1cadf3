"""Means with their spread, and whether one rule beats another over paired seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

_UNSEEN_SPREAD = 0.001  # of differences that are all the same
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Compared:
    """Mean paired difference, the one-sided p in its own direction, and what follows."""

    difference: float
    p: float
    outcome: Literal["above", "below", "undecided"]


def compare(ours: Sequence[float], theirs: Sequence[float], *, level: float = 0.05) -> Compared:
    """Paired one-sided t test of `ours` against `theirs`, in the direction of the difference.

    Identical differences have no spread, and of two seeds that may be luck: a tenth of a point
    stands in for it, so that they decide where they are large beside that.

    >>> compare([0.9, 0.8, 0.9], [0.5, 0.5, 0.6]).outcome
    'above'
    >>> [compare([gap, gap], [0.0, 0.0]).outcome for gap in (0.5, 0.0014, 0.0)]
    ['above', 'undecided', 'undecided']
    """
    from scipy.special import stdtr  # its t test asks for torch where that is blocked

    gap = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    n = len(gap)
    mean = float(gap.mean()) if n else 0.0
    spread = float(gap.std(ddof=1)) if n > 1 else float("inf")
    if spread < _ROUNDING:
        spread = _UNSEEN_SPREAD
    p = float(stdtr(n - 1, -abs(mean) / (spread / np.sqrt(n)))) if n > 1 else 1.0
    if p >= level:
        return Compared(mean, p, "undecided")
    return Compared(mean, p, "above" if mean > 0 else "below")


def mean_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation (zero for a single value).

    >>> mean_std([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """The 2.5 % and 97.5 % percentiles, outwards to values that occurred: of few, the range.

    >>> percentiles([3.0, 1.0, 2.0])
    (1.0, 3.0)
    """
    low = np.quantile(values, 0.025, method="lower")
    return float(low), float(np.quantile(values, 0.975, method="higher"))
