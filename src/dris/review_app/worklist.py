"""What is put before a person: the labels that look wrong, and among them a blind random sample.

The sample is drawn once, from the labels that do not look wrong, before the first answer. Nothing
on its cards tells them from the others: each shows the strongest *other* label.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.random_audit import draw_audit
from dris.core.errors import InputError
from dris.core.frozen import read_only
from dris.core.select.selection import Subset
from dris.core.streams import rng_for
from dris.data.labelled import LabelledData
from dris.pipeline.decision import Decision

FORMAT = 1
SAMPLE = 60  # none wrong of so many proves at most 4.9 % of the rest
EVERY = 5  # one card of the sample in every so many, until it is used up
NO_LABEL = -1
_ARRAYS = {
    "positions": np.int64,
    "suggested": np.int64,
    "suspicion": np.float64,
    "contradicted": np.int64,
    "sampled": np.bool_,
}


@dataclass(frozen=True, slots=True, eq=False)
class Worklist:
    """The cards in the order in which they come, and what they were drawn from.

    Attributes:
        positions: Where each card's example stands in the data.
        suggested: The strongest other label, `NO_LABEL` (-1) where there is none.
        suspicion: Larger is more suspicious.
        contradicted: How many proxies give another label; -1 where nobody knows.
        sampled: True for cards of the random sample.
        rest: How many labels the sample was drawn from: neither suspected nor trusted.
        proxies: K.
        seed: Of the draw, and of the samples of cells.
        fingerprint: Of the data.
        label: The column of the given labels.
        classes: What the classes are called.
    """

    positions: NDArray[np.int64]
    suggested: NDArray[np.int64]
    suspicion: NDArray[np.float64]
    contradicted: NDArray[np.int64]
    sampled: NDArray[np.bool_]
    rest: int
    proxies: int
    seed: int
    fingerprint: str
    label: str
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, kind in _ARRAYS.items():
            object.__setattr__(self, name, read_only(np.asarray(getattr(self, name)), kind))

    def __len__(self) -> int:
        return self.positions.size

    @property
    def suspects(self) -> NDArray[np.int64]:
        """Positions of the cards that are there because their label looks wrong."""
        return self.positions[~self.sampled]

    @property
    def sample(self) -> NDArray[np.int64]:
        """Positions of the blind random sample."""
        return self.positions[self.sampled]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for the first line of the journal."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        arrays["suspicion"] = [float(f"{value:.4g}") for value in arrays["suspicion"]]
        arrays["sampled"] = np.flatnonzero(self.sampled).tolist()
        return {
            "format": FORMAT,
            **arrays,
            "rest": self.rest,
            "proxies": self.proxies,
            "seed": self.seed,
            "fingerprint": self.fingerprint,
            "label": self.label,
            "classes": list(self.classes),
        }

    @classmethod
    def from_dict(cls, held: dict[str, Any]) -> "Worklist":
        """What `to_dict` wrote; a ValueError where it was damaged since."""
        sampled = np.zeros(len(held["positions"]), dtype=np.bool_)
        sampled[np.asarray(held["sampled"], dtype=np.int64)] = True
        arrays: dict[str, Any] = {name: np.asarray(held[name]) for name in _ARRAYS}
        whole = [values for name, values in arrays.items() if _ARRAYS[name] is np.int64]
        if any(values.size and values.dtype.kind not in "iu" for values in whole):
            raise ValueError("the worklist counts with fractions")
        found = cls(
            **{**arrays, "sampled": sampled},
            rest=int(held["rest"]),
            proxies=int(held["proxies"]),
            seed=int(held["seed"]),
            fingerprint=str(held["fingerprint"]),
            label=str(held["label"]),
            classes=tuple(map(str, held["classes"])),
        )
        if any(getattr(found, name).shape != sampled.shape for name in _ARRAYS):
            raise ValueError("the columns of the worklist are not of one length")
        if np.unique(found.positions).size < len(found) or min(found.rest, found.proxies) < 0:
            raise ValueError("the worklist names an example twice, or a count below zero")
        return found

    def check(self, data: LabelledData, where: object) -> None:
        """Stop when the data is not what this was made of."""
        if self.fingerprint != data.origin.fingerprint:
            raise InputError(
                f"{where} is a review of other data, or the data has changed since; name another "
                "file with `ticks`, or move it away"
            )
        if (self.label, self.classes) != (data.origin.label, data.names):
            raise InputError(
                f"{where} is a review of the column {self.label!r} with {len(self.classes)} "
                f"classes, now {data.origin.label!r} with {len(data.names)} is read; read it the "
                "same way, or name another file with `ticks`"
            )
        at, other = self.positions, self.suggested
        if at.size and not (
            0 <= at.min() <= at.max() < len(data)
            and NO_LABEL <= other.min() <= other.max() < len(self.classes)
        ):
            raise InputError(
                f"{where} was damaged: its worklist names examples or labels that are not there; "
                "name another file with `ticks`, or move it away"
            )


def worklist_of(decision: Decision, *, sample: int = SAMPLE, seed: int = 0) -> Worklist:
    """Every suspect, the most suspicious first, and a random sample of the rest mixed in.

    >>> from dris.pipeline.suspects import Suspects
    >>> data = LabelledData.of(np.eye(4), [0, 1, 0, 1], classes=("cat", "dog"))
    >>> two, one = np.array([2]), np.array([1])
    >>> found = Suspects(two, one - 1, one, one * 0.9, one, one > 0, two, ("cat", "dog"), 3)
    >>> decision = Decision(data, np.arange(4), np.zeros(4), found, "clean", None)
    >>> made = worklist_of(decision, sample=2)
    >>> sorted(made.positions.tolist()) != [2], made.rest, made.suspects.tolist()
    (True, 3, [2])
    """
    data, found = decision.data, decision.suspects
    at = np.array([], dtype=np.int64) if found is None else found.positions
    others = other_labels(decision)
    open_ = ~data.trusted
    open_[at] = False
    rest = np.flatnonzero(open_)
    count = min(sample, rest.size)
    drawn = np.array([], dtype=np.int64)
    if count:
        drawn = draw_audit(
            Subset(rest, "rest", {}, len(data)), count, rng=rng_for(seed, "review", "sample")
        )
    places = _mixed(at.size, count, rng=rng_for(seed, "review", "places"))
    positions = np.empty(at.size + count, dtype=np.int64)
    positions[places], positions[~places] = drawn, at
    contradicted = np.full(len(data), -1, dtype=np.int64)
    if found is not None:
        contradicted[at] = found.contradicted
    return Worklist(
        positions=positions,
        suggested=others[positions],
        suspicion=decision.suspicion[positions],
        contradicted=contradicted[positions],
        sampled=places,
        rest=int(rest.size),
        proxies=0 if found is None else found.proxies,
        seed=seed,
        fingerprint=data.origin.fingerprint,
        label=data.origin.label,
        classes=data.names,
    )


def other_labels(decision: Decision) -> NDArray[np.int64]:
    """The strongest label of each example besides the given one.

    Where nobody can say, it is the commonest suggestion for its class, so that a card without a
    suspicion does not stand out.
    """
    data, found = decision.data, decision.suspects
    likely = None if decision.scored is None else decision.scored.unseen()
    if likely is not None:
        others = np.array(likely)
        np.put_along_axis(others, data.labels[:, None], -np.inf, axis=1)
        strongest = np.asarray(others.argmax(axis=1), dtype=np.int64)
    else:
        strongest = _commonest(decision)[data.labels]
    if found is not None:
        strongest[found.positions] = np.where(
            found.suggested == found.given, NO_LABEL, found.suggested
        )
    return strongest


def _commonest(decision: Decision) -> NDArray[np.int64]:
    """For each class the label that is suggested most often in its place; -1 for a lone class."""
    size, found = len(decision.data.classes), decision.suspects
    counts = np.zeros((size, size))
    if found is not None:
        known = found.suggested >= 0
        np.add.at(counts, (found.given[known], found.suggested[known]), 1)
    counts += np.bincount(decision.data.labels, minlength=size) / (len(decision.data) + 1)
    np.fill_diagonal(counts, -1)
    return np.where(size > 1, counts.argmax(axis=1), NO_LABEL).astype(np.int64)


def _mixed(suspects: int, sample: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which cards are the sample's: one at a random place of every five, or more often.

    >>> _mixed(8, 2, rng=np.random.default_rng(0)).sum()
    np.int64(2)
    """
    marks = np.zeros(suspects + sample, dtype=np.bool_)
    if sample:
        step = min(EVERY, marks.size // sample)
        marks[np.arange(sample) * step + rng.integers(step, size=sample)] = True
    return marks
