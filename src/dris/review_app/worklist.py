"""What a person is asked: the suspects, and mixed in among them a blind random sample.

The sample is drawn once, from the labels that are no suspects. Its cards show the likeliest *other*
label, as a suspect's does. P(wrong) would give them away, so it is withheld from them and from as
many suspects, drawn at random.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.random_audit import draw_audit
from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.core.subset import Subset
from dris.core.validate import read_only
from dris.data.labelled import LabelledData
from dris.pipeline.decision import Decision

FORMAT = 2
SAMPLE = 60  # none wrong of so many proves at most 4.9 % of the rest
SAMPLE_SPACING = 5  # one card of the sample in every five, until it is used up
CLASSES_SHOWN = 3  # the likeliest
NO_LABEL = -1
_ARRAYS = {
    "positions": np.int64,
    "suggested": np.int64,
    "p_wrong": np.float64,
    "likely": np.int64,
    "probabilities": np.float64,
    "sampled": np.bool_,
    "blind": np.bool_,
}


@dataclass(frozen=True, slots=True, eq=False)
class Worklist:
    """The cards in order, and what they were drawn from."""

    positions: NDArray[np.int64]  # each card's example in the data
    suggested: NDArray[np.int64]  # the likeliest other label, `NO_LABEL` (-1) where there is none
    p_wrong: NDArray[np.float64]
    likely: NDArray[np.int64]  # (cards, L): the likeliest classes, as many as are shown
    probabilities: NDArray[np.float64]  # (cards, L): of these classes
    sampled: NDArray[np.bool_]  # true for cards of the random sample
    blind: NDArray[np.bool_]  # true for cards that are shown without P(wrong)
    rest: int  # how many labels the sample was drawn from: neither suspects nor trusted
    seed: int  # of the draw, and of the samples of cells
    fingerprint: str  # of the data
    label: str  # the column of the given labels
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, kind in _ARRAYS.items():
            object.__setattr__(self, name, read_only(np.asarray(getattr(self, name)), kind))

    def __len__(self) -> int:
        return self.positions.size

    @property
    def suspects(self) -> NDArray[np.int64]:
        """Positions of the suspects."""
        return self.positions[~self.sampled]

    @property
    def sample(self) -> NDArray[np.int64]:
        """Positions of the blind random sample."""
        return self.positions[self.sampled]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for the first line of the journal."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, kind in _ARRAYS.items():
            array = np.flatnonzero(values[name]) if kind is np.bool_ else values[name]
            values[name] = np.round(array, 4).tolist()
        return {"format": FORMAT, **values, "classes": list(self.classes)}

    @classmethod
    def from_dict(cls, held: dict[str, Any]) -> "Worklist":
        """What `to_dict` wrote."""
        values = {field.name: held[field.name] for field in fields(cls)}
        for name, kind in _ARRAYS.items():
            if kind is np.bool_:
                values[name] = np.isin(np.arange(len(held["positions"])), held[name])
        return cls(**{**values, "classes": tuple(held["classes"])})

    def check(self, data: LabelledData, where: object) -> None:
        """Raise where the data is not what this was made of."""
        why = "is a review of other data, or the data has changed since"
        if self.fingerprint == data.origin.fingerprint:
            if (self.label, self.classes) == (data.origin.label, data.names):
                return
            why = (
                f"is a review of the column {self.label!r} with {len(self.classes)} classes, now "
                f"{data.origin.label!r} with {len(data.names)} is read; read it the same way"
            )
        raise InputError(f"{where} {why}; name another file with `answers`, or move it away")


def worklist_of(decision: Decision, *, sample: int = SAMPLE, seed: int = 0) -> Worklist:
    """Every suspect, the most certain first, and a random sample of the rest mixed in."""
    data, suspects = decision.data, decision.suspects
    at = np.array([], dtype=np.int64) if suspects is None else suspects.positions
    rest = np.setdiff1d(np.flatnonzero(~data.trusted), at)
    count = min(sample, rest.size)
    sampled = _mix_in(at.size, count, rng=rng_for(seed, "review", "places"))
    positions = np.empty(at.size + count, dtype=np.int64)
    positions[~sampled] = at
    if count:
        whole = Subset(rest, "rest", {}, len(data))
        positions[sampled] = draw_audit(whole, count, rng=rng_for(seed, "review", "sample"))
    ensemble, none = decision.ensemble, np.zeros((positions.size, 0))
    likely, chances = none.astype(np.int64), none  # where they are not known
    if ensemble is not None and ensemble.assessment.calibrated:
        likely, chances = ensemble.assessment.likeliest(positions, CLASSES_SHOWN)
    return Worklist(
        positions=positions,
        suggested=_other_labels(decision)[positions],
        p_wrong=decision.p_wrong[positions],
        likely=likely,
        probabilities=chances,
        sampled=sampled,
        blind=_withhold(sampled, rng=rng_for(seed, "review", "blind")),
        rest=int(rest.size),
        seed=seed,
        fingerprint=data.origin.fingerprint,
        label=data.origin.label,
        classes=data.names,
    )


def _other_labels(decision: Decision) -> NDArray[np.int64]:
    """The likeliest label of each example besides the given one.

    Where it is not known, the commonest suggestion for its class, so that a card that is no
    suspect's does not stand out.
    """
    data, suspects, size = decision.data, decision.suspects, len(decision.data.classes)
    counts = np.zeros((size, size)) + np.bincount(data.labels, minlength=size) / (len(data) + 1)
    for given, suggested, times in [] if suspects is None else suspects.pairs():
        counts[given, suggested] += times
    np.fill_diagonal(counts, -1)
    likeliest = np.where(size > 1, counts.argmax(axis=1), NO_LABEL)[data.labels]
    if decision.ensemble is not None:
        other = decision.ensemble.assessment.other
        likeliest = np.where(other >= 0, other, likeliest)
    if suspects is not None:
        likeliest[suspects.positions] = np.where(
            suspects.suggested == suspects.given, NO_LABEL, suspects.suggested
        )
    return likeliest


def _mix_in(suspects: int, sample: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """True for the sample's cards: one of every five, or more; the first card is a suspect's."""
    if not suspects:
        return np.ones(sample, dtype=np.bool_)
    sampled = np.zeros(suspects + sample, dtype=np.bool_)
    spacing = min(SAMPLE_SPACING, (sampled.size - 1) / max(sample, 1))
    edges = 1 + np.floor(np.arange(sample + 1) * spacing).astype(np.int64)
    sampled[rng.integers(edges[:-1], edges[1:])] = True
    return sampled


def _withhold(sampled: NDArray[np.bool_], *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """True for the sample's cards and as many suspects, half of them at most, never the first."""
    suspects = np.flatnonzero(~sampled)[1:]
    count = min(int(sampled.sum()), suspects.size // 2)
    blind = sampled.copy()
    blind[rng.choice(suspects, count, replace=False)] = True
    return blind
