"""CSV files as Arrow batches: every cell read as text first, then as numbers where all of it is."""

import csv
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from dris.core.errors import InputError
from dris.data.files import listed, one_line, reading

# An empty number is written in many ways; in text only the empty cell is missing ("NA" is Namibia).
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "?")
_NUMBER = r"^\s*[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|inf|nan)\s*$"
_BLOCK = 8 << 20  # bytes at once, and so the longest line
_SEPARATORS = (",", ";", "\t", "|")
csv.field_size_limit(max(csv.field_size_limit(), _BLOCK))  # else 131,072 characters, in a cell


@dataclass(frozen=True, slots=True)
class Strays:
    """Cells of a column that are no numbers: how many, and the first with its row."""

    count: int
    row: int
    cell: str


@dataclass(frozen=True, slots=True)
class CsvRows:
    """One or several CSV files with the same header, as rows of typed columns.

    `strays` holds, for each column of text, the cells that kept it from being numbers.
    """

    files: tuple[Path, ...]
    separator: str
    schema: Any
    counts: tuple[int, ...]
    strays: dict[str, Strays] = field(default_factory=dict)
    format: str = "csv"

    @property
    def count(self) -> int:
        """N, the rows of all files."""
        return sum(self.counts)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with the named columns, in the order of the files."""
        for path in self.files:
            for batch in _text_batches(path, self.separator, self.schema.names, columns):
                yield pa.record_batch(self._typed(batch, columns), names=list(columns))

    def texts(self, columns: Sequence[str]) -> Iterator[Any]:
        """As `batches`, every cell as it is written."""
        for path in self.files:
            yield from _text_batches(path, self.separator, self.schema.names, columns)

    def place(self, row: int) -> str:
        """Where a row begins, as an editor counts lines."""
        for path, count in zip(self.files, self.counts, strict=True):
            if row < count:
                return f"line {_line_of(path, self.separator, row)} of {path}"
            row -= count
        raise InputError(f"row {row} is past the end of {self.files[-1]}")

    def _typed(self, batch: Any, columns: Sequence[str]) -> list[Any]:
        text = {name for name in columns if pa.types.is_string(self.schema.field(name).type)}
        numbers = iter(_numbers([batch.column(name) for name in columns if name not in text]))
        cells = (batch.column(name) for name in columns if name in text)
        words = (pc.if_else(pc.equal(cell, ""), None, cell) for cell in cells)
        return [next(words if name in text else numbers) for name in columns]


def open_csv(files: Sequence[Path], *, as_text: Sequence[str] = ()) -> CsvRows:
    """Read the files once to learn their columns; those in `as_text` stay as they are written."""
    names, separator = _header(files[0])
    counts: list[int] = []
    strays: dict[str, Strays] = {}
    for path in files:
        own = _header(path)[0]
        if own != names:
            raise InputError(
                f"{path} has the columns {listed(own)}, and {files[0]} has {listed(names)}; files "
                "read together need the same header"
            )
        counts.append(_survey(path, separator, names, set(as_text), strays, sum(counts)))
    text = {*strays, *as_text}
    kinds = [(name, pa.string() if name in text else pa.float64()) for name in names]
    if not sum(counts):
        raise InputError(f"{files[0]} has a header and no rows; at least two rows are needed")
    return CsvRows(tuple(files), separator, pa.schema(kinds), tuple(counts), strays)


def records(path: Path, separator: str) -> Iterator[tuple[bytes, list[str], int]]:
    """Each record of the file, header first: its bytes, its cells, the line it begins on."""
    taken: list[bytes] = []

    def lines(file: Any) -> Iterator[str]:
        for number, raw in enumerate(file):
            taken.append(raw)
            yield raw.decode("utf-8-sig" if number == 0 else "utf-8")

    with path.open("rb") as file:
        reader = csv.reader(lines(file), delimiter=separator)
        begin = 1
        try:
            for cells in reader:
                if cells:  # an empty line is no record
                    yield b"".join(taken), cells, begin
                taken.clear()
                begin = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"line {begin} of {path} cannot be read ({one_line(error)}); save the file with "
                "line ends and quotes as spreadsheets write them"
            ) from None


def _header(path: Path) -> tuple[list[str], str]:
    """The names of the columns, and the separator that splits the header into the most cells."""
    if path.is_dir():
        raise InputError(f"{path} is a folder, and a CSV file is expected; name the file")
    best: list[str] = []
    separator = _SEPARATORS[0]
    with reading(path, "CSV file in UTF-8"):
        for candidate in _SEPARATORS:
            _, cells, _ = next(records(path, candidate), (b"", [], 0))
            if len(cells) > len(best):
                best, separator = cells, candidate
    if not best:
        raise InputError(f"{path} is empty; a CSV file begins with the names of its columns")
    twice = [name for name, times in Counter(best).items() if times > 1]
    if twice:
        raise InputError(
            f"{path} has several columns named {listed(list(map(repr, twice)))}; give each a name "
            "of its own in the first line"
        )
    return best, separator


def _text_batches(
    path: Path, separator: str, names: Sequence[str], columns: Sequence[str]
) -> Iterator[Any]:
    """Batches of the named columns with every cell as text, nothing taken for missing."""
    try:
        stream = pacsv.open_csv(
            str(path),
            read_options=pacsv.ReadOptions(block_size=_BLOCK, use_threads=False),
            parse_options=pacsv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=list(columns),
                strings_can_be_null=False,
            ),
        )
        with stream:
            yield from stream
        return
    except pa.ArrowException as error:
        why = one_line(error)
    with reading(path, "CSV file in UTF-8"):
        _refuse_ragged(path, separator, len(names))
    raise InputError(f"{path} cannot be read ({why}); check that it is a whole CSV file in UTF-8")


def _survey(
    path: Path,
    separator: str,
    names: Sequence[str],
    as_text: set[str],
    strays: dict[str, Strays],
    before: int,
) -> int:
    """Count the rows, and note for each column the cells that are no numbers."""
    count, last = 0, ""
    for batch in _text_batches(path, separator, names, names):
        for name in _not_numbers(batch, [name for name in names if name not in as_text]):
            here = _strays(batch.column(name), before + count)
            first = strays.get(name, here)
            total = here.count + (first.count if name in strays else 0)
            strays[name] = Strays(total, first.row, first.cell)
        count += len(batch)
        last = batch.column(len(names) - 1)[-1].as_py() if len(batch) else last
    if "\n" in last and not _ends_quoted(path):
        raise InputError(
            f"{path} has a quote in line {_line_of(path, separator, count - 1)} or later that is "
            "never closed; close it"
        )
    return count


def _ends_quoted(path: Path) -> bool:
    """Whether a quote is the last that the file holds, line ends aside."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        return file.read().rstrip(b"\r\n").endswith(b'"')


