"""Canaries on wrong labels: the limit on them holds wherever the wrong labels are."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import oracles_canaries as oracle
from dris.core.certify.data_limit import _log_tail, binomial_limit, most_covered, most_uncounted
from dris.core.noise.canaries import Canaries, plant_canaries


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
        not_counting = on_wrong & ((c.planted == truth)[part] | (c.uncounted_chance == 1.0))
        failed[0] += not_counting.sum() > most_uncounted(c.certifying, 300, delta)
        failed[1] += (given != truth)[c.positions].sum() > most_covered(c, 300, delta)
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


@pytest.mark.parametrize("chance", [0.0, 0.03, 0.25, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("delta", [1e-4, 0.05, 0.5])
def test_chernoffs_limit_is_the_first_that_his_bound_allows(chance, delta):
    for trials in (1, 2, 3, 7, 40):
        allowed = [
            k for k in range(trials + 1) if log_bound(trials, chance, k + 1) <= math.log(delta)
        ]
        assert binomial_limit(trials, chance, delta) == min(allowed)


def log_bound(trials, chance, at_least):
    """-n·KL(k/n ‖ p) above the mean, 0 up to it; more than all cannot be."""
    if at_least > trials:
        return -math.inf
    share = at_least / trials
    if share <= chance:
        return 0.0
    if chance == 0.0:
        return -math.inf
    kept = 0.0 if share == 1 else (1 - share) * math.log((1 - share) / (1 - chance))
    return -trials * (share * math.log(share / chance) + kept)


def test_the_bound_on_all_is_their_exact_chance_and_up_to_the_mean_there_is_none():
    assert _log_tail(4, 0.5, 4) == 4 * math.log(0.5)
    assert _log_tail(10, 0.5, 5) == _log_tail(10, 0.5, 3) == 0.0
    assert binomial_limit(1, 0.5, 0.5) == 0  # a chance of exactly δ is allowed


def test_canaries_that_do_not_count_are_those_on_wrong_labels_that_the_flip_restores():
    labels = np.arange(2_000) % 10
    part = plant_canaries(labels, share=0.2, rng=np.random.default_rng(0)).certifying
    m = part.positions.size
    restores = part.canaries.uncounted_chance
    assert restores == pytest.approx(1 / 9)
    for wrong in (0, 1, 500, 2_000):
        share = min(1.0, m / 2_000 * wrong / m)
        assert most_uncounted(part, wrong, 0.01) == binomial_limit(m, share * restores, 0.01)
        assert most_covered(part.canaries, wrong, 0.01) == binomial_limit(
            2 * m, 2 * m / 2_000 * wrong / (2 * m), 0.01
        )
    assert most_uncounted(part, 0, 0.01) == 0


def test_wrong_labels_are_put_where_canaries_are_densest():
    """One stratum is a single canary, one half canaries, one has none."""
    canaries = Canaries(
        planted=np.zeros(9),
        given=np.zeros(9),
        positions=np.array([0, 1, 2]),
        certifies=np.ones(3, dtype=bool),
        stratum=np.array([0, 1, 1, 1, 1, 2, 2, 2, -1]),
        uncounted_chance=1.0,
        kind="uniform",
        parameters={},
    )
    for wrong, expected in ((0, 0.0), (1, 1.0), (2, 1.5), (5, 3.0), (8, 3.0)):
        result = most_covered(canaries, wrong, 0.2)
        assert result == binomial_limit(3, expected / 3, 0.2), wrong
