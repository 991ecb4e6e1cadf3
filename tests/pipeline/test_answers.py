"""Files of answers: what is written for a person, what is read back, and where a mistake is."""

import pytest

from dris.core.errors import InputError
from dris.pipeline.audit import (
    COLUMNS,
    AnswerLine,
    answer_sheet,
    guard_text,
    heading_after,
    read_answers,
)

HEAD = ",".join(COLUMNS)


def written(path, *lines, head=HEAD):
    path.write_text("\n".join((head, *lines)) + "\n", encoding="utf-8")
    return path


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
    assert heading_after(file) == "path"


def test_without_a_sixth_heading_nothing_stands_there(tmp_path):
    assert heading_after(written(tmp_path / "a.csv")) == ""
    assert heading_after(written(tmp_path / "b.csv", head=f"{HEAD},seal,more")) == "seal"


def test_a_byte_order_mark_is_forgiven(tmp_path):
    path = written(tmp_path / "a.csv", "1,a,b,,", "2,a,b,unsure,", head="\ufeff" + HEAD)
    assert [line.id for line in read_answers(path)] == ["2"]


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
    with pytest.raises(InputError, match=says):
        read_answers(written(tmp_path / "review.csv", *lines))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="the first line must begin id,given"):
        read_answers(written(tmp_path / "a.csv", head="id,given"))
    (tmp_path / "b.csv").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="got nothing"):
        read_answers(tmp_path / "b.csv")
    with pytest.raises(InputError, match="not a CSV file"):
        read_answers(written(tmp_path / "d.csv", 'a,"b"c,d,right,'))
    with pytest.raises(InputError, match="no such file"):
        read_answers(tmp_path / "c.csv")
    with pytest.raises(InputError, match="is not a file"):
        read_answers(tmp_path)


def test_only_what_a_spreadsheet_could_run_gets_an_apostrophe():
    for text in ("=1", "+1", "-1", "@a", "'a", "\ta", "\ra", "\na"):
        assert guard_text(text) == f"'{text}"
    for text in ("a=1", "1-1", "", " =1"):
        assert guard_text(text) == text
