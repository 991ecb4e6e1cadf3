"""THE registry of rules: each turns what the proxies recorded into a subset."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError, suggest_name
from dris.core.noise.assessment import Assessment, assess
from dris.core.scores.formulas import EXTRA_COLUMNS, SCORES, Score, random
from dris.core.select import gate, selection
from dris.core.select.gate import CHOOSERS, DETECTORS
from dris.core.select.rule_parameters import PARAMETERS
from dris.core.subset import Subset, top_mask
from dris.core.validate import count_of

Mask = NDArray[np.bool_]
RECOMMENDED, CLEAN = "recommended", "clean"
CLEAN_THEN_HARD: Literal["clean_then_hard"] = "clean_then_hard"
_COVERAGE_DROP = 0.1  # of the examples, those with the lowest scores, before the rest is spread
_LEAN = 1.0  # weight of the rank by EL2N beside a random number; chosen on digits and Fashion-MNIST


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a method is given."""

    score: Score  # one number per example, larger is kept first; empty where the method has its own
    dynamics: Dynamics  # what the proxies recorded
    canaries: Mask | None  # those that may be looked at, which set a gate
    parameters: Mapping[str, Any]  # the rule's, by name
    how: Mapping[str, Any]  # fraction, seed and ids, as every function of `selection` takes them
    assessment: Assessment | None = None  # computed if need be


def _per_class(task: Task) -> Subset:
    if task.dynamics.labels is None:
        raise InputError("the method per_class needs labels, these dynamics hold none")
    return selection.keep_top_per_class(task.score, task.dynamics.labels, **task.how)


def _remove_negative(task: Task) -> Subset:
    """Remove as many of the lowest as have a negative score and margin, then draw uniformly."""
    margin = task.dynamics.snapshot("margin").mean(axis=0)
    issues = float(((task.score < 0) & (margin < 0)).mean())
    removed = min(round(issues, 6), round(1 - task.how["fraction"], 6))
    return selection.remove_bottom(task.score, remove=removed, **task.how)


def _spread(task: Task) -> Subset:
    drop = min(_COVERAGE_DROP, round(1 - task.how["fraction"], 6))
    return selection.stratify(task.score, drop=drop, **task.how)


def _draw(task: Task) -> Subset:
    """⌊αN⌋ examples without replacement, in proportion to the score (Efraimidis and Spirakis)."""
    q, numbers = task.score, random(task.dynamics, seed=task.how["seed"])
    lowest = np.finfo(np.float64).min  # what has no probability comes last
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        keys = np.log(1 - numbers) / q  # 1 − number is in (0, 1]
    keys = np.where(q > 0, np.maximum(keys, lowest), lowest)
    return selection.keep_top(keys, **task.how)


def _gated(task: Task) -> Subset:
    if task.canaries is None or not task.canaries.any():
        raise InputError(
            "this rule needs canaries to set its gate, and there are none; plant some, or take "
            "a rule without a gate, such as rank_variance"
        )
    own, dynamics = task.parameters, task.dynamics
    cut = gate.set_gate(dynamics, task.canaries, detector=own["detector"], recall=own["recall"])
    score = gate.CHOOSERS[own["chooser"]](dynamics, cut.passed, task.how["seed"])
    return gate.keep_passed(cut, score, fill=own["fill"], **task.how)


def _clean(task: Task) -> Subset:
    """All but the suspects, at most ⌊αN⌋: the least likely wrong first."""
    assessment, suspects = _find_suspects(task)
    count = min(count_of(task.how["fraction"], suspects.size), int((~suspects).sum()))
    if not count:
        raise InputError("every label is suspect to these proxies; train others")
    wrong = assessment.shown.wrong
    return _keep_unsuspected(task, CLEAN, -wrong, suspects, wrong, count)


