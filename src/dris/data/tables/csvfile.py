"""CSV files as one typed Arrow table, and the same files again record by record, byte by byte."""

import codecs
import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from dris.core.errors import InputError
from dris.data.files import listed, one_line, reading
from dris.data.packed import opened, source, unpacked_size

# An empty number is written in many ways; in text only the empty cell is missing ("NA" is Namibia).
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "?")
_BLOCK = 8 << 20  # bytes at once, and so the longest line
_HEAD = 1 << 20  # bytes by which types are guessed
_LINES = 20  # by which the separator is found
_SEPARATORS = (",", ";", "\t", "|")
_TRIES = 8  # types that a later block contradicts, before all are found out the slow way
_BATCH = 1 << 16  # rows at once
csv.field_size_limit(max(csv.field_size_limit(), _BLOCK))  # else 131,072 characters, in a cell


class CsvRows:
    """One or several CSV files with the same header, as rows of typed columns.

    Columns are numbers (float64), booleans, dates or times where every cell is one, else text
    with empty cells missing; those in `as_text` stay text. The table is read when first needed.
    """

    format = "csv"

    def __init__(
        self,
        files: Sequence[Path],
        separator: str,
        names: Sequence[str],
        *,
        as_text: Sequence[str] = (),
        header: bool = True,
    ) -> None:
        self.files = tuple(files)
        self.separator = separator
        self.names = tuple(names)
        self.as_text = tuple(as_text)
        self.header = header

    @cached_property
    def parts(self) -> tuple[Any, ...]:
        """A table for each file, all of one schema."""
        tables = [self._table(path, self.as_text) for path in self.files]
        kinds = [table.schema.types for table in tables]
        differ = [name for name, *own in zip(self.names, *kinds, strict=True) if len(set(own)) > 1]
        if differ:  # numbers in one file and text in another: text
            as_text = [*self.as_text, *differ]
            tables = [self._table(path, as_text) for path in self.files]
        if not sum(map(len, tables)):
            raise InputError(
                f"{self.files[0]} has a header and no rows; at least two rows are needed"
            )
        return tuple(tables)

    @property
    def schema(self) -> Any:
        """The Arrow schema of all columns."""
        return self.parts[0].schema

    @property
    def count(self) -> int:
        """N, the rows of all files."""
        return sum(map(len, self.parts))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with the named columns, in the order of the files."""
        for table in self.parts:
            yield from table.select(list(columns)).to_batches(_BATCH)

    def texts(self, columns: Sequence[str]) -> Iterator[Any]:
        """As `batches`, every cell as it is written, a block of the file at a time."""
        for path in self.files:
            with self._understood(path), self._stream(path, columns) as stream:
                yield from stream

    def as_written(self) -> "WrittenRows":
        """The same rows with every cell as it is written, read from the file as it is asked for."""
        return WrittenRows(self)

    def place(self, row: int) -> str:
        """Where a row begins, as an editor counts lines."""
        for path, table in zip(self.files, self.parts, strict=True):
            if row < len(table):
                return f"line {self._line(path, row)} of {path}"
            row -= len(table)
        raise InputError(f"row {row} is past the end of {self.files[-1]}")

    def _table(self, path: Path, as_text: Sequence[str]) -> Any:
        with self._understood(path):
            types = self._likely_types(path, as_text)
            for _ in range(_TRIES):
                try:
                    return self._tidied(path, self._read(path, types), as_text)
                except pa.ArrowInvalid as error:
                    wrong = re.match(r"In CSV column #(\d+)", str(error))
                    if wrong is None or self.names[int(wrong[1])] in as_text:
                        raise
                    types.pop(self.names[int(wrong[1])])
            types = dict.fromkeys(as_text, pa.string())
            return self._tidied(path, self._read(path, types), as_text)

    def _likely_types(self, path: Path, as_text: Sequence[str]) -> dict[str, Any]:
        """Text where asked for, and numbers where the first block is: inference is slow."""
        types = dict.fromkeys(as_text, pa.string())
        first = None
        for block in (_HEAD, _BLOCK):
            try:
                with self._stream(path, self.names, block) as stream:
                    first = next(iter(stream), None)
            except pa.ArrowInvalid:  # a longer line than that; what else is wrong shows later
                continue
            if first is not None and len(first):
                break
        if first is not None and len(first):
            head = first.slice(0, 1000)
            names = [name for name in self.names if name not in types]
            not_numbers = set(_not_numbers(head, names))
            types |= dict.fromkeys((n for n in names if n not in not_numbers), pa.float64())
        return types

    def _read(self, path: Path, types: dict[str, Any]) -> Any:
        convert = pacsv.ConvertOptions(
            column_types=types, null_values=list(MISSING), strings_can_be_null=False
        )
        return pacsv.read_csv(source(path), self._how(), self._parse(), convert)

    def _stream(self, path: Path, columns: Sequence[str], block: int | None = None) -> Any:
        convert = pacsv.ConvertOptions(
            column_types=dict.fromkeys(self.names, pa.string()),
            include_columns=list(columns),
            strings_can_be_null=False,
        )
        return pacsv.open_csv(
            source(path),
            read_options=self._how(block),
            parse_options=self._parse(),
            convert_options=convert,
        )

    def _how(self, block: int | None = None) -> Any:
        names = None if self.header else list(self.names)
        return pacsv.ReadOptions(block_size=block or _BLOCK, use_threads=False, column_names=names)

    def _parse(self) -> Any:
        return pacsv.ParseOptions(delimiter=self.separator, newlines_in_values=True)

    def _tidied(self, path: Path, table: Any, as_text: Sequence[str]) -> Any:
        """Empty cells of text are missing, whole numbers are numbers; an open quote is refused."""
        columns = []
        for column in table.columns:
            if pa.types.is_string(column.type):
                columns.append(pc.if_else(pc.equal(column, ""), None, column))
            elif pa.types.is_integer(column.type):
                columns.append(column.cast(pa.float64(), safe=False))
            elif pa.types.is_binary(column.type):
                raise pa.ArrowInvalid("invalid UTF-8")
            else:
                columns.append(column)
        tidy = pa.table(columns, names=table.schema.names)
        last = tidy.column(len(self.names) - 1)
        if len(tidy) and pa.types.is_string(last.type):
            cell = last[-1].as_py() or ""
            if "\n" in cell and not _ends_quoted(path):
                raise InputError(
                    f"{path} has a quote in line {self._line(path, len(tidy) - 1)} or later that "
                    "is never closed; close it"
                )
        return tidy

    def _line(self, path: Path, row: int) -> int:
        with reading(path, "CSV file in UTF-8"):
            found = itertools.islice(records(path, self.separator), row + self.header, None)
            return next(found)[2]

    def _understood(self, path: Path) -> AbstractContextManager[None]:
        return _understood(path, self.separator, len(self.names))


class WrittenRows:
    """The rows of CSV files as text, nothing of them held."""

    format = "csv"

    def __init__(self, rows: CsvRows) -> None:
        self._rows = rows
        self.files = rows.files
        self.schema = pa.schema([(name, pa.string()) for name in rows.names])

    @property
    def count(self) -> int:
        """N, the rows of all files."""
        return self._rows.count

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with the named columns, in the order of the files."""
        for batch in self._rows.texts(columns):
            yield batch.select(list(columns))

    def place(self, row: int) -> str:
        """Where a row begins, as an editor counts lines."""
        return self._rows.place(row)


