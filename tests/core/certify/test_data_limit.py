"""The limit on ε: near the truth where the detector is good, never under it too often."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import oracles_canaries as oracle
from canary_worlds import World, left_wrong
from dris.core.certify.limits import (
    _outside_limit,
    binomial_limit,
    contamination_limit,
    corruption_limit,
    most_covered,
    most_uncounted,
)
from dris.core.noise.canaries import Canaries, plant_canaries


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 40),
    st.integers(0, 20),
    st.integers(0, 12),
    st.integers(0, 12),
    st.sampled_from([0.01, 0.1, 0.3]),
)
def test_one_cut_rejects_what_trying_every_number_rejects(most, below, above, counted, delta):
    ours = _outside_limit(most, below, above, counted, delta)
    assert ours == oracle.outside_limit(most, below, above, counted, delta)


@pytest.mark.parametrize(("rate", "at_most"), [(0.0, 0.01), (0.1, 0.16), (0.25, 0.34), (0.4, 0.53)])
def test_a_good_detector_gives_a_useful_limit_at_every_known_rate(rate, at_most):
    for seed in range(3):
        world = World(n=20_000, rate=rate, share=0.04, quality=3.0)
        _, canaries, score, _ = world.make(np.random.default_rng(seed))
        limit = corruption_limit(score, canaries, at_most=0.6)
        assert rate <= limit.share <= at_most
        assert not limit.vacuous
        assert limit.outside <= limit.corrupted


def test_a_useless_detector_says_nothing_and_there_is_no_lower_side():
    _, canaries, score, _ = World(quality=0.0).make(np.random.default_rng(0))
    limit = corruption_limit(score, canaries)
    assert limit.vacuous
    assert limit.share == 0.5
    assert "no lower limit can be told" in str(limit)
    assert limit.to_dict()["cut"] is None


def test_equal_scores_are_on_one_side_of_a_cut():
    canaries = plant_canaries(np.arange(1_000) % 4, share=0.2, rng=np.random.default_rng(0))
    flat = corruption_limit(np.zeros(1_000), canaries)
    assert flat.vacuous
    two = corruption_limit(1.0 * ~canaries.mask(), canaries)
    assert two.corrupted < 30


WORLDS = {
    "good detector": World(),
    "poor detector": World(quality=1.0, rate=0.1),
    "nothing wrong": World(rate=0.0, quality=3.0),
    "two classes at 0.1": World(classes=2, rate=0.1, quality=3.0),
    "two classes at 0.4": World(classes=2, rate=0.4, quality=3.0),
    "at 0.4": World(rate=0.4, quality=3.0, n=2_000),
    "two classes, inverted": World(classes=2, rate=0.3, quality=-2.0),
    "few canaries": World(share=0.03, quality=3.0),
    "all certify, keep a quarter": World(share=0.05, choosing=0.0, keep=0.25, rate=0.25),
    "three classes": World(classes=3, rate=0.25, quality=2.5, share=0.2),
}


def failures(world, runs):
    """How often ε exceeds its limit (δ₂), and how often the whole certificate fails (δ)."""
    failed = np.zeros(2, int)
    for seed in range(runs):
        truth, canaries, score, subset = world.make(np.random.default_rng([seed, world.n]))
        result = corruption_limit(score, canaries, delta=0.025)
        whole = contamination_limit(subset, canaries, result, delta=0.05)
        failed[0] += world.wrong > result.corrupted
        failed[1] += left_wrong(truth, canaries, subset) > whole.wrong
    return failed


def check(world, runs):
    over, whole = failures(world, runs)
    # A right level exceeds these with a chance below 1e-6 each.
    assert over <= binom.isf(1e-6, runs, 0.025)
    assert whole <= binom.isf(1e-6, runs, 0.05)


@pytest.mark.parametrize("name", WORLDS)
def test_both_limits_fail_no_more_often_than_promised(name):
    check(WORLDS[name], 40)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_both_limits_fail_no_more_often_than_promised_in_5000_data_sets(name):
    check(WORLDS[name], 500)


def test_the_plain_ratio_without_bands_is_often_under_the_truth():
    world, under, runs = World(quality=2.0, rate=0.3), 0, 100
    for seed in range(runs):
        _, canaries, score, _ = world.make(np.random.default_rng(seed))
        own, others = score[canaries.certifying], score[~canaries.mask()]
        cuts = np.quantile(score, np.arange(0.01, 0.6, 0.01))
        ratios = [(others <= c).mean() / (own <= c).mean() for c in cuts if (own <= c).any()]
        # Even the best ratio has to count the clean below the cut, so look where it is sharp.
        under += min(ratios) < world.rate
    assert under > 3 * binom.isf(1e-6, runs, 0.025)


def by_hand(score, canaries, delta, at_most):
    """The whole limit again, plainly: 0.8 of δ for the cuts, twice 0.1 for where canaries fell."""
    open_ = [i for i in range(len(score)) if canaries.stratum[i] != -1]
    planted, own = set(canaries.positions.tolist()), canaries.certifying.tolist()
    everyone = sorted(score[i] for i in open_)
    cuts = {everyone[percent * len(open_) // 100] for percent in range(1, 61)}
    most = int(at_most * len(open_))
    outside = min(most, len(open_) - len(planted))
    while True:
        counted = len(own) - most_uncounted(canaries, most, 0.1 * delta)
        covered = most_covered(canaries, most, 0.1 * delta)
        for cut in cuts:
            below = sum(score[i] <= cut and i not in planted for i in open_)
            above = sum(score[i] > cut for i in own)
            result = _outside_limit(outside, below, above, counted, 0.8 * delta / len(cuts))
            outside = min(outside, result)
        before, most = most, min(most, outside + covered)
        if before - most <= len(open_) // 1000:
            return most, outside


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("strata", [False, True])
def test_the_limit_is_that_of_the_plain_loop_to_the_last_label(seed, strata):
    rng = np.random.default_rng([seed, strata])
    truth = rng.integers(0, 8, 1_203)
    labels = np.where(rng.random(1_203) < 0.15, rng.integers(0, 8, 1_203), truth)
    avoid = rng.random(1_203) < 0.2 if strata else None
    canaries = plant_canaries(labels, share=0.15, rng=rng, classes=8, avoid=avoid)
    score = rng.normal(size=1_203) - 4.0 * (canaries.planted != truth)
    score = np.round(score, 1)  # with ties
    for delta, at_most in ((0.025, 0.5), (0.1, 0.4), (0.002, 0.5)):
        result = corruption_limit(score, canaries, delta=delta, at_most=at_most)
        assert (result.corrupted, result.outside) == by_hand(score, canaries, delta, at_most)
        assert result.corrupted < at_most * result.total
    assert corruption_limit(score, canaries) == corruption_limit(
        score, canaries, delta=0.025, at_most=0.5
    )


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
        part = c.certifying
        on_wrong = (given != truth)[part]
        not_counting = on_wrong & ((c.planted == truth)[part] | (c.uncounted_chance == 1.0))
        failed[0] += not_counting.sum() > most_uncounted(c, 300, delta)
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


def test_canaries_that_do_not_count_are_those_on_wrong_labels_that_the_flip_restores():
    labels = np.arange(2_000) % 10
    canaries = plant_canaries(labels, share=0.2, rng=np.random.default_rng(0))
    m = canaries.certifying.size
    restores = canaries.uncounted_chance
    assert restores == pytest.approx(1 / 9)
    for wrong in (0, 1, 500, 2_000):
        share = min(1.0, m / 2_000 * wrong / m)
        assert most_uncounted(canaries, wrong, 0.01) == binomial_limit(m, share * restores, 0.01)
        assert most_covered(canaries, wrong, 0.01) == binomial_limit(
            2 * m, 2 * m / 2_000 * wrong / (2 * m), 0.01
        )
    assert most_uncounted(canaries, 0, 0.01) == 0


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