def _strays(cells: Any, before: int) -> Strays:
    """The cells of one batch that are neither numbers nor missing."""
    fine = pc.or_(
        pc.match_substring_regex(cells, _NUMBER, ignore_case=True),
        pc.is_in(cells, pa.array(MISSING)),
    )
    row = max(pc.index(fine, False).as_py(), 0)
    return Strays(len(cells) - pc.sum(fine).as_py(), before + row, cells[row].as_py())


def _not_numbers(batch: Any, names: Sequence[str]) -> list[str]:
    """Which of the columns are not numbers throughout; all at once where that is none."""
    try:
        _numbers([batch.column(name) for name in names])
    except pa.ArrowInvalid:
        if len(names) == 1:
            return list(names)
        half = len(names) // 2
        return _not_numbers(batch, names[:half]) + _not_numbers(batch, names[half:])
    return []


def _numbers(columns: Sequence[Any]) -> list[Any]:
    """Columns of cells as float64, null where they are missing; an error where one is no number.

    They are read as one long column: a call for each of a hundred thousand would take minutes.
    """
    if not columns:
        return []
    cells = pc.utf8_trim_whitespace(pa.concat_arrays(columns))
    values = pc.if_else(pc.is_in(cells, pa.array(MISSING)), None, cells).cast(pa.float64())
    n = len(columns[0])
    return [values.slice(i * n, n) for i in range(len(columns))]


def _line_of(path: Path, separator: str, row: int) -> int:
    with reading(path, "CSV file in UTF-8"):
        return next(itertools.islice(records(path, separator), row + 1, None))[2]


def _refuse_ragged(path: Path, separator: str, width: int) -> None:
    """Name the first line that is not UTF-8 or has another number of cells than the header."""
    line = 1
    try:
        for _, cells, line in records(path, separator):
            if len(cells) != width:
                raise InputError(
                    f"line {line} of {path} has {len(cells)} cells and the header has {width}; "
                    f"correct the line, or quote cells that hold the separator {separator!r}"
                )
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not text in UTF-8 near line {line + 1}; save it as UTF-8 "
            "(iconv -f LATIN1 -t UTF-8 converts it)"
        ) from None
