import numpy as np

from dris.learn.jobs import Data
from dris.learn.recipe import Recipe
from dris.learn.stacked.feature_table import as_features
from dris.learn.stacked.head_models import Head
from dris.learn.stacked.row_models import guesses_after

HOW = Recipe(epochs=4, batch_size=32, learning_rate=0.05)


def world(n=300):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    x = rng.normal(size=(n, 4)) + 3 * np.eye(3, 4)[y]
    return as_features(Data(x, y), True).x, y


def test_a_model_depends_on_its_rows_alone():
    x, y = world()
    rows = [np.arange(200), np.arange(100, 300)]
    both = guesses_after(x, y, 3, rows, head=Head(hidden=8), recipe=HOW)
    alone = guesses_after(x, y, 3, rows[1:], head=Head(hidden=8), recipe=HOW)
    assert (both[1] == alone[0]).all()
    other = y.copy()
    other[:100] = 0  # not among its rows
    assert (guesses_after(x, other, 3, rows[1:], head=Head(hidden=8), recipe=HOW) == alone).all()


def test_fewer_rows_take_as_many_steps_and_still_learn():
    x, y = world()
    few = np.arange(30)
    found = guesses_after(x, y, 3, [np.arange(300), few], head=Head(), recipe=HOW)
    assert (found == y).mean() > 0.8
