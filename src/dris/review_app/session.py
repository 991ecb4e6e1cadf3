"""One data set under review: its worklist, the journal, and all that the app asks for."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError, parameter
from dris.core.files import make_folder
from dris.data.files import one_line
from dris.data.labelled import LabelledData
from dris.data.outputs import show_rows, write_data
from dris.data.writer import Writer
from dris.pipeline.audit import ANSWERS
from dris.report_page.content import picture_bytes
from dris.review_app.journal import Journal
from dris.review_app.state import (
    DISPUTED,
    Answer,
    Cell,
    RestLimit,
    ReviewState,
    cells_of,
    check_cell,
)
from dris.review_app.worklist import NO_LABEL

MAX_NAME_LENGTH = 60
NEIGHBOURS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Corrections:
    """What a review changed, in rows; `column` names the column of trusted labels."""

    corrected: int
    trusted: int
    dropped: int
    unsure: int
    column: str


class ReviewSession:
    """One data set, its worklist, its open journal and what follows from them.

    Similar examples are found in `features`, what the proxies learned from, or in the data's own.
    """

    def __init__(self, data: LabelledData, journal: Journal, *, features: Any = None) -> None:
        journal.worklist.check(data, journal.path)
        self.data, self.journal, self.worklist = data, journal, journal.worklist
        self.state = ReviewState.of(journal.entries(), examples=len(data), classes=len(data.names))
        self.cells: dict[tuple[int, int], Cell] = cells_of(self.worklist, data.labels)
        self.contents = CardContents(data, self.worklist.positions)
        self.version = 0
        self._neighbours = Neighbours(data.x if features is None else features)
        self._lock = threading.RLock()

    # -- answers ---------------------------------------------------------------------------------

    def answer(
        self,
        who: str,
        at: int | Sequence[int],
        kind: str,
        label: int | Sequence[int] = NO_LABEL,
        *,
        seen: bool = True,
    ) -> None:
        """Answer labels: right, wrong or unsure; it is on the disk on return.

        Of several wrong ones, `label` has what each should be. They are one entry, and one undo.
        """
        places = [at] if isinstance(at, int) else list(at)
        labels = [label] * len(places) if isinstance(label, int) else list(label)
        if not places or len(set(places)) < len(places) or len(labels) != len(places):
            raise InputError("an answer needs examples, each once, and a label for each")
        if kind not in ANSWERS:
            raise InputError(f"answer must be {', '.join(ANSWERS)}, got {one_line(kind)!r}")
        for place, other in zip(places, labels, strict=True):
            if not 0 <= place < len(self.data):
                raise InputError(f"there is no example {place}")
            if not NO_LABEL <= other < len(self.data.names):
                raise InputError(f"label must be 0..{len(self.data.names) - 1} or -1, got {other}")
            if other != NO_LABEL and (kind != "wrong" or other == self.data.labels[place]):
                raise InputError("only a wrong label has another one; call it right instead")
        entry = {"entry": "answer", "who": check_reviewer(who), "at": places, "answer": kind}
        self._add({**entry, "label": labels, "seen": seen})

    def undo(self, who: str) -> list[int]:
        """Take this person's last entry back; returns the positions that are open again."""
        with self._lock:
            reopened = self.state.last(check_reviewer(who))
            if reopened:
                self._add({"entry": "undo", "who": check_reviewer(who)})
        return reopened

    def accept(self, who: str, given: int, suggested: int) -> int:
        """Give the open labels of a cell the suggested one, once its sample was checked."""
        with self._lock:
            now = check_cell(self.cell(given, suggested), self.state)
            if now.checked < now.sample:
                raise InputError(
                    f"{now.sample - now.checked} of the {now.sample} drawn are not checked yet; "
                    "check them before the rest is accepted"
                )
            if now.open:
                self.answer(who, now.open, "wrong", suggested, seen=False)
        return len(now.open)

    def _add(self, entry: Mapping[str, Any]) -> None:
        with self._lock:
            self.journal.add({**entry, "time": datetime.now(UTC).isoformat(timespec="seconds")})
            self.state.add(entry)
            self.version += 1

    # -- what is shown ---------------------------------------------------------------------------

    def cell(self, given: int, suggested: int) -> Cell:
        """The cell of two labels, if it has suspects."""
        if (given, suggested) not in self.cells:
            raise InputError("no suspect has these two labels")
        return self.cells[given, suggested]

    def summary(self, who: str) -> dict[str, Any]:
        """Counts, limit, people: whatever changes with an answer."""
        with self._lock:
            outcomes = Counter(map(self.state.outcome, self.worklist.positions.tolist()))
            limit = self.limit()
            return {
                "version": self.version,
                "cards": len(self.worklist),
                "left": outcomes[""],
                "counts": {name: outcomes[name] for name in (*ANSWERS, DISPUTED)},
                "mine": self.state.people().get(who, 0),
                "undo": len(self.state.last(who)),
                "people": self.state.people(),
                "agreements": self.state.agreements(),
                "sample": limit.sample,
                "limit": limit.to_dict() if limit.checked == limit.sample else None,
            }

    def limit(self) -> RestLimit:
        """The limit on the labels that nobody has settled, as it stands."""
        return self.state.rest_limit(self.worklist, self.data.trusted)

    def opening(self, who: str) -> dict[str, Any]:
        """What a page needs before its first card: the queue, the answers and the summary."""
        cards = self.worklist
        return {
            "classes": list(self.data.names),
            "examples": len(self.data),
            "pictured": self.contents.pictured,
            "brief": self.contents.brief,
            "near": self._neighbours.quick,
            "at": cards.positions.tolist(),
            "given": self.data.labels[cards.positions].tolist(),
            "suggested": cards.suggested.tolist(),
            "pWrong": [  # no probability where the classes have none
                None if hidden or not cards.likely.size else value
                for value, hidden in zip(cards.p_wrong.tolist(), cards.blind, strict=True)
            ],
            "cells": [[*labels, len(cell.members)] for labels, cell in self.cells.items()],
            **self.progress(who),
        }

    def progress(self, who: str) -> dict[str, Any]:
        """Of each card this person's answer and everybody's outcome, and the summary."""
        with self._lock:
            answers: list[list[Any] | None] = []
            for at in self.worklist.positions.tolist():
                own, outcome = self.state.by(who, at), self.state.outcome(at)
                mine = None if own is None else [own.kind, own.label]
                answers.append([mine, outcome] if outcome else None)
            return {"answers": answers, "summary": self.summary(who)}

    def cards(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        """Id, columns and the likeliest classes of some cards; none for those shown blind."""
        at = [p for p in positions if 0 <= p < len(self.data)]
        return [
            {"at": p, "id": str(self.data.ids[p]), "fields": fields, "likely": self._likely(p)}
            for p, fields in zip(at, self.contents.fields(at), strict=True)
        ]

    def _likely(self, at: int) -> list[tuple[int, float]]:
        k = self.contents.place.get(at)
        if k is None or self.worklist.blind[k]:
            return []
        classes, chances = self.worklist.likely[k], self.worklist.probabilities[k]
        return list(zip(classes.tolist(), chances.tolist(), strict=True))

    def similar(self, at: int) -> list[dict[str, Any]]:
        """The nearest examples; distance 0 is a copy."""
        if not 0 <= at < len(self.data):
            raise InputError(f"there is no example {at}")
        near = dict(self._neighbours.nearest(at, NEIGHBOURS_SHOWN))
        given = {p: self.data.names[int(self.data.labels[p])] for p in near}
        cards = self.cards(list(near))
        return [{**c, "distance": near[c["at"]], "given": given[c["at"]]} for c in cards]

    def check(self, given: int, suggested: int) -> dict[str, Any]:
        """How far a cell is checked, and which cards its sample is."""
        with self._lock:
            cell = self.cell(given, suggested)
            now = check_cell(cell, self.state).to_dict()
        return {**now, "members": list(cell.members), "drawn": list(cell.sample)}

    # -- what is written -------------------------------------------------------------------------

    def write_corrected(self, path: Path, *, trusted: str | None, writer: Writer) -> Corrections:
        """Write the data with what people agree on; what they dispute stays as it is."""
        with self._lock:
            answers = {
                at: self.state.settled(at) or Answer("unsure")
                for at in sorted(self.state.given)
                if self.state.outcome(at)
            }
        if not answers:
            raise InputError("nothing is answered yet, so there is nothing to correct")
        return write_corrected(self.data, answers, path, trusted=trusted, writer=writer)


def check_reviewer(name: str) -> str:
    """A person's name as it is written down: one line, not empty."""
    line = one_line(name, MAX_NAME_LENGTH)
    if not line:
        raise InputError("a reviewer needs a name; pass `reviewer`, or type it on the page")
    return line


def write_corrected(
    data: LabelledData,
    answers: Mapping[int, Answer],
    path: Path,
    *,
    trusted: str | None = None,
    writer: Writer | None = None,
) -> Corrections:
    """Write the data with corrected labels and a column of trusted ones.

    A row that is wrong and has no other label is left out; unsure rows stay as they are. A
    correction that nobody saw is made, but not trusted. The data's own column `trusted` is brought
    up to date.
    """
    labels, vouched = data.labels.copy(), data.trusted.copy()
    known_wrong = np.zeros(len(data), dtype=np.bool_)
    for at, answer in answers.items():
        if answer.kind == "wrong" and answer.label == NO_LABEL:
            known_wrong[at] = True
        elif answer.kind == "wrong":
            labels[at] = answer.label
        if answer.kind != "unsure" and answer.seen:
            vouched[at] = True
    vouched &= ~known_wrong
    column = trusted or "trusted"
    if trusted is None and column in data.origin.columns:
        raise InputError(
            f"the data has a column {column!r} already; pass {parameter('trusted', column)} to add "
            "to it"
        )
    how: dict[str, Any] = {"replaced" if trusted else "columns": {column: vouched}}
    how |= {"positions": np.flatnonzero(~known_wrong), "labels": labels, "unlabelled": True}
    make_folder(path.parent)
    write_data(data, path, writer=writer, **how)
    return Corrections(
        corrected=int((labels != data.labels).sum()),
        trusted=int(vouched.sum()),
        dropped=int(known_wrong.sum()),
        unsure=sum(answer.kind == "unsure" for answer in answers.values()),
        column=column,
    )


MAX_TILE_TEXT = 160  # characters
PICTURE_SIDES = (96, 320, 1280)  # pixels
POOLED_SIDE = 8  # images are compared as 8 × 8 means a channel
ROWS_AT_ONCE = 4096
MAX_QUICK_SIZE = 10_000_000  # examples × features


class CardContents:
    """The cards' columns, read once; pictures on request, from the data's own folder only."""

    def __init__(self, data: LabelledData, positions: NDArray[np.int64]) -> None:
        self._data, self._positions = data, positions
        self._columns = show_rows(data, positions)
        self.place = {at: k for k, at in enumerate(positions.tolist())}
        files = data.origin.files
        folders = {p.parent for p in files} | {p for p in files[:1] if p.is_dir()}
        self._roots = tuple(folder.resolve() for folder in folders)

    @property
    def pictured(self) -> bool:
        """True if examples have pictures."""
        return self._data.x.ndim == 4

    @property
    def brief(self) -> bool:
        """True if two dozen fit beside each other: pictures, or little text on nearly every one."""
        columns = self._columns.values()
        lengths = [sum(map(len, row)) for row in zip(*columns, strict=True)]
        return self.pictured or bool(lengths and np.quantile(lengths, 0.9) <= MAX_TILE_TEXT)

    def fields(self, positions: list[int]) -> list[list[tuple[str, str]]]:
        """Column and value of each example, as they are written."""
        others = [at for at in positions if at not in self.place]
        more = show_rows(self._data, np.array(others)) if others else {}
        where = {at: (more, k) for k, at in enumerate(others)}
        where |= {at: (self._columns, self.place[at]) for at in positions if at in self.place}
        each = (where[at] for at in positions)
        return [[(name, values[k]) for name, values in columns.items()] for columns, k in each]

    @cached_property
    def _texts(self) -> list[str]:
        ids = self._data.ids[self._positions].astype(str).tolist()
        lines = zip(ids, *self._columns.values(), strict=True)
        return ["\n".join(line).casefold() for line in lines]

    def search(self, words: str) -> list[int]:
        """Positions of the cards in which each of the words occurs, in any column or the id."""
        wanted, each = words.casefold().split(), zip(self.place, self._texts, strict=True)
        return [at for at, text in each if all(word in text for word in wanted)]

    def picture(self, at: int, side: int) -> bytes:
        """An example's picture, encoded anew as PNG or WebP: no byte of a file is passed on."""
        data = self._data
        if not self.pictured or not 0 <= at < len(data) or side not in PICTURE_SIDES:
            raise InputError(f"there is no picture of example {at} in {side} pixels")
        if data.paths is None:
            return picture_bytes(data.x[at], side)
        path = Path(str(data.paths[at])).resolve()
        if not any(path.is_relative_to(root) for root in self._roots):
            raise InputError("the picture lies outside the data's own folder and is not shown")
        return picture_bytes(path, side)


class Neighbours:
    """Distances between examples in standardized features, computed on first use."""

    def __init__(self, x: Any) -> None:
        self._raw = x

    @property
    def quick(self) -> bool:
        """True if they are found while a person looks at a card."""
        return int(np.prod(self._raw.shape)) <= MAX_QUICK_SIZE

    def nearest(self, at: int, count: int) -> list[tuple[int, float]]:
        """The nearest examples with their distances; 0 is a copy, ties keep the data's order."""
        x = self._features
        far = np.empty(len(x))
        for start in range(0, len(x), ROWS_AT_ONCE):
            part = x[start : start + ROWS_AT_ONCE] - x[at]
            far[start : start + ROWS_AT_ONCE] = np.einsum("nd,nd->n", part, part)
        far[at] = np.inf
        order = np.argsort(far, kind="stable")[: min(count, len(x) - 1)]
        return [(int(i), round(float(np.sqrt(far[i])), 3)) for i in order]

    @cached_property
    def _features(self) -> NDArray[np.float32]:
        x = np.asarray(self._raw)
        if x.ndim == 4:  # pictures as the means of at most 8 × 8 squares a channel
            for axis in (2, 3):
                strips = np.array_split(x, min(POOLED_SIDE, x.shape[axis]), axis=axis)
                x = np.stack([s.mean(axis=axis, dtype=np.float32) for s in strips], axis=axis)
        flat = x.reshape(len(x), -1).astype(np.float32)
        flat = flat - flat.mean(axis=0)
        spread = flat.std(axis=0)
        return np.asarray(flat / np.where(spread > 0, spread, 1), dtype=np.float32)
