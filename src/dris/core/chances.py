"""An exact upper limit on the marked items in a population, from a sample without replacement.

An audit checks n of a subset's examples; canaries are a known sample of all corrupted labels.
Both ask the same: from what a random sample shows, how many are there in all?
"""

from functools import lru_cache

import numpy as np

# Beyond this many standard deviations (plus as many items) no tail of ours is above 1e-100.
_REACH = 60
_ROUNDING = 1 - 1e-9  # a chance that equals δ must not fall below it by rounding


@lru_cache(maxsize=100_000)
def chance_of_at_most(seen: int, *, total: int, marked: int, drawn: int) -> float:
    """P(X ≤ seen), where X is how many of the `marked` items are among `drawn` of `total`.

    Exact to about 1e-12, relative, for totals up to 10^8: from exact ratios of neighbours,
    normalised by their sum, so that no large factorials cancel.

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
    """The largest number of marked items for which P(X ≤ seen) ≥ δ.

    The number truly marked exceeds it with probability at most δ. Marked and drawn may trade
    places.

    >>> most_marked(0, total=1000, drawn=100, delta=0.05)
    28
    """
    # At `low` marked items there are no more than `seen`; at `high` too many were drawn to miss.
    low, high = seen, total - (drawn - seen) + 1
    while high - low > 1:
        middle = (low + high) // 2
        may_be = plausible(seen, total=total, marked=middle, drawn=drawn, delta=delta)
        low, high = (middle, high) if may_be else (low, middle)
    return low
