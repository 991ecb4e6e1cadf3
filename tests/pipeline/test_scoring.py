"""Rows that arrive later: judged as those inside, by models that train once."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

import dris
from dris.core.errors import InputError
from dris.pipeline import scoring

HOW = {"workers": 1, "check_harm": False}


@pytest.fixture(scope="module")
def split():
    x, y = load_digits(return_X_y=True)
    noisy = dris.flip_labels(y, 0.2, seed=0)
    order = np.random.default_rng(0).permutation(len(y))
    return x, y, noisy, order[:1200], order[1200:]


@pytest.fixture(scope="module")
def decision(split):
    x, _, noisy, inside, _ = split
    return dris.clean(x[inside], noisy.given[inside], **HOW)


def test_rows_held_back_are_judged_as_well_as_those_inside(split, decision):
    x, y, noisy, inside, outside = split
    new = decision.score(x[outside], noisy.given[outside])
    wrong = noisy.flipped[outside]
    within = roc_auc_score(noisy.flipped[inside], decision.p_wrong)
    assert roc_auc_score(wrong, new.p_wrong) > within - 0.01
    assert new.p_wrong.mean() == pytest.approx(wrong.mean(), abs=0.03)
    suspects = new.p_wrong > 0.5
    assert wrong[suspects].mean() == pytest.approx(new.p_wrong[suspects].mean(), abs=0.05)
    assert (new.suggested == y[outside]).mean() > 0.95
    unlabelled = decision.score(x[outside])
    assert np.isnan(unlabelled.p_wrong).all()
    assert (unlabelled.suggested == y[outside]).mean() > 0.93
    # The twin: labels that belong to other rows are mostly suspects.
    assert (decision.score(x[outside], np.roll(y[outside], 1)).p_wrong > 0.5).mean() > 0.8


def test_a_row_of_the_data_gets_a_similar_value_and_nothing_trains_twice(
    split, decision, monkeypatch
):
    x, _, noisy, inside, _ = split
    first = decision.score(x[inside], noisy.given[inside])
    assert np.corrcoef(first.p_wrong, decision.p_wrong)[0, 1] > 0.85
    monkeypatch.setattr(scoring, "train_on", None)
    again = decision.score(x[inside][:5], noisy.given[inside][:5])
    assert again.p_wrong == pytest.approx(first.p_wrong[:5], rel=1e-4, abs=1e-6)
    with pytest.raises(TypeError):  # the twin: another decision has to train
        replace(decision).score(x[:5])


def test_a_frame_is_matched_by_its_names(split):
    pandas = pytest.importorskip("pandas")
    x, y, _, inside, outside = split
    frame = pandas.DataFrame(x, columns=[f"p{k}" for k in range(64)]).assign(digit=y)
    decision = dris.clean(frame.iloc[inside[:400]], label="digit", **HOW)
    new = frame.iloc[outside[:50]]
    turned = decision.score(new[new.columns[::-1]], new["digit"])
    assert turned.p_wrong == pytest.approx(decision.score(new, new["digit"]).p_wrong)
    assert (turned.suggested == new["digit"]).mean() > 0.9
    with pytest.raises(InputError, match="p20"):
        decision.score(new.drop(columns="p20"))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda x, y: (x[:, :60], y), "64"),
        (lambda x, y: (np.full_like(x, np.nan), y), "finite"),
        (lambda x, y: ([["a"] * 64], ["1"]), "numbers"),
        (lambda x, y: (x, y[:-1]), "each"),
        (lambda x, y: (x, np.full(len(x), "cat")), "cat"),
    ],
)
def test_rows_that_do_not_match_the_data_are_refused(split, decision, change, word):
    x, y, *_ = split
    with pytest.raises(InputError, match=word):
        decision.score(*change(x[:20], y[:20]))


def test_data_that_is_no_table_of_numbers_is_not_scored():
    few = dris.clean(np.eye(4), [0, 1, 0, 1], **HOW)
    words = [["red" if i % 2 else "blue", i % 7] for i in range(80)]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(words, columns=["colour", "n"]).assign(y=[i % 3 for i in range(80)])
    for decision in (few, dris.clean(frame, label="y", **HOW)):
        with pytest.raises(InputError):
            decision.score(np.eye(4))
