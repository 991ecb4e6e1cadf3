"""An exact upper limit on the marked items in a population, from a sample without replacement."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

# Beyond this many standard deviations (plus as many items) no tail of ours is above 1e-100.
_REACH = 60
_ROUNDING = 1 - 1e-9  # a chance that equals δ must not fall below it by rounding


@lru_cache(maxsize=100_000)
def chance_of_at_most(seen: int, *, total: int, marked: int, drawn: int) -> float:
    """P(X ≤ seen), where X is how many of the `marked` items are among `drawn` of `total`.

    Exact to about 1e-12, relative, for totals up to 10^8: from ratios of neighbours, normalised.

    >>> chance_of_at_most(0, total=4, marked=2, drawn=2) == 1 / 6
    True
    """
    low, high = max(0, marked + drawn - total), min(marked, drawn)
    if seen < low:
        return 0.0
    if seen >= high:
        return 1.0
    mean = marked * (drawn / total)
    spread = np.sqrt(mean * (1 - drawn / total) * (total - marked) / max(total - 1, 1))
    reach = int(_REACH * (1 + spread))
    first, last = max(low, int(mean) - reach), min(high, int(mean) + reach)
    if not first <= seen < last:
        return float(seen >= last)
    k = np.arange(first, last, dtype=np.float64)
    ratios = (marked - k) * (drawn - k) / ((k + 1) * (total - marked - drawn + k + 1))
    logs = np.concatenate(([0.0], np.cumsum(np.log(ratios))))
    chances = np.exp(logs - logs.max())
    below, above = chances[: seen - first + 1].sum(), chances[seen - first + 1 :].sum()
    return float(below / (below + above))


def plausible(seen: int, *, total: int, marked: int, drawn: int, delta: float) -> bool:
    """True if seeing at most this many marked items had a probability of at least δ."""
    chance = chance_of_at_most(seen, total=total, marked=marked, drawn=drawn)
    return chance >= delta * _ROUNDING


def most_marked(seen: int, *, total: int, drawn: int, delta: float) -> int:
    """The largest number of marked items for which P(X ≤ seen) ≥ δ."""
    # At `low` marked items there are no more than `seen`; at `high` too many were drawn to miss.
    low, high = seen, total - (drawn - seen) + 1

    def excluded(marked: int) -> bool:
        return not plausible(seen, total=total, marked=marked, drawn=drawn, delta=delta)

    return first_true(low, high, excluded) - 1


def first_true(low: int, high: int, condition: Callable[[int], bool]) -> int:
    """The first number above `low` for which a monotone condition is true; it is at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high
