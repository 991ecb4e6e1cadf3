"""All checks at once, and the regime they add up to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

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
    FEW_SUSPECTS,
    classes_survive,
    errors_go_both_ways,
    estimate_suspect_share,
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
from dris.core.dynamics.dynamics import Dynamics
from dris.core.scores.formulas import aum_mean
from dris.core.scores.ranks import normalized_ranks, rank_variance
from dris.core.scores.suspicion import contradicted_by_most
from dris.core.subset import top_mask
from dris.core.validate import count_of

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

TESTS = 4  # among the checks: inversion, memorising, natural noise, hiding
NARROW = frozenset({"differ", "spread"})  # too few of the proxies have a view of their own
BROKEN = frozenset({"above chance", "agree"})  # one proxy at least is
UNUSABLE = NARROW | BROKEN
HEAVY_SHARE = 0.3  # of suspects; at a true ε of 0.25 we saw 0.2 to 0.27, at 0.4 0.34 to 0.42


@dataclass(frozen=True, slots=True, eq=False)
class CheckInputs:
    """What a check may look at; `planted` are the choosing canaries, `level` is one test's.

    `suspects` are the labels that most proxies contradict, `share` is how many of the labels that
    are no canary's.
    """

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
    suspects: Mask
    share: float
    probabilities: NDArray[np.float64] | None

    @property
    def classes(self) -> int:
        """C, by the largest label."""
        return int(self.labels.max()) + 1


def _check_inversion(given: CheckInputs) -> Check:
    count = count_of(given.keep, given.variance.size)
    chosen, _ = top_mask(given.variance, count, seed=0, ids=given.dynamics.ids)
    return not_inverted(chosen, given.planted, given.level)


def _check_natural_noise(given: CheckInputs) -> Check:
    plausible = plausibility(given.loss, given.dynamics.snapshot("margin"), given.classes)
    return noise_like_planted(given.suspects, plausible, given.planted, given.share, given.level)


def _check_hiding(given: CheckInputs) -> Check:
    if given.dynamics.out_of_fold is not None:
        return errors_go_both_ways(given.probabilities, given.labels, given.planted)
    score = aum_mean(given.dynamics)
    return no_milder_than_planted(given.suspects, score, given.planted, given.share, given.level)


# Every check, in the order in which people read them: a new one is a function and a line here.
CHECKS: dict[str, Callable[[CheckInputs], Check]] = {
    "complete": lambda i: proxies_complete(i.dynamics.provenance, i.dynamics.proxies),
    "differ": lambda i: proxies_differ(i.loss),
    "above chance": lambda i: proxies_above_chance(
        i.right[:, ~i.planted],
        i.labels[~i.planted],
        one_is_enough=i.dynamics.out_of_fold is not None,
    ),
    "agree": lambda i: proxies_agree(i.ranks),
    "memorised": lambda i: not_memorised(i.right, i.planted, i.classes, i.level),
    "concentration": lambda i: rank_concentration(i.ranks, i.planted),
    "spread": lambda i: rank_spread(i.variance, i.planted),
    "boundary": lambda i: enough_boundary(i.variance, i.planted, i.keep),
    "inversion": _check_inversion,
    "contested": lambda i: disagreement_matters(i.dynamics.correct, i.planted),
    "natural": _check_natural_noise,
    "hiding": _check_hiding,
    "classes": lambda i: classes_survive(i.given, i.keep),
}


@dataclass(frozen=True, slots=True)
class CheckResults:
    """What the choosing canaries show: every check by name, and the share of suspects.

    `suspect_share` is an estimate of ε, not a bound.
    """

    checks: Mapping[str, Check]
    suspect_share: float
    cross_fitted: bool = False

    @property
    def regime(self) -> Regime:
        """The first that applies.

        Out of fold, proxies need not differ and may memorise. Copies make every other check
        meaningless. A broken proxy shows as inversion as well, which says more: how it hurts.
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
        if self.suspect_share >= HEAVY_SHARE:
            return "heavy noise"
        if self.suspect_share >= FEW_SUSPECTS:
            return "moderate noise"
        return "small class" if "classes" in fails else "clean"


def run_checks(
    dynamics: Dynamics,
    planted: Mask,
    given: NDArray[np.int64],
    *,
    keep: float,
    level: float,
    hidden: int = 0,
    probabilities: NDArray[np.float64] | None = None,
) -> CheckResults:
    """Run every check on dynamics whose proxies trained on planted labels.

    Args:
        dynamics: With loss, margin, correctness and the planted labels; two proxies or more.
        planted: True for the canaries that may be looked at.
        given: The labels before planting, by which classes are counted.
        keep: α.
        level: The chance that one of the tests fails although nothing is wrong.
        hidden: How many further canaries there are, which are not to be looked at.
        probabilities: Out of fold, (N, C), where there are folds.
    """
    loss, right = dynamics.snapshot("loss"), dynamics.snapshot("correct")
    suspects = contradicted_by_most(right)
    inputs = CheckInputs(
        dynamics=dynamics,
        planted=planted,
        labels=np.asarray(dynamics.labels),
        given=given,
        keep=keep,
        level=level,
        loss=loss,
        right=right,
        ranks=normalized_ranks(loss),
        variance=rank_variance(loss),
        suspects=suspects,
        share=estimate_suspect_share(suspects, planted, hidden),
        probabilities=probabilities,
    )
    checks = {name: check(inputs) for name, check in CHECKS.items()}
    return CheckResults(checks, inputs.share, dynamics.out_of_fold is not None)


def last_unmemorised_epoch(dynamics: Dynamics, planted: Mask) -> int | None:
    """The last recorded epoch before the scored one at which most canaries are suspects."""
    for epoch in reversed([e for e in dynamics.epochs if e < dynamics.scored_epoch]):
        suspects = contradicted_by_most(dynamics.at(epoch).snapshot("correct"))
        if suspects[planted].mean() >= 0.5:
            return epoch
    return None
