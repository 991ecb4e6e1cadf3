"""Columns of a table as one float32 array: which are used, how each is encoded, what is refused."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dris.core.checks import first_not_finite
from dris.core.errors import InputError
from dris.data.files import one_line, refuse_larger_than_memory
from dris.data.labelled import Feature
from dris.data.tables.label_columns import is_text

ONE_HOT_LIMIT = 50  # more values than these are names or sentences, not categories
MISSING_CATEGORY = "(missing)"
# How pandas writes its index when nobody asked for it: not a feature.
INDEX_COLUMNS = ("", "Unnamed: 0", "__index_level_0__")
_DAY = 86_400_000_000  # microseconds


class Rows(Protocol):
    """What a table's file offers: typed columns, read a batch at a time."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files in order."""

    @property
    def format(self) -> str:
        """What kind of files they are."""

    @property
    def schema(self) -> Any:
        """The Arrow schema of all columns."""

    @property
    def count(self) -> int:
        """N, the number of rows."""

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with the named columns, in order."""

    def place(self, row: int) -> str:
        """Where a row stands, in words."""


def features_of(rows: Rows, columns: Sequence[str]) -> tuple[Feature, ...]:
    """How each of the columns is encoded; a column that cannot be is refused with the remedy."""
    kinds = {name: rows.schema.field(name).type for name in columns}
    _refuse_strays(rows, columns)
    values = _categories(rows, [name for name, kind in kinds.items() if _is_category(kind)])
    widths = _widths(rows, [name for name, kind in kinds.items() if _is_vector(kind)])
    features = []
    for name, kind in kinds.items():
        if name in values:
            features.append(Feature(name, "one-hot", len(values[name]), values[name]))
        elif name in widths:
            features.append(Feature(name, "vector", widths[name]))
        elif pa.types.is_boolean(kind):
            features.append(Feature(name, "yes/no"))
        elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            features.append(Feature(name, "days"))
        elif _is_number(kind):
            features.append(Feature(name, "number"))
        else:
            raise InputError(
                f"column {one_line(name)!r} of {rows.files[0]} holds {one_line(kind)}, which is "
                "no number, category or vector; leave it out with --without, or name the columns "
                "to use with --features"
            )
    return tuple(features)


def filled(rows: Rows, features: Sequence[Feature], missing: str) -> NDArray[np.float32]:
    """The features of all rows, one batch at a time into one array; every value finite."""
    width = sum(feature.width for feature in features)
    refuse_larger_than_memory(rows.files[0], rows.count * width * 4)
    x = np.empty((rows.count, width), dtype=np.float32)
    begin = 0
    for batch in rows.batches([feature.column for feature in features]):
        block = x[begin : begin + len(batch)]
        at = 0
        for feature, cells in zip(features, batch.columns, strict=True):
            part = block[:, at : at + feature.width]
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    part[:] = _ENCODERS[feature.how](cells, feature)
            except _RaggedError as error:
                raise InputError(
                    f"the vector in column {one_line(feature.column)!r} has {error.length} numbers "
                    f"in {rows.place(begin + error.row)} and {feature.width} before; vectors of "
                    "one column need one length"
                ) from None
            at += feature.width
        if first_not_finite(block) is not None:
            _refuse_not_finite(block, batch, features, missing, rows, begin)
        begin += len(batch)
    if begin != rows.count:
        raise InputError(f"{rows.files[0]} says {rows.count} rows and holds {begin}; get it again")
    return x


def fill_with_medians(x: NDArray[np.float32], names: Sequence[str]) -> tuple[str, ...]:
    """Put the column's median in place of each NaN, here, and say so, a sentence a column."""
    notes = []
    for column, name in zip(x.T, names, strict=True):
        gone = np.isnan(column)
        if gone.any():
            if gone.all():
                raise InputError(f"column {one_line(name)!r} has no value in any row; leave it out")
            column[gone] = np.median(column[~gone])
            notes.append(f"{name}: {int(gone.sum())} missing values became the median")
    return tuple(notes)


class _RaggedError(Exception):
    """A vector of another length than the first."""

    def __init__(self, row: int, length: int) -> None:
        super().__init__(row, length)
        self.row, self.length = row, length


def _refuse_not_finite(
    block: NDArray[np.float32],
    batch: Any,
    features: Sequence[Feature],
    missing: str,
    rows: Rows,
    begin: int,
) -> None:
    """Name the first value that is missing or not finite; gaps that will be filled may stay."""
    at = 0
    for feature, cells in zip(features, batch.columns, strict=True):
        part = block[:, at : at + feature.width]
        at += feature.width
        fillable = missing == "median" and feature.how != "vector"
        bad = np.argwhere(np.isinf(part) if fillable else ~np.isfinite(part))
        if not len(bad):
            continue
        row, column = (int(i) for i in bad[0])
        where = f"column {one_line(feature.column)!r}, {rows.place(begin + row)}"
        value = cells[row].as_py()
        if feature.how == "vector":
            value = None if value is None else value[column]
            where = f"element {column} of {where}"
        if value is None or value != value:
            fill = "" if feature.how == "vector" else ", fill in medians with --missing median"
            raise InputError(
                f"the value in {where} is missing; fill it in, remove the row{fill}, or leave the "
                "column out with --without"
            )
        raise InputError(
            f"the value in {where} is {one_line(value)}, and numbers must be finite and below "
            "3.4e38; correct it or remove the row"
        )


