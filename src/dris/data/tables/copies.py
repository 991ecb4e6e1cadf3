"""A file written anew with some of its rows, more columns or other labels, all else as it was."""

import csv
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.data.tables.csvfile import CsvRows, open_csv, records
from dris.data.tables.labelled_table import open_parquet, parquet_file
from dris.data.tables.numbers.encoding import Rows
from dris.data.tables.numpy_files import Stored, stored_npy, stored_npz
from dris.data.tables.saved_dataset import open_saved

_GROUP = 1 << 16  # rows of a row group


@dataclass(frozen=True, slots=True)
class Change:
    """What differs from the data: rows that stay, columns to add, labels and marks to put in.

    Each has an entry for every row of the file; those that `blank` marks have no label, and keep it
    so. None means that all have one.
    """

    keep: NDArray[np.bool_]
    columns: Mapping[str, NDArray[Any]]
    labels: NDArray[Any] | None
    marks: Mapping[str, NDArray[np.bool_]]
    blank: NDArray[np.bool_] | None = None

    def labelled(self, row: int) -> bool:
        """Whether a row has a label."""
        return self.blank is None or not self.blank[row]

    def relabelled(self, data: LabelledData) -> NDArray[np.bool_]:
        """The rows of the file whose label is another one."""
        changed = np.zeros(len(self.keep), dtype=np.bool_)
        if self.labels is not None:
            there = slice(None) if self.blank is None else ~self.blank
            changed[there] = self.labels[there] != data.given()
        return changed


def write_csv(data: LabelledData, change: Change, path: Path) -> None:
    """Kept records byte by byte; only a changed or an added cell is written anew."""
    rows = open_csv(data.origin.files, as_text=(data.origin.label,))
    at = rows.names.index(data.origin.label)
    with path.open("xb") as out:
        out.writelines(_csv_lines(data, change, rows, at))


def _csv_lines(data: LabelledData, change: Change, rows: CsvRows, at: int) -> Iterator[bytes]:
    separator, row, end = rows.separator, -1, b"\n"
    relabelled = change.relabelled(data)
    marked = {rows.names.index(name): values for name, values in change.marks.items()}
    for number, file in enumerate(rows.files):
        for position, (raw, cells, _) in enumerate(records(file, separator)):
            body = raw.rstrip(b"\r\n")
            end = raw[len(body) :] or end
            if position == 0 and rows.header:
                if number == 0:
                    yield body + _cells(list(change.columns), separator) + end
                continue
            row += 1
            if row >= len(change.keep):
                break
            if not change.keep[row]:
                continue
            if change.labels is not None and relabelled[row]:
                cells[at] = str(change.labels[row])
                body = _with_cell(body, cells, at, separator)
            for column, values in marked.items():
                word = _word(values[row])
                if change.labelled(row) and cells[column].strip().lower() != word:
                    cells[column] = word
                    body = _with_cell(body, cells, column, separator)
            yield body + _cells([c[row] for c in change.columns.values()], separator) + end
    if row + 1 != len(change.keep):
        raise InputError(
            f"{rows.files[0]} has quotes inside cells that are not quoted, so its rows cannot be "
            "told apart byte by byte; quote those cells, or write ids instead"
        )


def _with_cell(body: bytes, cells: list[str], at: int, separator: str) -> bytes:
    """The bytes of a record with one of its cells replaced, all others as they were written.

    Where quotes stand inside cells that are not quoted the whole record is written anew.

    >>> _with_cell(b'"x, y",2,c', ["x, y", "2", "b"], 2, ",")
    b'"x, y",2,b'
    """
    begin, end, column, quoted = 0, len(body), 0, False
    for place, byte in enumerate(body):
        if byte == ord('"'):
            quoted = not quoted
        elif byte == ord(separator) and not quoted:
            if column == at:
                end = place
                break
            begin, column = place + 1, column + 1
    made = body[:begin] + record_bytes([cells[at]], separator) + body[end:]
    text = io.StringIO(made.decode("utf-8-sig"), newline="")
    same = [*csv.reader(text, delimiter=separator)] == [cells]
    return made if same else record_bytes(cells, separator)


def _cells(values: list[Any], separator: str) -> bytes:
    """Further cells of a record, each with the separator before it."""
    if not values:
        return b""
    words = [_word(v) if isinstance(v, bool | np.bool_) else v for v in values]
    plain = [v.item() if isinstance(v, np.generic) else v for v in words]
    return separator.encode() + record_bytes(plain, separator)


def _word(mark: bool | np.bool_) -> str:
    return str(mark).lower()


