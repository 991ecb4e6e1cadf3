"""The suspects of a decision: one list for the page, the issues, the review and the estimators."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dris.core.checks.judgement import Judgement
from dris.core.streams import rng_for
from dris.core.validate import read_only, same_value
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.head import predict_after
from dris.learn.trainers.stacked.stack import as_features
from dris.pipeline.ensemble import Ensemble, scaling
from dris.pipeline.harm import HEADS

if TYPE_CHECKING:
    from dris.pipeline.decision import Decision

Mask = NDArray[np.bool_]


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

    positions: NDArray[np.int64]  # where they stand in the data
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

    def __eq__(self, other: object) -> bool:
        return same_value(self, other)

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
        text = f"{text}, most of them {other}" if other and self.against[k] else text
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


MAX_KEPT_ROWS = 20_000  # that are learned from
NONE = -1


def labels_to_consider(decision: "Decision") -> NDArray[np.int64]:
    """What models trained on the kept rows call those without a label, 0..C-1.

    -1 where a linear model and one with a hidden layer disagree, and where the data is pictures
    or too little to train on.
    """
    data, ensemble = decision.data, decision.ensemble
    aside = data.unlabelled
    if aside is None:
        return np.zeros(0, dtype=np.int64)
    nothing = np.full(len(aside), NONE, dtype=np.int64)
    if ensemble is None or ensemble.features is not None or ensemble.table.ndim != 2:
        return nothing
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
    return np.where(alike, every[0], NONE)