def _clean_then_hard(task: Task) -> Subset:
    """⌊αN⌋ at random with a lean to the hard, of all that is probably right.

    An attack on hard examples hides where another class is likelier than the label: these are left
    out too. The least likely wrong of the others fill up.
    """
    assessment, suspects = _find_suspects(task)
    if assessment.guess is not None:
        suspects = suspects | (assessment.guess != assessment.shown.labels)
    score = gate.half_el2n(task.dynamics, ~suspects, task.how["seed"], weight=_LEAN)
    count, wrong = count_of(task.how["fraction"], suspects.size), assessment.shown.wrong
    return _keep_unsuspected(task, CLEAN_THEN_HARD, score, suspects, wrong, count)


def _find_suspects(task: Task) -> tuple[Assessment, Mask]:
    """The suspects; without folds only those that a gate rejects, where canaries can set one."""
    assessment = assess(task.dynamics) if task.assessment is None else task.assessment
    suspects, canaries = assessment.shown.suspects, task.canaries
    if not assessment.calibrated:
        task.dynamics.snapshot("correct")  # who gives which label must be known
        if canaries is not None and int(canaries.sum()) >= gate.canaries_needed():
            suspects = suspects & ~gate.set_gate(task.dynamics, canaries).passed
    return assessment, suspects


def _keep_unsuspected(
    task: Task, rule: str, score: Score, suspects: Mask, wrong: Score, count: int
) -> Subset:
    """The `count` highest scores; the suspects come last, the least likely wrong of them first."""
    score, seed = np.where(suspects, -2 - wrong, score), task.how["seed"]
    mask = top_mask(score, count, seed=seed, ids=task.how["ids"])
    parameters = {"fraction": float(task.how["fraction"]), "suspects": int(suspects.sum())}
    parameters |= {"filled": max(0, count - int((~suspects).sum())), "seed": seed}
    return Subset(np.flatnonzero(mask), rule, parameters, suspects.size)


@dataclass(frozen=True, slots=True)
class Method:
    """A way to make a subset."""

    function: Callable[[Task], Subset]  # from a task to the subset
    scored: bool = True  # whether it takes a score, rather than having its own
    defaults: Mapping[str, Any] = field(default_factory=dict)  # the parameters it takes
    needs_canaries: bool = False  # whether it cannot do without canaries


_GATE = {"detector": gate.DETECTOR, "recall": gate.RECALL, "chooser": gate.CHOOSER, "fill": False}
METHODS: dict[str, Method] = {
    "top": Method(lambda task: selection.keep_top(task.score, **task.how)),
    "per_class": Method(_per_class),
    "remove": Method(lambda task: selection.remove_bottom(task.score, **task.how)),
    "remove_negative": Method(_remove_negative),
    "mix": Method(
        lambda t: selection.mix_uniform(t.score, share=t.parameters["share"], **t.how),
        defaults={"share": 0.5},
    ),
    "spread": Method(_spread),
    "draw": Method(_draw),
    "gated": Method(_gated, scored=False, defaults=_GATE, needs_canaries=True),
    "clean": Method(_clean, scored=False),
    "clean_then_hard": Method(_clean_then_hard, scored=False),
}

# -- the registry ----------------------------------------------------------------------------------

_HYBRID = {"beta": 0.5, "scaled": False}  # the one score with parameters of its own


