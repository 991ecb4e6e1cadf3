"""Lines of JSON, one object each: read as a table, written line by line as they are."""

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from dris.core.errors import InputError
from dris.core.sanitize import from_json
from dris.data.files import one_line, opened, reading, refuse_large, source
from dris.data.labelled import Change, LabelledData
from dris.data.tables.rows import Rows, table_rows

_BLOCK = 8 << 20
_DEEP = 2000  # brackets of a line that may lie within one another; Arrow's stack ends at 10,000


def open_jsonlines(files: Sequence[Path], *, as_text: Sequence[str] = ()) -> Rows:
    """The objects as rows, their keys as columns; several files follow one another."""
    import pyarrow.json as pajson

    tables = []
    for path in files:
        refuse_large(path)
        _refuse_deep(path)
        with reading(path, "file of JSON lines"):
            options = pajson.ReadOptions(use_threads=False, block_size=_BLOCK)
            try:
                tables.append(pajson.read_json(source(path), options))
            except pa.ArrowInvalid as error:
                raise _broken(path, error) from None
    with reading(files[0], "file of JSON lines"):
        table = pa.concat_tables(tables, promote_options="permissive")
    return table_rows(table, files, format="jsonlines")


def write_jsonlines(data: LabelledData, change: Change, path: Path) -> None:
    """Write kept lines byte by byte; only a line that is changed or added to is written anew."""
    lines = itertools.chain.from_iterable(map(_lines, data.origin.files))
    with path.open("xb") as out:
        for row, line in enumerate(lines):
            old = from_json(line)
            change.refuse_other_row(data, row, [old.get(n) for n in data.origin.own_columns])
            if not change.keep[row]:
                continue
            new = change.edits(data, row)
            new |= {name: values[row].item() for name, values in change.columns.items()}
            changed = json.dumps({**old, **new}, ensure_ascii=False).encode()
            out.write((changed if new else line.rstrip(b"\r\n")) + b"\n")


def _lines(path: Path) -> Iterator[bytes]:
    with opened(path) as file:
        for line in file:
            if line.strip():
                yield line


def _refuse_deep(path: Path) -> None:
    """Stop before Arrow descends into brackets within brackets until the process dies of it."""
    with reading(path, "file of JSON lines"):
        for line in _lines(path):
            if line.count(b"[") + line.count(b"{") > _DEEP:
                try:
                    from_json(line)
                except ValueError as error:
                    raise _broken(path, error) from None


def _broken(path: Path, error: Exception) -> InputError:
    """The first line that is no object, as an editor counts lines."""
    with reading(path, "file of JSON lines"), opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                if isinstance(from_json(line), dict):
                    continue
                why = "is no object in braces"
            except ValueError as wrong:
                why = f"is not JSON ({one_line(wrong, 80)})"
            return InputError(f"line {number} of {path} {why}; write one object on each line")
    return InputError(
        f"{path} cannot be read ({one_line(error)}); give each key one kind of value throughout"
    )
