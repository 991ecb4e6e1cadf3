"""Columns of a table as one float32 array: looked at once, then filled in, a batch at a time."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.large.mapped import roomy
from dris.core.parameters import parameter
from dris.data.files import one_line, refuse_larger_than_memory
from dris.data.findings.label_findings import row_keys
from dris.data.labelled import Feature
from dris.data.options import NothingToLearnError, ReadOptions
from dris.data.tables.label_columns import plain
from dris.data.tables.numbers.number_survey import NumberSurvey, number_blocks, survey_numbers
from dris.data.tables.numbers.word_columns import Encoder, LeftOut, encoder_of, fill_with_median

_ODD = np.uint64(0x9E3779B97F4A7C15)


class Rows(Protocol):
    """What a table offers, from a file or from memory: typed options, read a batch at a time."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files in order; none for a table in memory."""

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
        """Record batches with the named options, in order."""

    def place(self, row: int) -> str:
        """Where a row stands, in words."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The features of all rows, how they were made, and what is to be said about it.

    `codes` are columns of words as whole numbers, by name: a label might be repeated in them.
    `keys` differ for rows whose features do.
    """

    x: NDArray[np.float32]
    features: tuple[Feature, ...]
    notes: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    codes: dict[str, NDArray[np.int32]]
    keys: NDArray[np.uint64]


def encoded(rows: Rows, names: Sequence[str], options: ReadOptions) -> Encoded:
    """Every column that can be learned from, as numbers; the others named with the reason.

    Columns that were asked for by name are all encoded, or refused in one message.
    """
    asked = options.features is not None
    every = dict(zip(rows.schema.names, rows.schema.types, strict=True))
    kinds = {name: every[name] for name in names}
    numbers = [name for name, kind in kinds.items() if is_number(kind)]
    survey = survey_numbers(rows, numbers)
    out = survey.left_out() if not asked else []
    words: dict[str, Encoder] = {}
    codes: dict[str, NDArray[np.int32]] = {}
    notes: list[str] = []
    gone = {one.column for one in out}
    for name, kind in kinds.items():
        if name in gone or is_number(kind):
            continue
        found: Encoder | LeftOut
        if is_vector(kind):
            found = _vector(rows, name)
        else:
            found = encoder_of(name, kind, whole_column(rows, name), rows, options)
        if isinstance(found, LeftOut):
            out.append(found)
        else:
            words[name] = found
            notes += found.notes
            if found.codes is not None:
                codes[name] = found.codes
    if not asked:
        for copy in _copies(codes):
            out.append(copy)
            words.pop(copy.column, None)
            codes.pop(copy.column, None)
    elif out:
        reasons = "; ".join(f"column {one_line(o.column)!r} {o.why}" for o in out[:6])
        raise InputError(
            f"{where_of(rows)} cannot be learned from as asked: {reasons}; "
            "name other columns with `features`"
        )
    gone = {one.column for one in out}
    used = [n for n in names if n not in gone]
    if not used:
        reasons = "; ".join(f"{one_line(o.column)!r} {o.why}" for o in out[:8])
        raise NothingToLearnError(
            f"{where_of(rows)} has no column to learn from: {reasons}; add features or text, or "
            "name columns with `features` to use them all the same"
        )
    if options.missing == "refuse":
        others = {n: (e.gaps, e.first_gap) for n, e in words.items() if e.gaps}
        survey.refuse_gaps(rows, used, others)
    x, features = _filled(rows, used, survey, words, options)
    notes = [*survey.notes(rows, used, marked=options.missing == "mark"), *notes]
    keys = row_keys(x)
    for encoder in words.values():
        if encoder.keys is not None:
            keys = keys * _ODD + encoder.keys
    said = _said(out, named=options.id is not None or asked)
    return Encoded(x, features, (*notes, *said), tuple(out), codes, keys)


