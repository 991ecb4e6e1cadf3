import numpy as np
import pytest
import sklearn.ensemble

from dris.learn import trees
from dris.learn.store.run_store import Store
from dris.learn.trees import suit_trees, tree_probabilities

GROWTH = trees.GROWTH


class Killed(BaseException):
    pass


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(trees, "GROWTH", {**GROWTH, "max_iter": 8})
    monkeypatch.setattr(trees, "ROWS", 100)


def toy(n=240, classes=3):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    y = ((x[:, 0] > 0.3) + (x[:, 2] > 0.8)).astype(np.int64) % classes
    return x, y, np.arange(n) % 4


@pytest.mark.parametrize("rows", [50, 1000])
def test_the_bytes_do_not_depend_on_the_order_of_rows(rows, monkeypatch):
    x, y, fold = toy()
    monkeypatch.setattr(trees, "ROWS", rows)
    how = {"ids": np.arange(240)}
    one = tree_probabilities(x, y, fold, 3, **how)
    at = np.random.default_rng(1).permutation(240)
    how["ids"] = at
    assert (one[at] == tree_probabilities(x[at], y[at], fold[at], 3, **how)).all()
    np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-5)


def test_a_row_is_predicted_by_trees_that_did_not_see_its_label():
    x, y, fold = toy()
    one = tree_probabilities(x, y, fold, 3)
    assert (one.argmax(axis=1) == y).mean() > 0.7
    other = np.where(fold == 2, (y + 1) % 3, y)
    two = tree_probabilities(x, other, fold, 3)
    changed = (one != two).any(axis=1)
    assert not changed[fold == 2].any()
    assert changed[fold != 2].any()  # the twin


def test_a_class_that_no_other_fold_has_gets_nothing_there():
    x, y, fold = toy(classes=2)
    y = np.where(fold == 1, 2, 0)
    p = tree_probabilities(x, y, fold, 4)
    assert (p[fold == 1] == [1, 0, 0, 0]).all()
    assert (p[:, [1, 3]] == 0).all()


def test_work_that_was_cut_short_goes_on_with_the_folds_that_are_left(tmp_path, monkeypatch):
    x, y, fold = toy()
    whole = tree_probabilities(x, y, fold, 3)
    real, grown, died = trees.grow, [], []

    def dies(*given):
        grown.append(given[5][-1])
        if grown[-1] == 2 and not died:
            died.append(2)
            raise Killed
        return real(*given)

    monkeypatch.setattr(trees, "grow", dies)
    with pytest.raises(Killed):
        tree_probabilities(x, y, fold, 3, store=tmp_path)
    begun = grown.copy()
    assert (tree_probabilities(x, y, fold, 3, store=Store(tmp_path)) == whole).all()
    assert set(grown[len(begun) :]) == {2, 3} - set(begun) | {2}
    grown.clear()
    assert (tree_probabilities(x, y, fold, 3, store=tmp_path) == whole).all()
    assert grown == []
    tree_probabilities(x, y, fold, 3, store=tmp_path, seed=1)  # the twin
    assert len(grown) == 4


@pytest.mark.parametrize(
    ("x", "classes", "suit"),
    [
        (np.zeros((5, 32)), 25, True),
        (np.zeros((5, 32)), 26, False),
        (np.zeros((5, 1000)), 2, False),
        (np.zeros((5, 3, 8, 8)), 2, False),
    ],
)
def test_trees_are_left_out_where_they_cost_more_than_they_tell(x, classes, suit):
    assert suit_trees(x, classes) is suit


@pytest.mark.parametrize(("classes", "iterations", "rate"), [(3, 60, 0.15), (4, 30, 0.3)])
def test_with_more_than_three_classes_half_as_many_trees_learn_twice_as_fast(
    monkeypatch, classes, iterations, rate
):
    monkeypatch.setattr(trees, "GROWTH", GROWTH)
    made, real = [], sklearn.ensemble.HistGradientBoostingClassifier
    monkeypatch.setattr(
        sklearn.ensemble,
        "HistGradientBoostingClassifier",
        lambda **how: made.append(how) or real(**how),
    )
    y = np.arange(40) % classes
    trees.grow(np.zeros((40, 1)), y, np.arange(40), np.arange(2), classes, (0, "trees"))
    assert [(how["max_iter"], how["learning_rate"]) for how in made] == [(iterations, rate)]
