"""The canaries' limits on proxies that were really trained: 200 data sets of digits."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from canary_worlds import kept, left_wrong
from dris.core.certify.data_limit import corruption_limit
from dris.core.certify.subset_limit import contamination_limit
from dris.core.noise.canaries import plant_canaries

RATES = (0.0, 0.1, 0.25, 0.4)


@cache
def digits():
    x, y = load_digits(return_X_y=True)
    return x / 16.0, y


def logits(rows, labels):
    """A short logistic regression on these rows, asked about all of them."""
    x, _ = digits()
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(max_iter=10).fit(x[rows], labels[rows])
    return model.decision_function(x)


@cache
def pilots_top_two():
    x, y = digits()
    return np.argsort(-logits(np.arange(len(x)), y), axis=1)[:, :2]


def attacked(rng, rate, kind):
    _, truth = digits()
    labels = truth.copy()
    at = rng.choice(truth.size, int(rate * truth.size), replace=False)
    if kind == "uniform":
        labels[at] = (labels[at] + rng.integers(1, 10, at.size)) % 10
    else:
        top, second = pilots_top_two()[at].T
        labels[at] = np.where(second == truth[at], top, second)
    return labels


def mean_margin(labels, rng):
    """Of two proxies, each trained on a random half: the label's logit less the largest other."""
    total, rows = np.zeros(labels.size), np.arange(labels.size)
    for half in np.array_split(rng.permutation(labels.size), 2):
        z = logits(half, labels)
        own = z[rows, labels].copy()
        z[rows, labels] = -np.inf
        total += own - z.max(axis=1)
    return total / 2


def run(seed):
    """One data set: whether ε and the contamination exceed their limits, and by which numbers."""
    rng = np.random.default_rng([seed, 200])
    rate, kind = RATES[seed % 4], "uniform" if seed % 8 < 4 else "confusable"
    labels, truth = attacked(rng, rate, kind), digits()[1]
    more = {"top_two": pilots_top_two()} if kind == "confusable" else {}
    canaries = plant_canaries(labels, share=0.1, kind=kind, rng=rng, **more)
    score = mean_margin(canaries.planted, rng)
    subset = kept(score, 0.5)
    result = corruption_limit(score, canaries.certifying, delta=0.025)
    limit = contamination_limit(subset, canaries.certifying, result, delta=0.05)
    wrong = left_wrong(truth, canaries, subset)
    return (
        (labels != truth).sum() > result.corrupted,
        wrong > limit.wrong,
        result.share,
        wrong / limit.left,
        limit.share,
    )


@pytest.mark.slow
def test_the_limits_hold_on_200_trained_data_sets_and_say_something():
    runs = 200
    results = np.array([run(seed) for seed in range(runs)], dtype=float)
    # A right level exceeds these with a chance below 1e-4 each.
    assert results[:, 0].sum() <= binom.isf(1e-4, runs, 0.025)
    assert results[:, 1].sum() <= binom.isf(1e-4, runs, 0.05)
    uniform = np.arange(runs) % 8 < 4
    for rate, ceiling in zip(RATES[:3], (0.03, 0.2, 0.42), strict=True):
        here = uniform & (np.array(RATES)[np.arange(runs) % 4] == rate)
        assert rate <= np.median(results[here, 2]) <= ceiling
        assert np.median(results[here, 4]) <= 0.1  # of a subset of a half


def test_canaries_of_another_attacker_would_be_seen_to_fail():
    """Uniform canaries, but wrong labels to which the detector is blind."""
    failed = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 201])
        labels = attacked(rng, 0.25, "uniform")
        canaries = plant_canaries(labels, share=0.1, rng=rng)
        score = mean_margin(canaries.planted, rng)
        hidden = labels != digits()[1]
        score[hidden] = rng.choice(score[~hidden & ~canaries.mask()], hidden.sum())
        subset = kept(score, 0.5)
        result = corruption_limit(score, canaries.certifying, delta=0.025)
        limit = contamination_limit(subset, canaries.certifying, result, delta=0.05)
        failed += left_wrong(digits()[1], canaries, subset) > limit.wrong
    assert failed >= 10
