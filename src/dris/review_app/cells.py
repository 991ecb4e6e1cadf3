"""One given and one suggested label: check a random sample, then accept the others at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dris.core.certify.random_audit import audit_limit
from dris.core.streams import rng_for
from dris.review_app.state import DELTA, ReviewState
from dris.review_app.worklist import NO_LABEL, Worklist

CHECKED_PER_CELL = 20


@dataclass(frozen=True, slots=True)
class Cell:
    """Suspects with the same given and suggested label, and a random sample of them.

    The sample is drawn from all of them, answered or not, so that nobody's choice of what to look
    at moves the limit.
    """

    given: int
    suggested: int
    members: tuple[int, ...]
    sample: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellState:
    """How far a cell is checked, and how many errors accepting the rest would make at most.

    Attributes:
        size: Suspects in the cell.
        sample: How many of them have to be checked.
        checked: How many of the sample are answered.
        other: How many of these should have another label than the suggested one.
        open: Members without an answer: those that would be accepted.
        most: Upper limit on the open ones that would get a wrong label, with probability 1 - δ.
    """

    size: int
    sample: int
    checked: int
    other: int
    open: tuple[int, ...]
    most: int

    @property
    def ready(self) -> bool:
        """True once the sample is checked and something is left to accept."""
        return self.checked == self.sample and bool(self.open)

    def to_dict(self) -> dict[str, Any]:
        """As plain values; the limit only once the sample is checked."""
        done = self.checked == self.sample
        return {
            "size": self.size,
            "sample": self.sample,
            "checked": self.checked,
            "other": self.other,
            "open": len(self.open),
            "most": self.most if done else None,
            "share": self.most / len(self.open) if self.ready else None,
            "ready": self.ready,
            "confidence": 1 - DELTA,
        }


def cells_of(worklist: Worklist, labels: Any) -> dict[tuple[int, int], Cell]:
    """Every cell of the confusion matrix given × suggested that has suspects, the largest first."""
    members: dict[tuple[int, int], list[int]] = {}
    own = ~worklist.sampled & (worklist.suggested != NO_LABEL)
    for at, other in zip(
        worklist.positions[own].tolist(), worklist.suggested[own].tolist(), strict=True
    ):
        members.setdefault((int(labels[at]), other), []).append(at)
    cells = {}
    for (given, other), at in sorted(members.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        rng = rng_for(worklist.seed, "review", "cell", given, other)
        drawn = rng.choice(np.array(at), min(CHECKED_PER_CELL, len(at)), replace=False)
        cells[given, other] = Cell(given, other, tuple(at), tuple(drawn.tolist()))
    return cells


def check_cell(cell: Cell, state: ReviewState) -> CellState:
    """What is known of a cell; unsure and disputed answers count against the suggestion."""
    accepted = {at: _is_accepted(state, at, cell.suggested) for at in cell.members}
    checked = [at for at in cell.sample if accepted[at] is not None]
    other = sum(not accepted[at] for at in checked)
    open_ = tuple(at for at in cell.members if not state.outcome(at))
    known = sum(one is False for one in accepted.values())
    limit = audit_limit(
        size=len(cell.members), checked=len(cell.sample), wrong=other, delta=DELTA
    ).limit
    most = min(max(limit - known, 0), len(open_))
    return CellState(len(cell.members), len(cell.sample), len(checked), other, open_, most)


def _is_accepted(state: ReviewState, at: int, label: int) -> bool | None:
    """True if all who saw it give the suggested label; None where nobody saw it."""
    seen = [answer for answer in state.answers(at) if answer.seen]
    if not seen:
        return None
    return all(answer.kind == "wrong" and answer.label == label for answer in seen)
