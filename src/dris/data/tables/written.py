"""Numbers and dates as people write them: 12.5 %, $1,234.50, 1.234,50 €, 70.5 kg, 31.12.1999."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ONE_STRAY_IN = 10  # one in so many cells may be no number, and the column still is one
MAX_STRAY_WORDS = 3  # different words in place of numbers, of which there may be as many as numbers
MIN_NUMBERS = 50  # different ones: with fewer the column is better taken for categories then
_UNIT = r"^[-+]?\d[\d.,']*\s*(?P<unit>[\p{L}µ°²³/]{1,6})$"
_SPACES = "[ \u00a0\u2009\u202f]"
_MONEY = r"[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|Rs\.?|kr\.?|zł"
_PLAIN = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_POINTS = rf"^[-+]?[1-9]\d{{0,2}}((,\d{{3}})+|({_SPACES}\d{{3}})+|('\d{{3}})+)(\.\d+)?$"
_COMMAS = rf"^[-+]?(\d+|\d{{1,3}}((\.\d{{3}})+|({_SPACES}\d{{3}})+|('\d{{3}})+))(,\d+)?$"
_GROUPED = r"^[-+]?[1-9]\d{0,2}([.,]\d{3})+$"  # 1.234 and 1,234, which either way is a number
_WORDS = ("inf", "-inf", "+inf", "infinity", "-infinity")
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
_STYLES = tuple(date + time for time in _TIMES for date in _DATES)
PARTS = ("weekday sin", "weekday cos", "year sin", "year cos")
CLOCK = ("hour sin", "hour cos")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Cells as float64, or as microseconds since 1970; null where missing or something else."""

    values: Any
    style: str  # how they were written
    strays: Any  # the cells that were not
    ambiguous: bool = False  # of dates: whether another style fits as well


def decimal_mark(columns: Sequence[Any]) -> str:
    """What the numbers in columns of text are written with: "," or "."; "" where both or neither.

    >>> decimal_mark([pa.array(["0,5", "12,25"]), pa.array(["1.130", "874"])])
    ','
    """
    marks = set()
    for cells in columns:
        bare = _bare(cells.drop_null())
        clear = pc.invert(pc.match_substring_regex(bare, _GROUPED))
        for mark, pattern in ((".", rf"{_PLAIN}|{_POINTS}"), (",", _COMMAS)):
            fits = pc.match_substring_regex(bare, pattern)
            shows = pc.and_(pc.match_substring_regex(bare, rf"\{mark}\d+$"), clear)
            if len(bare) and _share(fits) >= 0.9 and pc.any(pc.and_(fits, shows)).as_py():
                marks.add(mark)
    return marks.pop() if len(marks) == 1 else ""


def grouped_by_points(cells: Any) -> bool:
    """True if numbers might all be whole, with points between thousands: 874 and 1.130."""
    bare = pc.utf8_trim_whitespace(cells.drop_null())
    grouped = pc.match_substring_regex(bare, r"^[-+]?[1-9]\d{0,2}(\.\d{3})+$")
    small = pc.match_substring_regex(bare, r"^[-+]?\d{1,3}$")
    return bool(pc.any(grouped).as_py() and pc.all(pc.or_(grouped, small)).as_py())


def _bare(cells: Any) -> Any:
    """Cells without brackets, currencies and percent signs."""
    body = pc.replace_substring(cells, "\u2212", "-")
    body = pc.replace_substring_regex(body, r"^\((.*)\)$", r"-\1")
    bare = pc.replace_substring_regex(body, rf"^([-+]?)\s*({_MONEY})\s*", r"\1")
    bare = pc.replace_substring_regex(bare, rf"\s*({_MONEY}|%)$", "")
    return pc.utf8_trim_whitespace(bare)


def parse_numbers(cells: Any, *, comma: bool = False) -> Parsed | None:
    """The numbers in a column of text, or None when it is something else.

    A tenth of the cells may be no numbers, or half if they are the same word or two. `comma`
    settles what 1,234 and 1.234 mean where no other cell does: a decimal number, and a whole one.
    """
    there = cells.is_valid()
    count = len(cells) - cells.null_count
    bare = _bare(cells)
    unit = _unit(bare, count)
    if unit:
        bare = pc.replace_substring_regex(bare, rf"\s*{re.escape(unit)}$", "")
    plain = pc.match_substring_regex(bare, _PLAIN)
    plain = pc.or_(plain, pc.is_in(pc.utf8_lower(bare), pa.array(_WORDS)))
    points = pc.or_(plain, pc.match_substring_regex(bare, _POINTS))
    commas = pc.match_substring_regex(bare, _COMMAS)
    as_points, as_commas = _count(points), _count(commas)
    if not count:
        return None
    most = max(as_points, as_commas)
    fine = commas if as_commas > as_points else points
    if not _nearly_all(most, count) and not _same_strays(bare, fine, most, count):
        return None
    any_comma = bool(pc.any(pc.match_substring(bare, ",")).as_py())
    any_group = bool(pc.any(pc.match_substring_regex(bare, r"^[^,]*\.\d{3}$")).as_py())
    german = as_commas > as_points or (
        as_commas == as_points and comma and (any_comma or any_group)
    )
    fine = commas if german else points
    digits = pc.replace_substring_regex(bare, rf"{_SPACES}|'", "")
    if german:
        digits = pc.replace_substring(pc.replace_substring(digits, ".", ""), ",", ".")
    else:
        digits = pc.replace_substring(digits, ",", "")
    fine = pc.fill_null(fine, False)
    values = pc.if_else(fine, digits, None).cast(pa.float64())
    style = {
        "decimal commas" if german else "commas between thousands": any_comma,
        "points between thousands": german and any_group,
        "currency": pc.any(pc.match_substring_regex(cells, _MONEY)).as_py(),
        "percent": pc.any(pc.match_substring(cells, "%")).as_py(),
        f"the unit {unit}": unit,
    }
    written = ", ".join(what for what, so in style.items() if so)
    return Parsed(values, written, pc.and_(there, pc.invert(fine)))


