"""Ranks of shards: as in memory or within the stated error, and the same bytes after any kill."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import consensus
from dris.core.scores.ranks import rank_variance
from dris.core.select.selection import keep_top
from dris.data import writer
from dris.data.tables import shards as reading
from dris.data.writer import place_new
from dris.learn.ranking import disk_sort, passes
from dris.learn.ranking import rank_shards as sharded
from dris.learn.ranking.rank_shards import rank_shards
from made_shards import column_of, losses_of, write_shards

N = 6000
FEW = 12  # bits: cells so wide that histograms are inexact here


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Many pieces to a shard, several buckets to a sort, and several looks to find a cut."""
    monkeypatch.setattr(reading, "ROWS", 400)
    monkeypatch.setattr(sharded, "_BITS", 12)
    monkeypatch.setattr(disk_sort.make_buckets, "__defaults__", (0, 500))


@pytest.fixture
def shards(tmp_path):
    return write_shards(tmp_path / "in", losses_of(N), ids=np.random.default_rng(1).permutation(N))


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("proxies", [2, 5])
def test_the_sort_on_disk_equals_memory_bit_for_bit(tmp_path, kind, proxies):
    losses = losses_of(N, proxies, kind=kind)
    folder = write_shards(tmp_path / "in", losses)
    done = rank_shards(folder, tmp_path / "out", exact=True, bits=FEW, workers=1)
    assert (column_of(done.scores) == rank_variance(losses)).all()
    assert (column_of(done.scores, "mean_rank") == consensus(Dynamics.from_losses(losses))).all()
    assert (column_of(done.scores, "id") == np.arange(N)).all()
    assert (done.rank_error, done.variance_error) == (0.0, 0.0)
    losses[0, 17] += 3  # the twin: one loss that differs is seen
    assert (column_of(done.scores) != rank_variance(losses)).any()


def test_the_sort_had_several_buckets_and_a_value_too_frequent_to_sort(shards, tmp_path):
    keep = tmp_path / "kept"

    def and_copy(passes, tables):
        sort(passes, tables)
        for file in passes.folder.iterdir():
            (keep / file.name).write_bytes(file.read_bytes())

    keep.mkdir()
    sort, sharded.sort_on_disk = sharded.sort_on_disk, and_copy
    try:
        rank_shards(shards, tmp_path / "out", exact=True, bits=FEW, workers=1)
    finally:
        sharded.sort_on_disk = sort
    buckets, _ = disk_sort._buckets(keep)
    assert (np.bincount(buckets.proxy) >= 5).all()
    assert buckets.tied.any()
    assert buckets.counts[~buckets.tied].max() <= 500 + N / 2 ** (FEW - 8)
    assert not (tmp_path / "out" / "work").exists()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_from_histograms_are_off_by_no_more_than_their_shards_say(tmp_path, kind):
    losses = losses_of(N, kind=kind)
    done = rank_shards(write_shards(tmp_path / "in", losses), tmp_path / "out", bits=FEW, workers=1)
    score, true = column_of(done.scores), rank_variance(losses)
    off = np.abs(score - true)
    assert 0 < off.max() <= done.variance_error
    note = json.loads(pq.read_schema(done.scores[0]).metadata[b"dris"])
    assert tuple(note["rank_errors"]) == done.rank_errors
    assert note["variance_error"] == done.variance_error
    assert note["source"] == "part-0.parquet"
    assert max(done.rank_errors) <= 2.0 ** (7 - FEW)


