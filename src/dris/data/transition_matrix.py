"""Transition matrices from a file: which share of each class is given which label."""

import csv
from collections.abc import Sequence
from pathlib import Path

from dris.core.errors import InputError
from dris.data.files import listed, one_line, reading
from dris.data.labelled import Value

Matrix = tuple[tuple[float, ...], ...]


def read_matrix(path: Path, classes: Sequence[Value]) -> Matrix:
    r"""The matrix of a CSV file, which names the true classes down and the given ones across."""
    names = [str(value) for value in classes]
    with reading(path, "CSV file"):
        if not path.is_file():
            raise InputError(f"{path} is no file; name a CSV file of shares with `matrix`")
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file, strict=True) if line]
    heading, first = lines[0][1:] if lines else [], [line[0] for line in lines[1:]]
    if not sorted(heading) == sorted(first) == sorted(names):
        raise InputError(
            f"{path} must name every class once in its first line and in its first column, "
            f"{listed(names)}; its first line names {listed(heading)}"
        )
    rows = {line[0]: _shares(line, heading, path) for line in lines[1:]}
    return tuple(tuple(rows[true][given] for given in names) for true in names)


def _shares(line: Sequence[str], heading: Sequence[str], path: Path) -> dict[str, float]:
    row = one_line(repr(line[0]))
    try:
        values = [float(cell) for cell in line[1:]]
    except ValueError:
        raise InputError(f"the row {row} of {path} must be numbers; write shares, 0.1") from None
    if len(values) != len(heading):
        raise InputError(f"the row {row} of {path} has {len(values)} cells for {len(heading)}")
    if not (min(values) >= 0 and abs(sum(values) - 1) <= 1e-3):
        raise InputError(
            f"the row {row} of {path} must be shares of 0 or more that sum to 1, "
            f"they sum to {sum(values):.6g}"
        )
    return dict(zip(heading, values, strict=True))
