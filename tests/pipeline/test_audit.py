"""An audit on disk, without the command: whose limit it is, and when there is none."""

import json

import numpy as np
import pytest

from dris.core.certify.random_audit import audit_limit
from dris.core.errors import InputError
from dris.data.reader import read_data
from dris.pipeline.audit import (
    COLUMNS,
    AnswerLine,
    answer_sheet,
    beside,
    read_answers,
    read_audit,
    sealed_draw,
    write_audit,
)
from made_review import fill_in


@pytest.fixture
def drawn(tmp_path):
    """Twelve of forty rows, drawn, and the file they stand in."""
    source, path = tmp_path / "people.csv", tmp_path / "audit.csv"
    rows = [f"p{i},{i % 7 + i / 8},{'yes' if i % 2 else 'no'}" for i in range(40)]
    source.write_text("\n".join(["id,x,kind", *rows]) + "\n", encoding="utf-8")
    write_audit(read_data(source, label="kind", id="id"), path, 12, delta=0.1)
    return source, path


def test_the_limit_is_that_of_the_draw_and_unsure_counts_as_wrong(drawn):
    _, path = drawn
    fill_in(path, ["right"] * 9 + ["wrong", "wrong", "unsure"])
    assert read_audit(path) == audit_limit(size=40, checked=12, wrong=3, delta=0.1)


def test_data_that_is_elsewhere_leaves_the_limit_and_data_that_changed_does_not(drawn):
    source, path = drawn
    fill_in(path, ["right"] * 12)
    text = source.read_text(encoding="utf-8")
    source.unlink()
    assert read_audit(path).wrong == 0
    source.write_text(text + "p40,1,no\n", encoding="utf-8")
    with pytest.raises(InputError, match="has changed since"):
        read_audit(path)
    source.write_text(text, encoding="utf-8")
    assert read_audit(path).wrong == 0


def test_a_draw_that_nobody_asked_otherwise_fails_once_in_twenty(drawn):
    data = read_data(drawn[0], label="kind", id="id")
    at, note = sealed_draw(data, np.arange(30), 5)
    assert (note["delta"], note["seed"], note["size"], note["files"]) == (0.05, 0, 30, [])
    assert [name for name, _ in note["drawn"]] == data.ids[at].tolist()


def test_an_audit_that_stopped_early_has_no_limit(drawn):
    _, path = drawn
    fill_in(path, ["right"] * 11 + [""])
    with pytest.raises(InputError, match="1 of the 12 drawn have no answer"):
        read_audit(path)


def test_a_note_in_another_order_is_the_same_one_and_another_number_is_not(drawn):
    _, path = drawn
    fill_in(path, ["right"] * 12)
    note = json.loads(beside(path).read_text(encoding="utf-8"))
    beside(path).write_text(json.dumps(note, sort_keys=True), encoding="utf-8")
    assert read_audit(path).size == 40
    for other in ({"size": 400}, {"format": 2}):
        beside(path).write_text(json.dumps({**note, **other}), encoding="utf-8")
        with pytest.raises(InputError, match="was altered"):
            read_audit(path)


HEAD = ",".join(COLUMNS)


def test_what_is_asked_comes_back_as_it_was_answered(tmp_path):
    rows = [("=1", "cat", "dog", "", ""), ("b", "-1", "", "", ""), ("c", "dog", "cat", "", "")]
    text = answer_sheet(rows, {"path": ["x.png", "y.png", "z.png"]}).decode()
    answers = text.replace("dog,,", "dog,wrong,dog").replace("'-1,,,", "'-1,,right,")
    file = tmp_path / "review.csv"
    file.write_text(answers, newline="", encoding="utf-8")
    assert read_answers(file) == [
        AnswerLine("=1", "cat", "dog", "wrong", "dog"),
        AnswerLine("b", "-1", "", "right", ""),  # the third was not answered
    ]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (("a,b,c,right,", "a,b,c,maybe,"), "row 3: answer must be right, wrong, unsure or empty"),
        (("", "a,b,c"), "row 3: 5 cells are needed, got 3"),
        (("a,b,c,right,", "a,b,c,,"), "row 3: id 'a' occurs twice"),
        (("a,b,c,right,,,",), "row 2: 5 cells are needed, got 7"),
    ],
)
def test_a_mistake_is_named_by_its_row_in_the_file(tmp_path, lines, says):
    (tmp_path / "review.csv").write_text("\n".join((HEAD, *lines)) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_answers(tmp_path / "review.csv")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,given\n", "the first line must begin id,given"),
        ("", "got nothing"),
        (f'{HEAD}\na,"b"c,d,right,\n', "not a CSV file"),
        (None, "no such file"),
    ],
)
def test_other_files_are_refused(tmp_path, text, says):
    if text is not None:
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_answers(tmp_path / "a.csv")
    with pytest.raises(InputError, match="is not a file"):
        read_answers(tmp_path)
