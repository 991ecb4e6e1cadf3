"""All checks at once, and the regime they add up to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.checks.assumption_checks import (
    Mask,
    disagreement_matters,
    enough_boundary,
    not_inverted,
    rank_concentration,
    rank_spread,
)
from dris.core.checks.diagnostics import Check
from dris.core.checks.noise_checks import (
    FEW_DOUBTED,
    classes_survive,
    doubted_share,
    errors_go_both_ways,
    no_milder_than_planted,
    noise_like_planted,
    plausibility,
)
from dris.core.checks.proxy_checks import (
    not_memorised,
    proxies_above_chance,
    proxies_agree,
    proxies_complete,
    proxies_differ,
)
from dris.core.dynamics.columns import labels_for
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import aum_mean
from dris.core.scores.ranks import normalized_ranks, rank_variance
from dris.core.scores.suggestions import doubted_labels
from dris.core.scores.suspicion import unseen_probabilities
from dris.core.subset import top_mask
from dris.core.validate import check_count, check_mask, count_of, exact

Regime = Literal[
    "proxies unusable",
    "memorised",
    "inverted",
    "too easy",
    "natural noise",
    "heavy noise",
    "moderate noise",
    "small class",
    "clean",
]

TESTS = 4  # inversion, memorising, natural noise, hiding: a quarter of the level each
NARROW = frozenset({"differ", "spread"})  # too few of the proxies have a view of their own
BROKEN = frozenset({"above chance", "agree"})  # one proxy at least is
UNUSABLE = NARROW | BROKEN
HEAVY = 0.3  # doubted labels; at a true ε of 0.25 we saw 0.2 to 0.27, at 0.4 0.34 to 0.42


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What a check may look at; `planted` are the choosing canaries, `level` is one test's."""

    dynamics: Dynamics
    planted: Mask
    labels: NDArray[np.int64]
    given: NDArray[np.int64]
    keep: float
    level: float
    loss: NDArray[Any]
    right: NDArray[np.bool_]
    ranks: NDArray[np.float64]
    variance: NDArray[np.float64]
    doubted: Mask
    share: float

    @property
    def classes(self) -> int:
        """C, by the largest label."""
        return int(self.labels.max()) + 1


def _inversion(seen: Seen) -> Check:
    count = count_of(seen.keep, seen.variance.size)
    chosen, _ = top_mask(seen.variance, count, seed=0, ids=seen.dynamics.ids)
    return not_inverted(chosen, seen.planted, seen.level)


def _natural(seen: Seen) -> Check:
    plausible = plausibility(seen.loss, seen.dynamics.snapshot("margin"), seen.classes)
    return noise_like_planted(seen.doubted, plausible, seen.planted, seen.share, seen.level)


def _hiding(seen: Seen) -> Check:
    if seen.dynamics.out_of_fold is None:
        score = aum_mean(seen.dynamics)
        return no_milder_than_planted(seen.doubted, score, seen.planted, seen.share, seen.level)
    return errors_go_both_ways(unseen_probabilities(seen.dynamics), seen.labels, seen.planted)


