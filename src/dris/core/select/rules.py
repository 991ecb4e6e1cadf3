"""THE registry of rules: each turns what the proxies said into a subset, the same whoever asks.

The commands, the estimators, the page and the experiments read it, and none has rules of its own.
A rule with a parameter carries it in its name: "hybrid:0.25" is the hybrid score at that β
("hybrid_scaled:0.25" on one scale, "hybrid_drawn:0.25" by lot in its proportion),
"uniform_hybrid:0.5" draws half of its subset, "rank_variance@4" looks at epoch 4, and
"gate:margin:0.8:el2n" is a gate on that detector at that recall with that chooser behind it (a
last ":fill" fills up with the cleanest of the rejected).
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError, meant
from dris.core.noise.noise_rate import surest_share
from dris.core.scores.formulas import (
    SCORES,
    Score,
    aum,
    aum_mean,
    el2n,
    hybrid,
    random,
    rank_variance,
)
from dris.core.scores.ranks import normalized_ranks
from dris.core.scores.suggestions import doubted_labels
from dris.core.scores.suspicion import (
    doubtful_labels,
    suspicion,
    unlikely_labels,
    unseen_probabilities,
)
from dris.core.select.gate import (
    CHOOSERS,
    DEFAULT_GATED,
    GatedRule,
    canaries_needed,
    gated,
    uniform,
)
from dris.core.select.selection import (
    Subset,
    keep_top,
    keep_top_per_class,
    mix_uniform,
    remove_bottom,
    stratified,
    top_mask,
)
from dris.core.validate import count_of

Mask = NDArray[np.bool_]
# (dynamics, the canaries that may be looked at, α, seed)
Chooses = Callable[[Dynamics, Mask | None, float, int], Subset]
Ensemble = Literal["plain", "planted", "unseen", "folded"]
RECOMMENDED, CLEAN = "recommended", "clean"
LEAN: Literal["clean_lean"] = "clean_lean"


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to choose, and what it has to be given.

    Attributes:
        name: What it is asked for by.
        title: What tables and pictures call it.
        about: One line for a person who has to pick one.
        function: From dynamics, choosing canaries, α and a seed to the subset.
        ensemble: On which proxies experiments run it: trained on the given labels ("plain"), on
            labels with canaries in them ("planted", whose choosing part it may look at),
            measured where they did not train ("unseen"), or the product's own ("folded").
        needs_canaries: Whether it cannot do without canaries, by which it sets a gate.

    >>> RULES["rank_variance"].needs_canaries
    False
    """

    name: str
    title: str
    about: str
    function: Chooses
    ensemble: Ensemble = "plain"
    needs_canaries: bool = False


def _top(score: Callable[[Dynamics], Score]) -> Chooses:
    return lambda dynamics, _, keep, seed: keep_top(
        score(dynamics), fraction=keep, seed=seed, ids=dynamics.ids
    )


def _score(name: str, title: str, about: str) -> Rule:
    # The score is looked up when it is needed: a test shuffles one.
    return Rule(name, title, about, _top(lambda dynamics: SCORES[name](dynamics)))


def _gated(how: GatedRule, *, fill: bool = False) -> Chooses:
    def chosen(dynamics: Dynamics, canaries: Mask | None, keep: float, seed: int) -> Subset:
        if canaries is None or not canaries.any():
            raise InputError(
                "this rule needs canaries to set its gate, and there are none; plant some, or take "
                "a rule without a gate, such as rank_variance"
            )
        gate = how.gate(dynamics, canaries)
        score = CHOOSERS[how.chooser](dynamics, gate.passed, seed)
        with warnings.catch_warnings():  # too few pass: the parameters say so
            warnings.simplefilter("ignore")
            return gated(gate, score, fraction=keep, fill=fill, seed=seed, ids=dynamics.ids)

    return chosen


def _per_class(dynamics: Dynamics, _: Mask | None, keep: float, seed: int) -> Subset:
    if dynamics.labels is None:
        raise InputError("the rule rank_variance_per_class needs labels, these dynamics hold none")
    score = rank_variance(dynamics)
    return keep_top_per_class(score, dynamics.labels, fraction=keep, seed=seed, ids=dynamics.ids)