@dataclass(frozen=True, slots=True)
class Rule:
    """How to choose a subset: by which score, by which method, with which parameters.

    >>> Rule(score="hybrid", beta=0.25).name, Rule(score="aum") == RULES["aum"]
    ('hybrid(beta=0.25)', True)
    """

    score: str = ""  # a name in `SCORES`; empty where the method has its own ("gated", "clean", …)
    method: str = "top"  # keeps the highest scores; the others are those of `METHODS`
    # Which of these a rule takes depends on both; what is left out gets its default.
    beta: float | None = None
    scaled: bool | None = None
    epoch: int | None = None
    share: float | None = None
    detector: str | None = None
    recall: float | None = None
    chooser: str | None = None
    fill: bool | None = None
    name: str = field(default="", compare=False)  # made from the others: "hybrid(beta=0.25)"
    title: str = field(default="", compare=False)  # what tables and pictures call it
    about: str = field(default="", compare=False)  # one line for a person who has to pick one

    def __post_init__(self) -> None:
        defaults = self._defaults()
        problems = self._problems(defaults)
        if problems:
            raise InputError("; ".join(problems))
        changed = [_show(k, v) for k, v in self.parameters.items() if v != defaults[k]]
        if self.score and self.method != "top":
            changed.insert(0, self.method)
        base = self.score or self.method
        made = f"{base}({', '.join(changed)})" if changed else base
        for name, value in (defaults | dict.fromkeys(("name", "title", "about"), made)).items():
            if getattr(self, name) in (None, ""):
                object.__setattr__(self, name, value)

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters by name, without those it does not take."""
        values = {name: getattr(self, name) for name in PARAMETERS}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def needs_canaries(self) -> bool:
        """Whether it cannot do without canaries, which set its gate."""
        return METHODS[self.method].needs_canaries

    @property
    def needs_column(self) -> str | None:
        """The column of the dynamics that its score needs beyond those recorded by default."""
        return EXTRA_COLUMNS.get(self.score)

    def _defaults(self) -> dict[str, Any]:
        """The parameters that this score and this method take."""
        own: dict[str, Any] = {"epoch": None} if self.score else {}
        own |= _HYBRID if self.score == "hybrid" else {}
        return {**own, **(METHODS[self.method].defaults if self.method in METHODS else {})}

    def _problems(self, defaults: Mapping[str, Any]) -> list[str]:
        problems = []
        if self.method not in METHODS:
            problems.append(_one_of("method", self.method, METHODS))
        elif METHODS[self.method].scored and self.score not in SCORES:
            problems.append(_one_of("score", self.score, SCORES))
        elif self.score and not METHODS[self.method].scored:
            problems.append(f"`score` must be left out, the method {self.method} has its own")
        for name, value in self.parameters.items():
            if name not in defaults:
                what, takes = self.score or self.method, ", ".join(defaults) or "none"
                problems.append(f"`{name}` is no parameter of {what}, which takes {takes}")
            elif not _VALID[name][0](value):
                problems.append(f"`{name}` must be {_VALID[name][1]}, got {value!r}")
        return problems


def _is(kind: type, value: object) -> bool:
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)


_VALID: dict[str, tuple[Callable[[Any], bool], str]] = {
    "beta": (lambda value: _is(Real, value) and 0 <= value <= 1, "in [0, 1]"),
    "scaled": (lambda value: _is(bool, value), "True or False"),
    "epoch": (lambda value: _is(Integral, value) and value > 0, "a whole number above 0"),
    "share": (lambda value: _is(Real, value) and 0 <= value <= 1, "in [0, 1]"),
    "detector": (lambda value: value in list(DETECTORS), f"one of {', '.join(DETECTORS)}"),
    "recall": (lambda value: _is(Real, value) and 0 < value < 1, "in (0, 1)"),
    "chooser": (lambda value: value in list(CHOOSERS), f"one of {', '.join(CHOOSERS)}"),
    "fill": (lambda value: _is(bool, value), "True or False"),
}


def _one_of(name: str, value: str, known: Mapping[str, object]) -> str:
    return f"`{name}` must be one of {', '.join(known)}, got {value!r}{suggest_name(value, known)}"


def _show(name: str, value: object) -> str:
    if value is True:
        return name
    return f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"


# Name, score ("=": of that name), method, title, about.
_TABLE = """\
clean | | clean | clean | drop only what is more likely wrong than right
clean_then_hard | | clean_then_hard | clean, then hard \
| drop suspects, then draw with a lean to the hard
gated | | gated | gated | drop what fails a gate that canaries set, then half hard, half random
gated_filled | | gated | gated, filled up \
| the same; where too few pass, the cleanest of the rejected fill up
gated_per_class | | gated | gated, per class \
| the same gate, then equally many of every class at random
rank_variance | = | top | DR-IS | the paper's rule: loss ranks differ most between proxies
rank_variance_per_class | rank_variance | per_class | DR-IS, per class \
| the paper's rule within each class, so that every class keeps its share
aum | = | top | AUM, top | largest margin over all epochs, of one proxy (Pleiss et al.)
aum_mean | = | top | AUM, mean of K | largest margin over all epochs, mean of the proxies
aum_remove | aum | remove | AUM, remove | drop the lowest AUM of one proxy, then draw uniformly
aum_mean_remove | aum_mean | remove | AUM, mean of K, remove \
| drop the lowest mean AUM, then draw uniformly
el2n | = | top | EL2N | largest error norm; collects wrong labels (Paul et al.)
grand | = | top | GraNd | largest last-layer gradient norm; collects wrong labels
loss | = | top | Loss | largest mean loss; collects wrong labels
consensus | = | top | Consensus-loss | largest mean loss rank; collects wrong labels
forgetting | = | top | Forgetting | most often learned and forgotten (Toneva et al.)
forgetting_unlearned | = | top | Forgetting, unlearned first | never learned counts as most
self_confidence | = | top | Self-confidence | most probable given label
confident_learning | = | top | Confident learning, top | most probable for its class
confident_learning_remove | confident_learning | remove_negative | Confident learning \
| drop what looks mislabelled, then draw (Northcutt et al.)
coverage | aum | spread | Coverage-centric \
| drop the lowest AUM, then spread evenly over its range (Zheng et al.)
hybrid | = | top | Hybrid | rank variance and gradient norm mixed (paper, table 8)
uniform_hybrid | rank_variance | mix | DR-IS and uniform \
| half by rank variance, half uniformly at random
random | = | top | Random | uniformly at random: the control"""
_OWN: dict[str, dict[str, Any]] = {
    "gated_filled": {"fill": True},
    "gated_per_class": {"chooser": "class_balanced"},
}


def _rule(line: str) -> Rule:
    name, score, method, title, about = (part.strip() for part in line.split("|"))
    own = {"name": name, "title": title, "about": about, **_OWN.get(name, {})}
    return Rule(name if score == "=" else score, method, **own)


RULES: dict[str, Rule] = {rule.name: rule for rule in map(_rule, _TABLE.splitlines())}
"""Every rule by its name, with its defaults.

    dris.prune(data, keep=0.25, rule="gated")
