"""Folds: equal rows together, labels spread, and what a proxy's models say together."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dris.learn.trainers.folds import copies_in, folds_of, in_and_out


def folds(labels, copies=None, count=4, seed=0):
    y = np.asarray(labels)
    same = np.arange(len(y)) if copies is None else np.asarray(copies)
    return folds_of(y, same, count, rng=np.random.default_rng(seed))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=120), st.integers(2, 6), st.integers(0, 10))
def test_without_copies_folds_and_labels_in_them_differ_by_one_at_most(labels, count, seed):
    fold, y = folds(labels, count=count, seed=seed), np.array(labels)
    sizes = np.bincount(fold, minlength=count)
    assert sizes.max() - sizes.min() <= 1
    for label in np.unique(y):
        share = np.bincount(fold[y == label], minlength=count)
        assert share.max() - share.min() <= 1


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 30), min_size=8, max_size=120), st.integers(0, 10))
def test_copies_share_a_fold_whatever_their_labels(groups, seed):
    same = np.array(groups)
    fold = folds(np.arange(len(same)) % 3, same, seed=seed)
    for group in np.unique(same):
        assert len(set(fold[same == group].tolist())) == 1


def test_copies_would_be_torn_apart_if_nobody_named_them():
    fold = folds(np.zeros(40, dtype=int))
    assert len(set(fold[:20].tolist())) > 1  # the twin


def test_pairs_of_copies_leave_folds_equal_and_labels_spread():
    y = np.repeat(np.arange(100) % 2, 2)
    fold = folds(y, np.repeat(np.arange(100), 2))
    assert np.bincount(fold).tolist() == [50] * 4
    for label in (0, 1):
        share = np.bincount(fold[y == label], minlength=4)
        assert share.max() - share.min() <= 2


def test_a_group_larger_than_a_fold_stays_whole():
    fold = folds(np.arange(20) % 2, [0] * 12 + list(range(1, 9)), count=4)
    assert len(set(fold[:12].tolist())) == 1
    rest = np.bincount(fold[12:], minlength=4)
    assert sorted(rest.tolist()) == [0, 2, 3, 3]


def test_copies_are_rows_with_the_same_numbers():
    x = np.zeros((6, 5), dtype=np.float32)
    x[0, 1] = x[3, 1] = 2.0
    x[1, 2] = 2.0
    x[4, 1], x[4, 2] = 1.0, 1.0
    x[5] = -0.0
    assert copies_in(x).tolist() == [0, 1, 2, 0, 4, 2]


def test_values_in_fold_and_out_of_fold_by_hand():
    columns = {
        "loss": np.array([[1.0, 4.0], [2.0, 5.0], [6.0, 3.0]], dtype=np.float32),
        "margin": np.array([[1.0, -4.0], [-2.0, 3.0], [1.0, 2.0]], dtype=np.float32),
        "correct": np.array([[True, False], [False, True], [True, True]]),
        "rival": np.array([[3, 1], [2, 0], [2, 1]], dtype=np.int32),
    }
    seen, unseen = in_and_out(columns, np.array([0, 2]))
    assert seen["loss"].tolist() == [4.0, 4.5]
    assert seen["margin"].tolist() == [-0.5, -0.5]
    assert seen["correct"].tolist() == [False, False]  # by the mean margin
    assert seen["rival"].tolist() == [2, 0]  # two name 2; one each, and 0 comes first
    assert unseen["loss"].tolist() == [1.0, 3.0]
    assert unseen["correct"].tolist() == [True, True]
    assert unseen["rival"].tolist() == [3, 1]


def test_with_two_folds_the_value_in_fold_is_that_of_the_other_model():
    columns = {
        "margin": np.array([[0.0, 1.0], [2.0, 0.0]]),
        "correct": np.array([[False, True], [True, True]]),
    }
    seen, _ = in_and_out(columns, np.array([0, 0]))
    assert seen["margin"].tolist() == [2.0, 0.0]
    assert seen["correct"].tolist() == [True, True]  # a tie that the model decided


def test_columns_over_epochs_are_split_epoch_by_epoch():
    rng = np.random.default_rng(0)
    loss, fold = rng.random((3, 4, 7)), rng.integers(3, size=7)
    whole = in_and_out({"loss": loss}, fold)
    for e in range(4):
        part = in_and_out({"loss": loss[:, e]}, fold)
        for side in (0, 1):
            assert np.array_equal(whole[side]["loss"][e], part[side]["loss"])
