"""CSV files: read as one typed Arrow table, written again record by record, byte by byte."""

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.sanitize import guard_text
from dris.data.files import listed, one_line, opened, reading, refuse_large, source
from dris.data.labelled import Change, LabelledData
from dris.data.tables.rows import Rows, refuse_twice, table_rows
from dris.data.tables.written import decimal_mark, grouped_by_points

# An empty number is written in many ways; in text only the empty cell is missing ("NA" is Namibia).
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "?")
_BLOCK = 8 << 20  # bytes at once, and so the longest line
_HEAD = 1 << 20  # bytes by which types are guessed
_LINES = 20  # by which the separator is guessed
_JUDGED = 500  # columns by which it is decided what numbers are written with
_SEPARATORS = (",", ";", "\t", "|")
_TRIES = 8  # types that a later block contradicts, before all are inferred the slow way
_KIND = "CSV file"
_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}  # with which files begin
csv.field_size_limit(max(csv.field_size_limit(), _BLOCK))  # else 131,072 characters, in a cell


@dataclass(frozen=True, slots=True)
class CsvText:
    """How the characters of one file are written: encoding, line ends, a first line `sep=;`."""

    encoding: str = "utf-8"
    newline: str = "\n"
    separator: str = ""  # as the first line says, as spreadsheets write it
    guessed: bool = False
    marked: bool = False  # whether its first bytes say that it is UTF-16


def text_of(path: Path, encoding: str | None = None) -> CsvText:
    """How a file is written: as its first bytes say, else in UTF-8, else in cp1252."""
    with reading(path, _KIND), opened(path) as file:
        head = file.read(_HEAD)
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    likely = encoding or marked
    tried = [likely] if likely else ["utf-8"] if b"\0" in head else ["utf-8", "cp1252"]
    found = next((name for name in tried if _is_text_in(path, name)), None)
    if found is None:
        raise InputError(
            f"{path} is not text in {' or '.join(tried)}; check that it is a CSV file, or name its "
            "encoding with `encoding`"
        )
    text = codecs.getincrementaldecoder(found)("replace").decode(head).removeprefix("\ufeff")
    newline = "\r" if "\r" in text and "\n" not in text else "\n"
    hint = re.match(r"\"?sep=(.)\"?[\r\n]", text, re.IGNORECASE)
    sixteen = marked is not None and found.lower().startswith("utf-16")
    guessed = found != (likely or "utf-8")
    return CsvText(found, newline, hint[1] if hint else "", guessed, sixteen)


def _is_text_in(path: Path, encoding: str) -> bool:
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        with reading(path, _KIND, passing=UnicodeDecodeError), opened(path) as file:
            while block := file.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    except LookupError:
        raise InputError(
            f"{one_line(encoding)!r} is no `encoding`; name one such as utf-8, cp1252 or utf-16"
        ) from None
    return True


def open_csv(
    files: Sequence[Path], *, as_text: Sequence[str] = (), encoding: str | None = None
) -> Rows:
    """The rows of files with one header; columns in `as_text` stay text, empty cells missing."""
    return _rows(csv_layout(files, as_text, encoding), as_text)


def show_csv(data: LabelledData) -> Rows:
    """The rows with every cell as it is written."""
    layout = _layout_of(data)
    return _rows(layout, layout.columns)


def _layout_of(data: LabelledData) -> "CsvLayout":
    files, read = data.origin.files, data.origin.reading
    return csv_layout(files, read.get("annotators") or [data.origin.label], read.get("encoding"))


