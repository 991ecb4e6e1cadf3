"""Suspects, their plausibility, and lost classes: worked by hand, with a twin each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, mannwhitneyu

from dris.core.checks.assumption_checks import (
    _chance_of_more,
    binomial_p,
    classes_survive,
    errors_go_both_ways,
    estimate_suspect_share,
    kinds_alike,
    no_milder_than_planted,
    noise_like_planted,
    plausibility,
    starved_class,
)
from dris.core.checks.diagnostics import auroc
from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.assessment import contradicted_by_most

PLANTED = np.arange(400) < 50
DOUBTED = np.arange(400) < 150


def test_half_of_the_proxies_are_enough_to_doubt():
    right = np.array([[True, True, False], [True, False, False]])
    assert contradicted_by_most(right).tolist() == [False, True, True]


def test_hidden_canaries_are_taken_out_of_the_doubted_share():
    # 50 known canaries, all doubted; 100 of 350 others are, 50 of them hidden canaries.
    assert estimate_suspect_share(DOUBTED, PLANTED, hidden=50) == pytest.approx(50 / 300)
    assert estimate_suspect_share(DOUBTED, PLANTED, hidden=0) == pytest.approx(100 / 350)


def plausible_of(probabilities, labels, classes):
    d = Dynamics.from_probabilities(probabilities, labels)
    return plausibility(d.snapshot("loss"), d.snapshot("margin"), classes)


def test_plausibility_is_the_labels_part_of_what_the_favourite_leaves():
    p = np.array([[[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]])
    # By proxy: 0.3/0.4 and 0.1/0.2 for label 1; label 2 is right for the second proxy.
    assert plausible_of(p, [1, 2], 3) == pytest.approx([0.625, 0.25], abs=1e-6)


def test_plausibility_of_a_random_class_does_not_depend_on_how_hard_the_example_is():
    sure, unsure = [0.98, 0.01, 0.01], [0.4, 0.3, 0.3]
    check = plausible_of(np.array([[sure, unsure]]), [1, 1], 3)
    assert check == pytest.approx([0.5, 0.5], abs=1e-5)


def test_with_two_classes_plausibility_is_the_margin():
    check = plausible_of(np.array([[[0.9, 0.1], [0.6, 0.4]]]), [1, 1], 2)
    assert check == pytest.approx(np.log([1 / 9, 2 / 3]), abs=1e-5)


def test_plausibility_is_nan_where_every_proxy_prefers_the_label():
    assert np.isnan(plausible_of(np.array([[[0.9, 0.05, 0.05]]]), [0], 3)).all()


@settings(deadline=None)
@given(st.lists(st.floats(-30, 30), min_size=3, max_size=6), st.integers(0, 2))
def test_plausibility_is_in_zero_to_one_for_any_logits(logits, label):
    d = Dynamics.from_logits(np.array([[logits]]), [label])
    check = plausibility(d.snapshot("loss"), d.snapshot("margin"), len(logits))
    assert np.isnan(check[0]) or 0 <= check[0] <= 1


@pytest.mark.parametrize("check", [noise_like_planted, no_milder_than_planted])
def test_labels_milder_than_planted_ones_fail_and_alike_ones_do_not(check):
    rng = np.random.default_rng(0)
    value = rng.normal(size=400)
    assert check(DOUBTED, value, PLANTED, 0.3, 0.01).outcome != "fails"
    check = check(DOUBTED, value + ~PLANTED, PLANTED, 0.3, 0.01)
    assert check.outcome == "fails"
    assert check.number > 0.6


@pytest.mark.parametrize("check", [noise_like_planted, no_milder_than_planted])
def test_few_doubted_labels_cannot_tell(check):
    value = np.where(PLANTED, 0.0, 1.0)
    assert check(DOUBTED, value, PLANTED, 0.04, 0.01).outcome == "cannot tell"
    assert check(DOUBTED & ~PLANTED, value, PLANTED, 0.3, 0.01).outcome == "cannot tell"
    assert check(DOUBTED, value, PLANTED, 0.3, 0.01).outcome == "fails"


def test_without_a_sign_natural_noise_cannot_be_ruled_out():
    value = np.random.default_rng(1).normal(size=400)
    assert noise_like_planted(DOUBTED, value, PLANTED, 0.3, 0.01).outcome == "cannot tell"
    assert no_milder_than_planted(DOUBTED, value, PLANTED, 0.3, 0.01).outcome == "holds"


def test_the_number_is_the_share_of_pairs_won():
    value = np.random.default_rng(2).integers(0, 5, size=400).astype(float)
    known, others = value[:50], value[50:150]
    pairs = [(o > k) + 0.5 * (o == k) for o in others for k in known]
    check = noise_like_planted(DOUBTED, value, PLANTED, 0.3, 0.01)
    assert check.number == pytest.approx(np.mean(pairs))


def test_alike_labels_seldom_fail():
    """P(fails) ≤ 0.05 at level 0.05, so of 400 more than 35 fail with P < 0.001."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(400, 400))
    alarms = [noise_like_planted(DOUBTED, v, PLANTED, 0.3, 0.05).outcome for v in values]
    assert alarms.count("fails") <= 35
    milder = [
        noise_like_planted(DOUBTED, v + 0.5 * ~PLANTED, PLANTED, 0.3, 0.05).outcome
        for v in values[:50]
    ]
    assert milder.count("fails") > 35  # the twin: half a standard deviation is seen


