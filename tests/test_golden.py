"""Wording lives in tests/golden, one file per door; `make golden` writes it again to be read."""

import difflib

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
    assert alike(shown[door], kept), "\n".join(changes)


def test_another_word_is_noticed_and_another_last_digit_is_not(shown):
    text = shown["certify"]
    assert alike(text.replace("0.05", "0.06"), text)
    assert not alike(text.replace("certif", "promis", 1), text)


def test_no_golden_file_is_without_a_door():
    assert sorted(path.stem for path in golden.GOLDEN.glob("*.txt")) == sorted(golden.DOORS)
