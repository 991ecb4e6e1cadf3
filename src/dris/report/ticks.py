"""Read back what a person ticked in the report: right, wrong or unsure, one line per example."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from dris.core.errors import InputError

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
    r"""The ticks of a file that the report exported.

    A cell that a spreadsheet could take for a formula was written with an apostrophe in front;
    it is taken off here. A line whose verdict is empty was not ticked and is left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "review.csv")
    ...     _ = file.write_text("id,given,proposed,verdict,corrected\n'-7,cat,dog,wrong,dog\n")
    ...     read_ticks(file)
    [Tick(id='-7', given='cat', proposed='dog', verdict='wrong', corrected='dog')]
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8 ({error}); export it again") from None
    if not lines or tuple(lines[0]) != COLUMNS:
        found = ",".join(lines[0])[:80] if lines else "nothing"
        raise InputError(f"{path}: the first line must be {','.join(COLUMNS)}, got {found}")
    ticks, seen = [], set()
    for number, cells in enumerate(lines[1:], 2):
        if not cells:
            continue
        if len(cells) != len(COLUMNS):
            raise InputError(
                f"{path}, row {number}: {len(COLUMNS)} cells are needed, got {len(cells)}"
            )
        name, given, proposed, verdict, corrected = (c.removeprefix("'") for c in cells)
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
