"""One table of keys: legends, buttons and handlers of the page and of the app are made from it."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

PAGE = files("dris.report_page").joinpath("page_files")
APP = files("dris.review_app").joinpath("app_files")
TABLE = PAGE.joinpath("keys.js").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"\{does: '(\w+)', keys: \[(.*?)\]", TABLE))


def own_keys(text):
    """Keys that a file names by itself, in a legend or in a handler."""
    handled = re.findall(r"\bkey(?:\.toLowerCase\(\))? === '([\w/])'", text)
    return handled + re.findall(r"<kbd>(.)</kbd>|el\('kbd', \{[^}]*\}, '(.)'\)", text)


def key_table(text):
    """The table of docs/review.md, as the keys have it."""
    rows = re.findall(r"keys: \[(.*?)\], word: '.*?', says: '(.*?)'\}", text)
    arrows = {"ArrowRight": "→", "ArrowLeft": "←"}
    lines = ["| key | does |", "|---|---|"]
    for keys, says in rows:
        names = [key.strip(" '") for key in keys.split(",")]
        lines.append(f"| {', '.join(arrows.get(name, name) for name in names)} | {says} |")
    return "\n".join(lines) + "\n\n"


def test_the_docs_have_the_same_table():
    page = Path(__file__).parents[2].joinpath("docs/review.md").read_text(encoding="utf-8")
    assert key_table(TABLE) in page
    assert key_table(TABLE.replace("'Z'", "'Y'")) not in page


def test_every_key_does_one_thing():
    keys = [key.strip(" '") for entry in ENTRIES.values() for key in entry.split(",")]
    assert len(set(keys)) == len(keys) > 10


@pytest.mark.parametrize("folder", [PAGE, APP])
def test_no_other_file_names_a_key(folder):
    texts = [f for f in folder.iterdir() if f.name.endswith((".js", ".html"))]
    others = [f for f in texts if f.name != "keys.js"]
    assert {f.name: own_keys(f.read_text(encoding="utf-8")) for f in others} == {
        f.name: [] for f in others
    }


def test_a_file_that_names_one_is_noticed():
    assert own_keys("if (event.key === 'j') go()") == ["j"]
    assert own_keys("<p><kbd>A</kbd> accept</p>") != []


def test_what_is_handled_stands_in_the_table():
    start = APP.joinpath("start.js").read_text(encoding="utf-8")
    handlers = re.search(r"const HANDLERS = \{(.*?)\};\n\n", start, re.S)[1]
    named = set(re.findall(r"(?:^|[,\n]\s*)(\w+)(?=[:,])", handlers))
    assert named == set(ENTRIES)
    page = PAGE.joinpath("review.js").read_text(encoding="utf-8")
    assert {"right", "wrong", "unsure"} == set(
        re.findall(r"'(\w+)'", re.search(r"const ANSWERS = \[(.*?)\]", page)[1])
    )
