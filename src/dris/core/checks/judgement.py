"""What kind of data this is and which rule fits it, by the canaries that may be looked at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dris.core.certify.limits import canary_mask
from dris.core.checks.assumption_checks import (
    FAR_MORE_PLAUSIBLE,
    FEW_SUSPECTS,
    HIDING,
    KINDS_ALIKE,
    MILDER,
    Check,
    Labels,
    Mask,
    classes_survive,
    disagreement_matters,
    enough_boundary,
    errors_go_both_ways,
    estimate_suspect_share,
    kinds_alike,
    no_milder_than_planted,
    noise_like_planted,
    not_inverted,
    not_memorised,
    plausibility,
    proxies_above_chance,
    proxies_agree,
    proxies_complete,
    proxies_differ,
    rank_concentration,
    rank_spread,
    starved_class,
)
from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.assessment import Assessment, assess, contradicted_by_most
from dris.core.noise.canaries import Canaries
from dris.core.scores.formulas import aum_mean
from dris.core.scores.ranks import normalized_ranks, rank_variance
from dris.core.select.gate import NothingPassesError, canaries_needed
from dris.core.select.rules import CLEAN_THEN_HARD, choose
from dris.core.subset import Subset, top_mask
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
RuleName = Literal[
    "clean_then_hard",
    "gated",
    "gated_per_class",
    "rank_variance",
    "rank_variance_per_class",
    "aum_mean",
    "random",
    "train other proxies",
]
BY_CLASS: dict[RuleName, RuleName] = {
    "gated": "gated_per_class",
    "rank_variance": "rank_variance_per_class",
}

LEVEL = 0.05  # the chance that a test among the checks fails although nothing is wrong
TESTS = 4  # among the checks: inversion, memorising, natural noise, hiding
NARROW = frozenset({"differ", "spread"})  # too few of the proxies have a view of their own
BROKEN = frozenset({"above chance", "agree"})  # one proxy at least is
HEAVY_SHARE = 0.3  # of suspects; at a true ε of 0.25 we saw 0.2 to 0.27, at 0.4 0.34 to 0.42

# What a failed check makes of the data; the first that applies counts. Copies make every other
# check meaningless. A broken proxy shows as inversion as well, which says more: how it hurts.
_REGIMES: tuple[tuple[frozenset[str], Regime], ...] = (
    (NARROW, "proxies unusable"),
    (frozenset({"memorised"}), "memorised"),
    (frozenset({"inversion"}), "inverted"),
    (BROKEN, "proxies unusable"),
    (frozenset({"contested"}), "too easy"),
    (frozenset({"natural"}), "natural noise"),
)


@dataclass(frozen=True, slots=True)
class CheckResults:
    """What the choosing canaries show."""

    checks: Mapping[str, Check]  # by name
    suspect_share: float  # an estimate of ε, not a bound
    cross_fitted: bool = False

    @property
    def regime(self) -> Regime:
        """What kind of data this looks like."""
        fails = {name for name, check in self.checks.items() if check.outcome == "fails"}
        if self.cross_fitted:  # out of fold, proxies need not differ and may memorise
            fails -= NARROW | {"memorised"}
        for names, regime in _REGIMES:
            if fails & names:
                return regime
        if self.suspect_share >= HEAVY_SHARE:
            return "heavy noise"
        if self.suspect_share >= FEW_SUSPECTS:
            return "moderate noise"
        return "small class" if "classes" in fails else "clean"


def run_checks(
    dynamics: Dynamics,
    planted: Mask,
    given: Labels,
    *,
    keep: float,
    level: float,
    hidden: int = 0,
    assessment: Assessment | None = None,
) -> CheckResults:
    """Run every check on dynamics whose proxies trained on planted labels.

    `planted` marks the canaries that may be looked at, `hidden` counts the others; `given` are the
    labels before planting; `level` is one test's.
    """
    loss, right = dynamics.snapshot("loss"), dynamics.snapshot("correct")
    labels, suspects = np.asarray(dynamics.labels), contradicted_by_most(right)
    ranks, variance, classes = normalized_ranks(loss), rank_variance(loss), int(labels.max()) + 1
    chosen = top_mask(variance, count_of(keep, variance.size), seed=0, ids=dynamics.ids)
    share = estimate_suspect_share(suspects, planted, hidden)
    plausible = plausibility(loss, dynamics.snapshot("margin"), classes)
    folds = dynamics.out_of_fold is not None
    seen = (None, None) if assessment is None else (assessment.guess, assessment.certainty)
    # In the order in which people read them: a new one is a function and a line here.
    checks = {
        "complete": proxies_complete(dynamics.provenance, dynamics.proxies),
        "differ": proxies_differ(loss),
        "above chance": proxies_above_chance(
            right[:, ~planted], labels[~planted], one_is_enough=folds
        ),
        "agree": proxies_agree(ranks),
        "memorised": not_memorised(right, planted, classes, level),
        "concentration": rank_concentration(ranks, planted),
        "spread": rank_spread(variance, planted),
        "boundary": enough_boundary(variance, planted, keep),
        "inversion": not_inverted(chosen, planted, level),
        "contested": disagreement_matters(dynamics.correct, planted),
        "natural": noise_like_planted(suspects, plausible, planted, share, level),
        "hiding": errors_go_both_ways(*seen, labels, planted)
        if folds
        else no_milder_than_planted(suspects, aum_mean(dynamics), planted, share, level),
        "classes": classes_survive(given, keep),
    }
    return CheckResults(checks, share, folds)


def last_unmemorised_epoch(dynamics: Dynamics, planted: Mask) -> int | None:
    """The last recorded epoch before the scored one at which most canaries are suspects."""
    for epoch in [e for e in dynamics.epochs if e < dynamics.scored_epoch][::-1]:
        suspects = contradicted_by_most(dynamics.at(epoch).snapshot("correct"))
        if suspects[planted].mean() >= 0.5:
            return epoch
    return None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the canaries say about this data and these proxies."""

    regime: Regime  # what kind of data this looks like
    rule: RuleName  # the rule to select with
    reason: str  # why, in one sentence
    checks: Mapping[str, Check]  # by name
    suspect_share: float  # of labels that most proxies contradict: an estimate of ε, not a bound
    keep: float  # α
    # what the rule keeps of everything, canaries included; None when other proxies are needed
    subset: Subset | None

    @property
    def looks(self) -> str:
        """The regime in words that do not call data clean, which nobody can tell."""
        return "no sign of wrong labels" if self.regime == "clean" else self.regime

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that fail."""
        return tuple(check for check in self.checks.values() if check.outcome == "fails")

    @property
    def hides(self) -> bool:
        """Whether wrong labels are not like canaries, so that no limit can be trusted."""
        unlike = any(check.name in (HIDING, MILDER, KINDS_ALIKE) for check in self.failed)
        natural = self.checks["natural"]
        plausible = natural.outcome == "fails" and natural.number >= FAR_MORE_PLAUSIBLE
        return unlike or plausible or self.regime == "memorised"

    def to_dict(self) -> dict[str, Any]:
        """The judgement as plain values, ready for JSON; a number that is not finite is None."""
        return {
            "regime": self.regime,
            "rule": self.rule,
            "reason": self.reason,
            "suspect_share": self.suspect_share,
            "keep": self.keep,
            "checks": {name: _plain(check) for name, check in self.checks.items()},
        }


def judge(
    dynamics: Dynamics,
    canaries: Canaries | Sequence[Canaries],
    *,
    keep: float,
    seed: int = 0,
    assessment: Assessment | None = None,
) -> Judgement:
    """Say what kind of data this is, and which rule fits it.

    Only the choosing canaries are looked at, so that limits can rest on the certifying ones; of
    several kinds, planted one after the other, the checks read the first.
    """
    kinds = (canaries,) if isinstance(canaries, Canaries) else tuple(canaries)
    choosing = np.zeros(dynamics.examples, dtype=np.bool_)
    choosing[kinds[0].choosing] = True
    assessment = assess(dynamics) if assessment is None else assessment
    level = LEVEL / (TESTS + len(kinds) - 1)
    results = run_checks(
        dynamics,
        choosing,
        kinds[0].given,
        keep=keep,
        level=level,
        hidden=sum(len(kind) for kind in kinds) - int(choosing.sum()),
        assessment=assessment,
    )
    rule, reason = _recommend(dynamics, choosing, results)
    subset = None
    if rule != "train other proxies":
        how: dict[str, Any] = {
            "keep": keep,
            "choosing": choosing,
            "seed": seed,
            "assessment": assessment,
        }
        select = partial(choose, dynamics=dynamics, **how)
        planted = canary_mask(kinds, dynamics.examples)
        rule, reason, subset = _select(rule, reason, select, planted, np.asarray(dynamics.labels))
    checks = {**results.checks, **_compare_kinds(dynamics, kinds, level)}
    return Judgement(
        results.regime, rule, reason, checks, results.suspect_share, keep=keep, subset=subset
    )


def _compare_kinds(dynamics: Dynamics, kinds: Sequence[Canaries], level: float) -> dict[str, Check]:
    """The first kind beside each other one: how many choosing canaries are no suspects."""
    suspects = contradicted_by_most(dynamics.snapshot("correct"))
    passed = [(int((~suspects[kind.choosing]).sum()), kind.choosing.size) for kind in kinds]
    return {
        f"{kinds[0].kind} and {kind.kind}": kinds_alike(passed[0], own, level)
        for kind, own in zip(kinds[1:], passed[1:], strict=True)
        if own[1]
    }


def _recommend(dynamics: Dynamics, choosing: Mask, results: CheckResults) -> tuple[RuleName, str]:
    """The rule that fits the regime, and why."""
    about = f"about {results.suspect_share:.0%} of the labels are suspects"
    need, have = canaries_needed(), int(choosing.sum())
    folds = dynamics.out_of_fold is not None
    # Out of fold it takes proxies that know something, not proxies that differ.
    fatal = BROKEN if folds else NARROW | BROKEN
    broken = [c for name, c in results.checks.items() if c.outcome == "fails" and name in fatal]
    if broken:
        return "train other proxies", f"{broken[0].name}: no; {broken[0].reason}"
    if folds:
        return CLEAN_THEN_HARD, "drop labels whose P(wrong) is above one half"
    regime = results.regime
    if regime == "memorised":
        earlier = last_unmemorised_epoch(dynamics, choosing)
        how = "train shorter" if earlier is None else f"score epoch {earlier}, or train shorter"
        return "train other proxies", f"the proxies memorised the canaries; {how}"
    if regime == "too easy":
        return "random", "the proxies agree on every example, so no score has anything to choose by"
    if regime == "clean":
        return "rank_variance", "nothing to drop, and rank variance does not collect wrong labels"
    if regime == "small class":
        return "rank_variance_per_class", "a class would vanish; let each class keep its share"
    if have < need:
        return "aum_mean", f"{about}, and a gate needs {need} choosing canaries, there are {have}"
    why = {
        "inverted": "rank variance collects wrong labels here; drop suspects first",
        "natural noise": f"{about}, and more plausible than canaries: natural noise or hard "
        "examples, of which the gate drops the clearest; audit what is left",
        "heavy noise": f"{about}, past what rank variance can reject; drop them first",
    }
    return "gated", why.get(regime, f"{about}; drop them first, then choose")


def _select(
    rule: RuleName, reason: str, select: Callable[[str], Subset], planted: Mask, labels: Labels
) -> tuple[RuleName, str, Subset]:
    """What the rule keeps, blind to all but the choosing canaries; by class if one starves."""
    try:
        subset = select(rule)
        closed = not (subset.mask() & ~planted).any()
    except NothingPassesError:
        closed = True
    if closed:
        rule = "aum_mean"
        reason += "; nothing passes the gate, so take the largest margins, and audit them"
        subset = select(rule)
    starved = starved_class(subset.mask(), labels)
    if starved is None or rule not in BY_CLASS:
        return rule, reason, subset
    reason += "; by class, for class {} would keep {}".format(*starved)
    return BY_CLASS[rule], reason, select(BY_CLASS[rule])


def _plain(check: Check) -> dict[str, Any]:
    values = asdict(check)
    return {
        k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()
    }
