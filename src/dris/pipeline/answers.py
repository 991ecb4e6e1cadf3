"""What a person is asked and what they said: right, wrong or unsure, one line per example.

The page's export, a review queue and an audit are files of one kind: five columns, then whatever
helps to look at the example.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from dris.core.errors import InputError
from dris.core.sanitize import guarded, guarded_cell

COLUMNS = ("id", "given", "proposed", "verdict", "corrected")
Answer = Literal["right", "wrong", "unsure"]
_ANSWERS = ("right", "wrong", "unsure")


@dataclass(frozen=True, slots=True)
class Tick:
    """One answer: the example's id, its labels as text, and the label it should have, if said."""

    id: str
    given: str
    proposed: str
    verdict: Answer
    corrected: str


def read_ticks(path: str | Path) -> list[Tick]:
    r"""The ticks of a file that the report exported or that `dris audit` wrote.

    Columns after the first five are there to be looked at and are not read. A cell that a
    spreadsheet could take for a formula was written with an apostrophe in front; it is taken off
    here. A line whose verdict is empty was not ticked and is left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "review.csv")
    ...     _ = file.write_text("id,given,proposed,verdict,corrected\n'-7,cat,dog,wrong,dog\n")
    ...     read_ticks(file)
    [Tick(id='-7', given='cat', proposed='dog', verdict='wrong', corrected='dog')]
    """
    path = Path(path)
    lines = _lines(path)
    ticks, seen = [], set()
    for number, cells in enumerate(lines[1:], 2):
        if not cells:
            continue
        if len(cells) != len(lines[0]):
            raise InputError(
                f"{path}, row {number}: {len(lines[0])} cells are needed, got {len(cells)}"
            )
        name, given, proposed, verdict, corrected = (
            c.removeprefix("'") for c in cells[: len(COLUMNS)]
        )
        if verdict not in (*_ANSWERS, ""):
            raise InputError(
                f"{path}, row {number}: verdict must be {', '.join(_ANSWERS)} or empty, "
                f"got {verdict!r}"
            )
        if name in seen:
            raise InputError(f"{path}, row {number}: id {name!r} occurs twice; keep one line")
        seen.add(name)
        if verdict:
            ticks.append(Tick(name, given, proposed, cast(Answer, verdict), corrected))
    return ticks


def heading_after(path: Path) -> str:
    """The sixth heading of a file of ticks, in which the page seals what it drew; "" for none."""
    heading = _lines(path)[0]
    return heading[len(COLUMNS)] if len(heading) > len(COLUMNS) else ""


def questions(
    rows: Sequence[tuple[str, str, str]], looks: Mapping[str, Sequence[str]] | None = None
) -> bytes:
    r"""A file for a person to fill in: id, given and proposed label, two empty cells, and looks.

    >>> questions([("-7", "cat", "dog")], {"path": ["a.png"]})
    b"id,given,proposed,verdict,corrected,path\r\n'-7,cat,dog,,,a.png\r\n"
    """
    out = io.StringIO()
    writer = csv.writer(out)
    shown = looks or {}
    writer.writerow([*COLUMNS, *map(guarded, shown)])
    for place, row in enumerate(rows):
        more = (values[place] for values in shown.values())
        writer.writerow([*map(guarded, row), "", "", *map(guarded_cell, more)])
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
        found = ",".join(lines[0])[:80] if lines else "nothing"
        raise InputError(f"{path}: the first line must begin {','.join(COLUMNS)}, got {found}")
    return lines
