"""The answers so far and what follows from them: agreement, an exact limit, cells to accept."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.random_audit import audit_limit
from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.data.files import one_line
from dris.pipeline.audit import ANSWERS
from dris.review_app.worklist import NO_LABEL, Worklist

DELTA = 0.05
DISPUTED = "disputed"
CHECKED_PER_CELL = 20


class Answer(NamedTuple):
    """Right, wrong or unsure; the label it should have; whether the person saw the example."""

    kind: str
    label: int = NO_LABEL
    seen: bool = True


@dataclass(frozen=True, slots=True)
class RestLimit:
    """How many of the labels that nobody has settled are wrong: `most`, with probability 1 - δ.

    Unsettled are open suspects and all labels that never looked wrong. Of the random `sample` some
    were `checked`, of which `wrong` were not called right. Its open cards count as wrong.
    """

    unsettled: int
    most: int
    checked: int
    sample: int
    wrong: int

    def to_dict(self) -> dict[str, Any]:
        """The numbers, and the limit as a share of the unsettled."""
        share = self.most / max(self.unsettled, 1)
        return {**asdict(self), "share": share, "confidence": 1 - DELTA}


@dataclass(slots=True)
class ReviewState:
    """Who answered what, built from the entries of a journal."""

    given: dict[int, dict[str, Answer]] = field(default_factory=dict)
    _past: dict[str, list[list[tuple[int, Answer | None]]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, entries: Iterable[tuple[int, Mapping[str, Any]]], *, examples: int, classes: int
    ) -> "ReviewState":
        """The state after these entries, each with its line; one that is no answer is an error."""
        state = cls()
        for line, entry in entries:
            try:
                state.add(entry)
                bounds = {"at": range(examples), "label": range(NO_LABEL, classes)}
                for name, allowed in bounds.items() if entry["entry"] == "answer" else ():
                    if not all(value in allowed for value in entry[name]):
                        raise ValueError(f"{name} {entry[name]}")
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(
                    f"line {line} of the file of answers is no answer to this data "
                    f"({one_line(error)}); remove the line, or name another file with `answers`"
                ) from None
        return state

    def add(self, entry: Mapping[str, Any]) -> None:
        """Take one more entry into account."""
        kind, who = entry["entry"], str(entry["who"])
        past = self._past.setdefault(who, [])
        if kind == "undo":
            for at, answer in past.pop() if past else []:
                if answer is None:
                    del self.given[at][who]
                else:
                    self.given[at][who] = answer
        elif kind == "answer" and entry["answer"] in ANSWERS:
            answers = dict(zip(entry["at"], entry["label"], strict=True))
            past.append([(at, self.by(who, at)) for at in answers])
            for at, label in answers.items():
                own = Answer(entry["answer"], label, bool(entry.get("seen", True)))
                self.given.setdefault(at, {})[who] = own
        else:
            raise ValueError(kind)

    def last(self, who: str) -> list[int]:
        """The positions that this person's next undo reopens."""
        entries = self._past.get(who)
        return [at for at, _ in entries[-1]] if entries else []

    def answers(self, at: int) -> list[Answer]:
        """The answers of those who saw an example, or else of who accepted it unseen."""
        every = list(self.given.get(at, {}).values())
        return [answer for answer in every if answer.seen] or every[:1]

    def settled(self, at: int) -> Answer | None:
        """The one answer, right or wrong, of all who saw it; None where there is none."""
        return self.answers(at)[0] if self.outcome(at) in ("right", "wrong") else None

    def outcome(self, at: int) -> str:
        """What became of an example: right, wrong, unsure, disputed, or "" while it is open."""
        different = set(self.answers(at))
        if len(different) > 1:
            return DISPUTED
        return different.pop().kind if different else ""

    def by(self, who: str, at: int) -> Answer | None:
        """What one person answered."""
        return self.given.get(at, {}).get(who)

    def people(self) -> dict[str, int]:
        """How many labels each person saw and answered."""
        seen = Counter(
            who for own in self.given.values() for who, answer in own.items() if answer.seen
        )
        return dict(sorted(seen.items()))

    def agreements(self) -> list[dict[str, Any]]:
        """How each pair of people answered what both saw; kappa is None where it is undefined."""
        found = []
        for first, second in combinations(self.people(), 2):
            pairs = [
                (own[first][:2], own[second][:2])
                for own in self.given.values()
                if first in own and second in own and own[first].seen and own[second].seen
            ]
            counts = {"both": len(pairs), "same": sum(a == b for a, b in pairs)}
            found.append({"first": first, "second": second, **counts, "kappa": _kappa(pairs)})
        return found

    def rest_limit(self, worklist: Worklist, trusted: NDArray[np.bool_] | None = None) -> RestLimit:
        """The exact limit on the labels that nobody has settled, whenever people stop.

        Answers about examples outside the worklist (imported ones) settle labels of the rest,
        save where the data calls them `trusted` already.
        """
        sample = worklist.sample.tolist()
        suspects = set(worklist.suspects.tolist())
        outside = list(self.given.keys() - suspects - set(sample))
        if trusted is not None:
            outside = [at for at in outside if not trusted[at]]
        settled = {at: answer.kind for at in self.given if (answer := self.settled(at))}
        right = sum(settled.get(at) == "right" for at in sample)
        answered = sum(bool(self.outcome(at)) for at in sample)
        in_rest = [settled[at] for at in (*sample, *outside) if at in settled]
        open_suspects = len(suspects) - sum(at in settled for at in suspects)
        unsettled = open_suspects + worklist.rest - len(in_rest)

        most = open_suspects
        if worklist.rest:
            limit = audit_limit(
                size=worklist.rest, checked=len(sample), wrong=len(sample) - right, delta=DELTA
            ).limit
            most = min(open_suspects + max(limit - in_rest.count("wrong"), 0), unsettled)
        return RestLimit(unsettled, most, answered, len(sample), answered - right)


