"""Columns that say the same are told apart for models that want it, and for no others."""

import numpy as np
import pytest

from dris import train_proxies
from dris.learn.trainers import standardize as standardized
from dris.learn.trainers.job import Data, Untangled
from dris.learn.trainers.standardize import as_table


def alike(n=600, columns=12, seed=0):
    """Columns that all repeat one number, with a little of their own, where the label is."""
    rng = np.random.default_rng(seed)
    little = rng.normal(size=(n, columns))
    x = rng.normal(size=(n, 1)) + 0.3 * little
    return x, (little[:, 0] + little[:, 1] > little[:, 2] + little[:, 3]).astype(np.int64)


def table(x, normalize, **more):
    return as_table(Data(x, np.zeros(len(x), dtype=np.int64)), normalize, **more).x


def largest_correlation(x):
    return np.abs(np.corrcoef(x.T) - np.eye(x.shape[1])).max()


def test_untangled_columns_hardly_go_together_and_vary_as_they_did():
    x, _ = alike()
    plain, apart = table(x, True), table(x, Untangled())
    assert largest_correlation(plain) > 0.9  # the twin
    assert largest_correlation(apart) < 0.3
    assert np.allclose(apart.std(axis=0), 1, atol=1e-3)
    own = [np.corrcoef(plain[:, c], apart[:, c])[0, 1] for c in range(x.shape[1])]
    assert min(own) > 0  # each is still itself
    by_stretch = table(x, Untangled((4, 8)))
    assert np.allclose(by_stretch.std(axis=0), table(x, (4, 8)).std(axis=0), atol=1e-3)


def test_what_hardly_varies_stays_faint(monkeypatch):
    x = np.random.default_rng(0).normal(size=(500, 1)) * [1.0, 1.0]
    x[:, 1] += 1e-6 * np.arange(500)  # a direction that is all but rounding
    assert largest_correlation(table(x, Untangled())) > 0.99
    monkeypatch.setattr(standardized, "DAMPING", 0.0)  # the twin: as loud as all else
    monkeypatch.setattr(standardized, "DAMPING_PER_COLUMN", 0.0)
    assert largest_correlation(table(x, Untangled())) < 0.1


@pytest.mark.parametrize(("widest", "tables"), [(12, 2), (11, 1)])
def test_more_columns_than_are_worth_it_stay_as_they_are_in_one_table(monkeypatch, widest, tables):
    x, y = alike(n=100)
    made = []

    def noted(data, normalize, folder=None, **how):
        made.append(normalize)
        return as_table(data, normalize, folder, **how)

    monkeypatch.setattr("dris.learn.trainers.stacked.stack.as_table", noted)
    monkeypatch.setattr(standardized, "MAX_UNTANGLED_COLUMNS", widest)
    train_proxies(x, y, proxies=2, epochs=1, model=["mlp", "untangled_mlp"], workers=1)
    assert len(made) == tables
    assert (Untangled() in made) == (tables == 2)


def test_a_share_of_many_rows_tells_how_columns_go_together(monkeypatch):
    x, _ = alike(n=4000)
    monkeypatch.setattr(standardized, "MAX_ROWS_FOR_CORRELATIONS", 1000)
    apart = table(x, Untangled())
    assert largest_correlation(apart) < 0.3
    other = x.copy()
    other[[1, 2, 3]] = other[[3, 1, 2]]  # between those that are looked at
    order = np.arange(4000)
    order[[1, 2, 3]] = [3, 1, 2]
    assert np.allclose(table(other, Untangled()), apart[order], atol=1e-5)
    monkeypatch.setattr(standardized, "MAX_ROWS_FOR_CORRELATIONS", 4000)
    assert not np.allclose(table(x, Untangled()), apart, atol=1e-3)  # the twin: all are


def test_only_models_that_want_it_read_untangled_columns_and_they_learn_in_fewer_steps():
    x, y = alike(n=300)
    how = {"epochs": 10, "cross_fit": 4, "workers": 1}
    result = train_proxies(
        x, y, proxies=4, model=["mlp", "linear_head", "untangled_mlp", "untangled_linear"], **how
    )
    loss = result.out_of_fold.snapshot("loss").mean(axis=1)
    assert loss[2] < loss[0] - 0.05
    assert loss[3] < loss[1] - 0.05
    alone = train_proxies(x, y, proxies=2, model="mlp", **how)
    assert np.array_equal(result.snapshot("loss")[0], alone.snapshot("loss")[0])
