import numpy as np
import pytest

from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.head import Head, predict_after
from dris.learn.trainers.stacked.stack import Stack, as_features


def world(n=300):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    x = rng.normal(size=(n, 4)) + 3 * np.eye(3, 4)[y]
    return as_features(Data(x, y), True).x, y


def test_a_model_depends_on_its_rows_alone():
    x, y = world()
    rows = [np.arange(200), np.arange(100, 300)]
    both = predict_after(x, y, 3, rows, head=Head(hidden=8))
    alone = predict_after(x, y, 3, rows[1:], head=Head(hidden=8))
    assert (both[1] == alone[0]).all()
    other = y.copy()
    other[:100] = 0  # not among its rows
    assert (predict_after(x, other, 3, rows[1:], head=Head(hidden=8)) == alone).all()


def test_fewer_rows_take_as_many_steps_and_still_learn():
    x, y = world()
    few = np.arange(30)
    result = predict_after(x, y, 3, [np.arange(300), few], head=Head())
    assert (result == y).mean() > 0.8


@pytest.mark.parametrize(("rows", "epochs"), [(64, 250), (640, 25), (1280, 15)])
def test_models_of_few_rows_take_enough_steps_to_learn_something(rows, epochs, monkeypatch):
    x = np.ones((1280, 2), dtype=np.float32)
    trained = []
    monkeypatch.setattr(Stack, "train_epoch", lambda self, epoch: trained.append(epoch))
    predict_after(x, np.arange(1280) % 2, 2, [np.arange(rows)], head=Head())
    assert trained == list(range(1, epochs + 1))
