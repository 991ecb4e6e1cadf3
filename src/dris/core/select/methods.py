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
from dris.core.select.clean import keep_clean, keep_clean_then_hard
from dris.core.select.gate import CHOOSER, DETECTOR, RECALL, gate_of, keep_passed
from dris.core.select.gate_scores import CHOOSERS
from dris.core.select.selection import (
    keep_top,
    keep_top_per_class,
    mix_uniform,
    remove_bottom,
    stratified,
)
from dris.core.subset import Subset

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a method is given.

    Attributes:
        score: One number per example, larger is kept first; empty where the method has its own.
        dynamics: What the proxies recorded.
        canaries: Those that may be looked at, which set a gate.
        parameters: The rule's, by name.
        how: fraction, seed and ids, as every function of `selection` takes them.
        assessment: What the ensemble thinks of every label; computed where a method asks for it
            and it was not given.
    """

    score: Score
    dynamics: Dynamics
    canaries: Mask | None
    parameters: Mapping[str, Any]
    how: Mapping[str, Any]
    assessment: Assessment | None = None

    @property
    def assessed(self) -> Assessment:
        """The assessment, computed unless it was given."""
        return assess(self.dynamics) if self.assessment is None else self.assessment


def _per_class(task: Task) -> Subset:
    if task.dynamics.labels is None:
        raise InputError("the method per_class needs labels, these dynamics hold none")
    return keep_top_per_class(task.score, task.dynamics.labels, **task.how)


def _remove_negative(task: Task) -> Subset:
    """Remove as many of the lowest as have a negative score and margin, then draw uniformly."""
    margin = task.dynamics.snapshot("margin").mean(axis=0)
    issues = float(((task.score < 0) & (margin < 0)).mean())
    removed = min(round(issues, 6), round(1 - task.how["fraction"], 6))
    return remove_bottom(task.score, remove=removed, **task.how)


def _spread(task: Task) -> Subset:
    drop = min(0.1, round(1 - task.how["fraction"], 6))
    return stratified(task.score, drop=drop, **task.how)


def _draw(task: Task) -> Subset:
    """⌊αN⌋ examples without replacement, each in proportion to its score.

    The keys are Efraimidis and Spirakis's, with a random number from (seed, id).
    """
    q, lots = task.score, random(task.dynamics, seed=task.how["seed"])
    lowest = np.finfo(np.float64).min  # what has no probability comes last
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        keys = np.log(1 - lots) / q  # 1 − lot is in (0, 1]
    return keep_top(np.where(q > 0, np.maximum(keys, lowest), lowest), **task.how)


def _gated(task: Task) -> Subset:
    if task.canaries is None or not task.canaries.any():
        raise InputError(
            "this rule needs canaries to set its gate, and there are none; plant some, or take "
            "a rule without a gate, such as rank_variance"
        )
    own = task.parameters
    gate = gate_of(task.dynamics, task.canaries, detector=own["detector"], recall=own["recall"])
    score = CHOOSERS[own["chooser"]](task.dynamics, gate.passed, task.how["seed"])
    return keep_passed(gate, score, fill=own["fill"], **task.how)


def _clean(task: Task) -> Subset:
    return keep_clean(task.dynamics, task.assessed, task.canaries, **task.how)


def _clean_then_hard(task: Task) -> Subset:
    return keep_clean_then_hard(task.dynamics, task.assessed, task.canaries, **task.how)


@dataclass(frozen=True, slots=True)
class Method:
    """A way to make a subset.

    Attributes:
        function: From a task to the subset.
        scored: Whether it takes a score, rather than having its own.
        defaults: The parameters it takes.
        needs_canaries: Whether it cannot do without canaries.
    """

    function: Callable[[Task], Subset]
    scored: bool = True
    defaults: Mapping[str, Any] = field(default_factory=dict)
    needs_canaries: bool = False


METHODS: dict[str, Method] = {
    "top": Method(lambda task: keep_top(task.score, **task.how)),
    "per_class": Method(_per_class),
    "remove": Method(lambda task: remove_bottom(task.score, **task.how)),
    "remove_negative": Method(_remove_negative),
    "mix": Method(
        lambda task: mix_uniform(task.score, share=task.parameters["share"], **task.how),
        defaults={"share": 0.5},
    ),
    "spread": Method(_spread),
    "draw": Method(_draw),
    "gated": Method(
        _gated,
        scored=False,
        defaults={"detector": DETECTOR, "recall": RECALL, "chooser": CHOOSER, "fill": False},
        needs_canaries=True,
    ),
    "clean": Method(_clean, scored=False),
    "clean_then_hard": Method(_clean_then_hard, scored=False),
}
