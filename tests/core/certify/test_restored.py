"""Canaries on wrong labels: the limit on them holds wherever the wrong labels are."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import oracles_canaries as oracle
from dris.core.certify.restored import binomial_limit, covered_limit, restored_limit
from dris.core.noise.canaries import plant_canaries


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 60),
    st.sampled_from([0.0, 0.01, 0.1, 0.5, 0.9, 1.0]),
    st.sampled_from([1e-4, 0.01, 0.2]),
)
def test_chernoffs_limit_is_safe_and_not_far_from_the_exact_one(trials, chance, delta):
    limit = binomial_limit(trials, chance, delta)
    assert 0 <= limit <= trials
    assert oracle.binomial_tail(trials, Fraction(str(chance)), limit) <= Fraction(str(delta))
    exact = next(k for k in range(trials + 1) if binom.sf(k, trials, chance) <= delta)
    assert limit <= exact + 2 + 0.15 * trials


CASES = {
    "uniform, two classes": (2, "uniform", {}),
    "uniform, five classes": (5, "uniform", {}),
    "hard": (3, "hard", {"gap": np.arange(1000.0), "hardest": 0.4}),
    "matrix": (2, "matrix", {"matrix": [[0.5, 0.5], [0.1, 0.9]]}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("where", ["first", "anywhere", "one class"])
def test_the_limit_holds_wherever_the_wrong_labels_are(case, where):
    classes, kind, more = CASES[case]
    truth, runs, delta = np.arange(1000) % classes, 200, 0.05
    order = {
        "first": np.arange(1000),
        "anywhere": np.random.default_rng(3).permutation(1000),
        "one class": np.argsort(truth == 1, kind="stable"),
    }[where]
    given = truth.copy()
    given[order[:300]] = (given[order[:300]] + 1) % classes
    failed = np.zeros(2, int)
    for seed in range(runs):
        c = plant_canaries(given, share=0.1, kind=kind, rng=np.random.default_rng(seed), **more)
        part = c.certifying.positions
        on_wrong = (given != truth)[part]
        not_counting = on_wrong & ((c.planted == truth)[part] | (c.restores == 1.0))
        failed[0] += not_counting.sum() > restored_limit(c.certifying, 300, delta)
        failed[1] += (given != truth)[c.positions].sum() > covered_limit(c, 300, delta)
    assert failed.max() <= binom.isf(1e-6, runs, delta)  # each a false alarm once in 10^6


def test_the_limit_would_be_seen_to_fail_if_it_were_the_mean():
    truth = np.arange(1000) % 2
    given = np.where(np.arange(1000) < 300, 1 - truth, truth)
    restored = [
        (plant_canaries(given, share=0.1, rng=np.random.default_rng(s)).planted == truth)[
            :300
        ].sum()
        for s in range(300)
    ]
    assert (np.array(restored) > 30).mean() > 0.2  # against 0.05: the mean is no limit