def _overlapping(seed, *, classes=3, n=900, noise="none"):
    """Classes that overlap along a line, what a calibrated stranger says, and given labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    x = truth + rng.normal(scale=0.5, size=n)
    p = np.exp(-((x[:, None] - np.arange(classes)) ** 2) / 0.5)
    p /= p.sum(axis=1, keepdims=True)
    wrong, given = rng.random(n), truth.copy()
    if noise == "uniform":
        at = wrong < 0.2
        given[at] = (truth[at] + rng.integers(1, classes, int(at.sum()))) % classes
    elif noise == "one way":
        at = (wrong < 0.35) & (truth == 1)
        given[at] = 0
    elif noise == "confusable":  # to the runner-up, where the two are close
        order = np.argsort(p, axis=1)
        close = p[np.arange(n), order[:, -1]] < 0.8
        at = close & (wrong < 0.7)
        given[at] = np.where(order[at, -1] == truth[at], order[at, -2], order[at, -1])
    return p, given, np.zeros(n, dtype=np.bool_)


@pytest.mark.parametrize(("classes", "power"), [(2, 95), (3, 95), (5, 60)])
def test_one_way_errors_are_noticed_and_clean_or_random_ones_set_off_few_alarms(classes, power):
    fails = {
        noise: sum(
            errors_go_both_ways(*_overlapping(seed, classes=classes, noise=noise)).outcome
            == "fails"
            for seed in range(100)
        )
        for noise in ("none", "uniform", "one way", "confusable")
    }
    assert fails["none"] <= 5
    assert fails["uniform"] <= 5
    assert fails["one way"] >= power  # the twin: it can fail
    if classes == 2:
        assert fails["confusable"] <= 5  # what it cannot see: errors that go both ways


def test_the_binomial_p_is_scipys():
    for hits, of, share in ((0, 5, 0.5), (3, 40, 0.2), (20, 40, 0.45), (700, 1000, 0.6)):
        by_hand = float(binomtest(hits, of, share).pvalue)
        assert binomial_p(hits, of, share) == pytest.approx(by_hand, rel=1e-6)


def test_without_folds_or_sure_errors_nothing_is_said_about_directions():
    labels, none = np.repeat([0, 1], 100), np.zeros(200, dtype=np.bool_)
    assert errors_go_both_ways(None, labels, none).outcome == "cannot tell"
    p = np.eye(2)[labels]
    assert errors_go_both_ways(p, labels, none).outcome == "cannot tell"
    wrong = labels.copy()
    wrong[:40] = 1
    check = errors_go_both_ways(p, wrong, none)
    assert check.outcome == "fails"
    assert all(f"of 30 that are surely {c}, {n} " in check.reason for c, n in ((1, 0), (0, 30)))
    assert "audit" in check.reason
    wrong[100:140] = 0  # as many the other way
    both = errors_go_both_ways(p, wrong, none)
    assert (both.outcome, "audit" in both.reason) == ("holds", False)
    wrong[100:140] = 1
    assert errors_go_both_ways(p, wrong, np.arange(200) < 40).outcome == "cannot tell"  # canaries


def test_kinds_that_pass_at_different_rates_fail():
    assert kinds_alike((3, 100), (5, 100), 0.01).outcome == "holds"
    check = kinds_alike((0, 4), (4, 4), 0.05)
    assert (check.outcome, check.number) == ("fails", 1.0)  # Fisher: 2/70, the two extremes
    assert kinds_alike((0, 4), (4, 4), 0.02).outcome == "holds"
    check = kinds_alike((1, 4), (3, 4), 0.05)
    assert (check.number, check.threshold) == (0.5, 0.0)  # a quarter beside three
    assert "p = 0.49" in check.reason  # Fisher: (16 + 1) · 2 of 70 tables are as far apart


def test_a_class_too_small_for_this_fraction_fails():
    labels = np.r_[np.zeros(88, dtype=int), np.ones(12, dtype=int)]
    check = classes_survive(labels, 0.25)
    assert (check.outcome, check.number) == ("fails", 3)
    assert "class 1 has 12" in check.reason
    assert classes_survive(labels, 0.5).outcome == "holds"


def test_a_class_with_four_kept_examples_starves_and_five_are_a_handful():
    labels = np.arange(100) % 2
    even = labels == 0
    assert starved_class(even | (np.arange(100) < 8), labels) == (1, 4)
    assert starved_class(even | (np.arange(100) < 10), labels) is None


@pytest.mark.parametrize("rounded", [False, True], ids=["no ties", "ties"])
@pytest.mark.parametrize(("m", "n"), [(5, 30), (30, 40), (200, 25)])
def test_the_rank_test_is_scipys(m, n, rounded):
    rng = np.random.default_rng(m + n)
    others, known = rng.normal(size=m) + 0.4, rng.normal(size=n)
    if rounded:
        others, known = others.round(1), known.round(1)
    number = auroc(np.r_[others, known], np.arange(m + n) < m)
    theirs = mannwhitneyu(others, known, alternative="greater").pvalue
    assert _chance_of_more(number, others, known) == pytest.approx(theirs, rel=1e-10)
    other_side = mannwhitneyu(others, known, alternative="less").pvalue
    assert other_side != pytest.approx(theirs, rel=1e-3)  # the twin: there are two sides


def test_where_all_values_tie_nothing_is_more_plausible():
    assert _chance_of_more(0.5, np.ones(10), np.ones(12)) == 1.0
    barely = np.r_[np.ones(11), 2.0]
    assert 0 < _chance_of_more(0.5, np.ones(10), barely) < 1
