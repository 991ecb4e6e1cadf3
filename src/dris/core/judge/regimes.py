"""All checks at once, and the regime they add up to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from dris.core.checks import checked_count, checked_mask, count_of, exact
from dris.core.choose.selection import top_mask
from dris.core.dynamics.columns import labels_for
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.core.judge.assumption_checks import (
    Mask,
    disagreement_matters,
    enough_boundary,
    not_inverted,
    rank_concentration,
    rank_spread,
)
from dris.core.judge.diagnostics import Verdict
from dris.core.judge.noise_checks import (
    FEW_DOUBTED,
    classes_survive,
    doubted_labels,
    doubted_share,
    no_milder_than_planted,
    noise_like_planted,
    plausibility,
)
from dris.core.judge.proxy_checks import (
    not_memorised,
    proxies_above_chance,
    proxies_agree,
    proxies_complete,
    proxies_differ,
)
from dris.core.scores.formulas import aum_mean
from dris.core.scores.ranks import normalized_ranks, rank_variance

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

TESTS = 4  # inversion, memorising, natural noise, hiding: each at level/4 (Bonferroni)
NARROW = frozenset({"differ", "spread"})  # too few of the proxies have a view of their own
BROKEN = frozenset({"above chance", "agree"})  # one proxy at least is
UNUSABLE = NARROW | BROKEN
HEAVY = 0.3  # doubted labels; at a true ε of 0.25 we saw 0.2 to 0.27, at 0.4 0.34 to 0.42


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the choosing canaries show: every check by name, and the share of doubted labels.

    `doubted` is an estimate of ε, not a bound.
    """

    checks: Mapping[str, Verdict]
    doubted: float

    @property
    def regime(self) -> Regime:
        """The first that applies.

        Copies make every other check meaningless. A broken proxy shows as inversion as well,
        which says more: how it hurts.
        """
        fails = {name for name, check in self.checks.items() if check.outcome == "fails"}
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
    mark = checked_mask(planted, dynamics.examples, "planted")
    further = checked_count(hidden, "hidden", at_least=0)
    each = float(exact(level, "level")) / TESTS
    if not 0 < each < 1 / TESTS:
        raise InputError(f"level must be in (0, 1), got {level}")
    if dynamics.labels is None:
        raise InputError("a verdict needs labels, these dynamics hold none; pass labels=")
    loss, margin, right = (dynamics.snapshot(name) for name in ("loss", "margin", "correct"))
    ranks, variance = normalized_ranks(loss), rank_variance(loss)
    chosen, _ = top_mask(variance, count_of(keep, variance.size), seed=0, ids=dynamics.ids)
    labels, classes = dynamics.labels, int(dynamics.labels.max()) + 1
    doubted = doubted_labels(right)
    share = doubted_share(doubted, mark, further)
    plausible = plausibility(loss, margin, classes)
    checks = {
        "complete": proxies_complete(dynamics.provenance, dynamics.proxies),
        "differ": proxies_differ(loss),
        "above chance": proxies_above_chance(right[:, ~mark], labels[~mark]),
        "agree": proxies_agree(ranks),
        "memorised": not_memorised(right, mark, classes, each),
        "concentration": rank_concentration(ranks, mark),
        "spread": rank_spread(variance, mark),
        "boundary": enough_boundary(variance, mark, keep),
        "inversion": not_inverted(chosen, mark, each),
        "contested": disagreement_matters(dynamics.correct, mark),
        "natural": noise_like_planted(doubted, plausible, mark, share, each),
        "hiding": no_milder_than_planted(doubted, aum_mean(dynamics), mark, share, each),
        "classes": classes_survive(labels_for(given, mark.size), keep),
    }
    return Assessment(checks, share)


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
