"""What a column of words is: numbers or dates as people write them, categories, text, or an id."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dris.data.files import one_line
from dris.data.labelled import Feature
from dris.data.tables.csvfile import MISSING
from dris.data.tables.label_columns import is_text
from dris.data.tables.numbers.categories import (
    ONE_HOT_LIMIT,
    hashed,
    one_hot,
    put_hashed,
    put_one_hot,
)
from dris.data.tables.numbers.dates import (
    CLOCK,
    PARTS,
    calendar_parts,
    has_clock,
    in_words,
    typed_dates,
    written_dates,
)
from dris.data.tables.numbers.written_numbers import written_numbers
from dris.data.text.ngrams import all_keys

if TYPE_CHECKING:
    from dris.data.options import ReadOptions
    from dris.data.tables.numbers.encoding import Rows

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
    """How one column becomes numbers: `put` writes those of all its cells into a part of x.

    `codes` are its values as whole numbers, where they are few enough to repeat a label; `keys`
    tell cells apart that may get the same numbers.
    """

    features: tuple[Feature, ...]
    put: Callable[[Any, NDArray[np.float32]], None]
    notes: tuple[str, ...] = ()
    codes: NDArray[np.int32] | None = None
    gaps: int = 0
    first_gap: int = -1
    keys: NDArray[np.uint64] | None = None


def encoder_of(
    name: str, kind: Any, cells: Any, rows: "Rows", options: "ReadOptions"
) -> Encoder | LeftOut:
    """How a column that is neither numbers nor vectors is encoded, or why it is left out."""
    types = pa.types
    if types.is_null(kind):
        return LeftOut(name, "is empty in every row")
    if types.is_date(kind) or types.is_timestamp(kind):
        return _dates(name, typed_dates(cells), [], options)
    if types.is_time(kind):
        return _hours(name, cells, options)
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not is_text(kind):
        return LeftOut(
            name, f"holds {one_line(kind, 60)}, which is no number, date, text or vector"
        )
    return _words(name, trimmed(cells), rows, options)


def trimmed(cells: Any) -> Any:
    """Cells without spaces around them, missing where nothing is left.

    >>> trimmed(pa.array([" a ", "  ", None])).to_pylist()
    ['a', None, None]
    """
    words = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    return pc.if_else(pc.equal(words, ""), None, words)


def _words(name: str, cells: Any, rows: "Rows", options: "ReadOptions") -> Encoder | LeftOut:
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
        found = _numbers(name, cells, rows, options) or _written_dates(name, cells, rows, options)
        if found is not None:
            return found
    codes = _codes(cells)
    if different == 2 and not cells.null_count:
        yes = _yes(words.to_pylist())
        if yes is not None:
            return Encoder((Feature(name, "yes/no"),), _yes_no(yes), codes=codes)
    if different <= min(ONE_HOT_LIMIT, max(there // 2, 2)):
        feature = one_hot(name, words.to_pylist(), gaps=cells.null_count > 0)
        return Encoder(
            (feature,), lambda c, out: put_one_hot(trimmed(c), feature, out), codes=codes
        )
    unlettered = not pc.any(pc.match_substring_regex(cells, r"\p{L}")).as_py()
    if unlettered and different > 0.95 * there and not asked:  # of phones, cards, addresses
        return LeftOut(name, "is an id", names_rows=different == len(cells))
    spoken = float(pc.mean(pc.count_substring_regex(cells, r"\S+")).as_py())
    letters = float(pc.mean(pc.binary_length(cells)).as_py()) / max(length, 1e-9)
    unspaced = letters > 1.8 and length >= 5  # Chinese, Japanese, Thai: sentences without spaces
    if spoken >= _SENTENCE or unspaced or (spoken >= 1.5 and different > there // 2):
        return _text(name, cells, options)
    if different > 0.95 * there and not asked:
        return LeftOut(name, "is an id", names_rows=different == len(cells))
    feature = hashed(name, words.to_pylist(), counts.to_pylist())
    own = len(feature.categories)
    what = f"the {own} commonest have a place each, the others share some"
    note = f"{name}: {different:,} different values; {what}" if own < different else ""
    return Encoder(
        (feature,),
        lambda c, out: put_hashed(trimmed(c), feature, out),
        (note,) if note else (),
        codes=codes,
        keys=all_keys(cells),
    )


def _numbers(name: str, cells: Any, rows: "Rows", options: "ReadOptions") -> Encoder | None:
    found = written_numbers(_known(cells), comma=getattr(rows, "separator", ",") == ";")
    if found is None or found.values.null_count == len(cells):
        return None
    notes = [f"{name}: numbers written with {found.style}"] if found.style else []
    notes += _strays(name, found.strays, "number", cells, rows)
    values = np.asarray(found.values.to_numpy(zero_copy_only=False), dtype=np.float64)
    if len(np.unique(values[np.isfinite(values)])) <= ONE_HOT_LIMIT:
        codes = _codes(found.values)
    else:
        codes = None
    return _with_gaps(name, (Feature(name, "number"),), values[:, None], notes, options, codes)


def _written_dates(name: str, cells: Any, rows: "Rows", options: "ReadOptions") -> Encoder | None:
    known = _known(cells)
    found = written_dates(known) if known.null_count < len(known) else None
    if found is None:
        return None
    told = f"{name}: dates read as {in_words(found.style)}"
    notes = [told] if found.style != "ISO" else []
    if found.ambiguous:
        notes = [f"{told}, though they might be written another way"]
    notes += _strays(name, found.strays, "date", cells, rows)
    return _dates(name, found.micros, notes, options)


def _known(cells: Any) -> Any:
    """Cells without those that say that they are missing."""
    return pc.if_else(pc.is_in(cells, pa.array(MISSING, pa.large_string())), None, cells)


def _dates(name: str, micros: Any, notes: list[str], options: "ReadOptions") -> Encoder:
    clock = has_clock(micros)
    parts = PARTS[1:] + (CLOCK if clock else ())
    features = (Feature(name, "days", 1 + len(parts), parts),)
    return _with_gaps(name, features, calendar_parts(micros, clock=clock), notes, options)


def _hours(name: str, times: Any, options: "ReadOptions") -> Encoder:
    micros = times.cast(pa.time64("us"), safe=False).cast(pa.int64()).cast(pa.float64())
    hours = np.asarray(micros.to_numpy(zero_copy_only=False)) / 3.6e9
    turn = 2 * np.pi * hours / 24
    values = np.stack([hours, np.sin(turn), np.cos(turn)], axis=1)
    return _with_gaps(name, (Feature(name, "hours", 3, CLOCK),), values, [], options)


def _with_gaps(
    name: str,
    features: tuple[Feature, ...],
    values: NDArray[np.float64],
    notes: list[str],
    options: "ReadOptions",
    codes: NDArray[np.int32] | None = None,
) -> Encoder:
    """Values with the median of their column where there is none, and a last column of marks."""
    gone = ~np.isfinite(values[:, 0])
    gaps, gap = int(gone.sum()), options.missing == "mark" and bool(gone.any())
    with np.errstate(over="ignore"):
        held = values.astype(np.float32)

    def put(_: Any, out: NDArray[np.float32]) -> None:
        out[:, : held.shape[1]] = held
        if gap:
            out[:, -1] = gone
        for column in out[:, : held.shape[1]].T:
            fill_with_median(column)

    if gaps:
        notes = [*notes, f"{name}: {gaps_filled(gaps, gap)}"]
    every = (*features, *[Feature(name, "gap")] * gap)
    first = int(gone.argmax()) if gaps else -1
    return Encoder(every, put, tuple(notes), codes, gaps, first)


def gaps_filled(count: int, marked: bool, infinite: int = 0) -> str:
    """What became of missing values.

    >>> gaps_filled(1, True), gaps_filled(2, False, 1)
    ('1 missing value became the median, and is marked', \
'2 missing values (1 of them infinite) became the median')
    """
    wild = f" ({infinite:,} of them infinite)" if infinite else ""
    if count == 1:
        return f"1 missing value{wild} became the median{', and is marked' * marked}"
    return f"{count:,} missing values{wild} became the median{', and are marked' * marked}"


def fill_with_median(column: NDArray[np.float32]) -> None:
    """Put the median in place of whatever is not finite, here; zero where nothing is."""
    gone = ~np.isfinite(column)
    if gone.any():
        column[gone] = 0 if gone.all() else np.median(column[~gone])


def _codes(cells: Any) -> NDArray[np.int32]:
    """A whole number for each different cell, -1 for missing ones."""
    found = cells.dictionary_encode().indices.fill_null(-1)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int32)


def _strays(name: str, strays: Any, what: str, cells: Any, rows: "Rows") -> list[str]:
    """A sentence about cells that are none of the many others; they count as missing."""
    count = int(pc.sum(strays).as_py() or 0)
    if not count:
        return []
    row = pc.index(strays, True).as_py()
    return [
        f"{name}: {count:,} cells are no {what}s and count as missing, the first being "
        f"{one_line(repr(cells[row].as_py()), 40)} in {rows.place(row)}"
    ]


def _text(name: str, cells: Any, options: "ReadOptions") -> Encoder | LeftOut:
    from dris.data.text.components import fit_components
    from dris.data.text.sentences import MODEL, put_sentences, sentences_for

    if sentences_for(cells, options.text):
        feature = Feature(name, "sentence", MODEL.width)
        note = f"{name}: text, read by {MODEL.name} (sentence embeddings)"
        return Encoder((feature,), put_sentences, (note,))
    keys = all_keys(cells)
    found = fit_components(cells, keys)
    if found is None:
        return LeftOut(name, "is text in which no word occurs twice")
    note = f"{name}: text, read as {found.width} components of its words and characters"
    return Encoder((Feature(name, "text", found.width),), found.put, (note,), keys=keys)


def _yes(words: list[str]) -> str | None:
    """Which of two values means yes, None when they mean something else."""
    low = {word.lower(): word for word in words}
    pair = next((p for p in _YES_NO if set(p) == set(low)), None)
    return None if pair is None else low[pair[0]]


def _yes_no(yes: str) -> Callable[[Any, NDArray[np.float32]], None]:
    def put(cells: Any, out: NDArray[np.float32]) -> None:
        out[:, 0] = pc.equal(trimmed(cells), yes).to_numpy(zero_copy_only=False)

    return put
