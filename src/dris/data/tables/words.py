"""What a column of words is: numbers or dates as people write them, categories, text, or an id.

No encoding looks at the label, and none depends on the order of the rows.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dris.data.files import one_line
from dris.data.labelled import Feature, ReadOptions, center_of
from dris.data.tables.csvfile import MISSING
from dris.data.tables.rows import Rows
from dris.data.tables.written import (
    CLOCK,
    PARTS,
    calendar_parts,
    date_pattern,
    has_clock,
    in_usual_years,
    parse_dates,
    parse_numbers,
    typed_dates,
)
from dris.data.text.ngrams import text_keys

MAX_ONE_HOT = 50  # so many values get a place each
COMMON, SHARED = 128, 31  # of more: places for the commonest, places that the others share
MANY_ROWS, FEWER_COMMON = 200_000, 32  # past so many rows: each place is a column of x
MISSING_CATEGORY = "(missing)"
_SHORT = 40  # characters on average, up to which cells may be numbers or dates
_SENTENCE = 3.0  # words on average, from which cells are text
_YES_NO = (
    *(("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"), ("on", "off")),
    *(("ja", "nein"), ("oui", "non"), ("si", "no"), ("sí", "no")),
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that is not learned from, and why; whether it could name the rows."""

    column: str
    why: str
    names_rows: bool = False


@dataclass(frozen=True, slots=True)
class Encoder:
    """How one column becomes numbers: `put` writes those of all its cells into a part of x."""

    features: tuple[Feature, ...]
    put: Callable[[Any, NDArray[np.float32]], None]
    notes: tuple[str, ...] = ()
    codes: NDArray[np.int32] | None = None  # of its values, where they might repeat a label
    gaps: int = 0
    first_gap: int = -1
    keys: NDArray[np.uint64] | None = None  # of cells that may get the same numbers


def encoder_of(
    name: str, kind: Any, cells: Any, rows: Rows, options: ReadOptions
) -> Encoder | LeftOut:
    """How a column that is neither numbers nor vectors is encoded, or why it is left out."""
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _dates(name, typed_dates(cells), [], options)
    if pa.types.is_time(kind):
        return _hours(name, cells, options)
    return _words(name, trim(cells), rows, options)


def trim(cells: Any) -> Any:
    """Cells without spaces around them, missing where nothing is left."""
    words = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    return pc.if_else(pc.equal(words, ""), None, words)


