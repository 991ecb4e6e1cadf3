"""Wording lives in tests/golden, one file per door; `make golden` writes it again to be read."""

import ast
import difflib
import re

import pytest

import golden
from follow import alike


@pytest.fixture(scope="module")
def shown():
    return dict(golden.show_doors())


@pytest.mark.parametrize("door", golden.DOORS)
def test_a_door_says_what_its_golden_file_says(door, shown):
    kept = (golden.GOLDEN / f"{door}.txt").read_text(encoding="utf-8")
    changes = difflib.unified_diff(kept.splitlines(), shown[door].splitlines(), lineterm="", n=0)
    assert golden.says(door, shown[door], kept), "\n".join(changes)


def test_another_word_is_noticed_and_another_last_digit_is_not(shown):
    text = shown["certify"]
    assert alike(text.replace("0.05", "0.06"), text)
    assert not alike(text.replace("certif", "promis", 1), text)


def test_no_golden_file_is_without_a_door():
    assert sorted(path.stem for path in golden.GOLDEN.glob("*.txt")) == sorted(golden.DOORS)


MAX_WIDTH = 100
WITHDRAWN = (
    *("suspicion", "suspicious", "doubts?", "doubted", "doubtful", "contested", "wary"),
    *("contradicted", "how much is wrong", "random share", "strangers", "foretold", "planted"),
    *("beyond chance", "promise[ds]?", "verdict", "looks? wrong"),
)
ROOT = golden.GOLDEN.parents[1]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)")  # names in code, and where links lead
IN_ONE_PIECE = re.compile(r"dris [a-z]|^dris: |^\[exit|^Error: ")  # commands and messages


def too_wide(text):
    lines = (line for line in text.splitlines() if not IN_ONE_PIECE.search(line))
    return [line for line in lines if len(line) > MAX_WIDTH]


def withdrawn(text):
    found = (re.search(rf"\b{word}\b", CODE.sub("", text), re.I) for word in WITHDRAWN)
    return [match[0] for match in found if match]


def messages(source):
    """The strings of a module that people may read: sentences, no docstrings."""
    tree = ast.parse(source)
    bodies = (node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list))
    unread = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    values = (node.value for node in texts if id(node) not in unread)
    return [value for value in values if isinstance(value, str) and " " in value]


@pytest.mark.parametrize("door", sorted(set(golden.DOORS) - {"page", "clean_json", "python"}))
def test_no_line_is_wider_than_a_hundred_columns(door, shown):
    assert too_wide(shown[door]) == []


@pytest.mark.parametrize("door", sorted(set(golden.DOORS) - {"clean_json"}))  # names of fields
def test_no_withdrawn_word_is_said(door, shown):
    assert withdrawn(shown[door]) == []


def test_no_withdrawn_word_is_in_a_message_a_page_or_the_docs():
    source = ROOT / "src" / "dris"
    said = {path: " ; ".join(messages(path.read_text("utf-8"))) for path in source.rglob("*.py")}
    said |= {path: path.read_text("utf-8") for path in PAGES}
    words = {path.name: withdrawn(text) for path, text in said.items()}
    of_claims = {"contradicted"}  # an outcome, as "reproduced"
    assert {name: found for name, found in words.items() if set(found) - of_claims} == {}


@pytest.mark.parametrize("door", ["clean", "fix", "prune", "harmful", *golden.OTHERS])
def test_the_answer_has_fifteen_lines_at_most(door, shown):
    assert len(shown[door].splitlines()) - 2 <= 15  # the command and how it ended


def test_wide_lines_and_withdrawn_words_are_noticed():
    """The twin."""
    assert too_wide("x" * 101)
    assert withdrawn("Such labels look wrong, see [17](17-verdict.md).") == ["look wrong"]
    assert messages('"""In doubt."""\nraise InputError(f"in doubt about {x}")') == [
        "in doubt about "
    ]
