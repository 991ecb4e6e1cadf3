"""Tables of examples: CSV and Parquet, one file or several, streamed into one array."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.validate import check_ids
from dris.data.files import fingerprint_of, reading
from dris.data.findings.leaks import leaks_in
from dris.data.findings.problems import Problems
from dris.data.findings.telltale import telltale_words
from dris.data.labelled import Feature, LabelledData, Leak, Origin
from dris.data.options import INDEX_COLUMNS, ReadOptions
from dris.data.tables.csvfile import CsvRows
from dris.data.tables.label_columns import (
    ids_of,
    labels_of,
    trusted_of,
    typed_text,
)
from dris.data.tables.numbers.encoding import Encoded, Rows, encoded, where_of, whole_column
from dris.data.tables.reworded import Reworded

_BATCH = 1 << 16  # rows at once
_BUFFER = 1 << 18  # bytes of a column read ahead


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """One or several Parquet files with the same schema, read row group by row group."""

    files: tuple[Path, ...]
    schema: Any
    counts: tuple[int, ...]
    format: str = "parquet"

    @property
    def count(self) -> int:
        """N, the rows of all files."""
        return sum(self.counts)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with the named options, in the order of the files."""
        for path in self.files:
            with reading(path, "Parquet file"), parquet_file(path) as file:
                for batch in file.iter_batches(_BATCH, columns=list(columns), use_threads=False):
                    yield batch.select(list(columns))

    def place(self, row: int) -> str:
        """The row in its own file; the first is row 0."""
        for path, count in zip(self.files, self.counts, strict=True):
            if row < count:
                return f"row {row} (the first is 0) of {path}"
            row -= count
        raise InputError(f"row {row} is past the end of {self.files[-1]}")


def parquet_file(path: Path) -> Any:
    """An open Parquet file that reads a buffer at a time instead of whole column chunks."""
    return pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)


def open_parquet(files: Sequence[Path]) -> ParquetRows:
    """Read schema and size of each file; all must have the columns and types of the first."""
    schemas, counts = [], []
    for path in files:
        if path.is_dir():
            raise InputError(f"{path} is a folder, and a Parquet file is expected; name the file")
        with reading(path, "Parquet file"), parquet_file(path) as file:
            schemas.append(file.schema_arrow)
            counts.append(file.metadata.num_rows)
        names = schemas[-1].names
        if len(set(names)) < len(names):
            raise InputError(f"{path} has two columns of one name; rename one of them")
        if not schemas[-1].equals(schemas[0]):
            raise InputError(
                f"{path} has other columns or types than {files[0]}; files read together need "
                "the same schema"
            )
    if sum(counts) < 1:
        raise InputError(f"{files[0]} has no rows; at least two are needed")
    return ParquetRows(tuple(files), schemas[0], tuple(counts))


def labelled_table(rows: Rows, options: ReadOptions) -> LabelledData:
    """The rows of any table as labelled data; all that is wrong with it in one message."""
    where = where_of(rows)
    label, chosen = options.resolve(rows.schema.names, where)
    problems = Problems(where)
    with reading(where, f"{rows.format} file"):
        marks = marks_of(rows, label, options, problems)
        found = None
        with problems.collected():
            found = encoded(rows, chosen, options)
        said = {} if marks is None or found is None else _label_in_words(rows, marks, found)
        left_out = True
        if said:
            try:
                found = encoded(Reworded(rows, said), chosen, options)
            except InputError:  # nothing else to learn from
                left_out = False
        if marks is None or found is None:
            problems.refuse()
            raise InputError(f"{where} cannot be read; check it")
        data = _assembled(rows, label, options, marks, found)
        told = (Leak(name, 1.0, left_out, words=tuple(words)) for name, words in said.items())
        return replace(data, leaks=(*data.leaks, *told))


def read_labels_only(rows: Rows, options: ReadOptions) -> LabelledData:
    """Labels, ids and trust alone, learned from nothing: what it takes to draw and to correct."""
    where = where_of(rows)
    label, _ = options.resolve(rows.schema.names, where)
    problems = Problems(where)
    with reading(where, f"{rows.format} file"):
        marks = marks_of(rows, label, options, problems)
        problems.refuse()
        if marks is None:
            raise InputError(f"{where} cannot be read; check it")
        nothing = np.zeros((rows.count, 0), dtype=np.float32)
        return _data(rows, label, options, marks, nothing, (), marks.notes)


def origin_of(
    rows: Rows, label: str, options: ReadOptions, *, beside: Sequence[Path] = ()
) -> Origin:
    """Where the rows came from, and the files `beside` them that were read too."""
    return Origin(
        format=rows.format,
        files=rows.files,
        fingerprint=fingerprint_of([*rows.files, *beside]),
        label=label,
        id=options.id,
        columns=tuple(rows.schema.names),
    )


