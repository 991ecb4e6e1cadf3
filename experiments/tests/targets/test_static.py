"""Step parity: the same number of steps whatever the subset, and only the subset differs."""

from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from dris import InputError
from experiments.dris_internals import logits_of
from experiments.targets.schedules import step_batches
from experiments.targets.static import train_target


def visits(indices, total, **more):
    return np.concatenate(list(step_batches(np.asarray(indices), total, **more)))


sizes = st.integers(1, 25)


@settings(max_examples=50, deadline=None)
@given(sizes, st.integers(1, 12), st.integers(0, 5), st.data())
def test_a_subset_is_visited_in_the_order_of_the_whole_data(n, batch, seed, data):
    kept = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    more = {"batch_size": batch, "seed": seed}
    subset = visits(sorted(kept), n, epochs=1, **more)
    # Enough passes over everything to contain what the subset saw.
    passes = ceil(len(subset) / len(kept)) + 1
    full = visits(range(n), n, epochs=passes, **more)
    expected = [i for i in full.tolist() if i in kept][: len(subset)]
    assert subset.tolist() == expected


def test_the_order_of_the_indices_does_not_matter_and_the_seed_does():
    more = {"epochs": 2, "batch_size": 3}
    a = visits([1, 5, 6], 9, seed=0, **more)
    assert (visits([6, 1, 5], 9, seed=0, **more) == a).all()
    assert (visits([1, 5, 6], 9, seed=1, **more) != a).any()


@pytest.mark.parametrize(
    ("indices", "more", "says"),
    [
        ([], {}, "empty"),
        ([0, 9], {}, r"positions in 0\.\.8"),
        ([-1], {}, r"positions in 0\.\.8"),
        ([0.0], {}, "positions"),
        ([0], {"epochs": 0}, "epochs must be at least 1"),
        ([0], {"batch_size": 0}, "batch_size must be at least 1"),
        ([0], {"batch_size": 2.5}, "batch_size must be a whole number"),
        ([0], {"seed": -1}, "seed"),
    ],
)
def test_bad_steps_are_refused(indices, more, says):
    settled = {"epochs": 1, "batch_size": 2, "seed": 0, **more}
    with pytest.raises(InputError, match=says):
        visits(indices, 9, **settled)


X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
PLAN = {"epochs": 4, "batch_size": 8, "seed": 0, "classes": 2}


@pytest.mark.parametrize(
    "model", [SGDClassifier(), MLPClassifier((9,), learning_rate_init=0.05), GaussianNB()]
)
def test_the_target_learns_and_the_estimator_stays_unfitted(model):
    before = model.get_params()
    kept = np.arange(0, 60, 2)
    fitted = train_target(model, X, Y, kept, **PLAN).model
    assert fitted.score(X, Y) > 0.7
    assert fitted is not model
    assert not hasattr(model, "classes_")
    assert model.get_params() == before
    again = train_target(model, X, Y, kept, **PLAN).model
    assert np.array_equal(logits_of(fitted, X), logits_of(again, X))


def test_a_target_without_steps_is_refused():
    with pytest.raises(InputError, match="has no partial_fit"):
        train_target(LogisticRegression(), X, Y, np.arange(60), **PLAN)
