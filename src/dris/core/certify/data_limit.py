"""An upper limit on the wrong labels in the data, from how low a detector scores the canaries.

Take any cut. Wrong labels below it are at most the A examples there. Wrong labels above it can
be limited as in a subset: by the canaries above it. Both together limit them all, at each cut;
the best cut counts. There is no lower side: a detector that finds nothing, and data in which
nothing is wrong, look alike.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.chances import plausible
from dris.core.errors import InputError
from dris.core.noise.canaries import Canaries, Certifying, check_certifying, conditions
from dris.core.validate import check_score, exact, part_of

_CUTS = 60  # at 1 %, 2 %, ... of all scores: fixed before any canary is looked at
_FOR_PLACES = 0.1  # of δ₂, twice: for canaries that do not count, and for those on wrong labels


@dataclass(frozen=True, slots=True)
class CorruptionLimit:
    """At most `corrupted` given labels are wrong, with probability at least 1 - δ."""

    kind: str  # the attacker whose canaries were counted
    corrupted: int  # the limit on wrong given labels, wherever canaries may fall or have fallen
    outside: int  # the limit on those that no canary covers
    total: int  # N, the examples outside `avoid`
    canaries: int  # the certifying canaries
    above: int  # those of them above the best cut
    cut: float  # the best cut; nan when no cut says anything
    delta: float  # with this probability at most the limit fails
    at_most: float  # the share it was assumed not to exceed
    conditions: tuple[str, ...]  # what has to be true for all this

    @property
    def share(self) -> float:
        """ε_U: the limit as a share of all labels outside `avoid`."""
        return self.corrupted / self.total

    @property
    def vacuous(self) -> bool:
        """True if nothing was learned beyond the assumption."""
        return bool(np.isnan(self.cut))

    def to_dict(self) -> dict[str, Any]:
        """The limit as plain values, ready for JSON."""
        cut = None if self.vacuous else self.cut
        return {**asdict(self), "cut": cut, "share": self.share, "vacuous": self.vacuous}

    def __str__(self) -> str:
        return (
            f"between 0 (no lower limit can be told) and {self.share:.2%} of {self.total:,} given "
            f"labels are wrong, with probability {1 - self.delta:g}, if {self.conditions[0]}"
        )


def corruption_limit(
    score: ArrayLike, certifying: Certifying, *, delta: float = 0.025, at_most: float = 0.5
) -> CorruptionLimit:
    """ε_U: limit the number of wrong given labels, from a detector that scores them low.

    At a cut, let A be the examples below it that are no canaries, x the certifying canaries
    above it, n the wrong labels outside the canaries. At least n - A of those are above. With
    m' canaries that count, n is rejected when P(X ≤ x) < δ/J for X hypergeometric, r = x + n - A
    of m' + n drawn. J cuts lie at fixed quantiles of all scores, so that which they are does
    not depend on the canaries. As m' depends on how many labels are wrong in all, the limit is
    first computed with `at_most`, then again with what came out, until it hardly moves.

    Args:
        score: One per example, larger for cleaner (kept first); blind to the certifying canaries.
        certifying: The part of the canaries by which nothing was chosen.
        delta: δ₂, the probability with which the limit may fail.
        at_most: A share of wrong labels that is surely not exceeded. At two classes all labels
            wrong and all right look the same, so that something below 1 has to be assumed.

    >>> from dris.core.noise.canaries import plant_canaries
    >>> labels = np.arange(10_000) % 10
    >>> canaries = plant_canaries(labels, rng=np.random.default_rng(0))
    >>> score = (canaries.planted == labels) + np.linspace(0, 0.1, 10_000)
    >>> corruption_limit(score, canaries.certifying).share < 0.05  # none is wrong
    True
    """
    part = check_certifying(certifying)
    s, canaries = check_score(score), part.canaries
    if s.size != canaries.given.size:
        raise InputError(
            f"score must be one per example: {canaries.given.size} labels, {s.size} scores"
        )
    level = float(exact(delta, "delta"))
    if not 0 < level < 1:
        raise InputError(f"delta must be in (0, 1), got {delta}")
    total = int((canaries.stratum >= 0).sum())
    ceiling = part_of(at_most, total, "at_most")
    cuts = _cuts(s, part)
    each = level * (1 - 2 * _FOR_PLACES) / len(cuts)
    m = part.positions.size
    most, outside, best = ceiling, min(ceiling, total - len(canaries)), (float("nan"), m)
    while True:
        counted = m - most_uncounted(part, most, level * _FOR_PLACES)
        covered = most_covered(canaries, most, level * _FOR_PLACES)
        before = most
        for cut, below, above in cuts:
            improved = _outside_limit(outside, below, above, counted, each)
            if improved < outside:
                outside, best = improved, (cut, above)
        most = min(most, outside + covered)
        if before - most <= total // 1000:  # any pass may be the last: each only improves
            break
    return CorruptionLimit(
        kind=canaries.kind,
        corrupted=most,
        outside=outside,
        total=total,
        canaries=m,
        above=best[1],
        cut=best[0],
        delta=level,
        at_most=float(exact(at_most, "at_most")),
        conditions=(
            *conditions(part),
            f"no more than {float(exact(at_most, 'at_most')):.0%} of the given labels are wrong",
        ),
    )


def _cuts(score: NDArray[np.float64], part: Certifying) -> list[tuple[float, int, int]]:
    """Each cut with the examples not above it, canaries aside, and the canaries above it.

    The most promising cut comes first, so that the others are soon seen to add nothing.
    """
    open_places = part.canaries.stratum >= 0
    others = np.sort(score[open_places & ~part.canaries.mask()])
    everyone = np.sort(score[open_places])
    own = np.sort(score[part.positions])
    # Order statistics, not interpolated quantiles: a cut is a score that occurs.
    at = np.unique((np.arange(1, _CUTS + 1) * everyone.size) // 100)
    cuts = np.unique(everyone[at])
    below = np.searchsorted(others, cuts, side="right")
    caught = np.searchsorted(own, cuts, side="right")
    order = np.argsort(below / np.maximum(caught, 0.5), kind="stable")
    return [(float(cuts[i]), int(below[i]), int(own.size - caught[i])) for i in order]


def _outside_limit(most: int, below: int, above: int, counted: int, delta: float) -> int:
    """The largest number up to `most` that this cut does not reject; the rejected are all above."""

    def accepted(n: int) -> bool:
        drawn = above + n - below
        if above * (counted + n) >= counted * drawn:
            return True  # as many as expected, or more: saves time, and accepting is always safe
        return plausible(above, total=counted + n, marked=counted, drawn=drawn, delta=delta)

    if accepted(most):
        return most
    low, high = below, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if accepted(middle) else (low, middle)
    return low


def most_uncounted(part: Certifying, corrupted: int, delta: float) -> int:
    """Largest plausible number of certifying canaries that do not count."""
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