def _words(name: str, cells: Any, rows: Rows, options: ReadOptions) -> Encoder | LeftOut:
    there = len(cells) - cells.null_count
    if not there:
        return LeftOut(name, "is empty in every row")
    values = pc.value_counts(cells.drop_null())
    words, counts = values.field("values"), values.field("counts")
    different = len(words)
    asked = options.features is not None
    if different == 1 and not cells.null_count and not asked:
        return LeftOut(name, f"is {one_line(repr(words[0].as_py()), 40)} in every row")
    length = float(pc.mean(pc.utf8_length(cells)).as_py())
    if length <= _SHORT:
        parsed = _numbers(name, cells, rows, options) or _written_dates(name, cells, rows, options)
        if parsed is not None:
            return parsed
    codes = _codes(cells)
    yes = _yes(words.to_pylist()) if different == 2 and not cells.null_count else None
    if yes is not None:
        return Encoder((Feature(name, "yes/no"),), partial(_put_yes_no, yes), codes=codes)
    if different <= min(MAX_ONE_HOT, max(there // 2, 2)):
        categories = (*sorted(words.to_pylist()), *[MISSING_CATEGORY] * (cells.null_count > 0))
        feature = Feature(name, "one-hot", len(categories), categories)
        return Encoder((feature,), partial(_put_one_hot, categories), codes=codes)
    an_id = different > 0.95 * there and not asked
    unlettered = not pc.any(pc.match_substring_regex(cells, r"\p{L}")).as_py()
    spoken = float(pc.mean(pc.count_substring_regex(cells, r"\S+")).as_py())
    letters = float(pc.mean(pc.binary_length(cells)).as_py()) / max(length, 1e-9)
    unspaced = letters > 1.8 and length >= 5  # Chinese, Japanese, Thai: sentences without spaces
    text = spoken >= _SENTENCE or unspaced or (spoken >= 1.5 and different > there // 2)
    if an_id and (unlettered or not text):  # of phones, cards, addresses
        return LeftOut(name, "is an id", names_rows=different == len(cells))
    if text:
        return _text(name, cells, options)
    by_count = sorted(
        zip(counts.to_pylist(), words.to_pylist(), strict=True), key=lambda v: (-v[0], v[1])
    )
    own = min(different, COMMON if there <= MANY_ROWS else FEWER_COMMON)
    common = tuple(word for _, word in by_count[:own])
    what = f"the {own} commonest have a place each, the others share some"
    note = (f"{name}: {different:,} different values; {what}",) if own < different else ()
    feature = Feature(name, "hashed", 1 + own + SHARED, common)
    return Encoder((feature,), partial(_put_hashed, common), note, codes, keys=text_keys(cells))


def _put_yes_no(yes: str, cells: Any, out: NDArray[np.float32]) -> None:
    out[:, 0] = pc.equal(trim(cells), yes).to_numpy(zero_copy_only=False)


def _put_one_hot(categories: Sequence[str], cells: Any, out: NDArray[np.float32]) -> None:
    """Put ones in the place of each row's value."""
    known = pa.array(categories, pa.large_string())
    at = pc.index_in(trim(cells).fill_null(MISSING_CATEGORY), known)
    out[:] = 0
    out[np.arange(len(out)), at.to_numpy(zero_copy_only=False)] = 1


def _put_hashed(common: Sequence[str], cells: Any, out: NDArray[np.float32]) -> None:
    """Put the logarithm of the count, and a one in the value's own place or in a shared one."""
    encoded = trim(cells).dictionary_encode()
    values = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    counts = np.bincount(codes, minlength=len(values) + 1)
    own = {value: place for place, value in enumerate(common)}
    places = [own.get(v, len(own) + zlib.crc32(v.encode()) % SHARED) for v in values]
    out[:] = 0
    out[:, 0] = np.log1p(np.where(codes < len(values), counts[codes], 0))
    there = np.flatnonzero(codes < len(values))  # a missing value has no place
    out[there, 1 + np.array([*places, 0])[codes[there]]] = 1


def _numbers(name: str, cells: Any, rows: Rows, options: ReadOptions) -> Encoder | None:
    parsed = parse_numbers(_known(cells), comma=rows.decimal_comma)
    if parsed is None or parsed.values.null_count == len(cells):
        return None
    notes = [f"{name}: numbers written with {parsed.style}"] if parsed.style else []
    notes += _strays(name, parsed.strays, "number", cells, rows)
    values = parsed.values.to_numpy(zero_copy_only=False)
    few = len(np.unique(values[np.isfinite(values)])) <= MAX_ONE_HOT
    codes = _codes(parsed.values) if few else None
    return _with_gaps(Feature(name, "number"), values[:, None], notes, options, codes)


def _written_dates(name: str, cells: Any, rows: Rows, options: ReadOptions) -> Encoder | None:
    known = _known(cells)
    if (parsed := parse_dates(known)) is None:
        return None
    doubt = ", though they might be written another way" * parsed.ambiguous
    notes = [f"{name}: dates read as {date_pattern(parsed.style)}{doubt}"]
    notes = notes if parsed.style != "ISO" or doubt else []
    notes += _strays(name, parsed.strays, "date", cells, rows)
    return _dates(name, parsed.values, notes, options)


def _known(cells: Any) -> Any:
    """Cells without those that say that they are missing."""
    return pc.if_else(pc.is_in(cells, pa.array(MISSING, pa.large_string())), None, cells)


def _dates(name: str, micros: Any, notes: list[str], options: ReadOptions) -> Encoder:
    usual = in_usual_years(micros)
    far = len(usual) - micros.null_count - int(pc.sum(usual).as_py() or 0)
    if far:
        micros = pc.if_else(usual, micros, None)
        what = "1 date counts" if far == 1 else f"{far:,} dates count"
        notes = [*notes, f"{name}: {what} as missing, being before 1800 or after 2200"]
    clock = has_clock(micros)
    parts = PARTS + (CLOCK if clock else ())
    feature = Feature(name, "days", 1 + len(parts), parts)
    return _with_gaps(feature, calendar_parts(micros, clock=clock), notes, options)


def _hours(name: str, times: Any, options: ReadOptions) -> Encoder:
    micros = times.cast(pa.time64("us"), safe=False).cast(pa.int64()).cast(pa.float64())
    hours = np.asarray(micros.to_numpy(zero_copy_only=False)) / 3.6e9
    turn = 2 * np.pi * hours / 24
    values = np.stack([hours, np.sin(turn), np.cos(turn)], axis=1)
    return _with_gaps(Feature(name, "hours", 3, CLOCK), values, [], options)


def _with_gaps(
    feature: Feature,
    values: NDArray[np.float64],
    notes: list[str],
    options: ReadOptions,
    codes: NDArray[np.int32] | None = None,
) -> Encoder:
    """Values with the median of their column where there is none, and a last column of marks."""
    gone = ~np.isfinite(values[:, 0])
    gaps, gap = int(gone.sum()), options.missing == "mark" and bool(gone.any())
    fine = values[~gone]
    center = center_of(fine.min(axis=0), fine.max(axis=0)) if len(fine) else 0
    with np.errstate(over="ignore"):
        held = (values - center).astype(np.float32)

    def put(_: Any, out: NDArray[np.float32]) -> None:
        out[:, : held.shape[1]] = held
        if gap:
            out[:, -1] = gone
        for column in out[:, : held.shape[1]].T:
            fill_with_median(column)

    if gaps:
        notes = [*notes, f"{feature.column}: {describe_gaps(gaps, gap)}"]
    every = (feature, *[Feature(feature.column, "gap")] * gap)
    return Encoder(every, put, tuple(notes), codes, gaps, int(gone.argmax()))


def describe_gaps(count: int, marked: bool, infinite: int = 0) -> str:
    """What became of missing values."""
    wild = f" ({infinite:,} of them infinite)" if infinite else ""
    marks = f", and {'is' if count == 1 else 'are'} marked" * marked
    return f"{count:,} missing value{'s' * (count > 1)}{wild} became the median{marks}"


def fill_with_median(column: NDArray[np.float32]) -> None:
    """Put the median in place of whatever is not finite, in place; zero where nothing is."""
    gone = ~np.isfinite(column)
    if gone.any():
        column[gone] = 0 if gone.all() else np.median(column[~gone])


def _codes(cells: Any) -> NDArray[np.int32]:
    """A whole number for each different cell, -1 for missing ones."""
    codes = cells.dictionary_encode().indices.fill_null(-1)
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int32)


def _strays(name: str, strays: Any, what: str, cells: Any, rows: Rows) -> list[str]:
    """A sentence about cells that are none of the many others; they count as missing."""
    count = int(pc.sum(strays).as_py() or 0)
    if not count:
        return []
    row = pc.index(strays, True).as_py()
    return [
        f"{name}: {count:,} cells are no {what}s and count as missing, the first being "
        f"{one_line(repr(cells[row].as_py()), 40)} in {rows.place(row)}"
    ]


def _text(name: str, cells: Any, options: ReadOptions) -> Encoder | LeftOut:
    from dris.data.text.ngrams import fit_components
    from dris.data.text.sentences import MODEL, WIDTH, put_sentences, use_sentences

    if use_sentences(cells, options.text):
        note = f"{name}: text, read by {MODEL} (sentence embeddings)"
        return Encoder((Feature(name, "sentence", WIDTH),), put_sentences, (note,))
    keys = text_keys(cells)
    components = fit_components(cells, keys)
    if components is None:
        return LeftOut(name, "is text in which no word occurs twice")
    width = components.axes.shape[1]
    note = f"{name}: text, read as {width} components of its words and characters"
    return Encoder((Feature(name, "text", width),), components.put, (note,), keys=keys)


def _yes(words: list[str]) -> str | None:
    """Which of two values means yes, None when they mean something else."""
    low = {word.lower(): word for word in words}
    return next((low[pair[0]] for pair in _YES_NO if set(pair) == set(low)), None)
