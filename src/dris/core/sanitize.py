"""Foreign text made safe to show: nothing that a terminal or a spreadsheet would act on."""

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, TextIO


def from_json(text: str | bytes) -> Any:
    """Parse JSON; nesting that is too deep is a `ValueError` like any other damage."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def printable(text: object, *, lines: bool = False) -> str:
    r"""The text with everything unprintable escaped; `lines` keeps line breaks.

    >>> printable("a\x1b[31mb\nc"), printable("a\nb", lines=True)
    ('a\\x1b[31mb\\nc', 'a\nb')
    """
    words = str(text)
    if words.isprintable():
        return words
    return "".join(
        c if c.isprintable() or (lines and c in "\n\t") else ascii(c)[1:-1] for c in words
    )


def encodable(text: str, encoding: str | None) -> str:
    """The text in characters that a stream of this encoding can carry.

    >>> encodable("Yes → No, −2 ± 1", "cp1252"), encodable("Yes → No", "utf-8")
    ('Yes -> No, -2 ± 1', 'Yes → No')
    """
    name = encoding or "utf-8"
    try:
        text.encode(name)
    except UnicodeEncodeError:
        plain = text.replace("→", "->").replace("−", "-").replace("–", "-")
        return plain.encode(name, errors="replace").decode(name)
    return text


_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")
_FORMULA = ("=", "+", "-", "@", "'", "\t", "\r", "\n")  # how a cell that is computed may begin


def guard_text(text: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet could see a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def guard_cell(text: str) -> str:
    """Guard a cell of somebody's data unless it is a plain number."""
    return text if _NUMBER.fullmatch(text) else guard_text(text)


class Printable:
    """A stream that escapes what is not printable; what draws by escapes writes `under` it."""

    def __init__(self, under: TextIO) -> None:
        self.under = under

    def write(self, text: str) -> int:
        """Write the text, escaped."""
        if not isinstance(text, str):  # how libraries ask a stream whether it takes bytes
            raise TypeError(f"text is written here, got {type(text).__name__}")
        self.under.write(printable(text, lines=True))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.under, name)


def under(stream: Any) -> Any:
    """The stream below `Printable`, for what writes its own escapes."""
    return stream.under if isinstance(stream, Printable) else stream


def plain_html(
    title: str,
    pairs: Iterable[tuple[str, str]],
    *,
    header: Sequence[str] = (),
    rows: Iterable[Sequence[str]] = (),
) -> str:
    """A title, names with values, and optionally a small table below."""
    lines = "".join(f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in pairs)
    text = f"<b>{escape(title)}</b><table>{lines}</table>"
    if header:
        heads = "".join(f"<th>{escape(name)}</th>" for name in header)
        cells = ("".join(f"<td>{escape(value)}</td>" for value in row) for row in rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        text += f"<table><tr>{heads}</tr>{body}</table>"
    return text
