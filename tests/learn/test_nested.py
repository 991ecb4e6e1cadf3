import numpy as np
import pytest

from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.head import Head, predict_after
from dris.learn.trainers.stacked.stack import as_features
from dris.learn.trees import nested_heads, nested_trees

N, FOLD = 200, np.arange(200) % 4


def world():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=N)
    return (rng.normal(size=(N, 4)) + 2 * np.eye(3, 4)[y]).astype(np.float32), y


def heads(x, y):
    return nested_heads(as_features(Data(x, y), True).x, y, FOLD, 3, head=Head(hidden=8))


def trees(x, y, known=None):
    return nested_trees(x, y, FOLD, 3, known=known)


@pytest.mark.parametrize("nested", [heads, trees])
def test_inside_a_fold_nobody_saw_that_fold_nor_the_row_that_is_asked_about(nested):
    if nested is trees:
        pytest.importorskip("sklearn")
    x, y = world()
    p = nested(x, y)
    assert p.shape == (4, N, 3)
    np.testing.assert_allclose(p.sum(axis=2), 1, atol=1e-5)
    assert (p.argmax(axis=2) == y).mean() > 0.7
    other = nested(x, np.where(FOLD == 2, (y + 1) % 3, y))
    changed = (p != other).any(axis=2)
    assert not changed[2].any()
    assert not changed[:, FOLD == 2].any()
    assert changed[np.ix_([0, 1, 3], FOLD == 0)].all(axis=0).any()  # the twin


def test_a_row_of_the_fold_itself_is_predicted_from_all_the_others():
    x, y = world()
    table = as_features(Data(x, y), True).x
    p = heads(x, y)
    for f in range(4):
        own = np.isin(FOLD, f)
        alone = predict_after(table, y, 3, [np.flatnonzero(~own)], head=Head(hidden=8))[0]
        same = p[f].argmax(axis=1) == alone
        assert same[own].mean() > 0.95  # the steps are those of the largest set of rows
        assert not same[~own].all()


def test_trees_that_are_known_need_not_be_grown_again():
    x, y = world()
    p = trees(x, y)
    known = p[FOLD, np.arange(N)]
    assert (trees(x, y, known) == p).all()
    assert (trees(x, y, known / 2) != p).any()  # the twin