def _remove(score: Callable[[Dynamics], Score]) -> Chooses:
    return lambda dynamics, _, keep, seed: remove_bottom(
        score(dynamics), fraction=keep, seed=seed, ids=dynamics.ids
    )


def _confident_remove(dynamics: Dynamics, _: Mask | None, keep: float, seed: int) -> Subset:
    """As many as look mislabelled go, lowest first; the rest is drawn uniformly.

    An example looks mislabelled when another class is likelier than its label and its label less
    likely than usual for that label.
    """
    score = SCORES["confident_learning"](dynamics)
    margin = dynamics.snapshot("margin").mean(axis=0)
    issues = float(((score < 0) & (margin < 0)).mean())
    removed = min(round(issues, 6), round(1 - keep, 6))
    return remove_bottom(score, fraction=keep, remove=removed, seed=seed, ids=dynamics.ids)


def _coverage(dynamics: Dynamics, _: Mask | None, keep: float, seed: int) -> Subset:
    """The lowest AUM goes, then the subset is spread evenly over its range."""
    drop = min(0.1, round(1 - keep, 6))
    return stratified(
        SCORES["aum"](dynamics), fraction=keep, drop=drop, seed=seed, ids=dynamics.ids
    )


def suspect_labels(dynamics: Dynamics, canaries: Mask | None = None) -> Mask:
    """Where a shown label is more likely wrong than right.

    Out of fold: as `unlikely_labels` has it. Without out-of-fold values: most proxies contradict
    the label, and a gate rejects it where canaries are enough to set one.

    >>> d = Dynamics.from_logits(np.array([[[3.0, 0.0], [0.0, 2.0]]]), labels=[0, 0])
    >>> suspect_labels(d).tolist()
    [False, True]
    """
    labels = dynamics.labels
    if labels is not None and dynamics.out_of_fold is not None:
        p = unseen_probabilities(dynamics)
        if p is not None:
            return unlikely_labels(p, labels, labels)
    suspect = doubted_labels(dynamics.snapshot("correct"))
    need = canaries_needed(DEFAULT_GATED.recall, DEFAULT_GATED.confidence)
    if canaries is not None and int(canaries.sum()) >= need:
        suspect &= ~DEFAULT_GATED.gate(dynamics, canaries).passed
    return suspect


def _cleaned(name: str, lean: float | None = None) -> Chooses:
    """All but the suspects; of those the least suspicious, or by lot with a lean to the hard.

    What leans to the hard leaves out the doubtful too: among them are the wrong ones of an attack
    on hard examples. There is no lean where fewer labels are left out than are wrong. Where fewer
    than ⌊αN⌋ remain, the least suspicious of the others fill up.
    """

    def chosen(dynamics: Dynamics, canaries: Mask | None, keep: float, seed: int) -> Subset:
        suspect, wary = suspect_labels(dynamics, canaries), suspicion(dynamics)
        score = -wary
        if lean is not None:
            score, missed = uniform(dynamics, seed), False
            p, labels = unseen_probabilities(dynamics), dynamics.labels
            if p is not None and labels is not None:
                suspect = suspect | doubtful_labels(p, labels, labels)
                missed = surest_share(p, labels) > float(suspect.mean())
            if not suspect.all() and not missed:
                score[~suspect] += lean * normalized_ranks(el2n(dynamics)[~suspect])
        rest = int((~suspect).sum())
        count = count_of(keep, dynamics.examples)
        if lean is None:  # clean: no more than what looks right
            count = min(count, rest)
        if not count:
            raise InputError("every label is suspect to these proxies; train others")
        score = np.where(suspect, -2 - wary, score)
        mask, tied = top_mask(score, count, seed=seed, ids=dynamics.ids)
        found = {
            "fraction": float(keep),
            "suspects": int(suspect.sum()),
            "filled": max(0, count - rest),
            "seed": seed,
        }
        return Subset(np.flatnonzero(mask), name, found, dynamics.examples, tied=tied.size)

    return chosen


