"""One given and one suggested label: a random sample is checked, then the others are accepted."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dris.core.certify.random_audit import audit_limit
from dris.core.streams import rng_for
from dris.review_app.state import DELTA, Standing
from dris.review_app.worklist import NO_LABEL, Worklist

CHECKED = 20


@dataclass(frozen=True, slots=True)
class Cell:
    """Suspects with the same given and the same suggested label, and a random sample of them.

    The sample is drawn from all of them, whoever has been looked at, so that nobody's choice of
    what to look at moves the limit.
    """

    given: int
    suggested: int
    members: tuple[int, ...]
    sample: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellStanding:
    """How far a cell is checked, and what accepting the rest of it would do at most.

    Attributes:
        size: Suspects in the cell.
        sample: How many of them have to be checked.
        checked: How many of the sample are answered.
        other: How many of these should have another label than the suggested one.
        open: Members that nobody answered: those that would be accepted.
        most: So many of the open ones would get a wrong label, with probability 1 - δ.
    """

    size: int
    sample: int
    checked: int
    other: int
    open: tuple[int, ...]
    most: int

    @property
    def ready(self) -> bool:
        """Whether the rest may be accepted."""
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
            "share": self.most / len(self.open) if done and self.open else None,
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
    found = {}
    for (given, other), at in sorted(members.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        rng = rng_for(worklist.seed, "review", "cell", given, other)
        drawn = rng.choice(np.array(at), min(CHECKED, len(at)), replace=False)
        found[given, other] = Cell(given, other, tuple(at), tuple(drawn.tolist()))
    return found


def cell_standing(cell: Cell, standing: Standing) -> CellStanding:
    """What is known of a cell; unsure and disputed answers count against the suggestion."""
    accepts = {at: _accepts(standing, at, cell.suggested) for at in cell.members}
    checked = [at for at in cell.sample if accepts[at] is not None]
    other = sum(not accepts[at] for at in checked)
    open_ = tuple(at for at in cell.members if not standing.verdict(at))
    known = sum(accepts[at] is False for at in cell.members)
    limit = audit_limit(
        size=len(cell.members), checked=len(cell.sample), wrong=other, delta=DELTA
    ).limit
    most = min(max(limit - known, 0), len(open_))
    return CellStanding(len(cell.members), len(cell.sample), len(checked), other, open_, most)


def _accepts(standing: Standing, at: int, label: int) -> bool | None:
    """Whether people who saw it give the suggested label; None where nobody saw it."""
    seen = [answer for answer in standing.answers(at) if answer.seen]
    if not seen:
        return None
    return all(answer.verdict == "wrong" and answer.label == label for answer in seen)
