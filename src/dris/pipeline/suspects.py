"""The suspects of a decision: one list for the page, the issues, the review and the estimators."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dris.core.validate import read_only, same_value
from dris.pipeline.ensemble import Ensemble

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
    """Every label that looks wrong, the most suspicious first; iterating gives `Suspect`s.

    Attributes:
        positions: Where they stand in the data.
        given: Their given labels, 0..C-1.
        suggested: The labels that the proxies would give.
        suspicion: Larger is more likely wrong.
        against: How many proxies give another label.
        dropped: True for those that are not kept.
        ids: Their names.
        names: What the classes are called.
        proxies: K.
    """

    positions: NDArray[np.int64]
    given: NDArray[np.int64]
    suggested: NDArray[np.int64]
    suspicion: NDArray[np.float64]
    against: NDArray[np.int64]
    dropped: Mask
    ids: NDArray[np.generic]
    names: tuple[str, ...]
    proxies: int

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
            other = int(self.suggested[k])
            known = other >= 0 and other != int(self.given[k])
            yield Suspect(
                id=self.ids[k].item(),
                given=self.names[int(self.given[k])],
                suggested=self.names[other] if known else "",
                suspicion=float(self.suspicion[k]),
                why=self.why(k),
                dropped=bool(self.dropped[k]),
            )

    def why(self, k: int) -> str:
        """The reason for the k-th, in words."""
        other = int(self.suggested[k])
        another = other >= 0 and other != int(self.given[k])
        if self.proxies == 1:  # somebody else's model
            label = self.names[other] if another else "another label"
            return f"the model gives {label}" if self.against[k] else "the model finds it unlikely"
        text = f"{int(self.against[k])} of {self.proxies} proxies give another label"
        return f"{text}, most of them {self.names[other]}" if another else text

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
