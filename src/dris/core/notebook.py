"""How a value shows itself in a notebook: a few lines of HTML, all text escaped."""

from collections.abc import Iterable, Sequence
from html import escape


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
