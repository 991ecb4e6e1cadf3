"""A random audit on disk: draw examples for a person to check, and read the limit they prove.

The CSV file is for the person: five columns, then whatever helps to look at the example, as in the
exports of the page and the review app. What was drawn from what is sealed in a JSON file of the
same name beside it or, in the page's export, in the CSV file's sixth heading: without it, or when
the two disagree, there is no limit.
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.random_audit import AuditLimit, audit_limit, audit_size, draw_audit
from dris.core.errors import InputError
from dris.core.files import make_folder
from dris.core.sanitize import from_json, guard_cell, guard_text
from dris.core.streams import rng_for
from dris.core.subset import Subset
from dris.data.files import check_named, fingerprint_of, one_line, text_in
from dris.data.labelled import LabelledData
from dris.data.outputs import show_rows
from dris.data.writer import Writer

FORMAT = 1
AUDIT_SIZE = 60  # none wrong of so many proves at most 4.9 %


@dataclass(frozen=True, slots=True)
class AuditDraw:
    """Positions drawn, and the limits that none and one wrong among them would prove."""

    positions: NDArray[np.int64]
    if_none_wrong: AuditLimit
    if_one_wrong: AuditLimit


def beside(path: Path) -> Path:
    """The file that seals an audit: audit.json beside audit.csv."""
    return check_named(path).with_suffix(".json")


def write_audit(
    kept: LabelledData,
    path: Path,
    n: int | None = None,
    *,
    limit: float | None = None,
    expect_wrong: int = 0,
    seed: int = 0,
    delta: float = 0.05,
    writer: Writer | None = None,
) -> AuditDraw:
    """Draw examples of what was kept and write both files, without suggestions that sway a person.

    `n` are drawn, 60 unless given, or as many as it takes to prove `limit`, even if `expect_wrong`
    of them are wrong.
    """
    if n is not None and limit is not None:
        raise InputError("n and limit both say how many to check; pass one of them")
    writer = (writer or Writer()).reading(*kept.origin.files)
    writer.refuse(path, beside(path))
    count = min(AUDIT_SIZE, len(kept)) if n is None else n
    if limit is not None:
        needed = audit_size(size=len(kept), share=limit, delta=delta, expected_wrong=expect_wrong)
        if needed is None:
            raise InputError(
                f"{expect_wrong} wrong of {len(kept)} are more than a share of {limit:g}; "
                "no check proves that, so raise limit"
            )
        count = needed
    # Pictures are many files: only a table's own can be looked up again by name.
    files = [] if kept.paths is not None else [str(file.resolve()) for file in kept.origin.files]
    everything = np.arange(len(kept))
    drawn, note = sealed_draw(kept, everything, count, files=files, seed=seed, delta=delta)
    rows = [(*pair, "", "", "") for pair in note["drawn"]]
    make_folder(path.parent)
    with writer.together() as both:
        both.write(beside(path), [(json.dumps(note, indent=1) + "\n").encode()])
        both.write(path, [answer_sheet(rows, show_rows(kept, drawn))])
    none, one = (
        audit_limit(size=len(kept), checked=count, wrong=min(wrong, count), delta=delta)
        for wrong in (0, 1)
    )
    return AuditDraw(drawn, none, one)


def sealed_draw(
    data: LabelledData,
    kept: NDArray[np.int64],
    n: int,
    *,
    files: Sequence[str] = (),
    seed: int = 0,
    delta: float = 0.05,
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Positions of n kept examples drawn at random, and the sealed note that says so."""
    audit_limit(size=len(kept), checked=0, wrong=0, delta=delta)  # refuses an invalid delta
    drawn = draw_audit(Subset(kept, "kept", {}, len(data)), n, rng=rng_for(seed, "audit"))
    note = {
        "format": FORMAT,
        "size": len(kept),
        "fingerprint": data.origin.fingerprint,
        "files": list(files),
        "seed": seed,
        "delta": delta,
        "drawn": [[str(data.ids[i]), data.names[data.labels[i]]] for i in drawn.tolist()],
    }
    return drawn, {**note, "seal": _seal(note)}


