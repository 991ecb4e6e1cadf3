"""Score files: the same bytes for the same scores, and any reader of Parquet opens them."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from dris.core.errors import InputError
from dris.data.outputs import ScoreFile, write_scores
from dris.data.writer import Writer
from score_tables import read_scores

SCORES = ScoreFile(
    np.array(["c", "a", "b"]),
    {"aum": np.array([0.1, -1 / 3, 1e-300]), "loss": np.array([1.0, 2, 3])},
    {"canary": np.array([False, True, False])},
    {"seed": 3},
    {"suggested": np.array(["no", "yes", "<b>"])},
)


def test_scores_come_back_to_the_last_bit(tmp_path):
    again = read_scores(write_scores(SCORES, tmp_path / "s.parquet", writer=Writer()))
    assert again.ids.tolist() == ["c", "a", "b"]
    assert again.scores["aum"].tolist() == [0.1, -1 / 3, 1e-300]
    assert again.flags["canary"].tolist() == [False, True, False]
    assert again.note == {"seed": 3}
    assert again.texts["suggested"].tolist() == ["no", "yes", "<b>"]


def test_the_same_scores_are_the_same_bytes_and_any_parquet_reader_opens_them(tmp_path):
    one, two = (write_scores(SCORES, tmp_path / name, writer=Writer()) for name in "ab")
    assert one.read_bytes() == two.read_bytes()
    assert pq.read_table(one).schema.names == ["id", "aum", "loss", "canary", "suggested"]


def test_a_score_file_is_not_replaced_without_force(tmp_path):
    path = write_scores(SCORES, tmp_path / "s.parquet", writer=Writer())
    with pytest.raises(InputError, match="force"):
        write_scores(SCORES, path, writer=Writer())
    assert write_scores(SCORES, path, writer=Writer(True)) == path
