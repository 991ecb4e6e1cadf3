"""Upper limits on the wrong labels in the data and in a subset, from how canaries fare.

In the data, take any cut. Wrong labels below it are at most the A examples there; wrong labels
above it are limited as in a subset, by the canaries there. The best cut counts. There is no lower
side: a detector that finds nothing, and data in which nothing is wrong, look alike. The chance δ
that a limit fails is split by `data_limits` and `subset_limits`, nowhere else.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.chances import first_true, most_marked, plausible
from dris.core.errors import InputError
from dris.core.noise.canaries import Canaries, conditions, without_canaries
from dris.core.subset import Subset
from dris.core.validate import exact, part_of

_CUTS = 60  # at 1 %, 2 %, ... of all scores: fixed before any canary is looked at
_FOR_PLACES = 0.1  # of δ₂, twice: for canaries that do not count, and for those on wrong labels
_FOR_UNCOUNTED = 0.1  # of δ₁: the price of not knowing which canaries fell on wrong labels
_FOR_ROWS = 0.1  # of δ: the price of keeping rows on which canaries had been planted


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
    score: ArrayLike, canaries: Canaries, *, delta: float = 0.025, at_most: float = 0.5
) -> CorruptionLimit:
    """ε_U: limit the number of wrong given labels, from a detector that scores them low.

    At a cut, let A be the examples below it that are no canaries, x the certifying canaries above
    it, n the wrong labels outside the canaries. At least n - A of those are above. With m' canaries
    that count, n is rejected when P(X ≤ x) < δ/J for X hypergeometric, r = x + n - A of m' + n
    drawn. The J cuts do not depend on the canaries. As m' depends on how many labels are wrong, the
    limit is first computed with `at_most`, a share surely not exceeded, then with what came out,
    until it hardly moves. The score is blind to the certifying canaries; `delta` is δ₂.
    """
    m, level = canaries.certifying.size, float(exact(delta, "delta"))
    share = float(exact(at_most, "at_most"))
    total = int((canaries.stratum >= 0).sum())
    ceiling = part_of(at_most, total, "at_most")
    cuts = _cuts(np.asarray(score, dtype=np.float64), canaries)
    each = level * (1 - 2 * _FOR_PLACES) / len(cuts)
    most, outside, best = ceiling, min(ceiling, total - len(canaries)), (float("nan"), m)
    while True:
        counted = m - most_uncounted(canaries, most, level * _FOR_PLACES)
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
        at_most=share,
        conditions=(
            *conditions(canaries.kind),
            f"no more than {100 * share:.0f} % of the given labels are wrong",
        ),
    )


def _cuts(score: NDArray[np.float64], canaries: Canaries) -> list[tuple[float, int, int]]:
    """Each cut with the other examples not above it and the canaries above it, best first."""
    open_places = canaries.stratum >= 0
    others = np.sort(score[open_places & ~canaries.mask()])
    everyone = np.sort(score[open_places])
    own = np.sort(score[canaries.certifying])
    # Order statistics, not interpolated quantiles: a cut is a score that occurs.
    at = np.unique((np.arange(1, _CUTS + 1) * everyone.size) // 100)
    cuts = np.unique(everyone[at])
    below = np.searchsorted(others, cuts, side="right")
    caught = np.searchsorted(own, cuts, side="right")
    order = np.argsort(below / np.maximum(caught, 0.5), kind="stable")
    return [(float(cuts[i]), int(below[i]), int(own.size - caught[i])) for i in order]


def _outside_limit(most: int, below: int, above: int, counted: int, delta: float) -> int:
    """The largest number up to `most` that this cut does not reject; the rejected are all above."""

    def rejected(n: int) -> bool:
        drawn = above + n - below
        if above * (counted + n) >= counted * drawn:
            return False  # as many as expected, or more: saves time, and accepting is always safe
        return not plausible(above, total=counted + n, marked=counted, drawn=drawn, delta=delta)

    return first_true(below, most, rejected) - 1 if rejected(most) else most


def most_uncounted(canaries: Canaries, corrupted: int, delta: float) -> int:
    """Largest plausible number of certifying canaries that do not count."""
    chance = canaries.uncounted_chance
    return _landed_limit(canaries, canaries.certifying, corrupted, chance, delta)


def most_covered(canaries: Canaries, corrupted: int, delta: float) -> int:
    """Largest plausible number of the `corrupted` labels on which a canary was planted."""
    return _landed_limit(canaries, canaries.positions, corrupted, 1.0, delta)


def _landed_limit(
    canaries: Canaries, positions: NDArray[np.int64], corrupted: int, chance: float, delta: float
) -> int:
    """A limit on the canaries that land on wrong labels and then meet an event of this chance.

    Exceeded with probability at most δ wherever the wrong labels are. Draws without replacement
    have exponential moments at most those of draws with replacement (Hoeffding 1963), over all
    strata at most those of one binomial with the same mean, so Chernoff's bound for it holds.
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
    low, level = math.floor(trials * chance) - 1, math.log(delta)
    return first_true(low, trials, lambda k: _log_tail(trials, chance, k + 1) <= level)


