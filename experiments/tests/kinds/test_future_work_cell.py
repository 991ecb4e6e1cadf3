"""Noise on inputs, balance and the held-out epoch, on cases whose answer is known."""

import numpy as np
import pytest

from dris import Dynamics
from experiments.kinds.future_work_cell import _worst, balance, disturbed, subgroups, sweep
from experiments.own import future_work
from experiments.scales import scale_of
from experiments.workspace import Loaded

CELL = future_work.cells(scale_of("smoke"))[0]


@pytest.mark.parametrize("kind", ["features", "shift"])
def test_only_the_touched_inputs_change(kind):
    x = np.random.default_rng(0).random((40, 5)).astype(np.float32)
    changed, touched = disturbed(x, kind, 0.25, seed=3)
    assert touched.sum() == 10
    assert np.array_equal(changed[~touched], x[~touched])
    assert (changed[touched] != x[touched]).any(axis=1).all()
    assert changed.dtype == x.dtype
    again, same = disturbed(x, kind, 0.25, seed=3)
    assert np.array_equal(again, changed)
    assert np.array_equal(same, touched)
    assert not np.array_equal(disturbed(x, kind, 0.25, seed=4)[1], touched)


def test_the_smaller_cluster_of_a_class_is_its_minority():
    x = np.repeat([[0.0], [9.0], [100.0], [109.0]], (6, 2, 2, 6), axis=0)
    y = np.repeat([0, 1], 8)
    data = Loaded(x, y, x[[0, 7, 9, 15]], y[[0, 7, 9, 15]], 2)
    groups, tests = subgroups(data, seed=0)
    assert groups.tolist() == [0] * 6 + [1] * 2 + [3] * 2 + [2] * 6
    assert tests.tolist() == [0, 1, 3, 2]


def test_balance_is_one_where_nothing_moved_and_zero_where_a_class_is_gone():
    y, groups = np.repeat([0, 1], 8), np.tile([0, 0, 0, 1], 4)
    same = balance(y[::2], y, groups[::2], groups)
    assert (same["smallest_class"], same["moved"]) == (1, 0)
    gone = balance(y[:8], y, groups[:8], groups)
    assert (gone["smallest_class"], gone["moved"], gone["minority"]) == (0, 0.5, 1)


def test_the_worst_group_is_found_among_those_large_enough():
    right, groups = np.array([True] * 10 + [False] * 3), np.repeat([0, 1], (10, 3))
    assert _worst(right, groups) == 1
    assert _worst(np.repeat([True, False], 10), np.repeat([0, 1], 10)) == 0


def test_the_held_out_epoch_is_that_of_the_smallest_loss_out_of_fold():
    """Early the proxies disagree about the clean, late about the touched."""
    rng, touched = np.random.default_rng(0), np.arange(80) < 20
    loss = np.tile(np.linspace(0, 1, 80), (3, 4, 1))  # nobody disputes this order
    loss[:, :2, ~touched] = 1 + rng.random((3, 2, 60))
    loss[:, 2:, touched] = rng.random((3, 2, 20))
    held = Dynamics.from_arrays(loss=np.full((3, 4, 80), [[[3.0], [1.0], [2.0], [4.0]]]))
    dynamics = Dynamics.from_arrays(loss=loss)
    crossed = Dynamics(held.columns, held.ids, held.epochs, 1, out_of_fold=held)
    result = sweep(CELL, dynamics, crossed, touched)
    assert (result["held_out"], result["epochs"]) == (2, [1, 2, 3, 4])
    assert result["at_held_out"] == result["contamination"][1] == 0
    assert result["contamination"][3] > 0.25  # the twin: later is worse here
    assert result["best"] == 0
