"""The judgement before deployment: which regime, which rule, and what is certified about it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.data_limit import CorruptionLimit
from dris.core.certify.protocol import canary_mask, data_limits, subset_limits
from dris.core.certify.subset_limit import ContaminationLimit, widest
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
    Assessment,
    Regime,
    assess,
    memorised_until,
)
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.canaries import Canaries, without_canaries
from dris.core.notebook import plain_html
from dris.core.scores.suggestions import doubted_labels
from dris.core.scores.suspicion import suspicion
from dris.core.select.gate import NothingPassesError, canaries_needed
from dris.core.select.rules import CLEAN_THEN_HARD, choose
from dris.core.subset import Subset

Rule = Literal[
    "clean_then_hard",
    "gated",
    "gated_per_class",
    "rank_variance",
    "rank_variance_per_class",
    "aum_mean",
    "random",
    "train other proxies",
]
BY_CLASS: dict[Rule, Rule] = {
    "gated": "gated_per_class",
    "rank_variance": "rank_variance_per_class",
}


TOO_GOOD = "too good to trust, wrong labels are not like canaries"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the canaries say about this data and these proxies.

    Attributes:
        regime: What kind of data this looks like.
        rule: The rule to select with.
        reason: Why, in one sentence.
        checks: Every check by name: holds, fails or cannot tell, with number and threshold.
        doubted: Share of labels that most proxies contradict: an estimate of ε, not a bound.
        keep: α.
        subset: What the rule keeps, canaries dropped; None when other proxies are needed.
        certificates: The limit on wrong labels left in the subset, one per kind of canaries.
        corruption: The limit ε_U on wrong labels in the data, one per kind of canaries.
    """

    regime: Regime
    rule: Rule
    reason: str
    checks: Mapping[str, Check]
    doubted: float
    keep: float
    subset: Subset | None
    certificates: tuple[ContaminationLimit, ...]
    corruption: tuple[CorruptionLimit, ...]

    @property
    def certificate(self) -> ContaminationLimit | None:
        """The headline: the widest limit of all kinds; None when there is no subset to limit."""
        return widest(self.certificates) if self.certificates else None

    @property
    def limit(self) -> CorruptionLimit | None:
        """The widest limit on ε of all kinds; None without certifying canaries."""
        return max(self.corruption, key=lambda c: c.share, default=None)

    @property
    def looks(self) -> str:
        """The regime in words for a person, who must not read that data is clean: nobody can tell.

        Errors that every proxy believes leave no sign.
        """
        return "no sign of wrong labels" if self.regime == "clean" else self.regime

    @property
    def warnings(self) -> tuple[Check, ...]:
        """The checks that fail."""
        return tuple(check for check in self.checks.values() if check.outcome == "fails")

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain values, ready for JSON; a number that is not one is None."""
        return {
            "regime": self.regime,
            "rule": self.rule,
            "reason": self.reason,
            "doubted": self.doubted,
            "keep": self.keep,
            "kept": None if self.subset is None else len(self.subset),
            "checks": {name: _plain(check) for name, check in self.checks.items()},
            "certificates": [] if self.hides else [limit.to_dict() for limit in self.certificates],
            "corruption": [] if self.hides else [limit.to_dict() for limit in self.corruption],
        }

    @property
    def hides(self) -> bool:
        """Whether wrong labels are not like canaries, so that no limit can be trusted.

        They go one way between classes, look milder to proxies without folds, are far more
        plausible than planted ones, or kinds of canaries disagree; or proxies know them by heart.
        """
        unlike = any(check.name in (HIDING, MILDER, KINDS_ALIKE) for check in self.warnings)
        natural = self.checks["natural"]
        plausible = natural.outcome == "fails" and natural.number >= FAR_MORE_PLAUSIBLE
        return unlike or plausible or self.regime == "memorised"

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        found: list[str] = [check.outcome for check in self.checks.values()]
        outcomes = ("holds", "fails", "cannot tell")
        pairs = [
            ("regime", self.looks),
            ("rule", self.rule),
            ("why", self.reason),
            ("checks", ", ".join(f"{found.count(one)} {one}" for one in outcomes)),
        ]
        rows = [(check.name, check.outcome, check.reason) for check in self.warnings]
        header = ("check that fails", "", "why") if rows else ()
        return plain_html("Judgement", pairs, header=header, rows=rows)


def judge(
    dynamics: Dynamics,
    canaries: Canaries | Sequence[Canaries],
    *,
    keep: float,
    level: float = 0.05,
    delta: float = 0.05,
    at_most: float = 0.5,
    seed: int = 0,
) -> Judgement:
    """Say what kind of data this is, which rule fits it, and how much corruption it leaves.

    Checks and the choice of a rule look at the choosing canaries only, limits at the certifying
    ones only, so that choosing does not flatter the limits.

    Args:
        dynamics: From proxies that trained on the planted labels; two or more, with margins.
        canaries: From `plant_canaries`; or several kinds planted one after the other, of which
            the checks read the first.
        keep: α, the share of the examples to keep.
        level: The chance that a test among the checks fails although nothing is wrong.
        delta: The chance that a limit fails.
        at_most: A share of wrong labels that is surely not exceeded (see `corruption_limit`).
        seed: Breaks ties, and draws where the rule draws.

    >>> from dris.core.noise.canaries import plant_canaries
    >>> rng = np.random.default_rng(0)
    >>> truth = np.arange(4000) % 4
    >>> canaries = plant_canaries(truth, rng=rng)
    >>> logits = 4 * np.eye(4)[truth] + rng.normal(size=(3, 4000, 4))
    >>> found = judge(Dynamics.from_logits(logits, canaries.planted), canaries, keep=0.25)
    >>> found.regime, found.rule
    ('clean', 'rank_variance')
    """
    if not 0 < level < 1:
        raise InputError(f"level must be in (0, 1), got {level}")
    kinds = (canaries,) if isinstance(canaries, Canaries) else tuple(canaries)
    mark = _checked(dynamics, kinds)
    hidden = sum(len(kind) for kind in kinds) - int(mark.sum())
    each = level / (TESTS + len(kinds) - 1)
    given = kinds[0].given
    found = assess(dynamics, mark, given, keep=keep, level=each * TESTS, hidden=hidden)
    checks = {**found.checks, **_kinds(dynamics, kinds, each)}
    rule, reason = _recommended(dynamics, mark, found)
    corruption = data_limits(-suspicion(dynamics), kinds, delta=delta, at_most=at_most)
    subset = None
    certificates: tuple[ContaminationLimit, ...] = ()
    if rule != "train other proxies":
        planted = canary_mask(kinds, dynamics.examples)
        rule, reason, chosen = _selected(rule, reason, dynamics, mark, planted, keep, seed)
        certificates = subset_limits(chosen, kinds, corruption, delta=delta)
        subset = _without(chosen, kinds)
    return Judgement(
        regime=found.regime,
        rule=rule,
        reason=reason,
        checks=checks,
        doubted=found.doubted,
        keep=keep,
        subset=subset,
        certificates=certificates,
        corruption=corruption,
    )


def _without(subset: Subset, kinds: Sequence[Canaries]) -> Subset:
    for kind in kinds:
        subset = without_canaries(subset, kind)
    return subset


def _checked(dynamics: Dynamics, kinds: Sequence[Canaries]) -> Mask:
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
    mark = np.zeros(dynamics.examples, dtype=np.bool_)
    mark[kinds[0].choosing.positions] = True
    if not mark.any():
        raise InputError("there are no choosing canaries; plant with choosing above 0")
    return mark


def _kinds(dynamics: Dynamics, kinds: Sequence[Canaries], level: float) -> dict[str, Check]:
    """The first kind beside each other one: how many choosing canaries go undoubted."""
    doubted = doubted_labels(dynamics.snapshot("correct"))
    passed = [int((~doubted[kind.choosing.positions]).sum()) for kind in kinds]
    planted = [kind.choosing.positions.size for kind in kinds]
    return {
        f"{kinds[0].kind} and {kinds[k].kind}": kinds_alike(
            (passed[0], planted[0]), (passed[k], planted[k]), level
        )
        for k in range(1, len(kinds))
        if planted[k]
    }


def _recommended(dynamics: Dynamics, mark: Mask, found: Assessment) -> tuple[Rule, str]:
    about = f"about {found.doubted:.0%} of the labels are doubted"
    need = canaries_needed()
    unseen = dynamics.out_of_fold is not None
    # Who judges out of fold needs proxies that know something, not proxies that differ.
    fatal = BROKEN if unseen else UNUSABLE
    broken = [c for name, c in found.checks.items() if c.outcome == "fails" and name in fatal]
    if broken:
        return "train other proxies", f"{broken[0].name}: no; {broken[0].reason}"
    if unseen:
        return (
            CLEAN_THEN_HARD,
            f"{about}; drop those that proxies find unlikely which never saw them",
        )
    if found.regime == "memorised":
        earlier = memorised_until(dynamics, mark)
        how = "train shorter" if earlier is None else f"score epoch {earlier}, or train shorter"
        return "train other proxies", f"the proxies know planted labels by heart; {how}"
    if found.regime == "too easy":
        return "random", "no example is contested, so that no score has anything to choose by"
    if found.regime == "clean":
        return "rank_variance", "nothing to drop, and rank variance does not collect wrong labels"
    if found.regime == "small class":
        return "rank_variance_per_class", "a class would vanish; let each class keep its share"
    if mark.sum() < need:
        return (
            "aum_mean",
            f"{about}, and a gate needs {need} choosing canaries, there are {mark.sum()}",
        )
    if found.regime == "inverted":
        return "gated", "rank variance collects wrong labels here; drop what looks wrong first"
    if found.regime == "natural noise":
        return "gated", (
            f"{about}, and more plausible than planted ones: natural noise or hard examples, of "
            "which the gate drops the clearest; audit what is left"
        )
    if found.regime == "heavy noise":
        return "gated", f"{about}, past what rank variance can reject; drop them first"
    return "gated", f"{about}; drop them first, then choose"


def _selected(
    rule: Rule,
    reason: str,
    dynamics: Dynamics,
    mark: Mask,
    planted: Mask,
    keep: float,
    seed: int,
) -> tuple[Rule, str, Subset]:
    """What the rule keeps, blind to all but the choosing canaries; by class if one starves."""
    try:
        subset = choose(rule, dynamics, keep=keep, choosing=mark, seed=seed)
        closed = not (subset.mask() & ~planted).any()
    except NothingPassesError:
        closed = True
    if closed:
        rule = "aum_mean"
        reason += "; nothing passes the gate, so take the largest margins, and audit them"
        subset = choose(rule, dynamics, keep=keep, choosing=mark, seed=seed)
    starved = starved_class(subset.mask(), _labels(dynamics))
    if starved is None or rule not in BY_CLASS:
        return rule, reason, subset
    reason += "; by class, for class {} would keep {}".format(*starved)
    by_class = BY_CLASS[rule]
    subset = choose(by_class, dynamics, keep=keep, choosing=mark, seed=seed)
    return by_class, reason, subset


def _labels(dynamics: Dynamics) -> NDArray[np.int64]:
    if dynamics.labels is None:
        raise InputError("a judgement needs labels, these dynamics hold none; pass labels=")
    return dynamics.labels


def _plain(check: Check) -> dict[str, Any]:
    values = asdict(check)
    return {
        k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()
    }


def _lines(j: Judgement) -> list[str]:
    head = [f"{j.looks}: use {j.rule}" if j.subset is not None else f"{j.looks}: {j.rule}"]
    head.append(f"  why      {j.reason}.")
    if j.hides:
        head.append(f"  left     no limit is given: it would be {TOO_GOOD}")
    elif j.certificate is not None:
        head.append(f"  left     {j.certificate}")
    elif j.subset is not None:
        head.append("  left     nothing of use is certified about what is kept")
    if j.limit is not None and not j.hides:
        head.append(f"  in all   {j.limit}")
    for check in j.checks.values():
        head.append(
            f"  {check.outcome:<12} {check.name} ({check.number:.3g} against {check.threshold:.3g})"
        )
        if check.outcome != "holds":
            head.append(f"  {'':<12} {check.reason}")
    return head