def _log_tail(trials: int, chance: float, at_least: int) -> float:
    """Chernoff's bound on log P(at least so many), 0 up to the mean."""
    share = at_least / trials
    if share <= chance:
        return 0.0
    if chance == 0.0:
        return -math.inf
    kept = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return -trials * (share * math.log(share / chance) + kept)


@dataclass(frozen=True, slots=True)
class ContaminationLimit:
    """At most `wrong` of the `left` examples are wrong, with probability at least 1 - δ."""

    kind: str  # the attacker whose canaries were counted
    wrong: int  # the limit on the number of wrong labels in what is left
    left: int  # size of the subset after all canaries are dropped
    canaries: int  # m, the certifying canaries
    passed: int  # x, those of them in the subset
    uncounted: int  # canaries that may not count, for they fell on wrong labels
    corrupted: int  # n_c, the wrong labels there are at most outside the canaries
    both: int  # r_U, the limit on wrong labels in the subset, canaries included
    delta: float  # with this probability at most the limit fails, all in all: δ₁ + δ₂
    conditions: tuple[str, ...]  # what has to be true for all this

    @property
    def share(self) -> float:
        """The limit as a share of what is left."""
        return self.wrong / self.left

    @property
    def vacuous(self) -> bool:
        """True if it says no more than was known without canaries."""
        return self.wrong >= min(self.corrupted, self.left) > 0

    def to_dict(self) -> dict[str, Any]:
        """The limit as plain values, ready for JSON."""
        return {**asdict(self), "share": self.share, "vacuous": self.vacuous}

    def __str__(self) -> str:
        says = "nothing is certified" if self.vacuous else f"at most {self.share:.2%} are wrong"
        return (
            f"{self.kind} attacker: {says} ({self.wrong:,} of {self.left:,}) with probability "
            f"{1 - self.delta:g}, if {self.conditions[0]}: {self.passed:,} of {self.canaries:,} "
            "canaries passed"
        )


