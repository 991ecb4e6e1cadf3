"""Numbers and dates as people write them: 12.5 %, $1,234.50, 1.234,50 €, 70.5 kg, 31.12.1999."""

import itertools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MOST_STRAYS = 10  # one in so many cells may be no number, and the column still is one
SAME_STRAYS = 3  # different words in place of numbers, of which there may be as many as numbers
MANY_NUMBERS = 50  # different ones: with fewer the column is better taken for categories then
_UNIT = r"^[-+]?\d[\d.,']*\s*(?P<unit>[\p{L}µ°²³/]{1,6})$"
_SPACES = "[ \u00a0\u2009\u202f]"
_MONEY = r"[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|Rs\.?|kr\.?|zł"
_PLAIN = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_POINTS = rf"^[-+]?\d{{1,3}}((,\d{{3}})+|({_SPACES}\d{{3}})+|('\d{{3}})+)(\.\d+)?$"
_COMMAS = rf"^[-+]?(\d+|\d{{1,3}}((\.\d{{3}})+|({_SPACES}\d{{3}})+|('\d{{3}})+))(,\d+)?$"
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
PARTS = ("day", "weekday sin", "weekday cos", "year sin", "year cos")
CLOCK = ("hour sin", "hour cos")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Cells as float64, or as microseconds since 1970; null where missing or something else.

    `style` is how they were written, `strays` the cells that were not; a date is `ambiguous` if
    another style fits as well.
    """

    values: Any
    style: str
    strays: Any
    ambiguous: bool = False


def parse_numbers(cells: Any, *, comma: bool = False) -> Parsed | None:
    """The numbers in a column of text, or None when it is something else.

    A column is numbers when at most a tenth of its cells that are not missing are none, or up to
    half, which are the same word or two: what somebody wrote where there is no number. `comma`
    settles what 1,234 means where no other cell does: 1.234, as where semicolons part cells.

    >>> parse_numbers(pa.array(["$1,200.50", "$3", None])).values.to_pylist()
    [1200.5, 3.0, None]
    >>> parse_numbers(pa.array(["1.234,5 €", "(7,25)"])).values.to_pylist()
    [1234.5, -7.25]
    >>> parse_numbers(pa.array(["12 %", "7.5%"])).values.to_pylist()
    [12.0, 7.5]
    >>> parse_numbers(pa.array(["70.5 kg", "81kg"])).values.to_pylist()
    [70.5, 81.0]
    >>> parse_numbers(pa.array(["red", "7"])) is None
    True
    """
    there = cells.is_valid()
    count = len(cells) - cells.null_count
    body = pc.replace_substring(cells, "\u2212", "-")
    body = pc.replace_substring_regex(body, r"^\((.*)\)$", r"-\1")
    bare = pc.replace_substring_regex(body, rf"^([-+]?)\s*({_MONEY})\s*", r"\1")
    bare = pc.replace_substring_regex(bare, rf"\s*({_MONEY}|%)$", "")
    bare = pc.utf8_trim_whitespace(bare)
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
    few = most * MOST_STRAYS >= count * (MOST_STRAYS - 1)
    if not few and not _same_strays(bare, commas if as_commas > as_points else points, most, count):
        return None
    german = as_commas > as_points or (as_commas == as_points and comma and _any_comma(bare))
    fine = commas if german else points
    digits = pc.replace_substring_regex(bare, rf"{_SPACES}|'", "")
    if german:
        digits = pc.replace_substring(pc.replace_substring(digits, ".", ""), ",", ".")
    else:
        digits = pc.replace_substring(digits, ",", "")
    fine = pc.fill_null(fine, False)
    values = pc.if_else(fine, digits, None).cast(pa.float64())
    style = [_style(cells, bare, german), f"the unit {unit}" if unit else ""]
    told = ", ".join(word for word in style if word)
    return Parsed(values, told, pc.and_(there, pc.invert(fine)))


def _unit(bare: Any, count: int) -> str:
    """The unit that nearly all numbers end in, "" without one."""
    found = pc.extract_regex(bare, _UNIT).field("unit").drop_null()
    if not len(found) or len(found) * MOST_STRAYS < count * (MOST_STRAYS - 1):
        return ""
    counts = pc.value_counts(found)
    sizes = counts.field("counts").to_pylist()
    most = max(range(len(sizes)), key=lambda i: (sizes[i], str(counts.field("values")[i])))
    enough = sizes[most] * MOST_STRAYS >= count * (MOST_STRAYS - 1)
    return str(counts.field("values")[most]) if enough else ""


def _same_strays(bare: Any, fine: Any, numbers: int, count: int) -> bool:
    """Whether what is no number is a word or two, beside many different numbers."""
    if numbers * 2 < count:
        return False
    known = pc.fill_null(fine, False)
    words = pc.unique(bare.filter(pc.and_(bare.is_valid(), pc.invert(known))))
    return len(words) <= SAME_STRAYS and len(pc.unique(bare.filter(known))) > MANY_NUMBERS


def _style(cells: Any, bare: Any, german: bool) -> str:
    """What had to be understood, in words; nothing for bare numbers."""
    found = []
    if german and _any_comma(bare):
        found.append("decimal commas")
    elif _any_comma(bare):
        found.append("commas between thousands")
    if pc.any(pc.match_substring_regex(cells, _MONEY)).as_py():
        found.append("currency")
    if pc.any(pc.match_substring(cells, "%")).as_py():
        found.append("percent")
    return ", ".join(found)


def _any_comma(cells: Any) -> bool:
    return bool(pc.any(pc.match_substring(cells, ",")).as_py())


def _count(mask: Any) -> int:
    return int(pc.sum(mask).as_py() or 0)


def parse_dates(cells: Any) -> Parsed | None:
    """The dates in a column of text, or None when fewer than nine in ten cells are dates.

    >>> parse_dates(pa.array(["1970-01-02", None])).values.to_pylist() == [86400000000, None]
    True
    >>> parse_dates(pa.array(["31.12.1999", "01.02.2000"])).style
    '%d.%m.%Y'
    >>> parse_dates(pa.array(["red", "blue"])) is None
    True
    """
    distinct = pc.unique(cells.drop_null())
    tried = distinct.take(np.linspace(0, len(distinct) - 1, min(_SAMPLE, len(distinct)), dtype=int))
    tried = tried.take(pc.sort_indices(tried)) if len(distinct) <= _SAMPLE else _spread(distinct)
    if not len(tried) or _share(pc.match_substring_regex(tried, r"\d")) < 0.9:
        return None
    scores = [(_share(_parse_as(tried, style).is_valid()), style) for style in _styles()]
    best = max(score for score, _ in scores)
    if best < 0.9:  # what several machines wrote, or one of them in summer
        best = _share(_parse_as(tried, _SOME).is_valid())
        scores = [(best, _SOME)]
    if best < 0.9:
        return None
    fitting = [style for score, style in scores if score == best]
    if len(fitting) > 1:  # the whole column may tell
        whole = [(_share(_parse_as(distinct, style).is_valid()), style) for style in fitting]
        best = max(score for score, _ in whole)
        fitting = [style for score, style in whole if score == best]
    micros = _parse_as(cells, fitting[0])
    strays = pc.and_(cells.is_valid(), micros.is_null())
    if len(strays) and _share(strays) > 0.1:
        return None
    return Parsed(micros, fitting[0], strays, len(fitting) > 1)


def date_pattern(style: str) -> str:
    """A format as people write it.

    >>> date_pattern("%d.%m.%Y %H:%M")
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


def _parse_as(cells: Any, style: str) -> Any:
    """Microseconds since 1970, null for what is not written so or lies in no usual year."""
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