def _rows(layout: "CsvLayout", as_text: Sequence[str]) -> Rows:
    as_text = [name for name in as_text if name in layout.columns]
    decimal_comma, grouped = layout.number_style(as_text)
    as_text += grouped
    tables = [layout.table(path, as_text) for path in layout.files]
    kinds = [table.schema.types for table in tables]
    differ = [n for n, *own in zip(layout.columns, *kinds, strict=True) if len(set(own)) > 1]
    if differ:  # numbers in one file and text in another: text
        tables = [layout.table(path, [*as_text, *differ]) for path in layout.files]
    odd = listed([path for path, text in layout.texts.items() if text.guessed])
    note = f"{odd} is no UTF-8 and was read as cp1252; `encoding` says otherwise"
    return table_rows(
        pa.concat_tables(tables),
        layout.files,
        format="csv",
        counts=tuple(map(len, tables)),
        locate=lambda path, row: f"line {layout.line(path, row)} of {path}",
        decimal_comma=decimal_comma,
        notes=(note,) if odd else (),
    )


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """What separates the cells of CSV files, their columns, and whether a header names these."""

    files: tuple[Path, ...]
    separator: str
    columns: tuple[str, ...]
    texts: Mapping[Path, CsvText]
    header: bool = True

    def records(self, path: Path) -> Iterator[tuple[str, list[str], int]]:
        """Each record of a file: its text, its cells, the line it begins on."""
        return records(path, self.separator, self.texts[path])

    def table(self, path: Path, as_text: Sequence[str]) -> Any:
        """One file as a typed table; numbers are where the first lines have them, or inferred."""
        with self.explain(path):
            types = dict.fromkeys(as_text, pa.string())
            if (first := self._first_lines(path)) is not None:
                names = [name for name in self.columns if name not in types]
                types |= dict.fromkeys(_numbers_in(first, names)[0], pa.float64())
            for _ in range(_TRIES):  # inference is slow
                try:
                    return self._tidy(path, self._read(path, types))
                except pa.ArrowInvalid as error:
                    wrong = re.match(r"In CSV column #(\d+)", str(error))
                    if wrong is None or self.columns[int(wrong[1])] in as_text:
                        raise
                    types.pop(self.columns[int(wrong[1])])
            return self._tidy(path, self._read(path, dict.fromkeys(as_text, pa.string())))

    def line(self, path: Path, row: int) -> int:
        """The line that a row begins on, as an editor counts."""
        with reading(path, _KIND):
            above = self.header + bool(self.texts[path].separator)
            return next(itertools.islice(self.records(path), row + above, None))[2]

    @contextmanager
    def explain(self, path: Path) -> Iterator[None]:
        """Turn what Arrow says of a broken file into the line and the remedy."""
        try:
            with reading(path, _KIND, passing=pa.ArrowException):
                yield
            return
        except pa.ArrowException as error:
            why = f"{path} cannot be read ({one_line(error)}); check that it is a whole {_KIND}"
        try:
            with reading(path, _KIND):
                self._refuse_ragged(path)
        except InputError as clearer:
            why = str(clearer)
        raise InputError(why) from None

    def number_style(self, special: Sequence[str]) -> tuple[bool, list[str]]:
        """Whether numbers have decimal commas; the columns with points between thousands."""
        with self.explain(self.files[0]):
            first = self._first_lines(self.files[0])
        if first is None:
            return False, []
        numbers, others = _numbers_in(first, [n for n in self.columns if n not in special])
        numbers = numbers if len(numbers) + len(others) < _JUDGED else []
        mark = decimal_mark([_cells(first, name) for name in [*others[:_JUDGED], *numbers]])
        if mark != ",":
            return not mark and self.separator == ";", []
        return True, [name for name in numbers if grouped_by_points(_cells(first, name))]

    def _first_lines(self, path: Path) -> Any:
        """The first thousand lines as text, None if there are none."""
        text = pacsv.ConvertOptions(column_types=dict.fromkeys(self.columns, pa.string()))
        for block in (_HEAD, _BLOCK):
            try:
                with pacsv.open_csv(source(path), *self._parsing(path, block), text) as stream:
                    first = next(iter(stream), None)
            except pa.ArrowInvalid:  # a longer line than that; what else is wrong shows later
                continue
            if first is not None and len(first):
                return first.slice(0, 1000)
        return None

    def _read(self, path: Path, types: dict[str, Any]) -> Any:
        convert = pacsv.ConvertOptions(
            column_types=types, null_values=list(MISSING), strings_can_be_null=False
        )
        return pacsv.read_csv(source(path), *self._parsing(path), convert)

    def _parsing(self, path: Path, block: int = _BLOCK) -> tuple[Any, Any]:
        text = self.texts[path]
        encoding = "utf8" if text.encoding == "utf-8" else text.encoding
        reads = pacsv.ReadOptions(
            block_size=block,
            use_threads=False,
            column_names=None if self.header else list(self.columns),
            skip_rows=int(bool(text.separator)),
            encoding="utf-16" if text.marked else encoding,
        )
        return reads, pacsv.ParseOptions(delimiter=self.separator, newlines_in_values=True)

    def _tidy(self, path: Path, table: Any) -> Any:
        """Make empty cells of text missing and whole numbers floats; refuse an open quote."""
        columns = table.columns
        for i, column in enumerate(columns):
            if pa.types.is_string(column.type):
                columns[i] = pc.if_else(pc.equal(column, ""), None, column)
            elif pa.types.is_integer(column.type):
                columns[i] = column.cast(pa.float64(), safe=False)
            elif pa.types.is_binary(column.type):
                raise pa.ArrowInvalid("invalid UTF-8")
        last = columns[len(self.columns) - 1]
        if len(last) and pa.types.is_string(last.type):
            cell = last[-1].as_py() or ""
            if self.texts[path].newline in cell and not self._ends_quoted(path):
                line = self.line(path, len(last) - 1)
                raise InputError(f"{path} has an open quote in line {line} or later; close it")
        return pa.table(columns, names=table.schema.names)

    def _ends_quoted(self, path: Path) -> bool:
        last = b""
        with opened(path) as file:
            while block := file.read(_BLOCK):
                last = (last + block)[-4096:]
        return last.rstrip(b"\r\n\0").endswith(b'"')

    def _refuse_ragged(self, path: Path) -> None:
        """Name the first line that has another number of cells than the header."""
        width = len(self.columns)
        rows = itertools.islice(self.records(path), bool(self.texts[path].separator), None)
        for number, (_, cells, line) in enumerate(rows):
            if len(cells) == width:
                continue
            remedy = f"correct the line, or quote cells that hold the separator {self.separator!r}"
            if width == 1 and len(cells) > 2:
                remedy = "remove what stands above the names of the columns"
            elif number <= 1 and len(next(rows, (0, [], 0))[1]) == len(cells):
                remedy = "the first line must name every column, and nothing else"
            raise InputError(
                f"line {line} of {path} has {len(cells)} {'cell' if len(cells) == 1 else 'cells'} "
                f"and the header has {width}; {remedy}"
            )


