"""The suspects of a decision: one list for the page, the issues, the review and the estimators."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
    """One label that looks wrong: what it is, what it should probably be, why, what became of it.

    `suggested` is "" where the ensemble names no other label; `dropped` is False where a person
    should look at it though it stays.
    """

    id: int | str
    given: str
    suggested: str
    suspicion: float
    why: str
    dropped: bool


@dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """Every label that looks wrong, the most suspicious first; iterating gives `Suspect`s."""

    positions: NDArray[np.int64]  # where they stand in the data
    given: NDArray[np.int64]  # their given labels, 0..C-1
    suggested: NDArray[np.int64]  # the labels that the proxies would give
    suspicion: NDArray[np.float64]  # larger is more likely wrong
    against: NDArray[np.int64]  # how many proxies give another label
    dropped: Mask  # true for those that are not kept
    ids: NDArray[np.generic]  # their names
    names: tuple[str, ...]  # what the classes are called
    proxies: int  # K

    def __post_init__(self) -> None:
        for name in ("positions", "given", "suggested", "suspicion", "against", "dropped"):
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
                suspicion=float(self.suspicion[k]),
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
        return f"{text}, most of them {other}" if other else text

    def _other(self, k: int) -> str:
        label = int(self.suggested[k])
        return self.names[label] if label >= 0 and label != int(self.given[k]) else ""

    def commonest(self) -> tuple[str, str, int] | None:
        """The given and the suggested label that stand together most often, and how often."""
        at = (self.suggested >= 0) & (self.suggested != self.given)
        if not at.any():
            return None
        pairs = np.stack((self.given[at], self.suggested[at]), axis=1)
        values, counts = np.unique(pairs, axis=0, return_counts=True)
        most = int(counts.argmax())
        given, other = (int(v) for v in values[most])
        return self.names[given], self.names[other], int(counts[most])


def list_suspects(ensemble: Ensemble, kept: Mask) -> Suspects:
    """Those more likely wrong than right, trusted ones aside; the most suspicious first."""
    data, assessment = ensemble.data, ensemble.assessment
    suspicion = assessment.given.suspicion
    at = np.flatnonzero(assessment.given.suspects & ~data.trusted)
    order = at[np.argsort(-suspicion[at], kind="stable")]
    return Suspects(
        positions=order,
        given=data.labels[order],
        suggested=assessment.suggested[order],
        suspicion=suspicion[order],
        against=assessment.against[order],
        dropped=~kept[order],
        ids=data.ids[order],
        names=data.names,
        proxies=ensemble.dynamics.proxies,
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
