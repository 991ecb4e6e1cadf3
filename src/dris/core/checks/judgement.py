"""What kind of data this is and which rule fits it, by the canaries that may be looked at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.protocol import canary_mask
from dris.core.checks.assumption_checks import Mask
from dris.core.checks.diagnostics import Check
from dris.core.checks.noise_checks import (
    FAR_MORE_PLAUSIBLE,
    HIDING,
    KINDS_ALIKE,
    MILDER,
    kinds_alike,
    starved_class,
)
from dris.core.checks.regimes import (
    BROKEN,
    TESTS,
    UNUSABLE,
    CheckResults,
    Regime,
    last_unmemorised_epoch,
    run_checks,
)
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.assessment import Assessment, assess
from dris.core.noise.canaries import Canaries
from dris.core.scores.suspicion import contradicted_by_most
from dris.core.select.gate import NothingPassesError, canaries_needed
from dris.core.select.rules import CLEAN_THEN_HARD, choose
from dris.core.subset import Subset

Labels = NDArray[np.int64]
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the canaries say about this data and these proxies.

    Attributes:
        regime: What kind of data this looks like.
        rule: The rule to select with.
        reason: Why, in one sentence.
        checks: Every check by name: holds, fails or cannot tell, with number and threshold.
        suspect_share: Share of labels that most proxies contradict: an estimate of ε, not a bound.
        keep: α.
        subset: What the rule keeps of everything, canaries included; None when other proxies are
            needed.
    """

    regime: Regime
    rule: RuleName
    reason: str
    checks: Mapping[str, Check]
    suspect_share: float
    keep: float
    subset: Subset | None

    @property
    def looks(self) -> str:
        """The regime in words for a person, who must not read that data is clean: nobody can tell.

        Errors that every proxy believes leave no sign.
        """
        return "no sign of wrong labels" if self.regime == "clean" else self.regime

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that fail."""
        return tuple(check for check in self.checks.values() if check.outcome == "fails")

    @property
    def hides(self) -> bool:
        """Whether wrong labels are not like canaries, so that no limit can be trusted.

        They go one way between classes, look milder to proxies without folds, are far more
        plausible than planted ones, or kinds of canaries disagree; or proxies memorised them.
        """
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
    level: float = 0.05,
    seed: int = 0,
    assessment: Assessment | None = None,
) -> Judgement:
    """Say what kind of data this is, and which rule fits it.

    Only the choosing canaries are looked at, so that limits can rest on the certifying ones.

    Args:
        dynamics: From proxies that were asked about the planted labels; two or more, with margins.
        canaries: From `plant_canaries`; or several kinds planted one after the other, of which
            the checks read the first.
        keep: α, the share of the examples to keep.
        level: The chance that a test among the checks fails although nothing is wrong.
        seed: Breaks ties, and draws where the rule draws.
        assessment: What the ensemble thinks of every label; computed unless given.
    """
    if not 0 < level < 1:
        raise InputError(f"level must be in (0, 1), got {level}")
    kinds = (canaries,) if isinstance(canaries, Canaries) else tuple(canaries)
    choosing = _choosing(dynamics, kinds)
    assessment = assess(dynamics) if assessment is None else assessment
    hidden = sum(len(kind) for kind in kinds) - int(choosing.sum())
    each = level / (TESTS + len(kinds) - 1)
    results = run_checks(
        dynamics,
        choosing,
        kinds[0].given,
        keep=keep,
        level=each,
        hidden=hidden,
        probabilities=assessment.probabilities,
    )
    rule, reason = _recommend(dynamics, choosing, results)
    subset = None
    if rule != "train other proxies":
        select = partial(
            choose,
            dynamics=dynamics,
            keep=keep,
            choosing=choosing,
            seed=seed,
            assessment=assessment,
        )
        planted = canary_mask(kinds, dynamics.examples)
        rule, reason, subset = _select(rule, reason, select, planted, _labels(dynamics))
    return Judgement(
        regime=results.regime,
        rule=rule,
        reason=reason,
        checks={**results.checks, **_compare_kinds(dynamics, kinds, each)},
        suspect_share=results.suspect_share,
        keep=keep,
        subset=subset,
    )


def _choosing(dynamics: Dynamics, kinds: Sequence[Canaries]) -> Mask:
    """The mask of the choosing canaries of the first kind."""
    if not kinds:
        raise InputError("there are no canaries; plant some with plant_canaries")
    labels = _labels(dynamics)
    for kind in kinds:
        if kind.given.size != dynamics.examples:
            raise InputError(
                f"dynamics and canaries must be of one data set, got {dynamics.examples} and "
                f"{kind.given.size} examples"
            )
        at = kind.positions
        if not np.array_equal(labels[at], kind.planted[at]):
            raise InputError(
                f"these proxies did not train on the planted labels of the {kind.kind} canaries; "
                "train them on canaries.planted"
            )
    mask = np.zeros(dynamics.examples, dtype=np.bool_)
    mask[kinds[0].choosing.positions] = True
    if not mask.any():
        raise InputError("there are no choosing canaries; plant with choosing above 0")
    return mask


def _compare_kinds(dynamics: Dynamics, kinds: Sequence[Canaries], level: float) -> dict[str, Check]:
    """The first kind beside each other one: how many choosing canaries are no suspects."""
    suspects = contradicted_by_most(dynamics.snapshot("correct"))
    passed = [int((~suspects[kind.choosing.positions]).sum()) for kind in kinds]
    planted = [kind.choosing.positions.size for kind in kinds]
    return {
        f"{kinds[0].kind} and {kinds[k].kind}": kinds_alike(
            (passed[0], planted[0]), (passed[k], planted[k]), level
        )
        for k in range(1, len(kinds))
        if planted[k]
    }


def _recommend(dynamics: Dynamics, choosing: Mask, results: CheckResults) -> tuple[RuleName, str]:
    """The rule that fits the regime, and why."""
    about = f"about {results.suspect_share:.0%} of the labels are suspects"
    need, have = canaries_needed(), int(choosing.sum())
    folds = dynamics.out_of_fold is not None
    # Out of fold it takes proxies that know something, not proxies that differ.
    fatal = BROKEN if folds else UNUSABLE
    broken = [c for name, c in results.checks.items() if c.outcome == "fails" and name in fatal]
    if broken:
        return "train other proxies", f"{broken[0].name}: no; {broken[0].reason}"
    if folds:
        return (
            CLEAN_THEN_HARD,
            f"{about}; drop labels that proxies not trained on them find unlikely",
        )
    if results.regime == "memorised":
        earlier = last_unmemorised_epoch(dynamics, choosing)
        how = "train shorter" if earlier is None else f"score epoch {earlier}, or train shorter"
        return "train other proxies", f"the proxies memorised planted labels; {how}"
    if results.regime == "too easy":
        return "random", "no example is contested, so that no score has anything to choose by"
    if results.regime == "clean":
        return "rank_variance", "nothing to drop, and rank variance does not collect wrong labels"
    if results.regime == "small class":
        return "rank_variance_per_class", "a class would vanish; let each class keep its share"
    if have < need:
        return "aum_mean", f"{about}, and a gate needs {need} choosing canaries, there are {have}"
    if results.regime == "inverted":
        return "gated", "rank variance collects wrong labels here; drop what looks wrong first"
    if results.regime == "natural noise":
        return "gated", (
            f"{about}, and more plausible than planted ones: natural noise or hard examples, of "
            "which the gate drops the clearest; audit what is left"
        )
    if results.regime == "heavy noise":
        return "gated", f"{about}, past what rank variance can reject; drop them first"
    return "gated", f"{about}; drop them first, then choose"


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


def _labels(dynamics: Dynamics) -> Labels:
    if dynamics.labels is None:
        raise InputError("a judgement needs labels, these dynamics hold none; pass labels=")
    return dynamics.labels


def _plain(check: Check) -> dict[str, Any]:
    values = asdict(check)
    return {
        k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()
    }
