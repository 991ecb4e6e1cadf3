"""Tables of examples: CSV and Parquet, one file or several, streamed into one array."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dris.core.checks import checked_ids
from dris.core.errors import InputError
from dris.data.files import fingerprint_of, listed, one_line, reading
from dris.data.labelled import Feature, LabelledData, Origin
from dris.data.tables.csvfile import CsvRows
from dris.data.tables.encoding import INDEX_COLUMNS, Rows, features_of, fill_with_medians, filled
from dris.data.tables.label_columns import (
    ids_of,
    labels_of,
    refuse_decimals,
    trusted_of,
    typed_text,
)

_BATCH = 1 << 16  # rows at once
_BUFFER = 1 << 18  # bytes of a column read ahead


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column is what.

    Attributes:
        label: The given label; a column called "label" when not said.
        id: A name for each example; positions when not said.
        trusted: Yes where the label is known to be right.
        features: What to learn from; every column that can be encoded when not said.
        without: Columns to leave out when `features` is not said.
        missing: "refuse" a missing number, or put the "median" of its column there.
    """

    label: str | None = None
    id: str | None = None
    trusted: str | None = None
    features: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    missing: Literal["refuse", "median"] = "refuse"

    def __post_init__(self) -> None:
        if self.missing not in ("refuse", "median"):
            raise InputError(f"missing is {self.missing!r}; choose refuse or median")
        if self.features is not None and self.without:
            raise InputError("features and without exclude each other; name one of them")

    def resolved(self, present: Sequence[str], where: Path) -> "tuple[str, list[str]]":
        """The label and the features among the columns that are there, or a sentence."""
        label = "label" if self.label is None and "label" in present else self.label
        if label is None:
            raise InputError(
                f"which column of {where} is the label? name it with --label; "
                f"its columns are {listed(present)}"
            )
        special = [name for name in (label, self.id, self.trusted) if name is not None]
        for name in (*special, *(self.features or ()), *self.without):
            if name not in present:
                raise InputError(
                    f"{where} has no column {one_line(name)!r}; its columns are {listed(present)}"
                )
        if len(set(special)) < len(special):
            raise InputError(
                f"label, id and trusted are {listed(special)}; name three different columns"
            )
        chosen = self.features
        if chosen is None:
            aside = {*special, *self.without, *INDEX_COLUMNS}
            chosen = tuple(name for name in present if name not in aside)
        clash = sorted(set(special) & set(chosen))
        if clash or len(set(chosen)) < len(chosen):
            raise InputError(
                f"the features are {listed(chosen)}; name different columns and none of "
                f"{listed(special)}"
            )
        if not chosen:
            raise InputError(
                f"{where} has no column to learn from besides {listed(special)}; add features or "
                "a column of embeddings"
            )
        return label, list(chosen)


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
        """Record batches with the named columns, in the order of the files."""
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


def labelled_table(rows: Rows, columns: Columns) -> LabelledData:
    """The rows of any table as labelled data."""
    label, chosen = columns.resolved(rows.schema.names, rows.files[0])
    with reading(rows.files[0], f"{rows.format} file"):
        marks = marks_of(rows, label, columns)
        features = features_of(rows, chosen)
        x = filled(rows, features, columns.missing)
        return assembled(rows, label, columns, marks, features, x)


def origin_of(rows: Rows, label: str, columns: Columns, *, beside: Sequence[Path] = ()) -> Origin:
    """Where the rows came from, and the files `beside` them that were read too."""
    return Origin(
        format=rows.format,
        files=rows.files,
        fingerprint=fingerprint_of([*rows.files, *beside]),
        label=label,
        id=columns.id,
        columns=tuple(rows.schema.names),
    )


@dataclass(frozen=True, slots=True)
class Marks:
    """What stands beside the features: labels and their values, ids, who is trusted."""

    labels: NDArray[np.int64]
    classes: tuple[Any, ...]
    ids: NDArray[Any]
    trusted: NDArray[np.bool_]


def marks_of(rows: Rows, label: str, columns: Columns) -> Marks:
    """Labels, ids and trust of every row."""
    special = [name for name in (label, columns.id, columns.trusted) if name is not None]
    written = isinstance(rows, CsvRows)
    batches = list(rows.texts(special) if isinstance(rows, CsvRows) else rows.batches(special))
    whole = dict(zip(special, pa.Table.from_batches(batches).combine_chunks().columns, strict=True))
    if written:
        whole = {name: typed_text(column) for name, column in whole.items()}
        refuse_decimals(whole[label], label, rows.place)
    labels, classes = labels_of(whole[label], label, rows.place)
    none = np.zeros(rows.count, dtype=np.bool_)
    return Marks(
        labels,
        classes,
        checked_ids(None, rows.count)
        if columns.id is None
        else ids_of(whole[columns.id], columns.id, rows.place),
        none
        if columns.trusted is None
        else trusted_of(whole[columns.trusted], columns.trusted, rows.place),
    )


def assembled(
    rows: Rows,
    label: str,
    columns: Columns,
    marks: Marks,
    features: tuple[Feature, ...],
    x: NDArray[np.float32],
) -> LabelledData:
    """Marks and features as one object, with what was left out and filled in."""
    names = tuple(name for feature in features for name in feature.names())
    notes = fill_with_medians(x, names) if columns.missing == "median" else ()
    aside = [n for n in rows.schema.names if columns.features is None and n in INDEX_COLUMNS]
    x.flags.writeable = False
    return LabelledData(
        x=x,
        labels=marks.labels,
        classes=marks.classes,
        ids=marks.ids,
        trusted=marks.trusted,
        features=features,
        origin=origin_of(rows, label, columns),
        notes=(*notes, *(f"column {name!r} is an index and was left out" for name in aside)),
    )