def _kappa(pairs: list[tuple[Any, Any]]) -> float | None:
    """Cohen's kappa: agreement beyond chance."""
    if not pairs:
        return None
    n = len(pairs)
    first, second = (Counter(side) for side in zip(*pairs, strict=True))
    chance = sum(count * second[answer] for answer, count in first.items()) / n**2
    if np.isclose(chance, 1):
        return None
    return float((sum(a == b for a, b in pairs) / n - chance) / (1 - chance))


# -- cells: one given and one suggested label; check a sample, accept the others -------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """Suspects with the same given and suggested label, and a random sample of them.

    It is drawn from all, answered or not: nobody's choice of what to look at moves the limit.
    """

    suggested: int
    members: tuple[int, ...]
    sample: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellState:
    """How far a cell is checked, and how many errors accepting the rest would make at most.

    Of `size` suspects `sample` have to be `checked`; `other` should have another label than the
    suggested one. Accepting the `open` ones makes at most `most` wrong, with probability 1 - δ.
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
        most = self.most if self.checked == self.sample else None
        share = self.most / len(self.open) if self.ready else None
        values = {**asdict(self), "open": len(self.open), "most": most, "share": share}
        return {**values, "ready": self.ready, "confidence": 1 - DELTA}


def cells_of(worklist: Worklist, labels: Any) -> dict[tuple[int, int], Cell]:
    """Every cell of the confusion matrix given × suggested that has suspects, the largest first."""
    members: dict[tuple[int, int], list[int]] = {}
    for k in np.flatnonzero(~worklist.sampled & (worklist.suggested != NO_LABEL)).tolist():
        place = int(worklist.positions[k])
        members.setdefault((int(labels[place]), int(worklist.suggested[k])), []).append(place)
    cells = {}
    for (given, other), at in sorted(members.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        rng = rng_for(worklist.seed, "review", "cell", given, other)
        drawn = rng.choice(np.array(at), min(CHECKED_PER_CELL, len(at)), replace=False)
        cells[given, other] = Cell(other, tuple(at), tuple(drawn.tolist()))
    return cells


def check_cell(cell: Cell, state: ReviewState) -> CellState:
    """What is known of a cell; unsure and disputed answers count against the suggestion."""
    accepted = {  # True if all who saw it give the suggested label; only where anybody saw it
        at: all(answer.kind == "wrong" and answer.label == cell.suggested for answer in seen)
        for at in cell.members
        if (seen := [answer for answer in state.answers(at) if answer.seen])
    }
    checked = [at for at in cell.sample if at in accepted]
    other = sum(not accepted[at] for at in checked)
    open_ = tuple(at for at in cell.members if not state.outcome(at))
    known = sum(not one for one in accepted.values())
    limit = audit_limit(
        size=len(cell.members), checked=len(cell.sample), wrong=other, delta=DELTA
    ).limit
    most = min(max(limit - known, 0), len(open_))
    return CellState(len(cell.members), len(cell.sample), len(checked), other, open_, most)
