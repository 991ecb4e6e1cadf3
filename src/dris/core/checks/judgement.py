"""What kind of data this is and which rule fits it, by the canaries that may be looked at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dris.core.certify.limits import canary_mask
from dris.core.checks.assumption_checks import (
    BROKEN,
    FAR_MORE_PLAUSIBLE,
    HIDING,
    KINDS_ALIKE,
    MILDER,
    NARROW,
    Check,
    CheckResults,
    Labels,
    Mask,
    Regime,
    kinds_alike,
    run_checks,
    starved_class,
)
from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.assessment import Assessment, assess, contradicted_by_most
from dris.core.noise.canaries import Canaries
from dris.core.select.gate import NothingPassesError, canaries_needed
from dris.core.select.rules import CLEAN_THEN_HARD, choose
from dris.core.subset import Subset

_PerClass = Literal["gated_per_class", "rank_variance_per_class"]
_Whole = Literal["clean_then_hard", "gated", "rank_variance", "aum_mean", "random"]
RuleName = Literal[_Whole, _PerClass, "train other proxies"]
BY_CLASS: dict[RuleName, RuleName] = {
    "gated": "gated_per_class",
    "rank_variance": "rank_variance_per_class",
}

LEVEL = 0.05  # the chance that a test among the checks fails although nothing is wrong
TESTS = 4  # among the checks: inversion, memorising, natural noise, hiding


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
        plain = {n: getattr(self, n) for n in ("regime", "rule", "reason", "suspect_share", "keep")}
        return plain | {"checks": {name: _plain(check) for name, check in self.checks.items()}}


def judge(
    dynamics: Dynamics,
    canaries: Canaries | Sequence[Canaries],
    *,
    keep: float,
    seed: int = 0,
    assessment: Assessment | None = None,
    names: Sequence[str] = (),
) -> Judgement:
    """What kind of data this is, and which rule fits it, by the choosing canaries alone."""
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
        names=names,
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
    about = f"about {100 * results.suspect_share:.0f} % of the labels are suspects"
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
