"""How a rule makes a subset: the highest scores, a mixture, a draw, a gate, …; a registry.

To add one: a function of a `Task` here and an entry in `METHODS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.assessment import Assessment, assess
from dris.core.scores.formulas import Score, random
from dris.core.select import gate, selection
from dris.core.subset import Subset, top_mask
from dris.core.validate import count_of

Mask = NDArray[np.bool_]
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

    def assess(self) -> Assessment:
        """The assessment, computed unless it was given."""
        return assess(self.dynamics) if self.assessment is None else self.assessment


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
    own = task.parameters
    how = {"detector": own["detector"], "recall": own["recall"]}
    cut = gate.set_gate(task.dynamics, task.canaries, **how)
    score = gate.CHOOSERS[own["chooser"]](task.dynamics, cut.passed, task.how["seed"])
    return gate.keep_passed(cut, score, fill=own["fill"], **task.how)


def _clean(task: Task) -> Subset:
    """All but the suspects, at most ⌊αN⌋: the least likely wrong first."""
    assessment = task.assess()
    suspects = _find_suspects(task, assessment)
    count = min(count_of(task.how["fraction"], suspects.size), int((~suspects).sum()))
    if not count:
        raise InputError("every label is suspect to these proxies; train others")
    wrong = assessment.shown.wrong
    return _keep_unsuspected("clean", task, -wrong, suspects, wrong, count)


def _clean_then_hard(task: Task) -> Subset:
    """⌊αN⌋ at random with a lean to the hard, of all that is probably right.

    Labels that another class is merely likelier than are left out too: an attack on hard examples
    hides there. Where fewer than ⌊αN⌋ remain, the least likely wrong of the others fill up.
    """
    assessment = task.assess()
    suspects = _find_suspects(task, assessment)
    if assessment.guess is not None:
        suspects = suspects | (assessment.guess != assessment.shown.labels)
    score = gate.half_el2n(task.dynamics, ~suspects, task.how["seed"], weight=_LEAN)
    count, wrong = count_of(task.how["fraction"], suspects.size), assessment.shown.wrong
    return _keep_unsuspected("clean_then_hard", task, score, suspects, wrong, count)


def _find_suspects(task: Task, assessment: Assessment) -> Mask:
    """The suspects; without folds only those that a gate rejects, where canaries can set one."""
    suspects, canaries = assessment.shown.suspects, task.canaries
    if not assessment.calibrated:
        task.dynamics.snapshot("correct")  # who gives which label must be known
        if canaries is not None and int(canaries.sum()) >= gate.canaries_needed():
            return suspects & ~gate.set_gate(task.dynamics, canaries).passed
    return suspects


def _keep_unsuspected(
    rule: str, task: Task, score: Score, suspects: Mask, wrong: Score, count: int
) -> Subset:
    """The `count` highest scores; the suspects come last, the least likely wrong of them first."""
    score = np.where(suspects, -2 - wrong, score)
    mask = top_mask(score, count, seed=task.how["seed"], ids=task.how["ids"])
    parameters = {
        "fraction": float(task.how["fraction"]),
        "suspects": int(suspects.sum()),
        "filled": max(0, count - int((~suspects).sum())),
        "seed": task.how["seed"],
    }
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