@pytest.mark.parametrize("exact", [False, True])
def test_empty_shards_and_shards_of_one_are_ranked_with_the_others(tmp_path, exact):
    losses = losses_of(N)
    cuts = [0, 0, 1, 1, 5000, N]
    for i, (begin, end) in enumerate(itertools.pairwise(cuts)):
        vectors = pa.array(losses[:, begin:end].T.tolist(), type=pa.list_(pa.float32()))
        pq.write_table(pa.table({"losses": vectors}), tmp_path / f"{i}.parquet")
    done = rank_shards(tmp_path, tmp_path / "out", exact=exact, keep=0.3, workers=1)
    assert [pq.read_metadata(file).num_rows for file in done.scores] == [0, 1, 0, 4999, 1000]
    assert (column_of(done.scores) == rank_variance(losses)).all()
    assert (
        column_of(done.kept.files, "id") == keep_top(rank_variance(losses), fraction=0.3).indices
    ).all()


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.95, 1.0])
def test_what_is_kept_is_what_keep_top_keeps(tmp_path, fraction, text):
    ids = np.random.default_rng(1).permutation(10 * N)[:N]
    ids = np.array([f"example {i}" for i in ids]) if text else ids
    folder = write_shards(tmp_path / "in", losses_of(N), ids=ids)
    done = rank_shards(folder, tmp_path / "out", keep=fraction, seed=3, workers=1)
    score = column_of(done.scores)
    wanted = keep_top(score, fraction=fraction, seed=3, ids=ids)
    assert column_of(done.kept.files, "id").tolist() == ids[wanted.indices].tolist()
    assert (column_of(done.kept.files) == score[wanted.indices]).all()
    assert (done.kept.count, done.kept.tied) == (len(wanted), wanted.tied)
    assert done.kept.cut == score[wanted.indices].min()