def _number(cells: Any, _: Feature) -> NDArray[Any]:
    if pa.types.is_decimal(cells.type):
        cells = cells.cast(pa.float64())
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.uint8())
    return np.asarray(cells.to_numpy(zero_copy_only=False))[:, None]


def _days(cells: Any, _: Feature) -> NDArray[Any]:
    if pa.types.is_date32(cells.type):
        return np.asarray(cells.cast(pa.int32()).to_numpy(zero_copy_only=False))[:, None]
    micros = cells.cast(pa.timestamp("us", getattr(cells.type, "tz", None)), safe=False)
    return np.asarray(micros.cast(pa.int64()).to_numpy(zero_copy_only=False))[:, None] / _DAY


def _one_hot(cells: Any, feature: Feature) -> NDArray[Any]:
    known = pa.array(feature.categories, pa.large_string())
    at = pc.index_in(_words(cells).fill_null(MISSING_CATEGORY), known).to_numpy()
    return np.asarray(np.eye(feature.width, dtype=np.float32)[at])


def _vector(cells: Any, feature: Feature) -> NDArray[Any]:
    lengths = np.asarray(pc.list_value_length(cells).fill_null(feature.width).to_numpy())
    other = np.flatnonzero(lengths != feature.width)
    if other.size:
        raise _RaggedError(int(other[0]), int(lengths[other[0]]))
    if not cells.null_count:
        return np.asarray(cells.flatten().to_numpy(zero_copy_only=False)).reshape(
            len(cells), feature.width
        )
    out = np.full((len(cells), feature.width), np.nan)
    there = np.asarray(cells.is_valid().to_numpy(zero_copy_only=False))
    out[there] = np.asarray(cells.flatten().to_numpy(zero_copy_only=False)).reshape(
        -1, feature.width
    )
    return out


_ENCODERS: dict[str, Callable[[Any, Feature], NDArray[Any]]] = {
    "number": _number,
    "yes/no": _number,
    "days": _days,
    "one-hot": _one_hot,
    "vector": _vector,
}


def _categories(rows: Rows, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The sorted values of each column of text, a place for the missing ones last."""
    found: dict[str, set[str | None]] = {name: set() for name in columns}
    limit = min(ONE_HOT_LIMIT, max(rows.count // 2, 2))
    for batch in rows.batches(columns) if columns else ():
        for name, cells in zip(columns, batch.columns, strict=True):
            found[name].update(pc.unique(_words(cells)).to_pylist())
            if len(found[name] - {None}) > limit:
                raise InputError(
                    f"column {one_line(name)!r} of {rows.files[0]} is text with more than {limit} "
                    f"different values in {rows.count} rows, too many to give each a place; leave "
                    "it out with --without, or put numbers or embeddings there"
                )
    return {
        name: (*sorted(v for v in values if v is not None), *[MISSING_CATEGORY] * (None in values))
        for name, values in found.items()
    }


def _refuse_strays(rows: Rows, columns: Sequence[str]) -> None:
    """A column of a CSV file that is numbers but for a few cells is a mistake, not categories."""
    for name, stray in getattr(rows, "strays", {}).items():
        if name in columns and stray.count <= rows.count // 10:
            raise InputError(
                f"column {one_line(name)!r} is numbers but for {stray.count} of {rows.count} "
                f"cells, the first being {one_line(repr(stray.cell))} in {rows.place(stray.row)}; "
                "correct them (empty is missing), or leave the column out with --without"
            )


def _widths(rows: Rows, columns: Sequence[str]) -> dict[str, int]:
    """The length of the vectors of each column: that of the first row that has one."""
    widths = {}
    for name in columns:
        kind = rows.schema.field(name).type
        if pa.types.is_fixed_size_list(kind):
            widths[name] = int(kind.list_size)
            continue
        for batch in rows.batches([name]):
            lengths = pc.list_value_length(batch.column(0)).drop_null()
            if len(lengths):
                widths[name] = int(lengths[0].as_py())
                break
        if not widths.get(name):
            raise InputError(
                f"column {one_line(name)!r} of {rows.files[0]} holds empty vectors; leave it out "
                "with --without"
            )
    return widths


def _words(cells: Any) -> Any:
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    return cells.cast(pa.large_string())


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_category(kind: Any) -> bool:
    return is_text(kind) or bool(pa.types.is_dictionary(kind))


def _is_vector(kind: Any) -> bool:
    listlike = (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
    return bool(listlike and _is_number(kind.value_type))
