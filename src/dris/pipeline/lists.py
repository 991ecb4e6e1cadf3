"""What a decision lists for a person: suspects, near-duplicates and outliers, annotators."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dris.core.checks.judgement import Judgement
from dris.core.checks.neighbours import Neighbours
from dris.core.errors import InputError
from dris.core.noise.annotators import Answers
from dris.core.streams import rng_for
from dris.core.validate import read_only, same_value
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.head import predict_after
from dris.learn.trainers.stacked.stack import as_features
from dris.pipeline.ensemble import MIN_DOUBT, Ensemble, scaling
from dris.pipeline.harm import HEADS, Positions

if TYPE_CHECKING:
    from dris.pipeline.decision import Decision

Mask = NDArray[np.bool_]
Line = tuple[object, ...]
LIST, KEEP_ONE = "list", "keep-one"
MAX_KEPT_ROWS = 20_000  # that labels to consider are learned from


@dataclass(frozen=True, slots=True)
class Suspect:
    """One label that is probably wrong: what it should be, why, and what became of it.

    `suggested` is "" where the ensemble names no other label; `dropped` is False where a person
    should look at it though it stays.
    """

    id: int | str
    given: str
    suggested: str
    p_wrong: float
    p_suggested: float
    why: str
    dropped: bool


@dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """Every label that is probably wrong, the surest first; iterating gives `Suspect`s."""

    positions: Positions  # where they stand in the data
    given: NDArray[np.int64]  # their given labels, 0..C-1
    suggested: NDArray[np.int64]  # the labels that the proxies would give
    p_wrong: NDArray[np.float64]
    p_suggested: NDArray[np.float64]  # how likely the suggested label is the true one; NaN unknown
    against: NDArray[np.int64]  # how many proxies give another label
    dropped: Mask  # true for those that are not kept
    ids: NDArray[np.generic]  # their names
    names: tuple[str, ...]  # what the classes are called
    proxies: int  # K
    said: tuple[str, ...] = ()  # what several annotators said of each
    rank: NDArray[np.int64] | None = None  # each class's place where they stand in an order

    def __post_init__(self) -> None:
        arrays = ("positions", "given", "suggested", "p_wrong", "p_suggested", "against", "dropped")
        for name in arrays:
            values = getattr(self, name)
            object.__setattr__(self, name, read_only(values, values.dtype))

    def __len__(self) -> int:
        return self.positions.size

    __eq__ = same_value

    def __iter__(self) -> Iterator[Suspect]:
        for k in range(len(self)):
            yield Suspect(
                id=self.ids[k].item(),
                given=self.names[int(self.given[k])],
                suggested=self._other(k),
                p_wrong=float(self.p_wrong[k]),
                p_suggested=float(self.p_suggested[k]),
                why=self.why(k),
                dropped=bool(self.dropped[k]),
            )

    def why(self, k: int) -> str:
        """The reason for the k-th, in words."""
        other = self._other(k)
        if self.proxies == 1:  # somebody else's model
            label = other or "another label"
            return f"the model gives {label}" if self.against[k] else "the model finds it unlikely"
        text = f"{int(self.against[k])} of {self.proxies} proxies give another label"
        if other and len(self.names) == 2:
            text = f"{int(self.against[k])} of {self.proxies} proxies say {other}"
        elif other and self.against[k]:
            text = f"{text}, most of them {other}"
        if self.rank is not None and other:
            steps = int(self.rank[self.suggested[k]] - self.rank[self.given[k]])
            far = "1 class" if abs(steps) == 1 else f"{abs(steps)} classes"
            text = f"{text}; {other} is {far} {'higher' if steps > 0 else 'lower'}"
        return f"{text}; annotators said {self.said[k]}" if self.said else text

    def _other(self, k: int) -> str:
        label = int(self.suggested[k])
        return self.names[label] if label >= 0 and label != int(self.given[k]) else ""

    def pairs(self) -> list[tuple[int, int, int]]:
        """Each given label with its suggested one, 0..C-1, and how often; the commonest first."""
        at = (self.suggested >= 0) & (self.suggested != self.given)
        both = zip(self.given[at].tolist(), self.suggested[at].tolist(), strict=True)
        counts = Counter(both).items()
        return sorted(((a, b, n) for (a, b), n in counts), key=lambda one: (-one[2], *one[:2]))


def list_suspects(ensemble: Ensemble, kept: Mask, judgement: Judgement | None = None) -> Suspects:
    """Those more likely wrong than right, the surest first.

    Where P(wrong) is only an order and a proxy learned nothing, none is listed.
    """
    data, assessment = ensemble.data, ensemble.assessment
    wrong = assessment.given.wrong
    learned = judgement is None or judgement.checks["above chance"].outcome != "fails"
    at = np.flatnonzero(assessment.given.suspects & (assessment.calibrated or learned))
    order = at[np.argsort(-wrong[at], kind="stable")]
    answers = data.answers
    return Suspects(
        positions=order,
        given=data.labels[order],
        suggested=assessment.suggested[order],
        p_wrong=wrong[order],
        p_suggested=assessment.p_suggested[order],
        against=assessment.against[order],
        dropped=~kept[order],
        ids=data.ids[order],
        names=data.names,
        proxies=ensemble.dynamics.proxies,
        said=() if answers is None else tuple(answers.said(row, data.names) for row in order),
        rank=data.rank,
    )


def labels_to_consider(decision: "Decision") -> NDArray[np.int64]:
    """What models trained on the kept rows call those without a label, 0..C-1.

    -1 where a linear model and one with a hidden layer disagree, and where the data is pictures
    or too little to train on.
    """
    data, ensemble = decision.data, decision.ensemble
    aside = data.unlabelled
    if aside is None:
        return np.zeros(0, dtype=np.int64)
    if ensemble is None or ensemble.features is not None or ensemble.table.ndim != 2:
        return np.full(len(aside), -1, dtype=np.int64)
    kept = decision.kept
    if len(kept) > MAX_KEPT_ROWS:
        drawn = rng_for(ensemble.settings.seed, "unlabelled", "rows").permutation(len(kept))
        kept = np.sort(kept[drawn[:MAX_KEPT_ROWS]])
    own = ensemble.table[kept]
    x = np.concatenate((own, aside.x.reshape(len(aside), -1)))
    y = np.concatenate((decision.labels[kept], np.zeros(len(aside), dtype=np.int64)))
    table = as_features(Data(x, y), scaling(data)).x
    every = [
        predict_after(table, y, len(data.classes), [np.arange(len(own))], head=head)[0, len(own) :]
        for head in HEADS.values()
    ]
    alike = np.all([guess == every[0] for guess in every], axis=0)
    return np.where(alike, every[0], -1)


# -- near-duplicates and outliers ------------------------------------------------------------------


def check_near_duplicates(how: str) -> None:
    """Refuse, before anything trains, what is no way to treat near-duplicates."""
    if how not in (LIST, KEEP_ONE):
        raise InputError(f"`near_duplicates` must be {LIST} or {KEEP_ONE}, got {how!r}")


def duplicate_groups(found: Neighbours, labels: NDArray[np.int64]) -> list[Positions]:
    """The groups of near-copies: those with different labels first, then the largest."""
    order = np.argsort(found.groups, kind="stable")
    order = order[found.groups[order] >= 0]
    ends = np.flatnonzero(np.diff(found.groups[order])) + 1
    groups = np.split(order, ends) if order.size else []
    return sorted(groups, key=lambda rows: (len(set(labels[rows])) == 1, -len(rows), rows[0]))


def keep_one(decision: "Decision") -> "Decision":
    """The decision with one row of each group of near-duplicates, the least likely wrong."""
    gone = np.zeros(len(decision), dtype=np.bool_)
    for rows in decision.near_duplicates:
        there = rows[decision.mask[rows] & ~decision.data.trusted[rows]]
        kept = np.setdiff1d(rows[decision.mask[rows]], there)  # a person vouches for these
        best = there[np.argsort(decision.p_wrong[there], kind="stable")]
        gone[best if kept.size else best[1:]] = True
    if not gone.any():
        return decision
    count = int(gone.sum())
    note = f"{count:,} near-duplicates of a row that is kept were dropped; no limit covers the rest"
    kept = np.flatnonzero(decision.mask & ~gone)
    return replace(decision, kept=kept, limits=(), notes=(*decision.notes, note))


def neighbour_lines(decision: "Decision") -> list[Line]:
    """A line for each near-duplicate, group by group, then one for each outlier."""
    data, found = decision.data, decision.neighbours
    lines: list[Line] = [("kind", "group", "id", "given", "p_wrong", "distance", "kept")]
    if found is None:
        return lines

    def line(kind: str, group: object, row: int, distance: float) -> Line:
        label, kept = data.names[data.labels[row]], "yes" if decision.mask[row] else "no"
        numbers = (f"{decision.p_wrong[row]:.4f}", f"{distance:.4g}")
        return (kind, group, data.ids[row], label, *numbers, kept)

    for number, rows in enumerate(decision.near_duplicates, 1):
        torn = len(set(data.labels[rows])) > 1
        kind = "near-duplicate, labels differ" if torn else "near-duplicate"
        lines += [line(kind, number, row, found.nearest[row]) for row in rows.tolist()]
    return lines + [line("outlier", "", row, found.distance[row]) for row in decision.outliers]


# -- annotators ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Annotators:
    """The people behind a decision's labels."""

    names: tuple[str, ...]
    counts: NDArray[np.int64]  # how many labels each gave
    quality: NDArray[np.float64]  # how often each is right, by the answers of all and the proxies
    mistakes: tuple[tuple[int, int] | None, ...]  # the commonest of each, as (true, answer)
    agreement: NDArray[np.float64]  # of each row, the share of its answers that are the consensus
    needs_opinion: Positions  # of rows with P(wrong) of a tenth or more, the likeliest wrong first
    answers: Answers


