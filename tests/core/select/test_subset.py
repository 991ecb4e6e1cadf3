"""The value object of selection: positions that are a set, read-only, comparable, storable."""

import json
import pickle

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.core.select.selection import Subset, keep_top, stratified


def test_subset_round_trips_through_json_and_pickle():
    subset = keep_top(np.float32([3, 1, 2, 2]), fraction=np.float32(0.5), seed=np.int64(4))
    assert json.loads(json.dumps(subset.to_dict())) == {
        "rule": "keep_top",
        "parameters": {"fraction": 0.5, "seed": 4},
        "total": 4,
        "tied": 1,
        "indices": subset.indices.tolist(),
    }
    assert pickle.loads(pickle.dumps(subset)) == subset
    json.dumps(stratified([1, 2], fraction=0.5, bins=np.int64(2)).to_dict())


def test_subset_indices_are_int64_and_read_only_and_not_the_callers_array():
    mine = np.array([0, 2], dtype=np.int32)
    subset = Subset(mine, "by hand", {}, total=3)
    mine[0] = 1
    assert subset.indices.tolist() == [0, 2]
    assert subset.indices.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        subset.indices[0] = 1
    same = np.array([0, 2])
    Subset(same, "by hand", {}, total=3)
    same[0] = 1  # Still the caller's to write.


def test_subset_mask_and_equality_by_value():
    subset = keep_top([1, 3, 2], fraction=0.67)
    assert subset.mask().tolist() == [False, True, True]
    assert subset == keep_top([1, 3, 2], fraction=0.67)
    assert subset != keep_top([1, 3, 2], fraction=0.67, seed=1)
    assert subset != "subset"


@pytest.mark.parametrize(
    ("indices", "tied", "says"),
    [
        ([], 0, "at least one"),
        ([0.5], 0, "whole number"),
        ([[0]], 0, "in a row"),
        ([True, False], 0, "whole number"),
        ([1, 0], 0, "increase"),
        ([0, 0], 0, "increase"),
        ([-1, 0], 0, r"0\.\.2"),
        ([0, 3], 0, r"0\.\.2"),
        ([0, 1], 3, "tied"),
    ],
)
def test_subset_refuses_what_is_not_a_set_of_positions(indices, tied, says):
    with pytest.raises(InputError, match=says):
        Subset(np.array(indices), "by hand", {}, total=3, tied=tied)