def _unit(bare: Any, count: int) -> str:
    """The unit that nearly all numbers end in, "" without one."""
    units = pc.extract_regex(bare, _UNIT).field("unit").drop_null()
    if not len(units):
        return ""
    counts = pc.value_counts(units).to_pylist()
    most = max(counts, key=lambda one: (one["counts"], one["values"]))
    return str(most["values"]) if _nearly_all(most["counts"], count) else ""


def _nearly_all(some: int, count: int) -> bool:
    return some * ONE_STRAY_IN >= count * (ONE_STRAY_IN - 1)


def _same_strays(bare: Any, fine: Any, numbers: int, count: int) -> bool:
    """Whether what is no number is a word or two, beside many different numbers."""
    if numbers * 2 < count:
        return False
    known = pc.fill_null(fine, False)
    words = pc.unique(bare.filter(pc.and_(bare.is_valid(), pc.invert(known))))
    return len(words) <= MAX_STRAY_WORDS and len(pc.unique(bare.filter(known))) > MIN_NUMBERS


def _count(mask: Any) -> int:
    return int(pc.sum(mask).as_py() or 0)


def parse_dates(cells: Any) -> Parsed | None:
    """The dates in a column of text, or None when fewer than nine in ten cells are dates."""
    distinct = pc.unique(cells.drop_null())
    order = pc.sort_indices(distinct)  # the same cells are tried in whatever order they come
    if len(order) > _SAMPLE:
        order = order.take(np.linspace(0, len(order) - 1, _SAMPLE, dtype=int))
    tried = distinct.take(order)
    if not len(tried) or _share(pc.match_substring_regex(tried, r"\d")) < 0.9:
        return None
    fitting = _fitting(tried, ["ISO", "ISO with zone", *_STYLES])
    fitting = fitting or _fitting(tried, [_SOME])  # of several machines, or of one in summer
    if not fitting:
        return None
    if len(fitting) > 1:  # the whole column may decide
        fitting = _fitting(distinct, fitting) or fitting
    micros = _parse_as(cells, fitting[0])
    strays = pc.and_(cells.is_valid(), micros.is_null())
    if len(strays) and _share(strays) > 0.1:
        return None
    return Parsed(micros, fitting[0], strays, len(fitting) > 1)


def date_pattern(style: str) -> str:
    """A format as people write it: DD.MM.YYYY hh:mm."""
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


def _fitting(cells: Any, styles: Sequence[str]) -> list[str]:
    """The styles that read nine in ten cells, of which the most lie in usual years."""
    read = {style: _parse_as(cells, style) for style in styles}
    shares = {style: _share(in_usual_years(micros)) for style, micros in read.items()}
    best = max(0.5, *shares.values())
    first = [style for style, share in shares.items() if share == best]
    return first if first and _share(read[first[0]].is_valid()) >= 0.9 else []


def in_usual_years(micros: Any) -> Any:
    """True for what lies between 1800 and 2200, false for other dates and where there is none."""
    usual = pc.and_(pc.greater(micros, _EARLIEST * _DAY), pc.less(micros, _LATEST * _DAY))
    return pc.fill_null(usual, False)


def _parse_as(cells: Any, style: str) -> Any:
    """Microseconds since 1970, null for what is not written so."""
    if style == _SOME:
        return pc.coalesce(_parse_as(cells, "ISO"), _parse_as(cells, "ISO with zone"))
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
    return times.cast(pa.int64())


def _each(cells: Any, zone: str | None) -> Any:
    times = []
    for cell in cells:
        try:
            times.append(cell.cast(pa.timestamp("us", zone)).as_py())
        except pa.ArrowInvalid:
            times.append(None)
    return pa.array(times, pa.timestamp("us", zone))


def _share(mask: Any) -> float:
    return float(pc.mean(mask.cast(pa.float64())).as_py() or 0.0)
