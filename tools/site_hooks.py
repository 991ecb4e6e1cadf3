"""A hook of mkdocs: links from the docs to files beside them become the names of those files.

In the repository `[the example](../examples/a.py)` opens the file; on the site there is none. With
`url` under `[tool.dris]` such a link leads to the published repository.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#]+)(#[^)]*)?\)")


def outside(text: str, page: Path, url: str) -> str:
    """A page's Markdown without links that lead out of the docs.

    >>> outside("[run](../tools/lowest.py)", ROOT / "docs" / "a.md", "")
    'run'
    """

    def replace(found: re.Match[str]) -> str:
        target = (page.parent / found[2]).resolve()
        if not target.exists() or target.is_relative_to(ROOT / "docs"):
            return found[0]
        place = target.relative_to(ROOT).as_posix()
        return f"[{found[1]}]({url}/blob/main/{place})" if url else found[1]

    return _LINK.sub(replace, text)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """What mkdocs calls for every page."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return outside(markdown, Path(page.file.abs_src_path), settings["tool"]["dris"]["url"])
