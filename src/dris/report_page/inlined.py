"""The components that the page and the review app are made of: plain scripts, styles, templates."""

from collections.abc import Iterable
from importlib.resources import files


def part(name: str) -> str:
    """A file of `page_files` as it is."""
    return files("dris.report_page").joinpath("page_files", name).read_text(encoding="utf-8")


def one_script(texts: Iterable[str]) -> str:
    """Scripts that share names with each other and with nobody else.

    >>> one_script(["const a = 1;", "const b = a;"]).startswith("'use strict';")
    True
    """
    return "'use strict';\n(() => {\n" + "".join(texts) + "})();\n"
