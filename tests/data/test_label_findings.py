"""What is said about labels before anything trains, with counts and examples."""

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.data.labelled import spelling_of
from dris.data.outputs import write_data
from dris.data.reader import read_data

rng = np.random.default_rng(0)


def kinds(data):
    return {finding.kind: finding for finding in data.findings}


def read(labels, **options):
    x = np.random.default_rng(1).normal(size=(len(labels), 3))
    return read_data(x, labels, **options)


def test_clean_labels_give_no_finding():
    assert read(["a", "b"] * 20).findings == ()


SPELLINGS = ["Not spam", "not spam", "not\u00a0spam", "not  spam", "not spam\u200b", " NOT SPAM"]


def test_spellings_of_one_class_are_named_with_their_counts():
    data = read([*SPELLINGS, "not spam", "caf\u00e9", "cafe\u0301", "spam", "spam", "spam"])
    found = kinds(data)["spellings"]
    assert found.count == 2
    assert "'not spam' (2)" in found.text
    assert "`merge_spellings`" in found.text
    assert len(data.classes) == 9


def test_merging_takes_the_commonest_spelling_and_says_what_it_changed():
    data = read([*SPELLINGS, "not spam", "spam", "spam"], merge_spellings=True)
    assert data.classes == ("not spam", "spam")
    assert data.labels.tolist() == [0] * 7 + [1] * 2
    assert "'Not spam' became 'not spam' in 1 row" in data.notes


def test_classes_that_only_look_alike_are_not_joined():
    assert spelling_of("rose") != spelling_of("rosé")
    assert spelling_of("a b") != spelling_of("ab")
    assert spelling_of("1.0") == spelling_of("1") == spelling_of("1e0") != spelling_of("1_0")
    assert spelling_of("-0") == spelling_of("0")
    assert spelling_of("1e" + "9" * 30)
    for pair in (["rose", "rosé"], [1234567, 1234568], [2**60, 2**60 + 1]):
        assert read(pair * 5, merge_spellings=True).classes == tuple(pair)


def test_merged_spellings_stay_as_written_in_the_file(tmp_path):
    text = "x,y\n1,Dog\n2.5,dog\n3,dog\n4,cat\n5,cat\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    data = read_data(tmp_path / "a.csv", label="y", merge_spellings=True)
    assert data.classes == ("cat", "dog")
    assert write_data(data, tmp_path / "b.csv").read_text(encoding="utf-8") == text
    out = write_data(data, tmp_path / "c.csv", labels=[1, 1, 0, 0, 0])
    assert out.read_text(encoding="utf-8") == text.replace("3,dog", "3,cat")


def test_numbers_spelled_in_two_ways_are_joined_when_asked(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,1\n2.5,1.0\n3,2\n4,2\n5,1\n", encoding="utf-8")
    with pytest.raises(InputError, match="merge_spellings"):
        read_data(tmp_path / "a.csv", label="y")
    data = read_data(tmp_path / "a.csv", label="y", merge_spellings=True)
    assert data.labels.tolist() == [0, 0, 1, 1, 0]


def test_a_label_with_nearly_as_many_values_as_rows_is_said_to_look_like_an_id():
    labels = [f"n{i}" for i in range(30)] + ["n0"] * 10
    found = kinds(read(labels))["id"]
    assert (found.count, "few" in kinds(read(labels))) == (30, False)


def test_classes_of_one_or_two_rows_are_named():
    data = read(["a"] * 10 + ["b"] * 10 + ["dgo", "c", "c"])
    found = kinds(data)["few"]
    assert found.count == 2
    assert found.rows == (20, 21, 22)
    assert "'c' (2), 'dgo' (1)" in found.text


def test_numbers_that_look_like_a_quantity_are_refused_with_the_remedy():
    with pytest.raises(InputError, match="put numbers into a few ranges"):
        read(np.arange(90) % 45)
    assert len(read([f"k{i % 45}" for i in range(90)]).classes) == 45
    assert len(read(np.arange(450) % 45).classes) == 45


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.repeat(np.arange(18, 68), 25), "quantity"),
        (np.repeat(np.arange(50), 25), None),
        (np.repeat(np.arange(1, 51), 25), None),
        (["red;tall", "red", "tall;old", "old;red", "tall"] * 5, "several labels"),
        (["Paris, France", "Lyon, France", "Nice, France", "Rome, Italy"] * 5, None),
        (["a/b", "c/d"] * 5, None),
    ],
)
def test_labels_that_are_no_classes_are_said_to_be(labels, kind):
    assert kinds(read(labels)).keys() == ({kind} if kind else set())


def test_the_same_features_with_different_labels_are_listed():
    x = np.random.default_rng(0).normal(size=(40, 2))
    x[7] = x[3]
    x[9] = x[3]
    x[21] = x[20]
    labels = ["a", "b"] * 20
    labels[3], labels[7], labels[9], labels[20], labels[21] = "a", "a", "b", "b", "b"
    data = read_data(x, labels)
    conflict, again = kinds(data)["conflict"], kinds(data)["duplicate"]
    assert conflict.rows == (3, 7, 9)
    assert "such as 3 ('a') and 9 ('b'): one side of each is wrong" in conflict.text
    assert again.count == 3
    assert again.rows == (3, 7, 9, 20, 21)
    assert data.copies[3] == data.copies[7] == data.copies[9] != data.copies[20]
    assert len(np.unique(data.copies)) == 37


def test_the_same_file_twice_is_named(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,y\n1,a\n2,b\n", encoding="utf-8")
    (tmp_path / "c.csv").write_text("x,y\n3,a\n4,b\n", encoding="utf-8")
    data = read_data([tmp_path / n for n in ("a.csv", "b.csv", "c.csv")], label="y")
    same = [f for f in data.findings if f.kind == "same file"]
    assert len(same) == 1
    assert "b.csv holds the same bytes as" in same[0].text
