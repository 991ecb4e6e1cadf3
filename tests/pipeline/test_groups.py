"""Labels that are wrong for all rows of a patient: grouping changes the answer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import dris
from dris.data.reader import read_data
from dris.learn.store.run_store import Store

pytestmark = pytest.mark.usefixtures("harm_measured_once")


def patients(seed=0, count=160, rows=5):
    """Rows that resemble their patient far more than their class, 15 % of the patients wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(count) % 2)
    wrong = np.isin(np.arange(count), rng.permutation(count)[: round(0.15 * count)])
    centre = rng.normal(size=(count, 6))
    centre[:, :2] += 2.0 * (2 * truth - 1)[:, None]
    who = rng.permutation(np.repeat(np.arange(count), rows))
    x = (centre[who] + 0.05 * rng.normal(size=(len(who), 6))).astype(np.float32)
    return x, np.where(wrong, 1 - truth, truth)[who], who, wrong[who]


@pytest.fixture(scope="module")
def made():
    return patients()


@pytest.fixture(scope="module")
def grouped(made):
    x, given, who, _ = made
    return dris.clean(x, given, group=who, workers=1)


def test_labels_wrong_by_patient_are_found_in_groups_and_not_without(made, grouped):
    x, given, _, wrong = made
    found = grouped.p_wrong > 0.5
    assert found[wrong].mean() > 0.7
    assert found[~wrong].mean() < 0.02
    assert grouped.noise_rate.high > 0.15
    apart = dris.clean(x, given, workers=1, check_harm=False)  # the twin
    assert not (apart.p_wrong > 0.5).any()
    assert apart.noise_rate.high < 0.01


def test_no_rate_and_no_limit_are_told_where_a_column_of_groups_is_unused(made, grouped):
    x, given, who, _ = made
    table = pd.DataFrame(x, columns=list("abcdef")).assign(patient=who, label=given)
    unused = dris.clean(table, group="none", workers=1, check_harm=False)
    assert unused.noise_rate is None
    assert not unused.corruption
    used = dris.clean(table, workers=1)
    assert (used.p_wrong == grouped.p_wrong).all()
    assert used.kept.tolist() == grouped.kept.tolist()


def test_scikit_learn_decides_the_same(made, grouped):
    x, given, who, _ = made
    model = dris.RobustClassifier(LogisticRegression(), n_jobs=1).fit(x, given, groups=who)
    assert (model.decision_.p_wrong == grouped.p_wrong).all()
    assert np.flatnonzero(model.kept_).tolist() == grouped.kept.tolist()
    assert model.decision_.harm.change == grouped.harm.change


@pytest.mark.parametrize("model", ["linear_head", "sgd_log"])
def test_no_model_trains_on_the_group_of_a_row_that_it_judges(made, model):
    x, given, who, _ = made
    how = {"model": model, "epochs": 2, "proxies": 2, "cross_fit": 4, "workers": 1}
    dynamics = dris.train_proxies(x, given, groups=who, **how)
    if dynamics.probabilities is not None:
        pairs = np.unique(np.stack([who, dynamics.probabilities.fold[0]]), axis=1)
        assert pairs.shape[1] == len(np.unique(who))
    alone = dris.train_proxies(x, given, **how)
    assert not np.array_equal(
        dynamics.out_of_fold.columns["loss"], alone.out_of_fold.columns["loss"]
    )


def test_a_run_with_other_groups_is_another_run(made, tmp_path):
    x, given, who, _ = made
    how = {"model": "linear_head", "epochs": 2, "proxies": 2, "cross_fit": 4, "workers": 1}
    first = Store(tmp_path)
    dris.train_proxies(x, given, groups=who, store=first, **how)
    for groups, found in ((who, 2), (who // 2, 0), (None, 0)):
        store = Store(tmp_path)
        dris.train_proxies(x, given, groups=groups, store=store, **how)
        assert (store.found, store.trained) == (found, 2 - found)


def test_proxies_of_prune_and_those_inside_its_harm_check_hold_groups(made, monkeypatch):
    x, given, who, _ = made
    trained = []

    def spy(x, labels, *, groups, **how):
        trained.append(len(groups) == len(labels))
        return dris.train_proxies(x, labels, groups=groups, **how)

    monkeypatch.setattr("dris.pipeline.ensemble.train_proxies", spy)
    dris.prune(read_data(x, given, group=who), keep=0.5, workers=1)
    assert len(trained) > 4
    assert all(trained)


def test_too_few_groups_are_refused_by_proxies_and_take_fewer_folds_in_clean(made):
    x, given, who, _ = made
    with pytest.raises(dris.InputError, match="3 different values"):
        dris.train_proxies(x, given, groups=who % 3, cross_fit=4)
    assert dris.clean(x, given, group=who % 3, workers=1).harm is None
