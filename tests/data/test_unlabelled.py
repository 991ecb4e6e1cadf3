"""Rows without a label: set aside, counted, suggested for, and never lost from a whole file."""

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dris.data.outputs import show_rows, show_unlabelled, write_data
from dris.data.reader import read_data
from dris.pipeline.route import decide
from dris.pipeline.settings import Settings
from dris.report_page.outputs import issues_text
from dris.review_app.session import write_corrected
from dris.review_app.state import Answer
from made_tables import write_columns

N, BLANK = 60, (0, 7, 8, 59)
VALUES = [float(i % 7) + 10 * (i % 2) for i in range(N)]
KINDS = [None if i in BLANK else "ab"[i % 2] for i in range(N)]
KEPT = [i for i in range(N) if i not in BLANK]


def write_table(folder, kind):
    """The same table in every format; how a label is missing differs."""
    path = folder / f"a.{kind}"
    if kind == "npz":
        codes = [np.nan if k is None else "ab".index(k) for k in KINDS]
        np.savez(path, x=np.array(VALUES)[:, None], y=np.array(codes))
        return path
    kinds = KINDS
    if kind == "csv":
        kinds = [" " * (i % 3) if k is None else k for i, k in enumerate(KINDS)]
    return write_columns(path, {"x": VALUES, "y": kinds, "name": [f"r{i}" for i in range(N)]})


FORMATS = ("csv", "jsonl", "parquet", "npz", "xlsx")


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_without_a_label_are_put_aside_with_a_note(tmp_path, kind):
    data = read_data(write_table(tmp_path, kind), label="y")
    assert len(data) == N - len(BLANK)
    assert data.ids.tolist() == data.rows.tolist() == KEPT
    assert data.unlabelled.rows.tolist() == data.unlabelled.ids.tolist() == list(BLANK)
    assert data.unlabelled.total == N
    assert data.unlabelled.x.ravel().tolist() == [VALUES[i] for i in BLANK]
    (found,) = [one for one in data.findings if one.kind == "unlabelled"]
    assert found.count == 4
    assert found.text in data.notes
    assert all(part in found.text for part in ("4 rows", "0, 7,"))
    marks = read_data(tmp_path / data.origin.files[0].name, label="y", features=[])
    assert marks.labels.tolist() == data.labels.tolist()
    assert marks.rows.tolist() == KEPT


def test_where_every_row_has_a_label_nothing_is_said():
    data = read_data([[1.0], [2.0], [3.0]], ["a", "b", "a"])
    assert data.unlabelled is None
    assert not [one for one in data.findings if one.kind == "unlabelled"]
    assert show_unlabelled(data) == {}


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None, "b", "", "a"],
        np.array([1.0, np.nan, 0.0, np.nan, 1.0]),
        pa.array([1, None, 0, None, 1]),
        pd.Series(["a", np.nan, "b", None, "a"]),
        pd.Series(["a", None, "b", None, "a"], dtype="category"),
        pd.Series([1, None, 0, None, 1], dtype="Int64"),
    ],
    ids=["words", "floats", "arrow", "pandas words", "categories", "nullable"],
)
def test_labels_in_memory_may_be_missing_too(labels):
    data = read_data(np.arange(5.0)[:, None], labels)
    assert data.rows.tolist() == [0, 2, 4]
    assert data.unlabelled.rows.tolist() == [1, 3]
    assert data.labels.tolist() in ([0, 1, 0], [1, 0, 1])