"""


def rule_of(rule: str | Rule, **parameters: Any) -> Rule:
    """A rule by its name, or itself, with parameters; a known one with its own name."""
    if isinstance(rule, str):
        if rule == RECOMMENDED:
            raise InputError("the recommended rule takes no parameters; name another as `rule`")
        if rule not in RULES and rule not in SCORES:
            raise InputError(f"{_one_of('rule', rule, RULES)}; dris rules explains each")
        rule = RULES[rule] if rule in RULES else Rule(rule)
    given = {k: v for k, v in parameters.items() if v not in (None, getattr(rule, k))}
    if given:
        name = f"{rule.name}({', '.join(map(_show, given, given.values()))})"
        rule = replace(rule, name=name, title=name, about=name, **given)
    return next((known for known in RULES.values() if known == rule), rule)


def choose(
    rule: str | Rule,
    dynamics: Dynamics,
    *,
    keep: float,
    choosing: Mask | None = None,
    seed: int = 0,
    assessment: Assessment | None = None,
) -> Subset:
    """What a rule keeps, blind to all but the choosing canaries, which set the gate.

    Behind a gate there may be fewer than ⌊αN⌋: `parameters["short"]` says by how many.
    """
    made = rule_of(rule)
    score = np.empty(0)
    if made.score:
        seen = dynamics if made.epoch is None else dynamics.at(made.epoch)
        own = {"beta": made.beta, "scaled": made.scaled} if made.score == "hybrid" else {}
        if made.score == "random":
            own = {"seed": seed}
        score = SCORES[made.score](seen, **own)
    how = {"fraction": keep, "seed": seed, "ids": dynamics.ids}
    task = Task(score, dynamics, choosing, made.parameters, how, assessment)
    return METHODS[made.method].function(task)
