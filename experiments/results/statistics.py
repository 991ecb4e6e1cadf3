"""Means with their spread, and whether one rule beats another over paired seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Compared:
    """Mean paired difference, the one-sided p in its own direction, and what follows.

    `p` is None where differences have no spread to test against.
    """

    difference: float
    p: float | None
    outcome: Literal["above", "below", "undecided"]


def compare(ours: Sequence[float], theirs: Sequence[float], *, level: float = 0.05) -> Compared:
    """Paired one-sided t test of `ours` against `theirs`, in the direction of the difference.

    Identical differences have no spread and no p: their signs alone speak, which takes five seeds.

    >>> compare([0.9, 0.8, 0.9], [0.5, 0.5, 0.6]).outcome
    'above'
    >>> [compare([0.5] * n, [0.0] * n).outcome for n in (2, 4, 5)]
    ['undecided', 'undecided', 'above']
    """
    from scipy.special import stdtr  # its t test asks for torch where that is blocked

    gap = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    n = len(gap)
    mean = float(gap.mean()) if n else 0.0
    spread = float(gap.std(ddof=1)) if n > 1 else 0.0
    tested = spread > _ROUNDING
    p = float(stdtr(n - 1, -abs(mean) / (spread / np.sqrt(n)))) if tested else None
    chance = 0.5**n if p is None else p
    if chance >= level or abs(mean) <= _ROUNDING:
        return Compared(mean, p, "undecided")
    return Compared(mean, p, "above" if mean > 0 else "below")


def printed_decides(
    one: tuple[float, float | None], other: tuple[float, float | None], *, n: int = 3
) -> bool:
    """Whether two printed means and deviations over n seeds are apart: Welch's test at 0.05.

    >>> printed_decides((87.78, 0.26), (87.39, 0.58)), printed_decides((81.9, 0.8), (74.7, 0.5))
    (False, True)
    """
    from scipy.special import stdtr

    a, b = ((std or 0.0) ** 2 / n for _, std in (one, other))
    if a + b == 0:
        return one[0] != other[0]
    freedom = (a + b) ** 2 / (a**2 + b**2) * (n - 1)
    return bool(stdtr(freedom, -abs(one[0] - other[0]) / np.sqrt(a + b)) < 0.05)


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
