"""Random CSV files, and whether dris reads and writes them as Python's `csv` module does."""

import csv
import io
from pathlib import Path

import numpy as np

from dris.core.errors import InputError
from dris.data.outputs import write_data
from dris.data.reader import read_data
from dris.data.tables.csvfile import csv_layout, open_csv

WORDS = ("", " ", "a", "Ärger", 'say "hi"', '5" pipe', "a,b", "c;d", "e\tf", "two\nlines", "x\r\ny")
NUMBERS = ("0", "-1.5", "1e3", "1,5", "1.234", "007", "NA", "?", "1e400", " 7 ", "0x1F", "12 %")
DATES = ("2024-02-29", "31.12.9999", "2024-02-30", "12:30", "1/2/24")


def random_csv(rng: np.random.Generator) -> bytes:
    """A file with a header, in a random dialect and encoding."""
    width, rows = int(rng.integers(2, 6)), int(rng.integers(4, 30))
    kinds = [(WORDS, NUMBERS, DATES)[i] for i in rng.integers(0, 3, width - 1)]
    lines = [[f"c{i}" for i in range(width - 1)] + ["label"]]
    for row in range(rows):
        cells = [str(rng.choice(kind)) for kind in kinds]
        if rng.random() < 0.3:
            cells[rng.integers(width - 1)] = str(rng.choice(WORDS + NUMBERS + DATES))
        lines.append([*cells, "ab"[row % 2]])
    out = io.StringIO(newline="")
    writer = csv.writer(
        out,
        delimiter=str(rng.choice([*",;\t|"])),
        lineterminator=str(rng.choice(["\n", "\r\n"])),
        quoting=int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])),
    )
    writer.writerows(lines)
    text = out.getvalue()
    text = text.rstrip("\r\n") if rng.random() < 0.3 else text
    return text.encode(str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252"])))


def check_random_csv(seed: int, folder: Path) -> str:
    """Read, compare cell by cell, drop some rows and compare the copy; what was wrong, or ""."""
    rng = np.random.default_rng(seed)
    path, copy = folder / f"{seed}.csv", folder / f"{seed}-kept.csv"
    path.write_bytes(random_csv(rng))
    layout = csv_layout([path])
    encoding = layout.texts[path].encoding

    def cells_of(file: Path) -> list[list[str]]:
        text = file.read_bytes().decode(encoding).removeprefix("\ufeff")
        return [*csv.reader(io.StringIO(text, newline=""), delimiter=layout.separator)]

    header, *rows = cells_of(path)
    read = open_csv([path], as_text=header)
    columns = [["" if c is None else c for c in read.column(name).to_pylist()] for name in header]
    if [*map(list, zip(*columns, strict=True))] != rows:
        return f"{seed}: read other cells than csv does"
    try:
        data = read_data(path)
    except InputError as error:  # nothing to learn from, or two rows of one class
        return "" if "learn" in str(error) else f"{seed}: {error}"
    keep = np.flatnonzero(rng.random(len(rows)) < 0.6)
    if not keep.size:
        return ""
    write_data(data, copy, positions=keep)
    same = cells_of(copy) == [header, *(rows[i] for i in keep)]
    path.unlink()
    copy.unlink()
    return "" if same else f"{seed}: wrote other rows than were kept"
