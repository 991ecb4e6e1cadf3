"""Shards of losses as people write them: columns or vectors, with ids or without."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dris.core.errors import InputError
from dris.data.tables import shards as module
from dris.data.tables.shards import open_shards, read_pieces, write_shard
from made_shards import losses_of, write_shards
from score_tables import read_scores

LOSSES = losses_of(2000)


def everything(shards):
    ids, losses = [], []
    for shard in shards:
        for names, values in shard.named_losses():
            ids += names.to_pylist()
            losses.append(values)
    return ids, np.concatenate(losses, axis=1)


def table(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("ids", [None, np.arange(5000, 7000), [f"x{i}" for i in range(2000)]])
def test_every_loss_comes_back_with_its_id_in_the_order_of_the_files(tmp_path, monkeypatch, ids):
    monkeypatch.setattr(module, "ROWS", 300)
    found = open_shards(write_shards(tmp_path / "in", LOSSES, ids=ids))
    assert [shard.rows for shard in found] == [333, 667, 1000]
    names, losses = everything(found)
    assert names == list(range(2000) if ids is None else ids)
    assert losses.dtype == np.float32
    assert (losses == LOSSES).all()
    assert len(list(found[2].losses())) == found[2].pieces == 4


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 3)],
    ids=str,
)
def test_vectors_are_read_as_columns_are(tmp_path, kind):
    values = pa.array(LOSSES.T.tolist(), type=kind)
    table(tmp_path / "a.parquet", losses=values)
    found = open_shards(tmp_path / "a.parquet")
    assert (found[0].proxies, found[0].kind) == (
        3,
        str(np.dtype(kind.value_type.to_pandas_dtype())),
    )
    assert (everything(found)[1] == LOSSES).all()


def test_named_columns_folders_and_patterns_are_found(tmp_path):
    write_shards(tmp_path / "in", LOSSES)
    folder, pattern = open_shards(tmp_path / "in"), open_shards(str(tmp_path / "in" / "part-*"))
    assert folder == pattern
    some = open_shards(tmp_path / "in", losses=["loss_2", "loss_0"])
    assert (everything(some)[1] == LOSSES[[2, 0]]).all()


def test_losses_are_ranked_as_what_they_are(tmp_path):
    whole, single = np.arange(4), np.zeros(4, np.float32)
    for values, kind in (((single, single), "float32"), ((single, whole), "float64")):
        path = table(tmp_path / f"{kind}.parquet", loss_0=values[0], loss_1=values[1])
        assert open_shards(path)[0].kind == kind


ONES = np.ones(4)
WRONG = {
    "no losses": ({"x": ONES}, {}, "neither loss_0"),
    "one proxy": ({"loss_0": ONES}, {}, "at least 2 proxies"),
    "no such column": ({"loss_0": ONES, "loss_1": ONES}, {"losses": ["b"]}, "no column 'b'"),
    "no such id": ({"loss_0": ONES, "loss_1": ONES}, {"id": "nr"}, "no column 'nr'"),
    "text": ({"loss_0": ONES, "loss_1": list("abcd")}, {}, "not losses"),
    "id of floats": ({"id": ONES, "loss_0": ONES, "loss_1": ONES}, {}, "whole number or text"),
}


@pytest.mark.parametrize(("columns", "options", "says"), WRONG.values(), ids=WRONG)
def test_shards_that_cannot_be_read_are_refused_when_opened(tmp_path, columns, options, says):
    path = table(tmp_path / "a.parquet", **columns)
    with pytest.raises(InputError, match=says) as refused:
        open_shards(path, **options)
    assert "\n" not in str(refused.value)


BAD_ROWS = {
    "nan": ({"loss_0": [1.0, 2.0], "loss_1": [1.0, np.nan]}, "proxy 1 in row 1"),
    "infinity": ({"loss_0": [np.inf, 2.0], "loss_1": [1.0, 1.0]}, "proxy 0 in row 0"),
    "missing": ({"loss_0": [1.0, None], "loss_1": [1.0, 1.0]}, "'loss_0' is empty in row 1"),
    "missing id": (
        {"id": ["a", None], "loss_0": [1.0, 1.0], "loss_1": [1.0, 1.0]},
        "id is missing in row 1",
    ),
    "short vector": ({"losses": [[1.0, 2.0], [1.0]]}, "row 1 .* are not 2"),
    "hole in a vector": ({"losses": [[1.0, 2.0], [1.0, None]]}, "is empty in row 1"),
    "large id": (
        {"id": pa.array([1, 2**63], pa.uint64()), "loss_0": [1.0, 1.0], "loss_1": [1.0, 1.0]},
        "64 signed bits",
    ),
}


@pytest.mark.parametrize(("columns", "says"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_bad_row_is_named(tmp_path, columns, says):
    found = open_shards(table(tmp_path / "a.parquet", **columns))
    with pytest.raises(InputError, match=says):
        everything(found)


def test_shards_of_different_schemas_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match="no Parquet files"):
        open_shards(tmp_path)
    table(tmp_path / "a.parquet", loss_0=ONES, loss_1=ONES)
    table(tmp_path / "b.parquet", loss_0=ONES, loss_1=ONES.astype(np.float32))
    with pytest.raises(InputError, match="other columns or types"):
        open_shards(tmp_path)


def test_a_written_shard_is_a_score_file_with_its_note(tmp_path):
    pieces = [{"id": ["a"], "rank_variance": [0.5]}, {"id": ["b"], "rank_variance": [0.25]}]
    types = {"id": pa.large_string(), "rank_variance": pa.float64()}
    path = write_shard(tmp_path / "s.parquet", pieces, types, {"variance_error": 1e-5})
    found = read_scores(path)
    assert found.scores["rank_variance"].tolist() == [0.5, 0.25]
    assert found.note == {"variance_error": 1e-5}
    assert [p["id"].to_pylist() for p in read_pieces(path, ["id"])] == [["a", "b"]]


def test_a_shard_that_fails_half_way_leaves_nothing(tmp_path):
    def pieces():
        yield {"id": [1]}
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        write_shard(tmp_path / "s.parquet", pieces(), {"id": pa.int64()}, {})
    assert list(tmp_path.iterdir()) == []
