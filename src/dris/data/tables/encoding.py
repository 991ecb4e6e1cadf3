"""Columns of a table as one float32 array: looked at once, then filled in, a batch at a time."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dris.core.errors import InputError, parameter
from dris.core.large.mapped import allocate
from dris.data.files import one_line, refuse_larger_than_memory
from dris.data.findings import remove_words, row_keys
from dris.data.labelled import Feature, How, NothingToLearnError, ReadOptions, center_of
from dris.data.tables.rows import Rows, is_number, is_text, is_vector, is_word
from dris.data.tables.words import (
    Encoder,
    LeftOut,
    describe_gaps,
    encoder_of,
    fill_with_median,
    trim,
)
from dris.data.tables.written import decimal_mark

_ODD = np.uint64(0x9E3779B97F4A7C15)
_CELLS = 1 << 22  # at once
_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|key|nr|index|idx|row|rownames?|no)$", re.I)
MIN_ID_ROWS = 20  # before a run of whole numbers is taken for a numbering
MAX_GAP_NOTES = 3  # columns with gaps that have a note each


@dataclass(frozen=True, slots=True)
class Encoded:
    """The features of all rows, how they were made, and what is to be said about it."""

    x: NDArray[np.float32]
    features: tuple[Feature, ...]
    notes: tuple[str, ...]
    codes: dict[str, NDArray[np.int32]]  # columns of words, which might repeat a label
    keys: NDArray[np.uint64]  # different for rows whose features are


def encode(
    rows: Rows,
    names: Sequence[str],
    options: ReadOptions,
    shared: Sequence[str] = (),
    without: Mapping[str, Sequence[str]] | None = None,
) -> Encoded:
    """Encode every column that can be learned from as numbers; name the others with the reason.

    Columns that were asked for by name are all encoded, or refused in one message. Those `shared`
    by several rows name their groups. Texts are read `without` the words given for their column.
    """
    asked = options.features is not None
    left_out = [LeftOut(n, "is an id that several rows share") for n in names if n in shared]
    names = [name for name in names if name not in shared]
    kinds = {name: rows.schema.field(name).type for name in names}
    rows = _with_number_style(rows, [name for name, kind in kinds.items() if is_text(kind)])
    survey = survey_numbers(rows, [name for name, kind in kinds.items() if is_number(kind)])
    left_out += [] if asked else _left_out_numbers(survey, rows.count)
    made = [
        _vector(rows, name)
        if is_vector(kind)
        else encoder_of(name, kind, _cells(rows, name, without), rows, options)
        if is_word(kind)
        else LeftOut(name, f"holds {one_line(kind, 60)}, no number, date, text or vector")
        for name, kind in kinds.items()
        if not is_number(kind)
    ]
    left_out += [one for one in made if isinstance(one, LeftOut)]
    encoders = {one.features[0].column: one for one in made if isinstance(one, Encoder)}
    notes = [note for encoder in encoders.values() for note in encoder.notes]
    codes = {n: encoder.codes for n, encoder in encoders.items() if encoder.codes is not None}
    if not asked:
        for copy in list(_copies(codes)):
            left_out.append(copy)
            del encoders[copy.column], codes[copy.column]
    elif left_out:
        reasons = "; ".join(f"column {one_line(o.column)!r} {o.why}" for o in left_out[:6])
        raise InputError(
            f"{rows.where} cannot be learned from as asked: {reasons}; name others with `features`"
        )
    gone = {one.column for one in left_out}
    used = [name for name in names if name not in gone]
    if not used:
        reasons = "; ".join(f"{one_line(o.column)!r} {o.why}" for o in left_out[:8])
        raise NothingToLearnError(
            f"{rows.where} has no column to learn from: {reasons}; add features or text, or "
            "name columns with `features` to use them all the same"
        )
    if options.missing == "refuse":
        looked: dict[str, Any] = {**{n: survey[n] for n in used if n in survey}, **encoders}
        _refuse_gaps(rows, {n: (one.gaps, one.first_gap) for n, one in looked.items() if one.gaps})
    marked = options.missing == "mark"
    x, features, keys = _fill(rows, used, survey, encoders, marked=marked, without=without)
    notes = [*_gap_notes(survey, used, marked=marked), *notes]
    notes += _left_out_note(left_out, named=options.id is not None or asked)
    return Encoded(x, features, tuple(notes), codes, keys)


def _fill(
    rows: Rows,
    used: Sequence[str],
    survey: "Survey",
    encoders: Mapping[str, Encoder],
    *,
    marked: bool,
    without: Mapping[str, Sequence[str]] | None,
) -> tuple[NDArray[np.float32], tuple[Feature, ...], NDArray[np.uint64]]:
    """The features side by side, every value finite; keys of the numbers as the file has them."""
    features: list[Feature] = []
    begins: dict[str, int] = {}
    at = 0
    for name in used:
        begins[name] = at
        if name in encoders:
            own = encoders[name].features
        else:
            how: How = "yes/no" if pa.types.is_boolean(rows.schema.field(name).type) else "number"
            own = (Feature(name, how), *[Feature(name, "gap")] * (marked and survey[name].gaps > 0))
        features += own
        at += sum(f.width for f in own)
    refuse_larger_than_memory(rows.where, rows.count * at * 4)
    x = allocate((rows.count, at), np.float32)
    numbers = [name for name in used if name not in encoders]
    held = [survey[name] for name in numbers]
    places = np.array([begins[name] for name in numbers], dtype=np.int64)
    gaps = np.array([marked and one.gaps > 0 for one in held], dtype=np.bool_)
    center = center_of(np.array([one.low for one in held]), np.array([one.high for one in held]))
    keys = np.zeros(rows.count, dtype=np.uint64)
    for begin, block in number_blocks(rows, numbers):
        part = x[begin : begin + len(block)]
        part[:, places] = block - center
        keys[begin : begin + len(block)] = row_keys(block)
        if gaps.any():
            part[:, places[gaps] + 1] = ~np.isfinite(block[:, gaps])
    for name in numbers:
        if survey[name].gaps:
            fill_with_median(x[:, begins[name]])
    for name, encoder in encoders.items():
        width = sum(f.width for f in encoder.features)
        part = x[:, begins[name] : begins[name] + width]
        encoder.put(_cells(rows, name, without), part)
        keys = keys * _ODD + row_keys(part)
    for encoder in encoders.values():
        if encoder.keys is not None:
            keys = keys * _ODD + encoder.keys
    return x, tuple(features), keys


def _with_number_style(rows: Rows, names: Sequence[str]) -> Rows:
    """The rows, whose words say together whether numbers have decimal commas; a CSV file did."""
    if rows.format == "csv" or not names:
        return rows
    first = next(iter(rows.batches(names)), None)
    if first is None:
        return rows
    some = [trim(cells) for cells in first.slice(0, 1000).columns]
    return replace(rows, decimal_comma=decimal_mark(some) == ",")


def _cells(rows: Rows, name: str, without: Mapping[str, Sequence[str]] | None) -> Any:
    cells = rows.column(name)
    return remove_words(cells, without[name]) if without and name in without else cells


def _vector(rows: Rows, name: str) -> Encoder | LeftOut:
    """A column of vectors of one length; gaps become the median of their place."""
    width, gaps, row, first = 0, 0, 0, -1
    low, high = np.array(np.inf), np.array(-np.inf)
    for batch in rows.batches([name]):
        cells = batch.column(0)
        lengths = pc.list_value_length(cells)
        there = lengths.drop_null().to_numpy(zero_copy_only=False)
        if len(there):
            width = width or int(there[0])
            at = pc.index(pc.not_equal(lengths, width), True).as_py()
            if at >= 0:
                odd = f"holds vectors of {lengths[at].as_py()} numbers in {rows.place(row + at)}"
                return LeftOut(name, f"{odd} and of {width} before, and one length is needed")
        values = cells.flatten().to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore", invalid="ignore"):
            bad = ~np.isfinite(np.asarray(values, dtype=np.float32))
        here = int(bad.sum()) + cells.null_count * width
        if here and first < 0:
            lacks = cells.null_count and pc.index(cells.is_null(), True).as_py()
            first = row + (lacks if cells.null_count else int(bad.argmax()) // width)
        gaps += here
        row += len(batch)
        if len(there) and values.dtype.itemsize > 4:
            fine = np.where(bad, np.nan, values).reshape(-1, width)
            low, high = np.fmin(low, np.fmin.reduce(fine)), np.fmax(high, np.fmax.reduce(fine))
    if not width:
        return LeftOut(name, "holds empty vectors")
    center = center_of(low, high)

    def put(cells: Any, out: NDArray[np.float32]) -> None:
        there = np.asarray(cells.is_valid().to_numpy(zero_copy_only=False))
        values = np.asarray(cells.flatten().to_numpy(zero_copy_only=False))
        with np.errstate(over="ignore", invalid="ignore"):
            out[~there] = np.nan
            own = values.reshape(-1, width)
            out[there] = own - center if center.any() else own
        if gaps:
            for column in out.T:
                fill_with_median(column)

    note = (f"{name}: {gaps:,} missing numbers became the median",) if gaps else ()
    return Encoder((Feature(name, "vector", width),), put, note, None, gaps, first)


def _copies(codes: Mapping[str, NDArray[np.int32]]) -> Iterator[LeftOut]:
    """Columns of words that say the same as one before them, in other words perhaps."""
    seen: dict[bytes, str] = {}
    for name, values in codes.items():
        _, first, place = np.unique(values, return_index=True, return_inverse=True)
        key = hashlib.sha256(first[place].tobytes()).digest()
        if seen.setdefault(key, name) != name:
            yield LeftOut(name, f"says the same as {seen[key]!r}")


def _left_out_note(left_out: Sequence[LeftOut], *, named: bool) -> list[str]:
    reasons = [f"{one_line(o.column)!r} {o.why}" for o in left_out]
    more = f" and {len(reasons) - 12} more" if len(reasons) > 12 else ""
    ids = [parameter("id", one_line(o.column)) for o in left_out if o.names_rows]
    hint = f"; {ids[0]} names the rows by it" if len(ids) == 1 and not named else ""
    return [f"not learned from: {'; '.join(reasons[:12])}{more}{hint}"] if reasons else []


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """What a column of numbers holds."""

    gaps: int
    infinite: int
    first_gap: int
    low: float
    high: float
    hash: int  # equal for copies
    is_id: bool


Survey = Mapping[str, NumberColumn]


def _left_out_numbers(survey: Survey, rows: int) -> list[LeftOut]:
    """Uninformative columns: constants, ids, copies of one before."""
    out: list[LeftOut] = []
    seen: dict[int, str] = {}
    for name, column in survey.items():
        if column.gaps == rows:
            out.append(LeftOut(name, "is empty in every row"))
        elif column.low == column.high and not column.gaps:
            out.append(LeftOut(name, f"is {column.low:g} in every row"))
        elif column.is_id:
            out.append(LeftOut(name, "is an id", names_rows=True))
        elif column.hash in seen:
            out.append(LeftOut(name, f"is a copy of {seen[column.hash]!r}"))
        else:
            seen[column.hash] = name
    return out if len(out) < len(survey) or rows >= MIN_ID_ROWS else []


def _refuse_gaps(rows: Rows, gaps: Mapping[str, tuple[int, int]]) -> None:
    """Name every column with gaps: how many, and the first row."""
    each = [
        f"{count:,} in column {one_line(name)!r}, the first in {rows.place(row)}"
        for name, (count, row) in list(gaps.items())[:6]
    ]
    more = f" and in {len(gaps) - 6} more columns" if len(gaps) > 6 else ""
    if each:
        raise InputError(
            f"numbers are missing or not finite: {'; '.join(each)}{more}; fill them in, leave the "
            "columns out with `without`, or let them be filled and marked with `missing='mark'`"
        )


def _gap_notes(survey: Survey, used: Sequence[str], *, marked: bool) -> list[str]:
    """What was filled in, a sentence a column; one for all when there are many."""
    bad = {name: survey[name] for name in used if name in survey and survey[name].gaps}
    if len(bad) <= MAX_GAP_NOTES:
        return [f"{n}: {describe_gaps(c.gaps, marked, c.infinite)}" for n, c in bad.items()]
    each = [f"{column.gaps:,} in {name}" for name, column in bad.items()]
    more = f" and in {len(bad) - 8} more columns" if len(bad) > 8 else ""
    total, infinite = sum(c.gaps for c in bad.values()), sum(c.infinite for c in bad.values())
    return [f"{describe_gaps(total, marked, infinite)}: {', '.join(each[:8])}{more}"]


def survey_numbers(rows: Rows, names: Sequence[str]) -> Survey:
    """Look at every column of numbers once, a block at a time."""
    width = len(names)
    gaps, infinite = np.zeros(width, np.int64), np.zeros(width, np.int64)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    whole, digest = np.ones(width, np.bool_), np.zeros(width, np.uint64)
    first = np.full(width, -1, np.int64)
    begin = 0
    for begin, block in number_blocks(rows, names):
        fine = np.isfinite(block)
        gone = ~fine
        if gone.any():
            new = (first < 0) & gone.any(axis=0)
            first[new] = begin + gone.argmax(axis=0)[new]
            gaps += gone.sum(axis=0)
            infinite += np.isinf(block).sum(axis=0)
        low = np.minimum(low, np.where(fine, block, np.inf).min(axis=0))
        high = np.maximum(high, np.where(fine, block, -np.inf).max(axis=0))
        with np.errstate(invalid="ignore"):
            whole &= (block == np.floor(block)).all(axis=0)
        each = np.arange(begin + 1, begin + len(block) + 1, dtype=np.uint64) * _ODD
        bits = (block + 0.0).view(np.uint64)
        mixed = (bits ^ (bits >> np.uint64(29))) * _ODD
        digest += (mixed * (each ^ (each >> np.uint64(31)))[:, None]).sum(axis=0, dtype=np.uint64)
        begin += len(block)
    if names and begin != rows.count:
        raise InputError(f"{rows.where} says {rows.count} rows and holds {begin}; get it again")
    survey = {}
    for i, name in enumerate(names):
        like_id = high[i] - low[i] + 1 == rows.count or bool(_ID_NAME.search(name))
        is_id = bool(whole[i]) and not gaps[i] and rows.count >= MIN_ID_ROWS and like_id
        if is_id:
            cells = np.concatenate([block[:, 0] for _, block in number_blocks(rows, [name])])
            is_id = len(np.unique(cells)) == rows.count
        own = [*(a[i].item() for a in (gaps, infinite, first, low, high, digest)), is_id]
        survey[name] = NumberColumn(*own)
    return survey


def number_blocks(rows: Rows, names: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Blocks (rows, columns) of float64 with their first row, NaN where a cell is missing."""
    begin = 0
    step = max(1, _CELLS // max(1, len(names)))
    for batch in rows.batches(names) if names else ():
        for at in range(0, len(batch), step):
            part = batch.slice(at, step)
            block = np.empty((len(part), len(names)), dtype=np.float64)
            for i, cells in enumerate(part.columns):
                if pa.types.is_decimal(cells.type):
                    cells = cells.cast(pa.float64())
                elif pa.types.is_boolean(cells.type):
                    cells = cells.cast(pa.uint8())
                block[:, i] = cells.to_numpy(zero_copy_only=False)
            with np.errstate(invalid="ignore"):
                block[np.abs(block) > np.finfo(np.float32).max] = np.inf
            yield begin, block
            begin += len(part)
