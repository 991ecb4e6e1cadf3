"""The CSV file in which a person answers: right, wrong or unsure, one line per example.

The page's export, the review app's and an audit share it: five columns, then whatever helps to
look at the example.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dris.core.errors import InputError
from dris.core.sanitize import guard_cell, guard_text
from dris.data.files import one_line

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
    r"""The answers in a file; lines without one are left out, further columns are not read.

    The apostrophe that keeps a spreadsheet from taking a cell for a formula is taken off.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "review.csv")
    ...     _ = file.write_text("id,given,suggested,answer,corrected\n'-7,cat,dog,wrong,dog\n")
    ...     read_answers(file)
    [AnswerLine(id='-7', given='cat', suggested='dog', answer='wrong', corrected='dog')]
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
        if line.answer not in (*ANSWERS, ""):
            allowed = ", ".join(ANSWERS)
            raise InputError(f"{where}: answer must be {allowed} or empty, got {line.answer!r}")
        if line.id in seen:
            raise InputError(f"{where}: id {line.id!r} occurs twice; keep one line")
        label = one_line(repr(line.corrected))
        if line.corrected and line.answer in ("right", "unsure"):
            raise InputError(
                f"{where}: the label is {line.answer} and corrected to {label}; only a wrong "
                "label has a correction"
            )
        if line.answer == "wrong" and line.corrected == line.given:
            raise InputError(
                f"{where}: the label is wrong and corrected to {label}, the label it has; "
                "call it right, or give another label"
            )
        seen.add(line.id)
        if line.answer:
            answers.append(line)
    return answers


def heading_after(path: Path) -> str:
    """The sixth heading, in which the page seals what it drew; "" for none."""
    return (*_lines(path)[0], "")[len(COLUMNS)]


def answer_sheet(
    rows: Sequence[tuple[str, ...]], shown: Mapping[str, Sequence[str]] | None = None
) -> bytes:
    r"""A file for a person to fill in: id, given and suggested label, answer, correction, columns.

    >>> answer_sheet([("-7", "cat", "dog", "", "")], {"path": ["a.png"]})
    b"id,given,suggested,answer,corrected,path\r\n'-7,cat,dog,,,a.png\r\n"
    """
    out = io.StringIO()
    writer = csv.writer(out)
    columns = shown or {}
    writer.writerow([*COLUMNS, *map(guard_text, columns)])
    for place, row in enumerate(rows):
        more = (values[place] for values in columns.values())
        writer.writerow([*map(guard_text, row), *map(guard_cell, more)])
    return out.getvalue().encode()


def _lines(path: Path) -> list[list[str]]:
    """The cells of every line, the headings first."""
    if not path.is_file():
        raise InputError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8 ({error}); export it again") from None
    if not lines or tuple(lines[0][: len(COLUMNS)]) != COLUMNS:
        first = ",".join(lines[0])[:80] if lines else "nothing"
        raise InputError(f"{path}: the first line must begin {','.join(COLUMNS)}, got {first}")
    return lines