def read_audit(path: Path) -> AuditLimit:
    """The exact limit that a finished audit proves; unsure counts as wrong."""
    note = _note(path)
    drawn: dict[str, str] = dict(note["drawn"])
    answers = read_answers(path)
    for line in answers:
        if line.id not in drawn:
            raise InputError(
                f"{path} holds {one_line(repr(line.id))}, which was not drawn; only the draw "
                "itself has a limit, so remove the row"
            )
        if line.given != drawn[line.id]:
            raise InputError(
                f"{path} gives {one_line(line.id)} the label {one_line(repr(line.given))}, drawn "
                f"was {one_line(repr(drawn[line.id]))}; leave that column as it was"
            )
    left = sorted(drawn.keys() - {line.id for line in answers})
    if left:
        raise InputError(
            f"{len(left)} of the {len(drawn)} drawn have no answer in {path}, such as "
            f"{one_line(left[0])}; an audit that stopped early has no limit, so check them all "
            "(unsure where it cannot be told)"
        )
    files = [Path(file) for file in note["files"]]
    there = bool(files) and all(file.is_file() for file in files)
    if there and fingerprint_of(files) != note["fingerprint"]:
        raise InputError(
            f"{files[0]} has changed since {path.name} was drawn from it, so the limit would "
            "not be about it; draw again"
        )
    wrong = sum(line.answer != "right" for line in answers)
    return audit_limit(size=note["size"], checked=len(drawn), wrong=wrong, delta=note["delta"])


def _note(path: Path) -> dict[str, Any]:
    """What was drawn, from the CSV file itself or from the file beside it, if it is whole."""
    sealed, text = path, (*_lines(path)[0], "")[len(COLUMNS)]  # the page seals its own so
    if not text.startswith("{"):
        sealed = beside(path)
        if not sealed.is_file():
            raise InputError(
                f"{sealed} is not there, and it says what {path.name} was drawn from; keep the two "
                "side by side, or draw again with dris audit draw"
            )
        text = sealed.read_text(encoding="utf-8", errors="replace")
    try:
        note: dict[str, Any] = from_json(text)
        seal = note.pop("seal")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{sealed} is no file of dris audit draw; draw again") from None
    if note.get("format") != FORMAT or seal != _seal(note):
        raise InputError(f"{sealed} was altered since the draw, so there is no limit; draw again")
    return note


def _seal(note: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(note, sort_keys=True).encode()).hexdigest()


COLUMNS = ("id", "given", "suggested", "answer", "corrected")
ANSWERS = ("right", "wrong", "unsure")


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One answer: the example's id, its labels as text, and the label it should have, if known."""

    id: str
    given: str
    suggested: str
    answer: str
    corrected: str


def read_answers(path: str | Path) -> list[AnswerLine]:
    """The answers in a file; lines without one are left out, further columns are not read.

    The apostrophe that keeps a spreadsheet from taking a cell for a formula is taken off.
    """
    path = Path(path)
    header, *lines = _lines(path)
    answers, seen = [], set()
    for number, cells in enumerate(lines, 2):
        if not cells:
            continue
        where = f"{path}, row {number}"
        if len(cells) != len(header):
            raise InputError(f"{where}: {len(header)} cells are needed, got {len(cells)}")
        line = AnswerLine(*(cell.removeprefix("'") for cell in cells[: len(COLUMNS)]))
        line = replace(line, answer=line.answer.strip().casefold())
        if line.answer not in (*ANSWERS, ""):
            allowed = ", ".join(ANSWERS)
            raise InputError(f"{where}: answer must be {allowed} or empty, got {line.answer!r}")
        if line.id in seen:
            raise InputError(f"{where}: id {line.id!r} occurs twice; keep one line")
        said = (
            f"{where}: the label is {line.answer} and corrected to {one_line(repr(line.corrected))}"
        )
        if line.corrected and line.answer in ("right", "unsure"):
            raise InputError(f"{said}; only a wrong label has a correction")
        if line.answer == "wrong" and line.corrected == line.given:
            raise InputError(f"{said}, the label it has; call it right, or give another label")
        seen.add(line.id)
        if line.answer:
            answers.append(line)
    return answers


def answer_sheet(
    rows: Sequence[tuple[str, ...]], shown: Mapping[str, Sequence[str]] | None = None
) -> bytes:
    """A file for a person to fill in: id, labels, answer and correction, then other columns."""
    out = io.StringIO()
    writer, columns = csv.writer(out), shown or {}
    writer.writerow([*COLUMNS, *map(guard_text, columns)])
    for place, row in enumerate(rows):
        more = (values[place] for values in columns.values())
        writer.writerow([*map(guard_text, row), *map(guard_cell, more)])
    return out.getvalue().encode()


def _lines(path: Path) -> list[list[str]]:
    """The cells of every line, the headings first; in whatever a spreadsheet saves."""
    if not path.is_file():
        raise InputError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    text = text_in(path).removeprefix("sep=;").lstrip("\r\n")
    first = re.match(r'"?id"?([;,\t|])', text, re.IGNORECASE)
    how: Any = {"delimiter": first[1] if first else ",", "strict": True}
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), **how))
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV file ({error}); export it again") from None
    if not lines or tuple(map(str.casefold, lines[0][: len(COLUMNS)])) != COLUMNS:
        found = ",".join(lines[0])[:80] if lines else "nothing"
        raise InputError(f"{path}: the first line must begin {','.join(COLUMNS)}, got {found}")
    return lines
