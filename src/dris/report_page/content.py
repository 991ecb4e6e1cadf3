"""What the page shows of a decision: what its script, its charts and its tables read."""

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dris
from dris.core.certify.random_audit import audit_limit
from dris.core.checks.diagnostics import Gap, empirical_gap
from dris.core.errors import InputError
from dris.core.scores.formulas import consensus, rank_variance
from dris.core.streams import hashed_order
from dris.data.labelled import LabelledData
from dris.pipeline.audit import sealed_draw
from dris.pipeline.decision import Decision
from dris.report_page.details import Details, details_of, shown_positions

OUTCOMES = ("kept", "dropped", "suspected", "trusted", "canary")
KEPT, DROPPED, SUSPECTED, TRUSTED, CANARY = range(5)
NO_LABEL = -1
STEP_FRACTIONS = tuple(round(0.05 * s, 2) for s in range(1, 21))
MAX_QUEUE = 200
MAX_SAMPLE = 60


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The subset at one keep fraction; `limit` is None where nothing bounds its wrong labels."""

    fraction: float
    kept: NDArray[np.bool_]
    limit: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Kept examples drawn at random, for a person to check on the page.

    Attributes:
        drawn: Their positions, in the order of the draw.
        limits: The largest share of the kept that may be wrong if 0, 1, … of the drawn are.
        sealed: The note that `dris audit read` needs beside the answers.
    """

    drawn: NDArray[np.int64]
    limits: tuple[float, ...]
    sealed: str


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A decision and what the page derives from it. Arrays have one entry per example.

    Attributes:
        proxies: K; 0 where there is no plane of ranks.
        mean_rank: Mean over proxies of the loss rank, in (0, 1]; larger is harder.
        rank_variance: Its variance over proxies; larger is more disputed.
        suspected: True for suspects.
        canary: 0, or 1 + the position in `canary_kinds` of a canary's kind.
        canary_kinds: Names of the kinds of canaries.
        suggested: The label the proxies would give, `NO_LABEL` (-1) where there is none.
        steps: Subsets at growing keep fractions, the chosen one among them.
        chosen: Which of the steps is the decision's own.
        queue: Positions of the labels to review, the most suspicious first.
        sample: Kept examples to check for a limit without assumptions; None without any.
        gap: How the empirical gap grows with K; None without canaries.
        details: Pictures or rows of the examples that can be shown.
    """

    decision: Decision
    title: str
    proxies: int
    mean_rank: NDArray[np.float64]
    rank_variance: NDArray[np.float64]
    suspected: NDArray[np.bool_]
    canary: NDArray[np.uint8]
    canary_kinds: tuple[str, ...]
    suggested: NDArray[np.int64]
    steps: tuple[Step, ...]
    chosen: int
    queue: NDArray[np.int64]
    sample: Sample | None
    gap: Gap | None
    details: Details
    recipe: Mapping[str, Any]
    environment: Mapping[str, Any]

    @property
    def data(self) -> LabelledData:
        """The examples that were decided about."""
        return self.decision.data

    @property
    def suspects(self) -> NDArray[np.int64]:
        """Positions of the suspects, the most suspicious first."""
        return _suspects(self.decision)

    @property
    def clearest(self) -> NDArray[np.int64]:
        """The three labels that look wrong most of all."""
        return self.queue[self.suspected[self.queue]][:3]

    def confusion(self) -> list[tuple[int, int, int]]:
        """How many suspects have each given and each other suggested label."""
        at, labels = self.suspects, self.data.labels
        at = at[(self.suggested[at] != NO_LABEL) & (self.suggested[at] != labels[at])]
        pairs = np.stack((labels[at], self.suggested[at]), axis=1).reshape(-1, 2)
        values, counts = np.unique(pairs, axis=0, return_counts=True)
        return [(int(a), int(b), int(n)) for (a, b), n in zip(values, counts, strict=True)]

    def outcomes(self) -> NDArray[np.uint8]:
        """What became of each example, as a position in `OUTCOMES`.

        A canary is a canary first, then trusted or suspected, and only then kept or dropped.
        """
        code = np.where(self.steps[self.chosen].kept, KEPT, DROPPED).astype(np.uint8)
        code[self.suspected] = SUSPECTED
        code[self.data.trusted] = TRUSTED
        code[self.canary > 0] = CANARY
        return code


def page_of(decision: Decision, *, title: str, recipe: Mapping[str, Any]) -> Page:
    """Derive the page from a decision; without several proxies it has no plane of ranks."""
    data, ensemble, suspects = decision.data, decision.ensemble, decision.suspects
    dynamics = ensemble.dynamics if ensemble is not None and ensemble.dynamics.proxies > 1 else None
    if dynamics is None and suspects is None:
        raise InputError(f"there is nothing to show: {'; '.join(decision.notes)}")
    n = len(data)
    mean, variance = np.zeros(n), np.zeros(n)
    if dynamics is not None:
        mean, variance = consensus(dynamics), rank_variance(dynamics)
    canaries = () if ensemble is None else ensemble.canaries
    canary = np.zeros(n, dtype=np.uint8)
    for code, kind in enumerate(canaries, 1):
        canary[kind.mask()] = code
    suggested = np.full(n, NO_LABEL)
    if ensemble is not None and "rival" in ensemble.dynamics.columns:
        suggested = np.array(ensemble.assessment.suggested)
    suspected = np.zeros(n, dtype=np.bool_)
    if suspects is not None:
        suspected[suspects.positions] = True
        suggested[suspects.positions] = suspects.suggested
    steps = _steps(decision, others=dynamics is not None)
    queue = _queue(decision, suggested)
    sample = sample_of(data, decision.kept, seed=0 if ensemble is None else ensemble.settings.seed)
    asked = _first_of_each(
        queue,
        np.array([], dtype=np.int64) if sample is None else sample.drawn,
        _class_turns(_suspects(decision), data.labels),
    )
    return Page(
        decision=decision,
        title=title,
        proxies=0 if dynamics is None else dynamics.proxies,
        mean_rank=mean,
        rank_variance=variance,
        suspected=suspected,
        canary=canary,
        canary_kinds=tuple(kind.kind for kind in canaries),
        suggested=suggested,
        steps=steps,
        chosen=[step.fraction for step in steps].index(_fraction(decision)),
        queue=queue,
        sample=sample,
        gap=empirical_gap(dynamics, canary > 0) if dynamics is not None and canary.any() else None,
        details=details_of(data, shown_positions(asked, mean, variance, data.ids)),
        recipe=recipe,
        environment={
            "dris": dris.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "system": f"{platform.system()} {platform.machine()}",
        },
    )


def sample_of(
    data: LabelledData, kept: NDArray[np.int64], *, most: int = MAX_SAMPLE, seed: int = 0
) -> Sample | None:
    """Draw kept examples for a person to check, with the limit for each number of wrong ones."""
    count = min(most, kept.size)
    if not count:
        return None
    files = [] if data.paths is not None else [str(file) for file in data.origin.files]
    drawn, note = sealed_draw(data, kept, count, files=files, seed=seed)
    limits = (
        audit_limit(size=kept.size, checked=count, wrong=wrong, delta=note["delta"]).share
        for wrong in range(count + 1)
    )
    return Sample(drawn, tuple(limits), json.dumps(note))


def _fraction(decision: Decision) -> float:
    return decision.kept.size / len(decision) if decision.keep is None else float(decision.keep)


def _suspects(decision: Decision) -> NDArray[np.int64]:
    if decision.suspects is None:
        return np.array([], dtype=np.int64)
    return decision.suspects.positions


def _steps(decision: Decision, *, others: bool) -> tuple[Step, ...]:
    """One step per keep fraction that the rule accepts; the decision's own rows at its own."""
    chosen = _fraction(decision)
    steps = []
    for fraction in sorted({*STEP_FRACTIONS, chosen}) if others else [chosen]:
        if fraction == chosen:
            kept, limit = decision.mask, decision.limit
        else:
            try:
                choice = decision.at(fraction)
            except InputError:  # it keeps nothing, or more than a gate lets through
                continue
            kept = choice.kept
            other = replace(decision, limits=choice.limits, contradicted=choice.contradicted)
            limit = other.limit
        steps.append(Step(fraction, kept, None if limit is None else limit.share))
    return tuple(steps)


def _queue(decision: Decision, suggested: NDArray[np.int64]) -> NDArray[np.int64]:
    """The labels to review, equally suspicious ones in the order of their hashes.

    Nobody is asked about a trusted label, or one that the proxies would give as well.
    """
    data = decision.data
    differs = (suggested != data.labels) | (suggested == NO_LABEL)
    at = np.flatnonzero(~data.trusted & differs)
    order = np.lexsort((hashed_order(data.ids[at], seed=0), -decision.suspicion[at]))
    return at[order[:MAX_QUEUE]].astype(np.int64)


def _class_turns(suspects: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The most suspicious of every class, then the second of every class, and so on."""
    turn = np.zeros(suspects.size, dtype=np.int64)
    for label in np.unique(labels[suspects]):
        own = labels[suspects] == label
        turn[own] = np.arange(own.sum())
    return suspects[np.argsort(turn, kind="stable")]


def _first_of_each(*groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """All positions in order, each where it comes first."""
    every = np.concatenate(groups)
    return every[np.sort(np.unique(every, return_index=True)[1])]
