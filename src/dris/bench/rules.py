"""The rules that are compared: each turns what the proxies said into a subset.

A rule with a parameter carries it in its name: "hybrid:0.25" is the score of that β,
"uniform_hybrid:0.5" keeps half of its subset by rank variance and draws the other half,
"rank_variance@4" looks at epoch 4.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dris.core.choose.gate import CHOOSERS, DEFAULT_GATED, GatedRule, select_gated
from dris.core.choose.selection import Subset, keep_top, mix_uniform, remove_bottom, stratified
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import SCORES, Score, hybrid


@dataclass(frozen=True, slots=True)
class Judged:
    """What the proxies said of one noisy data set; each ensemble trains when it is asked for.

    Attributes:
        plain: Proxies on the given labels, for the rules without canaries.
        planted: Proxies on the labels with canaries, for the gated rules.
        unseen: Proxies judging only what they did not train on, for confident learning.
        canaries: Which labels were flipped for `planted`.
    """

    plain: Callable[[], Dynamics]
    planted: Callable[[], Dynamics]
    unseen: Callable[[], Dynamics]
    canaries: NDArray[np.bool_]


Rule = Callable[[Judged, float, int], Subset]


def _top(score: str) -> Rule:
    # The score is looked up when it is needed: a test shuffles one.
    return _top_of(lambda dynamics: SCORES[score](dynamics))


def _top_of(score: Callable[[Dynamics], Score]) -> Rule:
    return lambda judged, keep, seed: keep_top(
        score(judged.plain()), fraction=keep, seed=seed, ids=judged.plain().ids
    )


def _aum_remove(judged: Judged, keep: float, seed: int) -> Subset:
    score = SCORES["aum"](judged.plain())
    return remove_bottom(score, fraction=keep, seed=seed, ids=judged.plain().ids)


def _confident_learning(judged: Judged, keep: float, seed: int) -> Subset:
    """Remove as many as look mislabelled, lowest first, then choose uniformly.

    An example looks mislabelled when another class is likelier than its label and its label less
    likely than usual for that label.
    """
    unseen = judged.unseen()
    score = SCORES["confident_learning"](unseen)
    margin = unseen.snapshot("margin").mean(axis=0)
    issues = float(((score < 0) & (margin < 0)).mean())
    removed = min(round(issues, 6), round(1 - keep, 6))
    return remove_bottom(score, fraction=keep, remove=removed, seed=seed, ids=unseen.ids)


def _coverage(judged: Judged, keep: float, seed: int) -> Subset:
    """Coverage-centric: drop the lowest AUM, then spread evenly over its range."""
    drop = min(0.1, round(1 - keep, 6))
    score = SCORES["aum"](judged.plain())
    return stratified(score, fraction=keep, drop=drop, seed=seed, ids=judged.plain().ids)


def gated_rule(rule: GatedRule, *, fill: bool = False) -> Rule:
    """A gated rule on the proxies that saw the canaries."""
    return lambda judged, keep, seed: select_gated(
        judged.planted(), judged.canaries, fraction=keep, rule=rule, fill=fill, seed=seed
    )


BASELINES: dict[str, Rule] = {
    "random": _top("random"),
    "el2n": _top("el2n"),
    "aum": _top("aum"),
    "aum_remove": _aum_remove,
    "confident_learning": _confident_learning,
    "coverage": _coverage,
    "rank_variance": _top("rank_variance"),
}
GATE = GatedRule("margin", 0.9, 0.95, "el2n")
DEFAULT = f"early+{DEFAULT_GATED.chooser}"
FILLED = f"{DEFAULT}+fill"
GATED: dict[str, Rule] = {
    **{f"gate+{c}": gated_rule(replace(GATE, chooser=c)) for c in CHOOSERS},
    "gate+half_el2n+fill": gated_rule(replace(GATE, chooser="half_el2n"), fill=True),
    DEFAULT: gated_rule(DEFAULT_GATED),
    FILLED: gated_rule(DEFAULT_GATED, fill=True),
}
# Other gates with one chooser, run in fewer cells: which detector, and how strict.
VARIANTS: dict[str, Rule] = {
    "gate80+el2n": gated_rule(replace(GATE, recall=0.8)),
    "gate95+el2n": gated_rule(replace(GATE, recall=0.95)),
    "gate_rank+el2n": gated_rule(replace(GATE, detector="mean_rank")),
    "gate_both+el2n": gated_rule(replace(GATE, detector="margin_and_rank")),
}
RULES: dict[str, Rule] = {
    **BASELINES,
    **GATED,
    **VARIANTS,
    "forgetting": _top("forgetting"),
    "consensus": _top("consensus"),
}
NAMES = {
    "random": "Random",
    "el2n": "EL2N",
    "aum": "AUM, top",
    "aum_remove": "AUM, remove",
    "confident_learning": "Confident learning",
    "coverage": "Coverage-centric",
    "rank_variance": "DR-IS",
    "forgetting": "Forgetting",
    "consensus": "Consensus-loss",
    "gate+rank_variance": "gate + rank variance",
    "gate+el2n": "gate + EL2N",
    "gate+uniform": "gate + uniform",
    "gate+class_balanced": "gate + class-balanced",
    "gate+half_el2n": "gate + half EL2N",
    "gate+half_el2n+fill": "gate + half EL2N, filled up",
    "early+half_el2n": "early gate + half EL2N",
    "early+half_el2n+fill": "early gate + half EL2N, filled up",
    "gate80+el2n": "gate at 0.8 + EL2N",
    "gate95+el2n": "gate at 0.95 + EL2N",
    "gate_rank+el2n": "gate on mean rank + EL2N",
    "gate_both+el2n": "gate on both + EL2N",
}


def checked_rules(names: Sequence[str]) -> list[str]:
    """The rules by name, "default" being the default gated rule.

    >>> checked_rules(["aum", "default"])[0]
    'aum'
    """
    known = [DEFAULT if name == "default" else name for name in names]
    unknown = [name for name in known if name not in RULES]
    if unknown:
        raise InputError(f"rule must be default or one of {', '.join(RULES)}, got {unknown[0]!r}")
    return known


def rule_of(name: str) -> Rule:
    """A rule by name, with its parameter where the name carries one.

    >>> rule_of("hybrid:0.25") is not None, rule_of("aum") is RULES["aum"]
    (True, True)
    """
    if "@" in name:
        score, _, epoch = name.partition("@")
        return _top_of(lambda dynamics: SCORES[score](dynamics.at(int(epoch))))
    kind, _, parameter = name.partition(":")
    if kind == "hybrid":
        return _top_of(lambda dynamics: hybrid(dynamics, beta=float(parameter)))
    if kind == "uniform_hybrid":
        share = float(parameter)
        return lambda judged, keep, seed: mix_uniform(
            SCORES["rank_variance"](judged.plain()),
            fraction=keep,
            share=share,
            seed=seed,
            ids=judged.plain().ids,
        )
    return RULES[checked_rules([name])[0]]
