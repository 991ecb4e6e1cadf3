"""XGBoost, LightGBM and CatBoost train as proxies, and their rounds are the epochs."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier

import dris
from dris.core.errors import InputError
from dris.learn.trainers.estimator import BOOSTERS, as_logits, booster_of, scores_after

frameworks = pytest.mark.frameworks


def made(classes: int, n: int = 240):
    x, y = make_classification(
        n, 8, n_informative=6, n_classes=classes, n_clusters_per_class=1, random_state=0
    )
    return x.astype(np.float32), y


@frameworks
@pytest.mark.parametrize("name", BOOSTERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_last_stage_is_the_whole_model_and_the_first_is_not(name, classes):
    pytest.importorskip(name)
    x, y = made(classes)
    model = BOOSTERS[name].make().fit(x, y)
    rounds = BOOSTERS[name].rounds(model)
    assert rounds == 40
    last = as_logits(scores_after(model, x, rounds))
    p = np.exp(last - last.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    assert p == pytest.approx(model.predict_proba(x), abs=1e-5)
    assert np.abs(as_logits(scores_after(model, x, 1)) - last).max() > 0.1


@frameworks
@pytest.mark.parametrize("name", BOOSTERS)
def test_flipped_labels_have_the_lowest_margins_by_name_and_by_hand(name):
    pytest.importorskip(name)
    x, y = made(3, 400)
    noisy = dris.flip_labels(y, 0.15, seed=0)
    by_name = dris.train_proxies(x, noisy.given, proxies=2, epochs=5, model=name, workers=1, seed=0)
    assert by_name.columns["loss"].shape == (2, 5, 400)
    lowest = np.argsort(dris.SCORES["aum_mean"](by_name))[:60]
    assert noisy.flipped[lowest].mean() > 0.5  # of 15 % at random
    own = BOOSTERS[name].make().set_params(max_depth=3)
    by_hand = dris.train_proxies(x, noisy.given, proxies=2, epochs=5, model=own, workers=1, seed=0)
    again = dris.train_proxies(x, noisy.given, proxies=2, epochs=5, model=own, workers=1, seed=0)
    assert (by_hand.columns["loss"] == again.columns["loss"]).all()
    assert (by_hand.columns["loss"][0] != by_hand.columns["loss"][1]).any()


EXTRAS = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]["optional-dependencies"]


@pytest.mark.parametrize("name", BOOSTERS)
def test_a_library_that_is_not_installed_is_named_with_an_extra_that_brings_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf"{name} is not installed") as caught:
        BOOSTERS[name].make()
    extra = re.search(r"dris\[(\w+)\]", str(caught.value))[1]
    assert any(re.match(rf"{name}\b", wanted) for wanted in EXTRAS[extra])
    assert extra in re.split(r"[\[\],]", EXTRAS["frameworks"][0])  # and the tests run with it


def test_an_ensemble_without_rounds_is_refused_and_told_of_those_that_have_them():
    assert booster_of(AdaBoostClassifier()) is None
    x, y = made(2)
    with pytest.raises(InputError, match="XGBoost, LightGBM or CatBoost"):
        dris.train_proxies(x, y, proxies=2, epochs=3, model=BaggingClassifier(), workers=1)
