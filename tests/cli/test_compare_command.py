"""`dris compare` as a user meets it."""

import json
import sys

import numpy as np
import pytest

from dris.cli import main
from dris.data.interchange.scorefile import ScoreFile, write_scores

N = 40


@pytest.fixture
def dris(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["dris", "compare", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def written(name, score, ids=None, **flags):
    names = [f"r{i}" for i in range(N)] if ids is None else ids
    write_scores(ScoreFile(names, {"aum": score}, flags), name)


UP = np.arange(N, dtype=float)
ODD = np.arange(N) % 2 == 1


def test_files_in_another_order_are_compared_by_id(dris):
    written("a.parquet", UP)
    written("b.parquet", UP[::-1], ids=[f"r{i}" for i in range(N)][::-1])
    code, out, _ = dris("a.parquet", "b.parquet", "--json")
    found = json.loads(out)["scores"]["aum"]
    assert (code, found["overlap"]) == (0, 1.0)
    assert found["spearman"] == pytest.approx(1)


def test_a_folder_stands_for_its_scores_and_canaries_are_left_out(dris, tmp_path):
    (tmp_path / "one").mkdir()
    written("one/scores.parquet", UP, canary=UP >= 30)
    written("b.parquet", UP, canary=UP < 5)
    _, out, err = dris("one", "b.parquet", "--json")
    assert json.loads(out)["examples"] == 25
    assert "15 canaries" in err


@pytest.mark.parametrize("how", ["flag", "csv", "rows", "parquet"])
def test_the_truth_may_come_from_a_flag_or_a_file(dris, tmp_path, how):
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids = range(N) if how == "rows" else None
    flags = {"flipped": ODD} if how == "flag" else {}
    written("a.parquet", UP, ids=ids, **flags)
    written("b.parquet", np.where(ODD, 1, 0) + UP / 100, ids=ids)
    marks = [("name", *(f"r{i}" for i in range(N))), ("bad", *("yes" if o else "no" for o in ODD))]
    chosen = marks[1:] if how == "rows" else marks
    text = "\n".join(",".join(row) for row in zip(*chosen, strict=True))
    (tmp_path / "truth.csv").write_text(
        text + "\n" if how != "rows" else f"x,{text}".replace("\n", "\n1,") + "\n", encoding="utf-8"
    )
    pq.write_table(pa.table({"id": [f"r{i}" for i in range(N)], "bad": ODD}), "truth.parquet")
    words = {
        "flag": [],
        "csv": ["--truth", "truth.csv:bad", "--id", "name"],
        "rows": ["--truth", "truth.csv:bad"],
        "parquet": ["--truth", "truth.parquet:bad"],
    }[how]
    code, out, err = dris("a.parquet", "b.parquet", "--json", *words)
    assert code == 0, err
    assert json.loads(out)["scores"]["aum"]["contamination"] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a.parquet", "none.parquet"], "no file"),
        (["a.parquet", "other.parquet"], "no score in common"),
        (["a.parquet", "numbers.parquet"], "same --id"),
        (["a.parquet", "strange.parquet"], "no id in common"),
        (["a.parquet", "a.parquet", "--keep", "0"], "must be in"),
        (["a.parquet", "a.parquet", "--truth", "truth.csv"], "FILE:COLUMN"),
        (["a.parquet", "a.parquet", "--truth", "truth.csv:no"], "no column 'no'"),
        (["a.parquet", "a.parquet", "--truth", "truth.csv:bad"], "says nothing about 39"),
        (["a.parquet", "a.parquet", "--truth", "truth.csv:id"], "yes or no"),
        (["a.parquet", "a.parquet", "--truth", "gone.csv:bad"], "does not exist"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(dris, tmp_path, words, says):
    written("a.parquet", UP)
    write_scores(ScoreFile([f"r{i}" for i in range(N)], {"loss": UP}), "other.parquet")
    written("numbers.parquet", UP, ids=range(N))
    written("strange.parquet", UP, ids=[f"s{i}" for i in range(N)])
    (tmp_path / "truth.csv").write_text("id,bad\nr0,yes\n", encoding="utf-8")
    code, out, err = dris(*words)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert says in err