@contextmanager
def _understood(path: Path, separator: str, width: int) -> Iterator[None]:
    """Turn what Arrow says of a broken file into the line and the remedy."""
    try:
        with reading(path, "CSV file in UTF-8", passing=pa.ArrowException):
            yield
        return
    except pa.ArrowException as error:
        whole = "check that it is a whole CSV file in UTF-8"
        told = f"{path} cannot be read ({one_line(error)}); {whole}"
    try:
        with reading(path, "CSV file in UTF-8"):
            _refuse_ragged(path, separator, width)
    except InputError as clearer:
        told = str(clearer)
    raise InputError(told) from None


def open_csv(files: Sequence[Path], *, as_text: Sequence[str] = ()) -> CsvRows:
    """The rows of the files; columns in `as_text` stay as they are written.

    Where the first line names none of these columns and they are whole numbers, the file has no
    header and its columns are called 1, 2, ...
    """
    for path in files:
        unpacked_size(path)
    names, separator = _first_record(files[0])
    counted = [str(i + 1) for i in range(len(names))]
    wanted = [name for name in as_text if name != "label"]
    header = not wanted or any(n in names for n in wanted) or not set(wanted) <= set(counted)
    if not header:
        names = counted
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"{files[0]} has several columns named {listed(list(map(repr, twice)))}; give each a "
            "name of its own in the first line"
        )
    for path in files[1:]:
        own, _ = _first_record(path)
        if own != names if header else len(own) != len(names):
            raise InputError(
                f"{path} has the columns {listed(own)}, and {files[0]} has {listed(names)}; files "
                "read together need the same header"
            )
    as_text = [name for name in as_text if name in names]
    return CsvRows(files, separator, names, as_text=as_text, header=header)