def csv_layout(
    files: Sequence[Path], named: Sequence[str] = (), encoding: str | None = None
) -> CsvLayout:
    """The layout of the files, which must have the header of the first.

    It is none, and columns are 1, 2, ..., where the `named` columns are such numbers and not in it.
    """
    for path in files:
        refuse_large(path)
    texts = {path: text_of(path, encoding) for path in files}
    columns, separator = _first_record(files[0], texts)
    counted = [str(i + 1) for i in range(len(columns))]
    wanted = [name for name in named if name != "label"]
    header = not wanted or any(n in columns for n in wanted) or not set(wanted) <= set(counted)
    if not header:
        columns = counted
    refuse_twice(columns, files[0])
    for path in files[1:]:
        own, _ = _first_record(path, texts)
        if own != columns if header else len(own) != len(columns):
            raise InputError(
                f"{path} has the columns {listed(own)}, and {files[0]} has {listed(columns)}; "
                "files read together need one header"
            )
    return CsvLayout(tuple(files), separator, tuple(columns), texts, header)


def records(path: Path, separator: str, text: CsvText) -> Iterator[tuple[str, list[str], int]]:
    """Each record of the file, what is above it first: its text, its cells, its first line."""
    taken: list[str] = []

    def lines(file: Any) -> Iterator[str]:
        for line in file:
            taken.append(line)
            yield line.removeprefix("\ufeff")

    with opened(path) as file:
        decoded = io.TextIOWrapper(file, text.encoding, newline=text.newline)
        reader = csv.reader(lines(decoded), delimiter=separator)
        begin = 1
        try:
            for cells in reader:
                if cells:  # an empty line is no record
                    yield "".join(taken), cells, begin
                taken.clear()
                begin = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"line {begin} of {path} cannot be read ({one_line(error)}); save the file with "
                "line ends and quotes as spreadsheets write them"
            ) from None


def _first_record(path: Path, texts: Mapping[Path, CsvText]) -> tuple[list[str], str]:
    """The cells of the first line, and what separates them: as the file says, or splits best."""
    best: tuple[bool, int, list[str], str] = (False, 0, [], ",")
    text = texts[path]
    with reading(path, _KIND):
        for separator in text.separator or _SEPARATORS:
            lines = _readable(path, separator, text)
            some = [cells for _, cells, _ in itertools.islice(lines, bool(text.separator), _LINES)]
            width = len(some[0]) if some else 0
            even = width > 1 and all(len(cells) == width for cells in some)
            if (even, width) > best[:2]:
                best = even, width, some[0], separator
    if not best[1]:
        raise InputError(f"{path} is empty; a CSV file begins with the names of its columns")
    return best[2:]


def _readable(path: Path, separator: str, text: CsvText) -> Iterator[tuple[str, list[str], int]]:
    """The records up to one that cannot be read; the first must be readable."""
    rest = records(path, separator, text)
    first = next(rest, None)
    if first is not None:
        yield first
        with suppress(InputError):
            yield from rest