def contamination_limit(
    subset: Subset, canaries: Canaries, corrupted: CorruptionLimit | int, *, delta: float = 0.05
) -> ContaminationLimit:
    """Limit the wrong labels in a subset that was chosen blind to the certifying canaries.

    Of the n_c wrong labels outside the canaries and the m' canaries that are wrong, r are in the
    subset. If nothing tells the two apart, X canaries among them is hypergeometric, and r_U is the
    largest r with P(X ≤ x) ≥ δ₁. The canaries dropped, r_U - x are left. A canary that landed on a
    wrong label may be right again: m' = m less a limit on those. `corrupted` is from
    `corruption_limit`, whose δ₂ is taken from δ, or the number of wrong labels outside `avoid` if
    it is known.
    """
    if isinstance(corrupted, CorruptionLimit):
        outside, most, said = corrupted.outside, corrupted.corrupted, corrupted.conditions
        spent = exact(corrupted.delta, "delta")
    else:
        outside, most, spent = corrupted, corrupted, exact(0, "delta")
        said = (*conditions(canaries.kind), "there are no more wrong labels than stated")
    for_count = float(exact(delta, "delta") - spent)
    dropped, own = subset.mask() & canaries.mask(), canaries.certifying
    passed, left = int(dropped[own].sum()), len(subset) - int(dropped.sum())
    if left == 0:
        raise InputError(f"all {len(subset)} chosen examples are canaries; keep more")
    uncounted = most_uncounted(canaries, most, for_count * _FOR_UNCOUNTED)
    counted, both = own.size - uncounted, passed + outside
    if counted > passed:  # else all may be left
        share = for_count * (1 - _FOR_UNCOUNTED)
        both = most_marked(passed, total=counted + outside, drawn=counted, delta=share)
    return ContaminationLimit(
        kind=canaries.kind,
        wrong=min(both - passed, left),
        left=left,
        canaries=own.size,
        passed=passed,
        uncounted=uncounted,
        corrupted=outside,
        both=both,
        delta=float(exact(delta, "delta")),
        conditions=said,
    )


def widest(limits: Iterable[ContaminationLimit]) -> ContaminationLimit:
    """The limit with the largest share: it holds if any one of the attackers is the true one."""
    return max(limits, key=lambda limit: limit.share)


def canary_mask(kinds: Sequence[Canaries], n: int) -> NDArray[np.bool_]:
    """True for every canary of any kind."""
    mask = np.zeros(n, dtype=np.bool_)
    for kind in kinds:
        mask |= kind.mask()
    return mask


def data_limits(
    score: ArrayLike, kinds: Sequence[Canaries], *, delta: float = 0.05, at_most: float = 0.5
) -> tuple[CorruptionLimit, ...]:
    """The limit on wrong labels in all data, one per kind that certifies; it spends half of δ."""
    return tuple(
        corruption_limit(score, kind, delta=delta / 2, at_most=at_most)
        for kind in kinds
        if kind.certifies.any()
    )


def subset_limits(
    chosen: Subset,
    kinds: Sequence[Canaries],
    limits: Sequence[CorruptionLimit],
    *,
    delta: float = 0.05,
    rows: ArrayLike | None = None,
) -> tuple[ContaminationLimit, ...]:
    """The limit on wrong labels in what is used of a subset, one per kind that certifies.

    With those of `data_limits` at the same δ, which it takes, it holds with probability 1 − δ.
    Canaries of other kinds are taken out first: they would pass for clean examples. `rows` marks
    canaries whose own rows, with their given labels, are used too: few canaries fall on wrong
    labels.
    """
    back = np.zeros(chosen.total, dtype=np.bool_) if rows is None else np.asarray(rows)
    if (back & ~canary_mask(kinds, chosen.total)).any():
        raise InputError("rows must be canaries; what else is used belongs into the subset")
    spent = _FOR_ROWS * delta / 2 if back.any() else 0.0
    results = []
    for kind, most in zip((one for one in kinds if one.certifies.any()), limits, strict=True):
        own = chosen
        for other in kinds:
            if other is not kind:
                own = without_canaries(own, other)
        limit = contamination_limit(own, kind, most, delta=delta - spent)
        if back.any():
            each = spent / len(kinds)
            wrong = sum(
                min(int((back & one.mask()).sum()), most_covered(one, most.corrupted, each))
                for one in kinds
            )
            left = limit.left + int(back.sum())
            limit = replace(limit, wrong=min(limit.wrong + wrong, left), left=left, delta=delta)
        results.append(limit)
    return tuple(results)