def _filled(
    rows: Rows,
    used: Sequence[str],
    survey: NumberSurvey,
    words: dict[str, Encoder],
    options: ReadOptions,
) -> tuple[NDArray[np.float32], tuple[Feature, ...]]:
    """The features side by side, in the order of the columns; every value finite."""
    marked = {n for n in used if options.missing == "mark" and survey.gaps.get(n, 0)}
    features: list[Feature] = []
    begins: dict[str, int] = {}
    at = 0
    for name in used:
        begins[name] = at
        own = words[name].features if name in words else (Feature(name, survey.how(name)),)
        features += own
        at += sum(f.width for f in own)
        if name in marked:
            features.append(Feature(name, "gap"))
            at += 1
    refuse_larger_than_memory(where_of(rows), rows.count * at * 4)
    x = roomy((rows.count, at), np.float32)
    numbers = [name for name in used if name not in words]
    places = np.array([begins[name] for name in numbers], dtype=np.int64)
    gaps = np.array([name in marked for name in numbers], dtype=np.bool_)
    for begin, block in number_blocks(rows, numbers):
        part = x[begin : begin + len(block)]
        part[:, places] = block
        if gaps.any():
            part[:, places[gaps] + 1] = ~np.isfinite(block[:, gaps])
    for name in numbers:
        if survey.gaps[name]:
            fill_with_median(x[:, begins[name]])
    for name, encoder in words.items():
        width = sum(f.width for f in encoder.features)
        encoder.put(whole_column(rows, name), x[:, begins[name] : begins[name] + width])
    return x, tuple(features)


def whole_column(rows: Rows, name: str) -> Any:
    """All cells of one column as one Arrow array, dictionaries decoded."""
    parts = [batch.column(0) for batch in rows.batches([name])]
    return plain(pa.chunked_array(parts, rows.schema.field(name).type))


def where_of(rows: Rows) -> Path | str:
    """What to call the table in a message."""
    return rows.files[0] if rows.files else "the table"


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is a number or yes/no."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )


def is_vector(kind: Any) -> bool:
    """Whether an Arrow type is a list of numbers."""
    types = pa.types
    listlike = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(listlike and is_number(kind.value_type) and not types.is_boolean(kind.value_type))


def _vector(rows: Rows, name: str) -> Encoder | LeftOut:
    """A column of vectors of one length; gaps in it become the mean of the column."""
    width, gaps, row, first = 0, 0, 0, -1
    for batch in rows.batches([name]):
        cells = batch.column(0)
        lengths = pc.list_value_length(cells)
        there = lengths.drop_null().to_numpy(zero_copy_only=False)
        if len(there):
            width = width or int(there[0])
            if (there != width).any():
                at = int(np.flatnonzero(lengths.fill_null(width).to_numpy() != width)[0])
                return LeftOut(
                    name,
                    f"holds vectors of {int(lengths[at].as_py())} numbers in "
                    f"{rows.place(row + at)} and of {width} before, and one length is needed",
                )
        values = cells.flatten().to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore", invalid="ignore"):
            bad = ~np.isfinite(np.asarray(values, dtype=np.float32))
        here = int(bad.sum()) + cells.null_count * width
        if here and first < 0:
            lacks = cells.null_count and pc.index(cells.is_null(), True).as_py()
            first = row + (lacks if cells.null_count else int(bad.argmax()) // width)
        gaps += here
        row += len(batch)
    if not width:
        return LeftOut(name, "holds empty vectors")

    def put(cells: Any, out: NDArray[np.float32]) -> None:
        there = np.asarray(cells.is_valid().to_numpy(zero_copy_only=False))
        values = np.asarray(cells.flatten().to_numpy(zero_copy_only=False))
        with np.errstate(over="ignore", invalid="ignore"):
            if there.all():
                out[:] = values.reshape(len(cells), width)
            else:
                out[there] = values.reshape(-1, width)
                out[~there] = np.nan
        if gaps:
            for column in out.T:
                fill_with_median(column)

    note = (f"{name}: {gaps:,} missing numbers became the median",) if gaps else ()
    return Encoder((Feature(name, "vector", width),), put, note, None, gaps, first)


def _copies(codes: dict[str, NDArray[np.int32]]) -> list[LeftOut]:
    """Columns of words that say the same as one before them, in other words perhaps."""
    seen: dict[bytes, str] = {}
    found = []
    for name, values in codes.items():
        first, place = np.unique(values, return_index=True)
        order = np.argsort(np.argsort(place))
        key = hashlib.sha256(order[np.searchsorted(first, values)].tobytes()).digest()
        if key in seen:
            found.append(LeftOut(name, f"says the same as {seen[key]!r}"))
        else:
            seen[key] = name
    return found


def _said(out: Sequence[LeftOut], *, named: bool) -> list[str]:
    if not out:
        return []
    reasons = [f"{one_line(o.column)!r} {o.why}" for o in out]
    ids = [o.column for o in out if o.names_rows]
    hint = ""
    if len(ids) == 1 and not named:
        hint = f"; {parameter('id', one_line(ids[0]))} names the rows by it"
    return [f"not learned from: {'; '.join(reasons[:12])}" + _more(len(reasons) - 12) + hint]


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""