@dataclass(frozen=True, slots=True)
class Marks:
    """What stands beside the features: labels and their values, ids, who is trusted."""

    labels: NDArray[np.int64]
    classes: tuple[Any, ...]
    ids: NDArray[Any]
    trusted: NDArray[np.bool_]
    notes: tuple[str, ...] = ()


def marks_of(
    rows: Rows, label: str, options: ReadOptions, problems: Problems | None = None
) -> Marks | None:
    """Labels, ids and trust of every row; None when there are problems, which are collected."""
    own = Problems(where_of(rows)) if problems is None else problems
    special = options.special(label)
    batches = list(rows.batches(special))
    whole = dict(zip(special, pa.Table.from_batches(batches).combine_chunks().columns, strict=True))
    written = isinstance(rows, CsvRows)
    if written:
        whole |= {n: typed_text(column) for n, column in whole.items() if n != label}
    labels: Any = None
    classes: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    with own.collected():
        labels, classes, notes = labels_of(
            whole[label],
            label,
            rows.place,
            written=written,
            merge=options.merge_spellings,
            no_label=options.no_label,
        )
    ids: Any = check_ids(None, rows.count)
    with own.collected():
        if options.id is not None:
            ids = ids_of(whole[options.id], options.id, rows.place)
    trusted: Any = np.zeros(rows.count, dtype=np.bool_)
    with own.collected():
        if options.trusted is not None:
            trusted = trusted_of(whole[options.trusted], options.trusted, rows.place)
    if problems is None:
        own.refuse()
    return None if own.found else Marks(labels, classes, ids, trusted, notes)


def _assembled(
    rows: Rows, label: str, options: ReadOptions, marks: Marks, found: Encoded
) -> LabelledData:
    """Marks and features as one object, without columns that repeat the label."""
    x, features = found.x, found.features
    there = np.flatnonzero(marks.labels >= 0)
    some: Any = slice(None) if len(there) == len(x) else there
    codes = {name: values[some] for name, values in found.codes.items()}
    told = marks.labels[some]
    leaks = leaks_in(x[some], features, codes, told, len(marks.classes), found.keys[some])
    if options.features is not None:
        leaks = [replace(leak, left_out=False) for leak in leaks]
    gone = {leak.column for leak in leaks if leak.left_out}
    if gone == {f.column for f in features}:  # nothing else to learn from
        leaks = [replace(leak, left_out=False) for leak in leaks]
    elif gone:
        keep = np.repeat([f.column not in gone for f in features], [f.width for f in features])
        x = without_columns(x, keep)
        features = tuple(f for f in features if f.column not in gone)
    aside = [n for n in rows.schema.names if options.features is None and n in INDEX_COLUMNS]
    notes = (*marks.notes, *found.notes, *(_index_said(n) for n in aside))
    data = _data(rows, label, options, marks, x, features, notes)
    _, groups = np.unique(found.keys, return_inverse=True)
    return replace(data, leaks=tuple(leaks), groups=groups)


def _label_in_words(rows: Rows, marks: Marks, found: Encoded) -> dict[str, list[str]]:
    """Columns of texts that say the given label, each with the words that do."""
    labels, classes = marks.labels, len(marks.classes)
    names = [feature.column for feature in found.features if feature.how in ("text", "sentence")]
    words = {n: telltale_words(whole_column(rows, n), labels, classes, found.keys) for n in names}
    return {name: those for name, those in words.items() if those}


def _index_said(name: str) -> str:
    what = f"column {name!r}" if name else "a column without a name"
    return f"{what} is taken for an index and left out"


def without_columns(x: NDArray[np.float32], keep: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The columns that stay, moved together in the memory that x has already.

    >>> without_columns(np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array([True, False, True]))
    array([[1., 3.],
           [4., 6.]], dtype=float32)
    """
    n, width = len(x), int(keep.sum())
    flat = x.reshape(-1)
    step = max(1, (1 << 22) // max(1, x.shape[1]))
    for begin in range(0, n, step):
        part = x[begin : begin + step][:, keep]  # a copy: what it is written over may be its own
        flat[begin * width : begin * width + part.size] = part.reshape(-1)
    return flat[: n * width].reshape(n, width)


def _data(
    rows: Rows,
    label: str,
    options: ReadOptions,
    marks: Marks,
    x: NDArray[np.float32],
    features: tuple[Feature, ...],
    notes: tuple[str, ...],
) -> LabelledData:
    x.flags.writeable = False
    return LabelledData(
        x=x,
        labels=marks.labels,
        classes=marks.classes,
        ids=marks.ids,
        trusted=marks.trusted,
        features=features,
        origin=origin_of(rows, label, options),
        notes=notes,
        shown=None if rows.files else rows,
    )