def record_bytes(cells: list[Any], separator: str) -> bytes:
    r"""One record of CSV, without its end.

    >>> record_bytes(["a,b", 1.5, "two\nlines"], ",")
    b'"a,b",1.5,"two\nlines"'
    """
    out = io.StringIO(newline="")
    end = "\r\n"  # both are quoted inside cells for it
    csv.writer(out, delimiter=separator, lineterminator=end).writerow(cells)
    return out.getvalue().removesuffix(end).encode()


def write_parquet(data: LabelledData, change: Change, path: Path) -> None:
    """Kept rows with the same schema, metadata and compression, in row groups of 65,536."""
    files = data.origin.files
    with parquet_file(files[0]) as file:
        group = file.metadata.row_group(0) if file.metadata.num_row_groups else None
        codec = group.column(0).compression.lower() if group else "snappy"
    _columnar(open_parquet(files), data, change, path, _CODECS.get(codec, codec))


def write_saved(data: LabelledData, change: Change, path: Path) -> None:
    """Kept rows of a Hugging Face data set as one Parquet file, which `load_dataset` reads."""
    _columnar(open_saved(data.origin.files[0].parent), data, change, path, "snappy")


_CODECS = {"uncompressed": "none", "lz4_raw": "lz4", "unknown": "none"}


def _columnar(rows: Rows, data: LabelledData, change: Change, path: Path, codec: str) -> None:
    added = {name: pa.array(values) for name, values in change.columns.items()}
    schema = rows.schema
    for name, values in added.items():
        schema = schema.append(pa.field(name, values.type))
    at, label = rows.schema.names.index(data.origin.label), data.origin.label
    held: list[Any] = []
    with pq.ParquetWriter(path, schema, compression=codec) as writer:
        begin = 0
        for batch in rows.batches(rows.schema.names):
            here = slice(begin, begin + len(batch))
            columns = list(batch.columns)
            if change.labels is not None:
                kind = rows.schema.field(label).type
                new = pa.array(change.labels[here].tolist()).cast(kind)
                columns[at] = _put(columns[at], new, change, here)
            for name, values in change.marks.items():
                place = rows.schema.names.index(name)
                new = pa.array(values[here]).cast(rows.schema.field(name).type)
                columns[place] = _put(columns[place], new, change, here)
            columns += [values[here] for values in added.values()]
            part = pa.record_batch(columns, schema=schema).filter(pa.array(change.keep[here]))
            held.append(part)
            if sum(map(len, held)) >= _GROUP:
                writer.write_table(pa.Table.from_batches(held, schema))
                held.clear()
            begin += len(batch)
        if held:
            writer.write_table(pa.Table.from_batches(held, schema))


def _put(old: Any, new: Any, change: Change, here: slice) -> Any:
    """New values, but the old ones in rows without a label."""
    if change.blank is None or not change.blank[here].any():
        return new
    return pc.if_else(pa.array(change.blank[here]), old, new)


def write_npz(data: LabelledData, change: Change, path: Path) -> None:
    """The arrays with a row for each example, filtered; all other arrays as they are."""
    files = data.origin.files
    if data.origin.format == "npz":
        arrays = stored_npz(files[0])
        with zipfile.ZipFile(files[0]) as archive:
            packed = any(e.compress_type != zipfile.ZIP_STORED for e in archive.infolist())
    else:
        arrays = {file.stem: stored_npy(file) for file in files}
        packed = False
    label = data.origin.label if data.origin.format == "npz" else Path(data.origin.label).stem
    held = {name: _kept(array, change.keep) for name, array in arrays.items()}
    if change.labels is not None:
        old = held[label]
        kept = change.labels[change.keep]
        new = kept.astype(kept.dtype if old.dtype.kind in "US" else old.dtype).reshape(old.shape)
        held[label] = _with_blanks(old, new, change)
    for name, values in change.marks.items():
        own = name if data.origin.format == "npz" else Path(name).stem
        marks = values[change.keep]
        words = np.array([_word(mark) for mark in marks])
        old = held[own]
        new = words if old.dtype.kind in "US" else marks.astype(old.dtype).reshape(old.shape)
        held[own] = _with_blanks(old, new, change)
    held |= {name: values[change.keep] for name, values in change.columns.items()}
    save: Callable[..., None] = np.savez_compressed if packed else np.savez
    with path.open("xb") as out:
        save(out, **held)


def _with_blanks(old: NDArray[Any], new: NDArray[Any], change: Change) -> NDArray[Any]:
    if change.blank is None:
        return new
    return np.where(change.blank[change.keep].reshape(-1, *(1,) * (new.ndim - 1)), old, new)


def _kept(array: Stored, keep: NDArray[np.bool_]) -> NDArray[Any]:
    whole = array.whole()
    return whole[keep] if whole.shape[:1] == keep.shape else whole