def records(path: Path, separator: str) -> Iterator[tuple[bytes, list[str], int]]:
    """Each record of the file, header first: its bytes, its cells, the line it begins on."""
    taken: list[bytes] = []

    def lines(file: Any) -> Iterator[str]:
        for number, raw in enumerate(file):
            taken.append(raw)
            yield raw.decode("utf-8-sig" if number == 0 else "utf-8")

    with opened(path) as file:
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


def _first_record(path: Path) -> tuple[list[str], str]:
    """The cells of the first line, and what separates them.

    That is whatever splits the first lines into the most cells, as many in each of them; where
    nothing does, what splits the very first into the most.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder, and a CSV file is expected; name the file")
    best: list[str] = []
    separator, alike = _SEPARATORS[0], False
    with reading(path, "CSV file in UTF-8"):
        _refuse_other_encoding(path)
        for candidate in _SEPARATORS:
            some = [cells for _, cells, _ in itertools.islice(_readable(path, candidate), _LINES)]
            if not some:
                continue
            even = len(some[0]) > 1 and all(len(cells) == len(some[0]) for cells in some)
            if (even, len(some[0])) > (alike, len(best)):
                best, separator, alike = some[0], candidate, even
    if not best:
        raise InputError(f"{path} is empty; a CSV file begins with the names of its columns")
    return best, separator


def _refuse_other_encoding(path: Path) -> None:
    """Name what a file is written in whose first lines are not UTF-8."""
    with opened(path) as file:
        begins = file.read(2)
        rest = b"" if begins in (b"PK", b"PA") else file.readline(1 << 16)
    if begins in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(
            f"{path} is text in UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8 converts it)"
        )
    if b"\0" in rest:
        return  # no text at all, which is said elsewhere
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begins + rest)
    except UnicodeDecodeError:
        raise _not_utf8(path, 1) from None


def _not_utf8(path: Path, line: int) -> InputError:
    return InputError(
        f"{path} is not text in UTF-8 near line {line}; save it as UTF-8 "
        "(iconv -f LATIN1 -t UTF-8 converts it)"
    )


def _readable(path: Path, separator: str) -> Iterator[tuple[bytes, list[str], int]]:
    """The records up to one that cannot be read, the first of which must be."""
    found = records(path, separator)
    first = next(found, None)
    if first is not None:
        yield first
        with suppress(InputError, UnicodeDecodeError):
            yield from found


def _ends_quoted(path: Path) -> bool:
    """Whether a quote is the last that the file holds, line ends aside."""
    last = b""
    with opened(path) as file:
        while block := file.read(_BLOCK):
            last = (last + block)[-4096:]
    return last.rstrip(b"\r\n").endswith(b'"')


def _not_numbers(batch: Any, names: Sequence[str]) -> list[str]:
    """Which of the columns are not numbers throughout; all at once where that is none.

    They are read as one long column: a call for each of a hundred thousand would take minutes.
    """
    if not names:
        return []
    cells = pc.utf8_trim_whitespace(pa.concat_arrays([batch.column(name) for name in names]))
    try:
        pc.if_else(pc.is_in(cells, pa.array(MISSING)), None, cells).cast(pa.float64())
    except pa.ArrowInvalid:
        if len(names) == 1:
            return list(names)
        half = len(names) // 2
        return _not_numbers(batch, names[:half]) + _not_numbers(batch, names[half:])
    return []


def _refuse_ragged(path: Path, separator: str, width: int) -> None:
    """Name the first line that is not UTF-8 or has another number of cells than the header."""
    line = 1
    try:
        for _, cells, line in records(path, separator):
            if width == 1 and len(cells) > 2:
                raise InputError(
                    f"line {line} of {path} has {len(cells)} cells and the first line has one; "
                    "remove what stands above the names of the columns"
                )
            if len(cells) != width:
                raise InputError(
                    f"line {line} of {path} has {len(cells)} cells and the header has {width}; "
                    f"correct the line, or quote cells that hold the separator {separator!r}"
                )
    except UnicodeDecodeError:
        raise _not_utf8(path, line + 1) from None
