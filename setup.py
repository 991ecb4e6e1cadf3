"""What the build adds to pyproject.toml: the page of the package, its links absolute."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent
_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)\n*")
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")


def long_description(readme: str, url: str, version: str) -> str:
    """The README for a page elsewhere: links and images at `url`; without one, only their words.

    >>> long_description("[c](d.md)", "", "1.0")
    'c'
    >>> long_description("[c](d.md)", "https://host.invalid/x", "1.0")
    '[c](https://host.invalid/x/blob/v1.0/d.md)'
    """
    if not url:
        return _LINK.sub(r"\1", _IMAGE.sub("", readme))
    shown = _IMAGE.sub(rf"![\1]({url}/raw/v{version}/\2)\n\n", readme)
    return _LINK.sub(rf"[\1]({url}/blob/v{version}/\2)", shown)


def links(url: str) -> dict[str, str]:
    """The addresses beside the package, all from the one setting; none without it.

    >>> links("")
    {}
    """
    if not url:
        return {}
    return {
        "Source": url,
        "Issues": f"{url}/issues",
        "Changelog": f"{url}/blob/main/CHANGELOG.md",
    }


if __name__ == "__main__":
    from setuptools import setup

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    url = settings["tool"]["dris"]["url"].rstrip("/")
    source = (ROOT / "src" / "dris" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', source, re.M)
    if version is None:
        raise SystemExit("src/dris/__init__.py has no __version__")
    setup(
        version=version[1],
        long_description=long_description(
            (ROOT / "README.md").read_text(encoding="utf-8"), url, version[1]
        ),
        long_description_content_type="text/markdown",
        project_urls=links(url),
    )
