"""An upper limit on the canaries that do not count because they fell on wrong labels.

A canary on a label that was already wrong may have been given its true label back. It is then a
clean example: it must not be counted among the corrupted that were seen to be kept out.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dris.core.noise.canaries import Canaries, Certifying


def most_uncounted(part: Certifying, corrupted: int, delta: float) -> int:
    """Largest plausible number of certifying canaries that do not count.

    >>> from dris.core.noise.canaries import plant_canaries
    >>> labels = np.arange(10_000) % 2
    >>> part = plant_canaries(labels, rng=np.random.default_rng(0)).certifying
    >>> most_uncounted(part, corrupted=4_000, delta=0.01)  # 80 of 200 are expected
    101
    """
    c = part.canaries
    return _landed_limit(c, part.positions, corrupted, c.uncounted_chance, delta)


def most_covered(canaries: Canaries, corrupted: int, delta: float) -> int:
    """Largest plausible number of the `corrupted` labels on which a canary was planted."""
    return _landed_limit(canaries, canaries.positions, corrupted, 1.0, delta)


def _landed_limit(
    canaries: Canaries, positions: NDArray[np.int64], corrupted: int, chance: float, delta: float
) -> int:
    """A limit on the canaries that land on wrong labels and then meet an event of this chance.

    Exceeded with probability at most δ wherever the wrong labels are, for the canaries' places
    were drawn independently of them. Within a stratum that is a draw without replacement: its
    exponential moments are at most those of a draw with replacement (Hoeffding 1963), and the
    moments over all strata at most those of one binomial with the same mean, so that Chernoff's
    bound for it holds. The mean is largest when the wrong labels are where canaries are densest.
    """
    sizes = np.bincount(canaries.stratum + 1)[1:]
    planted = np.bincount(canaries.stratum[positions], minlength=sizes.size)
    density = planted / np.maximum(sizes, 1)
    expected, left = 0.0, corrupted
    for k in np.argsort(-density, kind="stable"):
        hit = min(left, int(sizes[k]))
        expected += float(density[k]) * hit
        left -= hit
    return binomial_limit(positions.size, min(1.0, expected * chance / positions.size), delta)


def binomial_limit(trials: int, chance: float, delta: float) -> int:
    """The least k for which Chernoff's bound puts P(more than k of the trials succeed) at ≤ δ."""
    low, high = math.floor(trials * chance) - 1, trials
    while high - low > 1:
        middle = (low + high) // 2
        if _log_tail(trials, chance, middle + 1) <= math.log(delta):
            high = middle
        else:
            low = middle
    return high


def _log_tail(trials: int, chance: float, at_least: int) -> float:
    """Chernoff's bound on log P(at least so many), 0 up to the mean."""
    share = at_least / trials
    if share <= chance:
        return 0.0
    if chance == 0.0:
        return -math.inf
    kept = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return -trials * (share * math.log(share / chance) + kept)
