"""What looks wrong: one suspicion behind the queue, the page, the issues and the estimators."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dris.core.frozen import read_only, same_value
from dris.core.scores.suggestions import doubted_labels, guesses
from dris.core.scores.suspicion import early_margin, suspicion, unlikely_labels
from dris.pipeline.scored import Scored

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Suspect:
    """One label that looks wrong: what it is, what it should probably be, why, what became of it.

    `suggested` is "" where the proxies agree with nobody; `dropped` is False where a person
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
        contradicted: How many proxies give another label.
        dropped: True for those that are not kept.
        ids: Their names.
        names: What the classes are called.
        proxies: K.
    """

    positions: NDArray[np.int64]
    given: NDArray[np.int64]
    suggested: NDArray[np.int64]
    suspicion: NDArray[np.float64]
    contradicted: NDArray[np.int64]
    dropped: Mask
    ids: NDArray[np.generic]
    names: tuple[str, ...]
    proxies: int

    def __post_init__(self) -> None:
        for name in ("positions", "given", "suggested", "suspicion", "contradicted", "dropped"):
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
            said = self.names[other] if another else "another label"
            return f"the model gives {said}" if self.contradicted[k] else "the model doubts it"
        says = f"{int(self.contradicted[k])} of {self.proxies} proxies give another label"
        return f"{says}, most of them {self.names[other]}" if another else says

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


def suspicion_of(scored: Scored) -> NDArray[np.float64]:
    """How much each *given* label looks wrong, in (0, 1]; larger is more.

    That of the shown labels (`dris.core.scores.suspicion`). A canary was shown another label than
    its own; its own is judged by how likely proxies find it that never saw it, or without folds
    by whether they give it at the scored epoch.
    """
    dynamics, planted = scored.dynamics, scored.planted()
    wary = np.array(suspicion(dynamics))
    if not planted.any() or "rival" not in dynamics.columns:
        return wary
    at, own = np.flatnonzero(planted), scored.data.labels[planted]
    likely = scored.unseen()
    if likely is None:
        strength = np.abs(dynamics.snapshot("margin")[:, at].astype(np.float64))
        margin = np.where(guesses(dynamics)[:, at] == own, strength, -strength).mean(axis=0)
        others = early_margin(dynamics)[~planted]
    else:
        margin = likely[at, own]
        others = likely[~planted, scored.data.labels[~planted]]
    # The place it would take among the others, and the suspicion of who stands there: a mean of
    # two ranks is rarely near 1, so that a plain rank would put canaries above the rest.
    below = np.searchsorted(np.sort(others), margin, side="left")
    by_place = np.sort(wary[~planted])[::-1]
    wary[at] = by_place[np.minimum(below, by_place.size - 1)]
    return wary


def contradicted_labels(scored: Scored) -> Mask:
    """Where the *given* label is more likely wrong than right.

    Without folds: where at least half of the proxies give another label.
    """
    dynamics, likely = scored.dynamics, scored.unseen()
    if likely is not None and dynamics.labels is not None:
        return unlikely_labels(likely, scored.data.labels, dynamics.labels)
    if "correct" not in dynamics.columns:
        return np.zeros(dynamics.examples, dtype=np.bool_)
    return doubted_labels(_right(scored))


def suspects_of(scored: Scored, wary: NDArray[np.float64], kept: Mask) -> Suspects:
    """Those more likely wrong than right, trusted ones aside; the most suspicious first."""
    data, dynamics = scored.data, scored.dynamics
    at = np.flatnonzero(contradicted_labels(scored) & ~data.trusted)
    order = at[np.argsort(-wary[at], kind="stable")]
    suggested = np.full(len(data), -1, dtype=np.int64)
    wrong = np.zeros(len(data), dtype=np.int64)
    if "rival" in dynamics.columns:
        suggested = scored.suggested()
    if at.size:
        wrong = (~_right(scored)).sum(axis=0)
    return Suspects(
        positions=order,
        given=data.labels[order],
        suggested=suggested[order],
        suspicion=wary[order],
        contradicted=wrong[order],
        dropped=~kept[order],
        ids=data.ids[order],
        names=data.names,
        proxies=dynamics.proxies,
    )


def _right(scored: Scored) -> Mask:
    """Whether each proxy gives the given label at the scored epoch, unseen if it can be, (K, N)."""
    twin = scored.dynamics.out_of_fold
    dynamics = scored.dynamics if twin is None else twin
    right = np.array(dynamics.snapshot("correct"))
    planted = scored.planted()
    if planted.any():
        right[:, planted] = guesses(dynamics)[:, planted] == scored.data.labels[planted]
    return right
