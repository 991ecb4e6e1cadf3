"""Everything about one data set that is being reviewed: asked by the app, tested without it."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dris.core.checks.verdicts import VERDICTS
from dris.core.errors import InputError
from dris.data.files import one_line
from dris.data.labelled import LabelledData
from dris.data.writer import Writer
from dris.pipeline.answers import Answer as Verdict
from dris.pipeline.answers import Tick
from dris.pipeline.corrections import Applied, write_reviewed
from dris.review_app.cards import Faces
from dris.review_app.cells import Cell, cell_standing, cells_of
from dris.review_app.journal import Journal, holds_review, refuse_place
from dris.review_app.neighbours import Likeness
from dris.review_app.state import DISPUTED, Standing
from dris.review_app.worklist import NO_LABEL, Worklist

LONGEST_NAME = 60
SIMILAR = 6


@dataclass(frozen=True, slots=True)
class Finishing:
    """What "finish" does: writes, and decides again where that is wished.

    `write` returns the file and what was changed; `again` what the new decision says.
    """

    write: Callable[[], tuple[Path, Applied]]
    again: Callable[[Path, Applied], list[str]] | None = None


class Desk:
    """One data set, its worklist, its journal and what follows from them.

    Args:
        data: What is reviewed.
        journal: Open; its worklist must be of this data.
        features: What the proxies learned from, for likeness; the data's own unless given.
    """

    def __init__(self, data: LabelledData, journal: Journal, *, features: Any = None) -> None:
        journal.worklist.check(data, journal.path)
        self.data, self.journal, self.worklist = data, journal, journal.worklist
        self.standing = Standing.of(journal.acts())
        self.cells: dict[tuple[int, int], Cell] = cells_of(self.worklist, data.labels)
        self.faces = Faces(data, self.worklist.positions)
        self.version = 0
        self._likeness = Likeness(data.x if features is None else features)
        self._place = {at: k for k, at in enumerate(self.worklist.positions.tolist())}
        self._lock = threading.RLock()

    # -- acts ------------------------------------------------------------------------------------

    def tick(self, who: str, at: int, verdict: str, label: int = NO_LABEL) -> None:
        """Answer one label; it is on the disk on return."""
        if at not in self._place:
            raise InputError(f"example {at} is not on this worklist")
        if verdict not in VERDICTS:
            raise InputError(f"verdict must be {', '.join(VERDICTS)}, got {one_line(verdict)!r}")
        if not NO_LABEL <= label < len(self.data.names):
            raise InputError(f"label must be 0..{len(self.data.names) - 1} or -1, got {label}")
        if label != NO_LABEL and (verdict != "wrong" or label == self.data.labels[at]):
            raise InputError("only a wrong label has another one; call it right instead")
        act = {"act": "tick", "who": reviewer(who), "at": at, "verdict": verdict, "label": label}
        self._add(act)

    def undo(self, who: str) -> list[int]:
        """Take this person's last act back; the positions that are open again."""
        with self._lock:
            gone = self.standing.last(reviewer(who))
            if gone:
                self._add({"act": "undo", "who": reviewer(who)})
        return gone

    def accept(self, who: str, given: int, suggested: int) -> int:
        """Give the open labels of a cell the suggested one, once its sample was checked."""
        with self._lock:
            cell = self.cell(given, suggested)
            now = cell_standing(cell, self.standing)
            if now.checked < now.sample:
                raise InputError(
                    f"{now.sample - now.checked} of the {now.sample} drawn are not checked yet; "
                    "check them before the rest is accepted"
                )
            if now.open:
                act = {"act": "cell", "who": reviewer(who), "label": suggested}
                self._add({**act, "given": given, "at": list(now.open)})
        return len(now.open)

    def _add(self, act: Mapping[str, Any]) -> None:
        with self._lock:
            self.journal.add({**act, "time": datetime.now(UTC).isoformat(timespec="seconds")})
            self.standing.act(act)
            self.version += 1

    # -- what is shown ---------------------------------------------------------------------------

    def cell(self, given: int, suggested: int) -> Cell:
        """The cell of two labels, if suspects stand in it."""
        if (given, suggested) not in self.cells:
            raise InputError("no suspect has these two labels")
        return self.cells[given, suggested]

    def summary(self, who: str) -> dict[str, Any]:
        """Counts, limit, people: whatever moves with a tick."""
        with self._lock:
            found = self.standing.verdicts()
            counts = {name: found[name] for name in (*VERDICTS, DISPUTED)}
            return {
                "version": self.version,
                "cards": len(self.worklist),
                "left": len(self.worklist) - found.total(),
                "counts": counts,
                "mine": self.standing.people().get(who, 0),
                "undo": len(self.standing.last(who)),
                "people": self.standing.people(),
                "agreements": [one.to_dict() for one in self.standing.agreements()],
                "limit": self.standing.rest_limit(self.worklist).to_dict(),
            }

    def opening(self, who: str) -> dict[str, Any]:
        """What a page needs before its first card: the queue and what moves."""
        made = self.worklist
        with self._lock:
            return {
                "classes": list(self.data.names),
                "examples": len(self.data),
                "pictured": self.faces.pictured,
                "proxies": made.proxies,
                "at": made.positions.tolist(),
                "given": self.data.labels[made.positions].tolist(),
                "suggested": made.suggested.tolist(),
                "suspicion": [round(value, 4) for value in made.suspicion.tolist()],
                "contradicted": made.contradicted.tolist(),
                "said": self._said(who),
                "cells": [[c.given, c.suggested, len(c.members)] for c in self.cells.values()],
                "summary": self.summary(who),
            }

    def _said(self, who: str) -> list[list[Any] | None]:
        """Of each card this person's answer and everybody's verdict; None while it is open."""
        found: list[list[Any] | None] = []
        for at in self.worklist.positions.tolist():
            own, every = self.standing.by(who, at), self.standing.verdict(at)
            mine = None if own is None else [own.verdict, own.label]
            found.append([mine, every] if every else None)
        return found

    def said(self, who: str) -> dict[str, Any]:
        """The answers and the summary: what another tab needs after a change."""
        with self._lock:
            return {"said": self._said(who), "summary": self.summary(who)}

    def cards(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        """Id and columns of some cards."""
        at = [p for p in positions if 0 <= p < len(self.data)]
        return [
            {"at": p, "id": str(self.data.ids[p]), "fields": fields}
            for p, fields in zip(at, self.faces.fields(at), strict=True)
        ]

    def similar(self, at: int) -> list[dict[str, Any]]:
        """The nearest examples; `far` 0 is a copy."""
        if not 0 <= at < len(self.data):
            raise InputError(f"there is no example {at}")
        near = self._likeness.nearest(at, SIMILAR)
        cards = self.cards([p for p, _ in near])
        names = self.data.names
        return [
            {**card, "far": far, "given": names[int(self.data.labels[card["at"]])]}
            for card, (_, far) in zip(cards, near, strict=True)
        ]

    def check(self, given: int, suggested: int) -> dict[str, Any]:
        """How far a cell is checked, and which cards its sample is."""
        with self._lock:
            cell = self.cell(given, suggested)
            now = cell_standing(cell, self.standing)
            return {**now.to_dict(), "drawn": list(cell.sample)}

    # -- what is taken away ----------------------------------------------------------------------

    def ticks(self) -> tuple[list[Tick], set[str]]:
        """What people agree on, as other commands read it, and the ids that nobody saw.

        What is disputed counts as unsure: it stays as it is.
        """
        names, found, unseen = self.data.names, [], set()
        for k, at in enumerate(self.worklist.positions.tolist()):
            verdict = self.standing.verdict(at)
            if not verdict:
                continue
            one, other = self.standing.settled(at), int(self.worklist.suggested[k])
            final: Verdict = "unsure"
            corrected = ""
            if one is not None:
                final = "right" if one.verdict == "right" else "wrong"
                corrected = names[one.label] if one.label != NO_LABEL else ""
            name = str(self.data.ids[at])
            proposed = names[other] if other != NO_LABEL else ""
            found.append(Tick(name, names[int(self.data.labels[at])], proposed, final, corrected))
            if one is not None and not one.seen:
                unseen.add(name)
        return found, unseen

    def finish(self, path: Path, *, trusted: str | None, writer: Writer) -> Applied:
        """Write the corrected data, with what people vouch for marked as trusted."""
        with self._lock:
            ticks, unseen = self.ticks()
        if not ticks:
            raise InputError("nothing is ticked yet, so there is nothing to correct")
        return write_reviewed(self.data, ticks, path, trusted=trusted, unseen=unseen, writer=writer)


def reviewer(name: str) -> str:
    """A person's name as it is written down: one line, not empty.

    >>> reviewer(" Ana  Gil ")
    'Ana Gil'
    """
    found = one_line(name, LONGEST_NAME)
    if not found:
        raise InputError("a reviewer needs a name; pass `reviewer`, or type it on the page")
    return found


def positions_of(text: str) -> list[int]:
    """Whole numbers in a list with commas.

    >>> positions_of("3,1")
    [3, 1]
    """
    try:
        return [int(word) for word in text.split(",") if word]
    except ValueError:
        raise InputError(f"positions must be whole numbers, got {one_line(text)!r}") from None


def beginning(path: Path, decided: Callable[[], Worklist]) -> tuple[Journal, bool]:
    """The journal in `path`; begun with what `decided()` makes where there is none yet.

    Returns it and whether it goes on: then nothing is decided again.
    """
    refuse_place(path)
    if holds_review(path):
        return Journal(path), True
    return Journal(path, decided()), False


__all__ = ["Desk", "Finishing", "beginning", "positions_of", "reviewer"]