_BY_CLASS = GatedRule(
    DEFAULT_GATED.detector, DEFAULT_GATED.recall, DEFAULT_GATED.confidence, "class_balanced"
)

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            CLEAN,
            "clean",
            "drop only what is more likely wrong than right; all else stays",
            _cleaned(CLEAN),
            "planted",
        ),
        Rule(
            LEAN,
            "clean, leaning to the hard",
            "drop what looks wrong, then mostly by lot with a lean to the hard",
            _cleaned(LEAN, 0.5),
            "planted",
        ),
        Rule(
            "gated",
            "gated",
            "drop what looks wrong by a gate that canaries set, then half hard, half by lot",
            _gated(DEFAULT_GATED),
            "planted",
            True,
        ),
        Rule(
            "gated_filled",
            "gated, filled up",
            "the same; where too few pass the gate, the cleanest of the rejected fill up",
            _gated(DEFAULT_GATED, fill=True),
            "planted",
            True,
        ),
        Rule(
            "gated_per_class",
            "gated, per class",
            "the same gate, then equally many of every class by lot",
            _gated(_BY_CLASS),
            "planted",
            True,
        ),
        _score(
            "rank_variance",
            "DR-IS",
            "the paper's rule: loss ranks differ most between proxies",
        ),
        Rule(
            "rank_variance_per_class",
            "DR-IS, per class",
            "the paper's rule within each class, so that every class keeps its share",
            _per_class,
        ),
        _score("aum", "AUM, top", "largest margin over all epochs, of one proxy (Pleiss et al.)"),
        _score("aum_mean", "AUM, mean of K", "largest margin over all epochs, mean of the proxies"),
        Rule(
            "aum_remove",
            "AUM, remove",
            "drop the lowest AUM of one proxy, then draw uniformly",
            _remove(lambda dynamics: aum(dynamics)),
        ),
        Rule(
            "aum_mean_remove",
            "AUM, mean of K, remove",
            "drop the lowest mean AUM, then draw uniformly",
            _remove(lambda dynamics: aum_mean(dynamics)),
        ),
        _score("aum_threshold", "AUM above threshold", "AUM beside its threshold samples"),
        _score("el2n", "EL2N", "largest error norm; collects wrong labels (Paul et al.)"),
        _score("grand", "GraNd", "largest last-layer gradient norm; collects wrong labels"),
        _score("loss", "Loss", "largest mean loss; collects wrong labels"),
        _score("consensus", "Consensus-loss", "largest mean loss rank; collects wrong labels"),
        _score("forgetting", "Forgetting", "most often learned and forgotten (Toneva et al.)"),
        _score(
            "forgetting_unlearned",
            "Forgetting, unlearned first",
            "the same, never learned counting as forgotten most",
        ),
        _score("rho_loss", "RHO-LOSS", "loss that held-out data do not explain (Mindermann)"),
        _score("self_confidence", "Self-confidence", "most probable given label"),
        _score(
            "confident_learning",
            "Confident learning, top",
            "given label most probable for its class (Northcutt et al.)",
        ),
        Rule(
            "confident_learning_remove",
            "Confident learning",
            "drop what looks mislabelled out of fold, then draw uniformly (Northcutt et al.)",
            _confident_remove,
            "unseen",
        ),
        Rule(
            "coverage",
            "Coverage-centric",
            "drop the lowest AUM, then spread evenly over its range (Zheng et al.)",
            _coverage,
        ),
        _score("hybrid", "Hybrid", "rank variance and gradient norm mixed (paper, table 8)"),
        _score("prototype", "Prototype", "farthest from its cluster's centre (Sorscher et al.)"),
        _score("random", "Random", "by lot: the control"),
    )
}


def rule_of(name: str) -> Rule:
    """A rule by name, with its parameter where the name carries one.

    >>> rule_of("hybrid:0.25").title, rule_of("aum") is RULES["aum"]
    ('Hybrid, β = 0.25', True)
    """
    if name in RULES:
        return RULES[name]
    kind, _, rest = name.partition(":")
    score, _, epoch = name.partition("@")
    try:
        if score in SCORES and epoch.isdecimal():
            at = int(epoch)
            return Rule(
                name,
                f"{RULES[score].title} at epoch {at}",
                f"{score} as it was after epoch {at}",
                _top(lambda dynamics: SCORES[score](dynamics.at(at))),
            )
        if kind == "hybrid":
            beta = float(rest)
            return Rule(name, f"Hybrid, β = {rest}", "mixed", _top(lambda d: hybrid(d, beta=beta)))
        if kind == "hybrid_scaled":
            beta = float(rest)
            title = f"Hybrid, norms scaled, β = {rest}"
            even = _top(lambda d: hybrid(d, beta=beta, scaled=True))
            return Rule(name, title, "mixed on one scale", even)
        if kind == "hybrid_drawn":
            beta = float(rest)
            title = f"Hybrid, drawn, β = {rest}"
            return Rule(name, title, "drawn by the mixed score", _drawn(beta))
        if kind == "uniform_hybrid":
            return _uniform_hybrid(name, float(rest))
        if kind == "gate":
            return _gate_of(name, rest.split(":"))
        if kind == "folded" and rest in RULES:
            return _folded(name, RULES[rest])
    except (ValueError, TypeError):
        pass
    known = ", ".join(RULES)
    near = meant(name, RULES)
    raise InputError(f"rule must be one of {known}, got {name!r}{near}; dris rules explains each")


