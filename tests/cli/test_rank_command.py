"""`dris rank`, run as `main` runs it."""

import json
import shlex

import numpy as np
import pytest

from dris.core.scores.ranks import rank_variance
from dris.core.select.selection import keep_top
from made_shards import column_of, losses_of, write_shards

N = 3000


@pytest.fixture
def shards(tmp_path):
    return write_shards(tmp_path / "in", losses_of(N))


def test_the_example_of_its_help_runs(dris, shards, tmp_path, monkeypatch):
    _, printed, _ = dris("rank", "--help")
    example = " ".join(printed.split()).partition("Example: ")[2].partition(" Options:")[0]
    shards.rename(tmp_path / "losses")
    monkeypatch.chdir(tmp_path)
    code, _, error = dris(*shlex.split(example)[1:], "--workers", "1")
    assert code == 0, error
    assert (tmp_path / "ranks" / "kept-00000.parquet").exists()


def test_the_result_is_that_of_memory_in_words_and_in_json(dris, shards, tmp_path):
    words = ["rank", shards, "--out", tmp_path / "out", "--keep", "0.25", "--workers", "1"]
    code, printed, _ = dris(*words)
    assert code == 0
    assert "3,000 examples by 3 proxies" in printed
    assert "exact" in printed
    assert "Kept 750" in printed
    code, printed, _ = dris(*words, "--json")
    values = json.loads(printed)
    score = column_of(values["scores"])
    assert (score == rank_variance(losses_of(N))).all()
    wanted = keep_top(score, fraction=0.25).indices
    assert (column_of(values["kept"]["files"], "id") == wanted).all()


def test_inexact_ranks_say_how_far_they_are_off(dris, shards, tmp_path):
    words = ["rank", shards, "--out", tmp_path / "out", "--bits", "12", "--workers", "1"]
    _, printed, _ = dris(*words, "--json")
    _, told, _ = dris(*words)
    assert 0 < json.loads(printed)["rank_error"] <= 2**-5
    assert "at most" in told
    error = told.partition("--rank-error ")[2].split()[0]
    code, printed, _ = dris("certify", "--rank-error", error)
    assert code == 0
    assert "Ranks may be off" in printed


def test_a_nan_is_named_by_its_row_and_its_file(dris, tmp_path):
    losses = losses_of(N)
    losses[1, 7] = np.nan
    shards = write_shards(tmp_path / "in", losses)
    code, _, error = dris("rank", shards, "--out", tmp_path / "out", "--workers", "1")
    assert code == 1
    assert "nan for proxy 1 in row 7" in error
    assert "part-0.parquet" in error