def judge_annotators(decision: "Decision") -> Annotators | None:
    """The annotators of a decision; None where the labels are one person's."""
    answers, ensemble = decision.data.answers, decision.ensemble
    if answers is None or ensemble is None or ensemble.consensus is None:
        return None
    people, found = len(answers.names), ensemble.consensus
    classes = found.truth.shape[1]
    counts = np.bincount(answers.annotator, minlength=people)
    same = answers.label == decision.data.labels[answers.row]
    votes = np.bincount(answers.row, minlength=len(decision))
    agreement = np.bincount(answers.row, same, minlength=len(decision)) / np.maximum(votes, 1)
    doubtful = np.flatnonzero(decision.p_wrong >= MIN_DOUBT)
    order = np.lexsort((agreement[doubtful], -decision.p_wrong[doubtful]))
    # Which true class is answered as which how often: the largest cell off the diagonal.
    often = found.confusion * found.truth.mean(axis=0)[:, None] * (1 - np.eye(classes))
    largest = [divmod(int(cell), classes) for cell in often.reshape(people, -1).argmax(axis=1)]
    mistakes = tuple(
        pair if often[who][pair] * counts[who] >= 1 else None for who, pair in enumerate(largest)
    )
    return Annotators(
        answers.names, counts, found.quality, mistakes, agreement, doubtful[order], answers
    )


def annotator_lines(decision: "Decision") -> list[Line]:
    """A line for each annotator, the best first: answers, quality, the commonest mistake."""
    lines: list[Line] = [("annotator", "answers", "quality", "true", "answered")]
    people, names = decision.annotators, decision.data.names
    if people is None:
        return lines
    for who in np.argsort(-people.quality, kind="stable").tolist():
        mistake = [names[label] for label in people.mistakes[who] or ()] or ["", ""]
        quality = f"{people.quality[who]:.4f}"
        lines.append((people.names[who], int(people.counts[who]), quality, *mistake))
    return lines


def opinion_lines(decision: "Decision") -> list[Line]:
    """A line for each row that needs another opinion, the likeliest wrong first."""
    lines: list[Line] = [("id", "consensus", "p_wrong", "agreement", "answers")]
    data, people = decision.data, decision.annotators
    if people is None:
        return lines
    for row in people.needs_opinion.tolist():
        chances = (f"{decision.p_wrong[row]:.4f}", f"{people.agreement[row]:.2f}")
        label = data.names[data.labels[row]]
        lines.append((data.ids[row], label, *chances, people.answers.said(row, data.names)))
    return lines
