import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dris.core.errors import InputError
from dris.data.interchange.scorefile import ScoreFile, read_scores, write_scores

SCORES = ScoreFile(
    ["c", "a", "b"],
    {"aum": [0.1, -1 / 3, 1e-300], "loss": [1, 2, 3]},
    {"canary": [False, True, False]},
    {"seed": 3},
    {"suggested": ["no", "yes", "<b>"]},
)


def test_scores_come_back_to_the_last_bit(tmp_path):
    again = read_scores(write_scores(SCORES, tmp_path / "s.parquet"))
    assert again == SCORES
    assert again.ids.tolist() == ["c", "a", "b"]
    assert again.score("aum").tolist() == [0.1, -1 / 3, 1e-300]
    assert again.flags["canary"].tolist() == [False, True, False]
    assert again.note == {"seed": 3}
    assert again.texts["suggested"].tolist() == ["no", "yes", "<b>"]


def test_equality_sees_a_changed_score_flag_id_and_note():
    aum = {"aum": [0.1, 0.2]}
    one = ScoreFile([1, 2], aum, {"f": [True, False]})
    assert one == ScoreFile([1, 2], aum, {"f": [True, False]})
    assert one != ScoreFile([1, 3], aum, {"f": [True, False]})
    assert one != ScoreFile([1, 2], {"aum": [0.1, 0.3]}, {"f": [True, False]})
    assert one != ScoreFile([1, 2], aum, {"f": [True, True]})
    assert one != ScoreFile([1, 2], aum, {"f": [True, False]}, {"seed": 1})


def test_the_same_scores_are_the_same_bytes_and_any_parquet_reader_opens_them(tmp_path):
    one, two = (write_scores(SCORES, tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert one.read_bytes() == two.read_bytes()
    assert pq.read_table(one).schema.names == ["id", "aum", "loss", "canary", "suggested"]


def test_scores_follow_their_ids_into_another_order():
    moved = SCORES.aligned(["a", "b", "c"])
    assert moved.ids.tolist() == ["a", "b", "c"]
    assert moved.score("loss").tolist() == [2, 3, 1]
    assert moved.flags["canary"].tolist() == [True, False, False]
    assert moved.texts["suggested"].tolist() == ["yes", "<b>", "no"]
    assert SCORES.aligned(["c", "a", "b"]) is SCORES


@pytest.mark.parametrize("ids", [["a", "b", "d"], ["a", "b"], [1, 2, 3], ["a", "b", "c", "d"]])
def test_scores_of_other_examples_are_refused(ids):
    with pytest.raises(InputError, match="score this data, with the same `id`"):
        SCORES.aligned(ids)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ScoreFile(["a", "a"], {"s": [1, 2]}), "ids must be unique"),
        (lambda: ScoreFile(["a"], {}), "needs scores"),
        (lambda: ScoreFile(["a"], {"id": [1]}), "names that differ"),
        (lambda: ScoreFile(["a"], {"s": [1]}, {"s": [True]}), "names that differ"),
        (lambda: ScoreFile(["a"], {"s": [1, 2]}), "s must have 1 values"),
        (lambda: ScoreFile(["a"], {"s": [np.nan]}), "finite"),
        (lambda: ScoreFile(["a"], {"s": [1]}, {"f": [1]}), "must be booleans"),
        (lambda: SCORES.score("x"), "no score 'x'; there are aum, loss"),
    ],
)
def test_bad_scores_are_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_files_that_are_no_score_files_are_refused(tmp_path):
    path = tmp_path / "s.parquet"
    with pytest.raises(InputError, match=r"s.parquet is no file; write one with dris score"):
        read_scores(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"s.parquet cannot be read"):
        read_scores(path)
    for content, says in (
        ({"x": [1.0]}, "no column 'id'"),
        ({"id": ["a"], "x": [b"text"]}, "neither a score nor a flag"),
        ({"id": ["a", "a"], "x": [1.0, 2.0]}, "'a' is in row 0 of .* and again in row 1"),
        ({"id": ["a"], "x": [None]}, "finite|neither"),
        ({"id": ["a"]}, "needs scores"),
    ):
        pq.write_table(pa.table(content), path)
        with pytest.raises(InputError, match=says):
            read_scores(path)


def test_a_score_file_is_not_replaced_without_force(tmp_path):
    write_scores(SCORES, tmp_path / "s.parquet")
    with pytest.raises(InputError, match=r"exists; .*force"):
        write_scores(SCORES, tmp_path / "s.parquet")
    write_scores(SCORES, tmp_path / "s.parquet", force=True)
    with pytest.raises(InputError, match="plain JSON"):
        write_scores(ScoreFile(["a"], {"s": [1]}, note={"x": {1}}), tmp_path / "t.parquet")