# Every check, in the order in which people read them: a new one is a function and a line here.
CHECKS: dict[str, Callable[[Seen], Check]] = {
    "complete": lambda s: proxies_complete(s.dynamics.provenance, s.dynamics.proxies),
    "differ": lambda s: proxies_differ(s.loss),
    "above chance": lambda s: proxies_above_chance(
        s.right[:, ~s.planted],
        s.labels[~s.planted],
        one_is_enough=s.dynamics.out_of_fold is not None,
    ),
    "agree": lambda s: proxies_agree(s.ranks),
    "memorised": lambda s: not_memorised(s.right, s.planted, s.classes, s.level),
    "concentration": lambda s: rank_concentration(s.ranks, s.planted),
    "spread": lambda s: rank_spread(s.variance, s.planted),
    "boundary": lambda s: enough_boundary(s.variance, s.planted, s.keep),
    "inversion": _inversion,
    "contested": lambda s: disagreement_matters(s.dynamics.correct, s.planted),
    "natural": _natural,
    "hiding": _hiding,
    "classes": lambda s: classes_survive(s.given, s.keep),
}


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the choosing canaries show: every check by name, and the share of doubted labels.

    `doubted` is an estimate of ε, not a bound.
    """

    checks: Mapping[str, Check]
    doubted: float
    cross_fitted: bool = False

    @property
    def regime(self) -> Regime:
        """The first that applies.

        Who judges out of fold needs no proxies that differ, nor ones that forget.

        Copies make every other check meaningless. A broken proxy shows as inversion as well,
        which says more: how it hurts.
        """
        fails = {name for name, check in self.checks.items() if check.outcome == "fails"}
        if self.cross_fitted:
            fails -= NARROW | {"memorised"}
        if fails & NARROW:
            return "proxies unusable"
        if "memorised" in fails:
            return "memorised"
        if "inversion" in fails:
            return "inverted"
        if fails & BROKEN:
            return "proxies unusable"
        if "contested" in fails:
            return "too easy"
        if "natural" in fails:
            return "natural noise"
        if self.doubted >= HEAVY:
            return "heavy noise"
        if self.doubted >= FEW_DOUBTED:
            return "moderate noise"
        return "small class" if "classes" in fails else "clean"


def assess(
    dynamics: Dynamics,
    planted: ArrayLike,
    given: ArrayLike,
    *,
    keep: float,
    level: float = 0.05,
    hidden: int = 0,
) -> Assessment:
    """Run every check on dynamics whose proxies trained on planted labels.

    Args:
        dynamics: With loss, margin, correctness and the planted labels; two proxies or more.
        planted: True for the canaries that may be looked at.
        given: The labels before planting, by which classes are counted.
        keep: α.
        level: The chance that any of the four tests fails although nothing is wrong.
        hidden: How many further canaries there are, which are not to be looked at.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(600) % 3; planted = np.arange(600) < 60
    >>> shown = (y + planted) % 3
    >>> d = Dynamics.from_logits(4 * np.eye(3)[y] + rng.normal(size=(3, 600, 3)), shown)
    >>> assess(d, planted, y, keep=0.25).regime
    'clean'
    """
    mark = check_mask(planted, dynamics.examples, "planted")
    further = check_count(hidden, "hidden", at_least=0)
    each = float(exact(level, "level")) / TESTS
    if not 0 < each < 1 / TESTS:
        raise InputError(f"level must be in (0, 1), got {level}")
    if dynamics.labels is None:
        raise InputError("a judgement needs labels, these dynamics hold none; pass labels=")
    loss, right = dynamics.snapshot("loss"), dynamics.snapshot("correct")
    doubted = doubted_labels(right)
    seen = Seen(
        dynamics=dynamics,
        planted=mark,
        labels=dynamics.labels,
        given=labels_for(given, mark.size),
        keep=keep,
        level=each,
        loss=loss,
        right=right,
        ranks=normalized_ranks(loss),
        variance=rank_variance(loss),
        doubted=doubted,
        share=doubted_share(doubted, mark, further),
    )
    found = {name: check(seen) for name, check in CHECKS.items()}
    return Assessment(found, seen.share, dynamics.out_of_fold is not None)


def memorised_until(dynamics: Dynamics, planted: Mask) -> int | None:
    """The last recorded epoch before the scored one that has not memorised planted labels.

    >>> import numpy as np
    >>> d = Dynamics.from_arrays(loss=np.ones((2, 2, 3)), correct=np.ones((2, 2, 3), dtype=bool))
    >>> memorised_until(d, np.array([True, False, False])) is None
    True
    """
    for epoch in reversed([e for e in dynamics.epochs if e < dynamics.scored_epoch]):
        right = dynamics.at(epoch).snapshot("correct")
        doubted = doubted_labels(right)
        if doubted[planted].mean() >= 0.5:
            return epoch
    return None
