"""Dates and times, typed or written, as days and their parts of the week, the year and the day."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_DAY = 86_400_000_000  # microseconds
_EARLIEST, _LATEST = -62_000, 84_000  # days: the years 1800 and 2200
_SAMPLE = 400  # different cells by which a format is chosen
_ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.]\d{1,6})?)?)?$"
_ZONED = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.]\d{1,6})?)?(Z|[-+]\d{2}:?\d{2})$"
_SOME = "ISO, some with a zone"
# Of two formats that fit equally well the first is taken: day first with points and hyphens,
# month first with strokes.
_DATES = (
    *("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d %b %Y", "%b %d, %Y", "%b %d %Y", "%d-%b-%Y", "%Y-%b-%d", "%Y-%m", "%b %Y"),
    *("%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d-%b-%y"),
)
_SHORT_YEAR = r"^\d{1,2}[./-](\d{1,2}|[A-Za-z]{3})[./-]\d{2}(\s|$)"  # 4.2.1 is a version
_TIMES = ("", " %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p")
PARTS = ("day", "weekday sin", "weekday cos", "year sin", "year cos")
CLOCK = ("hour sin", "hour cos")


@dataclass(frozen=True, slots=True)
class Dates:
    """Cells as microseconds since 1970, null where missing or no date, and how they were read."""

    micros: Any
    style: str
    strays: Any
    ambiguous: bool = False


def written_dates(cells: Any) -> Dates | None:
    """The dates in a column of text, or None when fewer than nine in ten cells are dates.

    >>> written_dates(pa.array(["1970-01-02", None])).micros.to_pylist() == [86400000000, None]
    True
    >>> written_dates(pa.array(["31.12.1999", "01.02.2000"])).style
    '%d.%m.%Y'
    >>> written_dates(pa.array(["red", "blue"])) is None
    True
    """
    distinct = pc.unique(cells.drop_null())
    tried = distinct.take(np.linspace(0, len(distinct) - 1, min(_SAMPLE, len(distinct)), dtype=int))
    tried = tried.take(pc.sort_indices(tried)) if len(distinct) <= _SAMPLE else _spread(distinct)
    if not len(tried) or _share(pc.match_substring_regex(tried, r"\d")) < 0.9:
        return None
    scores = [(_share(_parsed(tried, style).is_valid()), style) for style in _styles()]
    best = max(score for score, _ in scores)
    if best < 0.9:  # what several machines wrote, or one of them in summer
        best = _share(_parsed(tried, _SOME).is_valid())
        scores = [(best, _SOME)]
    if best < 0.9:
        return None
    fitting = [style for score, style in scores if score == best]
    if len(fitting) > 1:  # the whole column may tell
        whole = [(_share(_parsed(distinct, style).is_valid()), style) for style in fitting]
        best = max(score for score, _ in whole)
        fitting = [style for score, style in whole if score == best]
    micros = _parsed(cells, fitting[0])
    strays = pc.and_(cells.is_valid(), micros.is_null())
    if len(strays) and _share(strays) > 0.1:
        return None
    return Dates(micros, fitting[0], strays, len(fitting) > 1)


def in_words(style: str) -> str:
    """A format as people write it.

    >>> in_words("%d.%m.%Y %H:%M")
    'DD.MM.YYYY hh:mm'
    """
    pairs = {"%d": "DD", "%m": "MM", "%Y": "YYYY", "%y": "YY", "%b": "Mon"}
    pairs |= {"%H": "hh", "%I": "hh", "%M": "mm", "%S": "ss", "%p": "AM/PM"}
    for code, word in pairs.items():
        style = style.replace(code, word)
    return style


def typed_dates(cells: Any) -> Any:
    """Microseconds since 1970 of a column of dates or timestamps."""
    if pa.types.is_date32(cells.type):
        cells = cells.cast(pa.date64())
    zone = getattr(cells.type, "tz", None)
    return cells.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())


def calendar_parts(micros: Any, *, clock: bool) -> NDArray[np.float64]:
    """Days since 1970, then where in the week, the year and (with `clock`) the day, as angles.

    >>> calendar_parts(pa.array([0]), clock=False).round(2).tolist()
    [[0.0, 0.43, -0.9, 0.0, 1.0]]
    """
    days = np.asarray(micros.cast(pa.float64()).to_numpy(zero_copy_only=False)) / _DAY
    whole = np.floor(days)
    with np.errstate(invalid="ignore"):
        year = np.array(np.nan_to_num(whole), dtype="datetime64[D]")
        since = (year - year.astype("datetime64[Y]")).astype(np.float64)
    since[np.isnan(days)] = np.nan
    angles = [(whole + 3) / 7, since / 365.25, *([days - whole] if clock else [])]
    turns = [(np.sin(2 * np.pi * a), np.cos(2 * np.pi * a)) for a in angles]
    return np.stack([days, *itertools.chain.from_iterable(turns)], axis=1)


def has_clock(micros: Any) -> bool:
    """Whether any time is not midnight."""
    values = micros.drop_null().to_numpy(zero_copy_only=False)
    return bool((np.asarray(values) % _DAY != 0).any())


def _styles() -> list[str]:
    return ["ISO", "ISO with zone", *(d + t for t in _TIMES for d in _DATES)]


def _parsed(cells: Any, style: str) -> Any:
    """Microseconds since 1970, null for what is not written so or lies in no usual year."""
    if style == _SOME:
        return pc.coalesce(_parsed(cells, "ISO"), _parsed(cells, "ISO with zone"))
    if style.startswith("ISO"):
        zone = "UTC" if style.endswith("zone") else None
        mask = pc.match_substring_regex(cells, _ZONED if zone else _ISO)
        kept = pc.if_else(pc.fill_null(mask, False), cells, None)
        try:
            times = kept.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:  # 2024-02-31
            times = _each(kept, zone)
    else:
        if "%y" in style:
            mask = pc.match_substring_regex(cells, _SHORT_YEAR)
            cells = pc.if_else(pc.fill_null(mask, False), cells, None)
        times = pc.strptime(cells, format=style, unit="us", error_is_null=True)
    micros = times.cast(pa.int64())
    usual = pc.and_(
        pc.greater(micros, _EARLIEST * _DAY),
        pc.less(micros, _LATEST * _DAY),
    )
    return pc.if_else(pc.fill_null(usual, False), micros, None)


def _each(cells: Any, zone: str | None) -> Any:
    found = []
    for cell in cells:
        try:
            found.append(cell.cast(pa.timestamp("us", zone)).as_py())
        except pa.ArrowInvalid:
            found.append(None)
    return pa.array(found, pa.timestamp("us", zone))


def _spread(cells: Any) -> Any:
    """Some of many different cells, the same ones in whatever order they come."""
    order = pc.sort_indices(cells)
    return cells.take(order.take(np.linspace(0, len(cells) - 1, _SAMPLE, dtype=int)))


def _share(mask: Any) -> float:
    return float(pc.mean(mask.cast(pa.float64())).as_py() or 0.0)