def _numbers_in(batch: Any, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Which of the columns are numbers throughout, and which are not.

    They are cast as one: a call for each of a hundred thousand columns would take minutes.
    """
    try:
        if names:
            _cells(batch, *names).cast(pa.float64())
        return list(names), []
    except pa.ArrowInvalid:
        if len(names) == 1:
            return [], list(names)
    half = len(names) // 2
    parts = _numbers_in(batch, names[:half]), _numbers_in(batch, names[half:])
    return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]


def _cells(batch: Any, *names: str) -> Any:
    """Cells of columns of text, one after the other, null where they say that they are missing."""
    cells = pc.utf8_trim_whitespace(pa.concat_arrays([batch.column(name) for name in names]))
    return pc.if_else(pc.is_in(cells, pa.array(MISSING)), None, cells)


def write_csv(data: LabelledData, change: Change, path: Path) -> None:
    """Write kept records byte by byte; only a changed or an added cell is written anew."""
    layout = _layout_of(data)
    with path.open("x", encoding=layout.texts[layout.files[0]].encoding, newline="") as out:
        out.writelines(_changed_records(data, change, layout))


def _changed_records(data: LabelledData, change: Change, layout: CsvLayout) -> Iterator[str]:
    separator, row, end = layout.separator, -1, "\n"
    own = [layout.columns.index(name) for name in data.origin.own_columns]
    for number, file in enumerate(layout.files):
        hints = bool(layout.texts[file].separator)
        for position, (raw, cells, _) in enumerate(layout.records(file)):
            body = raw.rstrip("\r\n")
            end = raw[len(body) :] or end
            if position < hints + layout.header:
                if number == 0:
                    names = list(change.columns) if position == hints else []
                    yield body + _further_cells(names, separator) + end
                continue
            row += 1
            if row >= len(change.keep):
                break
            change.refuse_other_row(data, row, [cells[i] for i in own])
            if not change.keep[row]:
                continue
            for name, value in change.edits(data, row).items():
                at, mark = layout.columns.index(name), name in change.marks
                word = str(value).lower() if mark else str(value)
                if not mark or cells[at].strip().lower() != word:
                    cells[at] = word
                    body = replace_cell(body, cells, at, separator)
            yield body + _further_cells([c[row] for c in change.columns.values()], separator) + end
    if row + 1 != len(change.keep):
        raise InputError(
            f"{layout.files[0]} has quotes inside cells that are not quoted, so its rows cannot be "
            "told apart byte by byte; quote those cells, or write ids instead"
        )


def replace_cell(body: str, cells: list[str], at: int, separator: str) -> str:
    """The text of a record with one of its cells replaced, all others as they were written.

    Where quotes stand inside cells that are not quoted the whole record is written anew.
    """
    begin, end, column, quoted = 0, len(body), 0, False
    for place, character in enumerate(body):
        if character == '"':
            quoted = not quoted
        elif character == separator and not quoted:
            if column == at:
                end = place
                break
            begin, column = place + 1, column + 1
    made = body[:begin] + record_text([cells[at]], separator) + body[end:]
    text = io.StringIO(made.removeprefix("\ufeff"), newline="")
    same = [*csv.reader(text, delimiter=separator)] == [cells]
    return made if same else record_text(cells, separator)


def _further_cells(values: Sequence[Any], separator: str) -> str:
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    words = [str(v).lower() if isinstance(v, bool) else v for v in plain]
    return separator + record_text(words, separator) if words else ""


def record_text(cells: list[Any], separator: str = ",") -> str:
    r"""One record of CSV, without its end.

    >>> record_text(["a,b", 1.5, "two\nlines"])
    '"a,b",1.5,"two\nlines"'
    """
    out = io.StringIO(newline="")
    end = "\r\n"  # both are quoted inside cells for it
    csv.writer(out, delimiter=separator, lineterminator=end).writerow(cells)
    return out.getvalue().removesuffix(end)


def write_lines(
    path: Path,
    header: list[str],
    values: list[NDArray[Any]],
    keep: NDArray[np.bool_],
    *,
    guard: bool = False,
) -> None:
    """Write kept rows as CSV; with `guard` no cell is a formula to a spreadsheet."""
    with path.open("xb") as out:
        rows = ([column[row].item() for column in values] for row in np.flatnonzero(keep).tolist())
        for cells in itertools.chain([header], rows):
            if guard:
                cells = [guard_text(cell) if isinstance(cell, str) else cell for cell in cells]
            out.write(record_text(cells).encode() + b"\n")