def test_ties_at_the_cut_are_broken_by_the_hash_whatever_the_order(tmp_path):
    losses, ids = np.zeros((2, N), dtype=np.float32), np.arange(N)
    kept = []
    for name, order in (("a", ids), ("b", ids[::-1])):
        folder = write_shards(tmp_path / name, losses, ids=order)
        done = rank_shards(folder, tmp_path / f"out-{name}", keep=0.1, workers=1)
        assert done.kept.tied == done.kept.count == N // 10
        kept.append(sorted(column_of(done.kept.files, "id").tolist()))
    assert kept[0] == kept[1] != list(range(N // 10))


class Killed(BaseException):
    """As SIGKILL: nothing below it cleans up."""


def killing(write, left, counts=lambda *_: True):
    """Write so many more files that count, then die."""

    def instead(*arguments, **named):
        if counts(*arguments):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
        return write(*arguments, **named)

    return instead


def check_it_goes_on(shards, tmp_path, monkeypatch, options, *patches):
    """Killed once, it goes on and ends in the bytes of a whole run; how many shards were there."""
    rank_shards(shards, tmp_path / "whole", **options)
    with monkeypatch.context() as patched:
        for module, name, instead in patches:
            patched.setattr(module, name, instead)
        with pytest.raises(Killed):
            rank_shards(shards, tmp_path / "cut", **options)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cut").glob("scores-*")}
    rank_shards(shards, tmp_path / "cut", **options)
    assert files_of(tmp_path / "cut") == files_of(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())  # not done twice
    return len(before)


@pytest.mark.parametrize(
    ("exact", "step"),
    [*((False, step) for step in (0, 3, 5, 8, 12)), *((True, step) for step in (0, 5, 9, 14, 20))],
)
def test_work_that_stops_anywhere_goes_on_and_ends_in_the_same_bytes(
    shards, tmp_path, monkeypatch, exact, step
):
    """Killed at its step-th file: every file is written whole, so any prefix may be on the disk."""
    writes = [
        *((module, "write_arrays") for module in (passes, disk_sort)),
        (sharded, "write_shard"),
        (disk_sort, "write_atomically"),
    ]
    left = [step]
    patches = [(module, name, killing(getattr(module, name), left)) for module, name in writes]
    options = {"exact": exact, "bits": FEW, "keep": 0.3, "workers": 1}
    check_it_goes_on(shards, tmp_path, monkeypatch, options, *patches)


@pytest.mark.parametrize("step", range(6))
def test_work_that_stops_while_shards_are_given_their_names_goes_on(
    shards, tmp_path, monkeypatch, step
):
    """Three shards of scores, then three of what is kept: any number of them may be in place."""
    dying = killing(place_new, [step], lambda _, target: target.suffix == ".parquet")
    options = {"bits": FEW, "keep": 0.3, "workers": 1}
    patch = (writer, "place_new", dying)
    assert check_it_goes_on(shards, tmp_path, monkeypatch, options, patch) == min(step, 3)


def test_a_killed_process_is_gone_on_with_by_the_next_one(tmp_path):
    """SIGKILL in the middle of real processes, then the same call again."""
    folder = write_shards(tmp_path / "in", losses_of(400_000), shards=6, groups=50_000)
    code = (
        "import sys; from dris.learn.ranking.rank_shards import rank_shards; "
        "rank_shards(sys.argv[1], sys.argv[2], keep=0.3, workers=1)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(sharded.__file__).parents[3])}
    words = [sys.executable, "-c", code, str(folder), str(tmp_path / "cut")]
    child = subprocess.Popen(words, env=environment)
    work = tmp_path / "cut" / sharded.SCRATCH
    while child.poll() is None and not list(work.glob("count-0-0000[2-9]")):
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert work.exists()
    subprocess.run(words, env=environment, check=True)
    words[-1] = str(tmp_path / "whole")
    subprocess.run(words, env=environment, check=True)
    assert files_of(tmp_path / "cut") == files_of(tmp_path / "whole")


def test_two_processes_write_the_bytes_of_one(tmp_path, monkeypatch):
    monkeypatch.undo()  # other processes would not see what was changed here
    folder = write_shards(tmp_path / "in", losses_of(N))
    for workers in (1, 2):
        rank_shards(folder, tmp_path / f"out{workers}", bits=FEW, keep=0.3, workers=workers)
    assert files_of(tmp_path / "out1") == files_of(tmp_path / "out2")


def test_a_folder_with_other_scores_is_left_alone_unless_forced(shards, tmp_path):
    rank_shards(shards, tmp_path / "out", workers=1)
    before = files_of(tmp_path / "out")
    with pytest.raises(InputError, match=r"other shards or options; .*force"):
        rank_shards(shards, tmp_path / "out", exact=True, workers=1)
    assert files_of(tmp_path / "out") == before
    done = rank_shards(shards, tmp_path / "out", exact=True, force=True, workers=1)
    assert done.exact
    write_shards(shards, losses_of(N, seed=9))
    with pytest.raises(InputError, match="other shards"):
        rank_shards(shards, tmp_path / "out", exact=True, workers=1)


def test_force_removes_its_own_results_and_no_others(shards, tmp_path):
    out = tmp_path / "out"
    rank_shards(shards, out, keep=0.5, workers=1)
    (out / "scores-notes.parquet").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"scores-notes\.parquet was not written by dris"):
        rank_shards(shards, out, force=True, workers=1)
    assert (out / "kept-00000.parquet").exists()
    (out / "scores-notes.parquet").rename(out / "notes.parquet")
    rank_shards(shards, out, force=True, workers=1)
    assert (out / "notes.parquet").read_text(encoding="utf-8") == "mine"
    assert not (out / "kept-00000.parquet").exists()


def test_a_shard_that_was_moved_away_is_made_again(shards, tmp_path):
    done = rank_shards(shards, tmp_path / "out", workers=1)
    before = files_of(tmp_path / "out")
    done.scores[1].rename(tmp_path / "moved")
    assert rank_shards(shards, tmp_path / "out", workers=1) == done
    assert files_of(tmp_path / "out") == before


def test_finished_work_is_not_done_again(shards, tmp_path, monkeypatch):
    first = rank_shards(shards, tmp_path / "out", workers=1)
    monkeypatch.setattr(sharded, "count_levels", None)
    assert rank_shards(shards, tmp_path / "out", workers=1) == first
    assert rank_shards(shards, tmp_path / "out", keep=0.5, workers=1).kept.count == N // 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"keep": 1.5}, "keep must be"),
        ({"keep": 1e-9}, "is none"),
        ({"bits": 8}, "bits must be"),
        ({"seed": -1}, "seed"),
        ({"losses": ["loss_0"]}, "at least 2 proxies"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(shards, tmp_path, options, says):
    with pytest.raises(InputError, match=says):
        rank_shards(shards, tmp_path / "out", workers=1, **options)
    assert not (tmp_path / "out").exists()
