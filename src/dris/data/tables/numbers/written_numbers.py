"""Numbers as people write them: 12.5 %, $1,234.50, 1.234,50 €, (300), 3,14, 70.5 kg."""

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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


@dataclass(frozen=True, slots=True)
class Written:
    """Cells as float64, null where missing or no number; how they were written; the others."""

    values: Any
    style: str
    strays: Any


def written_numbers(cells: Any, *, comma: bool = False) -> Written | None:
    """The numbers in a column of text, or None when it is something else.

    A column is numbers when at most a tenth of its cells that are not missing are none, or up to
    half, which are the same word or two: what somebody wrote where there is no number. `comma`
    settles what 1,234 means where no other cell does: 1.234, as where semicolons part cells.

    >>> written_numbers(pa.array(["$1,200.50", "$3", None])).values.to_pylist()
    [1200.5, 3.0, None]
    >>> written_numbers(pa.array(["1.234,5 €", "(7,25)"])).values.to_pylist()
    [1234.5, -7.25]
    >>> written_numbers(pa.array(["12 %", "7.5%"])).values.to_pylist()
    [12.0, 7.5]
    >>> written_numbers(pa.array(["70.5 kg", "81kg"])).values.to_pylist()
    [70.5, 81.0]
    >>> written_numbers(pa.array(["red", "7"])) is None
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
    return Written(values, told, pc.and_(there, pc.invert(fine)))


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