def _drawn(beta: float) -> Chooses:
    """⌊αN⌋ examples drawn without replacement, each in proportion to its hybrid score.

    The keys are Efraimidis and Spirakis's, with the lots of (seed, id).
    """

    def chosen(dynamics: Dynamics, _: Mask | None, keep: float, seed: int) -> Subset:
        q = hybrid(dynamics, beta=beta)
        lots = random(dynamics, seed=seed)
        lowest = np.finfo(np.float64).min  # what has no probability comes last
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            keys = np.log(1 - lots) / q  # 1 − lot is in (0, 1]
        keys = np.where(q > 0, np.maximum(keys, lowest), lowest)
        return keep_top(keys, fraction=keep, seed=seed, ids=dynamics.ids)

    return chosen


def _uniform_hybrid(name: str, share: float) -> Rule:
    return Rule(
        name,
        f"DR-IS and {share:.0%} uniform",
        "part by rank variance, part by lot",
        lambda dynamics, _, keep, seed: mix_uniform(
            SCORES["rank_variance"](dynamics),
            fraction=keep,
            share=share,
            seed=seed,
            ids=dynamics.ids,
        ),
    )


def _gate_of(name: str, words: list[str]) -> Rule:
    fill = words[-1] == "fill"
    detector, recall, chooser = words[:-1] if fill else words
    how = GatedRule(detector, float(recall), DEFAULT_GATED.confidence, chooser)
    title = f"gate on {detector.replace('_', ' ')} at {recall} + {chooser.replace('_', ' ')}"
    title += ", filled up" if fill else ""
    return Rule(name, title, "a gate in full", _gated(how, fill=fill), "planted", True)


def _folded(name: str, rule: Rule) -> Rule:
    """A peer on the proxies of `clean`: what it reads out of fold there, or in fold."""

    def chosen(dynamics: Dynamics, canaries: Mask | None, keep: float, seed: int) -> Subset:
        seen = dynamics.unseen() if rule.ensemble == "unseen" else dynamics
        return rule.function(seen, canaries, keep, seed)

    return Rule(name, f"{rule.title}, same proxies", rule.about, chosen, "folded")


def title_of(name: str) -> str:
    """What tables call a rule, also one that only old records hold.

    There ":all" at the end of a gated rule's name says that all canaries set its gate; now half of
    them do, and the others certify.

    >>> title_of("aum"), title_of("gate:early_margin:0.9:half_el2n:all")
    ('AUM, top', 'gated, all canaries')
    """
    if name == RECOMMENDED:
        return "dris prune"
    known = name.removesuffix(":all")
    short = {_IN_FULL: "gated", f"{_IN_FULL}:fill": "gated_filled"}.get(known, known)
    return rule_of(short).title + (", all canaries" if known != name else "")


_IN_FULL = f"gate:{DEFAULT_GATED.detector}:{DEFAULT_GATED.recall:g}:{DEFAULT_GATED.chooser}"


def choose(
    rule: str,
    dynamics: Dynamics,
    *,
    keep: float,
    choosing: Mask | None = None,
    seed: int = 0,
) -> Subset:
    """What a rule keeps, blind to all but the choosing canaries, which set the gate.

    Behind a gate there may be fewer than ⌊αN⌋: `parameters["short"]` says by how many.

    >>> d = Dynamics.from_losses([[0.1, 0.2, 0.9, 0.3], [0.9, 0.2, 0.1, 0.3]])
    >>> choose("rank_variance", d, keep=0.5).indices.tolist()
    [0, 2]
    """
    return rule_of(rule).function(dynamics, choosing, keep, seed)
