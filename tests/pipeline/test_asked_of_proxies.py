"""What is asked of the proxies for a decision: seen without training any."""

import numpy as np
import pytest

from dris.data.labelled import LabelledData
from dris.pipeline import ensemble as module
from dris.pipeline.ensemble import train_ensemble
from dris.pipeline.settings import Settings
from made_ensemble import with_rivals


@pytest.fixture
def asked(monkeypatch):
    """Score so many rows, and see what each ensemble was asked for."""
    calls = []

    def train(x, labels, *, progress=None, **how):
        calls.append(how)
        if progress is not None:
            progress(5, 10)
        logits = np.random.default_rng(0).normal(size=(2, len(labels), 2))
        return with_rivals(logits, np.asarray(labels))

    monkeypatch.setattr(module, "train_proxies", train)

    def score(n, progress=None, **settings):
        calls.clear()
        y = np.arange(n) % 2
        data = LabelledData.of(np.random.default_rng(1).normal(size=(n, 2)), y, classes=("a", "b"))
        ensemble_ = train_ensemble(data, Settings(**settings), progress=progress)
        return ensemble_, list(calls)

    return score


def test_a_table_is_cross_fitted_and_training_stops_by_the_held_out_loss(asked):
    _, (how,) = asked(100)
    assert (how["proxies"], how["epochs"], how["cross_fit"], how["seed"]) == (3, 20, 4, 0)
    assert (how["scored_epoch"], how["patience"]) == ("held_out", 4)
    assert "mlp" in how["model"]
    assert "record" not in how
    assert how["rival"] is True


def test_an_epoch_that_was_asked_for_is_scored_and_nothing_stops_early(asked):
    _, (how,) = asked(100, scored_epoch=3, epochs=5)
    assert (how["scored_epoch"], how["epochs"]) == (3, 5)
    assert "patience" not in how


def test_folds_are_never_more_than_rows_and_none_where_none_are_wanted(asked):
    _, (how,) = asked(30, folds=40)
    assert how["cross_fit"] == 30
    _, (how,) = asked(30, folds=None)
    assert "cross_fit" not in how
    assert how["scored_epoch"] is None
    _, (how,) = asked(30, models=("sgd_log",))  # has no folds of its own
    assert "cross_fit" not in how


def test_only_the_scored_epoch_is_kept_above_so_many_values(asked, monkeypatch):
    assert module.MAX_RECORDED_VALUES == 5_000_000
    monkeypatch.setattr(module, "MAX_RECORDED_VALUES", 3 * 20 * 100)
    assert "record" not in asked(100)[1][0]
    assert asked(101)[1][0]["record"] == "scored"


def test_above_so_many_rows_proxies_have_two_folds_unless_somebody_named_them(asked, monkeypatch):
    # Linear ones, which are cheaper, become copies of each other on so many rows.
    assert module.MAX_ROWS_OF_MANY_FOLDS == 200_000
    monkeypatch.setattr(module, "MAX_ROWS_OF_MANY_FOLDS", 100)
    _, (few,) = asked(100)
    _, (many,) = asked(101)
    assert (few["cross_fit"], many["cross_fit"]) == (4, 2)
    assert few["model"] == many["model"]
    assert asked(101, models=("mlp",))[1][0]["cross_fit"] == 4
    assert "cross_fit" not in asked(101, folds=None)[1][0]


def test_canaries_that_need_a_pilot_get_one_and_each_is_half_of_the_work(asked):
    told = []
    _, calls = asked(400, lambda *pair: told.append(pair), canaries=("confusable",), seed=7)
    assert [how["seed"] for how in calls] == [8, 7]
    assert told == [(5, 20), (15, 20)]
    told.clear()
    _, calls = asked(400, lambda *pair: told.append(pair), seed=7)
    assert [how["seed"] for how in calls] == [7]
    assert told == [(5, 10)]