def test_numbers_stay_numbers_beside_blanks(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,0\n2,1\n3,\n4,1\n5,0\n", encoding="utf-8")
    assert read_data(tmp_path / "a.csv", label="y").classes == (0, 1)


def test_words_that_mean_none_are_a_class_until_somebody_says_so(tmp_path):
    rows = [
        f"{i % 9},{'?' if i % 10 == 3 else 'NaN' if i % 10 == 4 else 'ab'[i % 2]}"
        for i in range(60)
    ]
    (tmp_path / "a.csv").write_text("x,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    plain = read_data(tmp_path / "a.csv", label="y")
    assert plain.classes == ("?", "NaN", "a", "b")
    (note,) = [note for note in plain.notes if "reads as missing" in note]
    assert (
        "'?' (6), 'NaN' (6), and count as a class; `no_label=['?', 'NaN']` puts them aside" in note
    )
    told = read_data(tmp_path / "a.csv", label="y", no_label=["?", "nan"])
    assert told.classes == ("a", "b")
    assert len(told.unlabelled) == 12
    assert not [note for note in told.notes if "reads as missing" in note]
    assert read_data(tmp_path / "a.csv", label="y", no_label="?").classes == ("NaN", "a", "b")


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_kept_are_the_rows_that_were_meant(tmp_path, kind):
    data = read_data(write_table(tmp_path, kind), label="y")
    kept = write_data(data, tmp_path / f"kept{data.origin.files[0].suffix}", positions=[0, 5, 55])
    again = read_data(kept, label="y")
    assert again.unlabelled is None
    assert again.x.ravel().tolist() == [VALUES[KEPT[i]] for i in (0, 5, 55)]
    # The guard can fail: positions taken for rows of the file would be other rows.
    assert again.x.ravel().tolist() != [VALUES[i] for i in (0, 5, 55)]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_whole_file_with_other_labels_keeps_its_rows_without_one_as_they_are(tmp_path, kind):
    path = write_table(tmp_path, kind)
    data = read_data(path, label="y")
    marks = np.arange(len(data)) % 2 == 0
    out = tmp_path / f"all{path.suffix}"
    write_data(data, out, labels=1 - data.labels, columns={"mark": marks})
    again = read_data(out, label="y", without=["mark"])
    assert again.rows.tolist() == KEPT
    assert again.labels.tolist() == (1 - data.labels).tolist()
    assert again.unlabelled.x.ravel().tolist() == [VALUES[i] for i in BLANK]
    if kind == "csv":
        old, new = (p.read_text(encoding="utf-8").splitlines()[1:] for p in (path, out))
        assert [new[i] for i in BLANK] == [old[i] + ",false" for i in BLANK]


def test_a_review_corrects_labels_and_loses_no_row_without_one(tmp_path):
    path = write_table(tmp_path, "csv")
    data = read_data(path, label="y", id="name", features=[])
    at = {str(name): place for place, name in enumerate(data.ids)}
    wrong = Answer("wrong")  # and no other label is known: left out
    other = Answer("wrong", data.names.index("a"))
    write_corrected(data, {at["r2"]: wrong, at["r3"]: other}, tmp_path / "b.csv")
    with (tmp_path / "b.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert len(rows) == N - 1
    assert "r2" not in rows
    assert (rows["r3"]["y"], rows["r3"]["trusted"]) == ("a", "true")
    assert [rows[f"r{i}"]["y"].strip() for i in BLANK] == [""] * 4


def test_people_are_shown_the_rows_that_they_are_asked_about(tmp_path):
    data = read_data(write_table(tmp_path, "csv"), label="y")
    assert show_rows(data, np.array([0, 5]), ["name"]) == {"name": ["r1", "r6"]}
    assert show_unlabelled(data, ["name"]) == {"name": ["r0", "r7", "r8", "r59"]}


def blobs(n=200, blank=(3, 50, 51)):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    labels = [None if i in blank else ("cat", "dog")[v] for i, v in enumerate(y)]
    return rng.normal(size=(n, 3)) + 5 * y[:, None], labels


def test_a_label_is_suggested_where_models_agree():
    x, labels = blobs()
    how = {"settings": Settings(epochs=4), "check_harm": False}
    decision = decide(read_data(x, labels), workers=1, **how)
    assert decision.unlabelled() == {"id": [3, 50, 51], "suggested": ["dog", "cat", "dog"]}
    assert decision.to_dict()["unlabelled"] == 3
    lines = issues_text(decision, ["x[0]"]).splitlines()
    assert lines[-3].startswith("3,,dog,,yes,no label; models trained on what is kept say dog,")
    assert len(lines) == 1 + len(decision.suspects) + 3
    x[3] = (2.5, 60, -60)  # neither
    few = read_data(x[:10], labels[:10])
    assert decide(few).unlabelled() == {"id": [3], "suggested": [""]}  # too little to train on


def test_probabilities_may_be_of_all_rows_or_of_those_with_a_label():
    x, labels = blobs()
    data = read_data(x, labels)
    p = np.full((200, 2), 0.1)
    p[np.arange(200), np.arange(200) % 2] = 0.9
    whole = decide(data, probabilities=p, check_harm=False)
    part = decide(data, probabilities=p[data.rows], check_harm=False)
    assert np.array_equal(whole.p_wrong, part.p_wrong)


def test_a_list_of_images_may_have_rows_without_a_label(tmp_path):
    from PIL import Image

    for i in range(6):
        Image.new("L", (8, 8), 40 * i).save(tmp_path / f"{i}.png")
    rows = [f"{i}.png,{'' if i == 2 else 'ab'[i % 2]}" for i in range(6)]
    (tmp_path / "list.csv").write_text("file,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    data = read_data(tmp_path / "list.csv")
    assert data.unlabelled.rows.tolist() == [2]
    assert data.unlabelled.paths.tolist() == [str(tmp_path / "2.png")]
    kept = write_data(data, tmp_path / "kept.csv", positions=[1, 2])
    assert kept.read_text(encoding="utf-8") == "file,label\n1.png,b\n3.png,b\n"
