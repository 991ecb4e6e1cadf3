"""Every check worked by hand, with a twin that fails, and against loops and SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb
from scipy.stats import binom, spearmanr

from dris.core.checks import assumption_checks as checks
from dris.core.dynamics.dynamics import Dynamics
from dris.core.scores.ranks import normalized_ranks

PLANTED = np.arange(100) < 20
FIFTY, DOUBTED = np.arange(400) < 50, np.arange(400) < 150


def test_planted_labels_in_the_upper_half_hold_and_a_third_of_them_below_fail():
    ranks = np.full((3, 100), 0.3)
    ranks[:, :20] = 0.9
    assert checks.rank_concentration(ranks, PLANTED).outcome == "holds"
    ranks[0, :20] = 0.2  # one proxy of three ranks them low: unstable
    check = checks.rank_concentration(ranks, PLANTED)
    assert (check.outcome, check.number) == ("fails", pytest.approx(2 / 3))


def test_concentration_is_judged_at_nine_in_ten():
    ranks = np.full((1, 100), 0.3)
    ranks[0, :18] = 0.5
    assert checks.rank_concentration(ranks, PLANTED).outcome == "holds"
    ranks[0, 17] = 0.49
    assert checks.rank_concentration(ranks, PLANTED).outcome == "fails"


@pytest.mark.parametrize(
    "check", [checks.rank_concentration, lambda r, p: checks.enough_boundary(r[0], p, 0.5)]
)
def test_nineteen_canaries_cannot_tell(check):
    assert check(np.ones((2, 100)), np.arange(100) < 19).outcome == "cannot tell"
    assert check(np.ones((2, 100)), np.arange(100) < 20).outcome != "cannot tell"


def test_a_spike_at_zero_fails_and_one_moving_rank_in_ten_holds():
    variance = np.zeros(100)
    assert checks.rank_spread(variance, PLANTED).outcome == "fails"
    variance[20:28] = 0.051**2
    assert checks.rank_spread(variance, PLANTED).outcome == "holds"
    variance[27] = 0.049**2
    assert checks.rank_spread(variance, PLANTED).outcome == "fails"


def test_the_spread_of_canaries_does_not_count():
    assert checks.rank_spread(np.where(PLANTED, 0.1, 0.0), PLANTED).number == 0


def test_the_boundary_is_what_varies_more_than_nine_in_ten_canaries():
    variance = np.zeros(100)
    variance[:20] = np.arange(20) / 1000  # 18 of 20 are at most 0.017
    variance[20:60] = 0.0175
    check = checks.enough_boundary(variance, PLANTED, keep=0.5)
    assert (check.outcome, check.number) == ("holds", 0.5)
    assert checks.enough_boundary(variance, PLANTED, keep=0.51).outcome == "fails"
    variance[20:60] = 0.0165
    assert checks.enough_boundary(variance, PLANTED, keep=0.5).outcome == "fails"


def tail(x, n, m, size):
    """P(X ≥ x), X of the m marked among `size` drawn from n, term by term."""
    ways = [comb(m, i, exact=True) * comb(n - m, size - i, exact=True) for i in range(x, m + 1)]
    return sum(ways) / comb(n, size, exact=True)


@pytest.mark.parametrize("x", range(0, 21))
def test_inversion_is_the_exact_test_term_by_term(x):
    chosen = np.zeros(100, dtype=bool)
    chosen[:x] = True
    chosen[20 : 20 + 25 - x] = True
    check = checks.not_inverted(chosen, PLANTED, level=0.01)
    collects, rejects = tail(x, 100, 20, 25), 1 - tail(x + 1, 100, 20, 25)
    expected = "fails" if collects <= 0.01 else "holds" if rejects <= 0.01 else "cannot tell"
    assert check.outcome == expected
    assert check.number == pytest.approx(x / 5)
    assert f"p = {min(collects, rejects):.2g}" in check.reason
    if x in (0, 5, 15):
        assert expected == {0: "holds", 5: "cannot tell", 15: "fails"}[x]


def test_contested_examples_are_those_right_once_and_wrong_once():
    correct = np.ones((2, 3, 400), dtype=bool)
    planted = np.arange(400) >= 200
    assert checks.disagreement_matters(correct, planted).outcome == "fails"
    correct[1, 2, 0] = False
    assert checks.disagreement_matters(correct, planted).outcome == "holds"  # one of two hundred
    correct[:, :, 0] = False  # never right: not contested, only wrong
    assert checks.disagreement_matters(correct, planted).outcome == "fails"


def test_contested_canaries_do_not_count():
    correct = np.ones((2, 1, 400), dtype=bool)
    correct[0, 0, 200:] = False
    assert checks.disagreement_matters(correct, np.arange(400) >= 200).number == 0


def losses(proxies=3, n=400, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=n) + noise * rng.normal(size=(proxies, n))


def test_a_missing_proxy_is_counted_and_named():
    check = checks.proxies_complete({"missing": ["proxy 1 diverged"]}, 2)
    assert (check.outcome, check.number, check.threshold) == ("fails", 2, 3)
    assert "proxy 1" in check.reason
    assert checks.proxies_complete({}, 3).outcome == "holds"


def test_copies_fail_and_are_named():
    rows = losses()
    assert checks.proxies_differ(rows).outcome == "holds"
    rows[2] = rows[0] * 2  # the same ranks
    check = checks.proxies_differ(rows)
    assert (check.outcome, check.number) == ("fails", 0)
    assert "proxies 0 and 2" in check.reason


def test_a_constant_answer_is_at_chance_whatever_the_class_sizes():
    labels = np.r_[np.zeros(90, dtype=int), np.ones(10, dtype=int)]
    constant = labels == 0  # right for nine in ten examples
    good = np.ones(100, dtype=bool)
    check = checks.proxies_above_chance(np.array([good, constant]), labels)
    assert (check.outcome, check.number) == ("fails", 0.5)
    assert "proxy 1" in check.reason
    assert checks.proxies_above_chance(np.array([good, good]), labels).outcome == "holds"


def test_one_shuffled_or_reversed_proxy_does_not_agree():
    rows = losses()
    assert checks.proxies_agree(normalized_ranks(rows)).outcome == "holds"
    for broken in (-rows[1], np.zeros(400)):
        check = checks.proxies_agree(normalized_ranks(np.array([rows[0], broken, rows[2]])))
        assert check.outcome == "fails"
        assert "proxy 1" in check.reason


def memorised(known, m=40, n=200, classes=10, rest=1.0):
    right = np.zeros((3, n), dtype=bool)
    right[:, :known] = True
    right[:, m : m + round(rest * (n - m))] = True
    return checks.not_memorised(right, np.arange(n) < m, classes, 0.01)


@pytest.mark.parametrize("known", range(0, 41, 4))
def test_memorising_is_the_exact_binomial_test(known):
    above, below = binom.sf(known - 1, 40, 0.5), binom.cdf(known, 40, 0.5)
    expected = "fails" if above <= 0.01 else "holds" if below <= 0.01 else "cannot tell"
    assert memorised(known).outcome == expected
    assert memorised(known, m=19).outcome == "cannot tell"
    if known in (0, 20, 40):
        assert expected == {0: "holds", 20: "cannot tell", 40: "fails"}[known]


@pytest.mark.parametrize(("proxies", "knowing", "share"), [(3, 1, 0), (3, 2, 1), (2, 1, 0)])
def test_more_than_half_of_the_proxies_decide_whether_a_label_is_known(proxies, knowing, share):
    planted = np.arange(200) < 40
    right = np.ones((proxies, 200), dtype=bool)
    right[knowing:, :40] = False
    assert checks.not_memorised(right, planted, 10, 0.01).number == share


def test_the_threshold_is_half_of_what_the_rest_reaches_but_never_below_chance():
    assert memorised(0, rest=0.6).threshold == pytest.approx(0.3)
    assert memorised(0, rest=0.6, classes=2).threshold == 0.5


def test_copies_differ_by_less_than_a_hundredth_of_a_rank():
    """Swapping neighbours among 100 examples moves the mean rank by 2/100² each."""

    def swapped(pairs):
        order = np.arange(100.0)
        for k in range(pairs):
            order[2 * k], order[2 * k + 1] = order[2 * k + 1], order[2 * k]
        return checks.proxies_differ(np.stack([np.arange(100.0), order]))

    assert (checks.COPIES, swapped(50).number) == (0.01, pytest.approx(0.01))
    assert swapped(49).outcome == "fails"
    exactly = checks.proxies_differ(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert (exactly.number, exactly.threshold, exactly.outcome) == (0.5, 0.01, "holds")


def test_a_difference_of_exactly_the_threshold_is_no_copy(monkeypatch):
    monkeypatch.setattr("dris.core.checks.assumption_checks.COPIES", 0.125)
    check = checks.proxies_differ(np.array([[1.0, 2, 3, 4], [2.0, 1, 3, 4]]))
    assert (check.outcome, check.number) == ("holds", 0.125)  # the mean distance of ranks


def test_above_chance_is_a_twentieth_of_the_way_to_perfect_for_classes_that_weigh_alike():
    labels = np.r_[np.zeros(30, dtype=int), np.ones(60, dtype=int), np.full(10, 2)]

    def accuracy(*shares):
        """One proxy right on these shares of the classes, another that is always right."""
        right = np.concatenate(
            [np.arange(n) < round(s * n) for n, s in zip((30, 60, 10), shares, strict=True)]
        )
        return checks.proxies_above_chance(np.stack([right, np.ones(100, dtype=bool)]), labels)

    check = accuracy(0.5, 0.1, 0.6)
    assert check.number == pytest.approx(0.4)
    assert check.threshold == pytest.approx(1 / 3 + 0.05 * 2 / 3)
    assert (check.outcome, accuracy(1.0, 0.0, 0.0).outcome) == ("holds", "fails")
    assert "proxy 0 is the worst" in check.reason


def test_exactly_at_the_threshold_is_not_above_chance(monkeypatch):
    monkeypatch.setattr("dris.core.checks.assumption_checks.ABOVE_CHANCE", 0.5)
    labels = np.array([0, 0, 1, 1])  # two classes: the threshold is 0.75
    right = np.array([[True, True, True, False], [True] * 4])
    assert checks.proxies_above_chance(right, labels).outcome == "fails"
    assert checks.proxies_above_chance(right[1:], labels).outcome == "holds"


def test_agreement_is_enough_from_a_twentieth_on(monkeypatch):
    assert (checks.AGREEMENT, checks.ABOVE_CHANCE) == (0.05, 0.05)
    ranks = normalized_ranks(losses(proxies=4))
    number = checks.proxies_agree(ranks).number
    others = [np.delete(ranks, k, axis=0).mean(axis=0) for k in range(4)]
    assert checks.proxies_agree(ranks[:2]).number == pytest.approx(spearmanr(*ranks[:2]).statistic)
    assert number == pytest.approx(
        min(np.corrcoef(ranks[k], others[k])[0, 1] for k in range(4)), abs=1e-12
    )
    monkeypatch.setattr("dris.core.checks.assumption_checks.AGREEMENT", number)
    assert checks.proxies_agree(ranks).outcome == "holds"
    monkeypatch.setattr("dris.core.checks.assumption_checks.AGREEMENT", number + 1e-9)
    assert checks.proxies_agree(ranks).outcome == "fails"


def test_a_constant_proxy_correlates_with_nothing():
    check = checks.proxies_agree(np.array([[0.5, 0.5, 0.5], [0.25, 0.5, 1.0]]))
    assert (check.number, check.outcome) == (0.0, "fails")
    tiny = np.array([[0.25, 0.5], [0.25, 0.5]])  # a scale below one is a scale
    assert checks.proxies_agree(tiny).number == pytest.approx(1.0)


def test_the_memorising_test_counts_the_number_itself_and_decides_at_the_level():
    planted = np.arange(120) < 20
    right = np.zeros((3, 120), dtype=bool)
    right[:, 20:] = True
    right[:, :14] = True  # 14 of 20 known, the threshold is a half
    above = float(binom.sf(13, 20, 0.5))
    assert checks.not_memorised(right, planted, 10, above).outcome == "fails"
    assert checks.not_memorised(right, planted, 10, above * 0.999).outcome == "cannot tell"
    right[:, 6:20] = False  # 6 of 20
    below = float(binom.cdf(6, 20, 0.5))
    assert checks.not_memorised(right, planted, 10, below).outcome == "holds"
    assert checks.not_memorised(right, planted, 10, below * 0.999).outcome == "cannot tell"


def test_hidden_canaries_are_taken_out_of_the_doubted_share():
    # 50 known canaries, all doubted; 100 of 350 others are, 50 of them hidden canaries.
    assert checks.estimate_suspect_share(DOUBTED, FIFTY, hidden=50) == pytest.approx(50 / 300)
    assert checks.estimate_suspect_share(DOUBTED, FIFTY, hidden=0) == pytest.approx(100 / 350)


def plausible_of(probabilities, labels, classes):
    d = Dynamics.from_probabilities(probabilities, labels)
    return checks.plausibility(d.snapshot("loss"), d.snapshot("margin"), classes)


def test_plausibility_is_the_labels_part_of_what_the_favourite_leaves_or_the_margin_of_two():
    p = np.array([[[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]])
    # By proxy: 0.3/0.4 and 0.1/0.2 for label 1; label 2 is right for the second proxy.
    assert plausible_of(p, [1, 2], 3) == pytest.approx([0.625, 0.25], abs=1e-6)
    sure, unsure, right = [0.98, 0.01, 0.01], [0.4, 0.3, 0.3], [0.05, 0.9, 0.05]
    of_any = plausible_of(np.array([[sure, unsure, right]]), [1, 1, 1], 3)
    assert of_any == pytest.approx([0.5, 0.5, np.nan], abs=1e-5, nan_ok=True)
    two = plausible_of(np.array([[[0.9, 0.1], [0.6, 0.4]]]), [1, 1], 2)
    assert two == pytest.approx(np.log([1 / 9, 2 / 3]), abs=1e-5)


@settings(deadline=None)
@given(st.lists(st.floats(-30, 30), min_size=3, max_size=6), st.integers(0, 2))
def test_plausibility_is_in_zero_to_one_for_any_logits(logits, label):
    d = Dynamics.from_logits(np.array([[logits]]), [label])
    check = checks.plausibility(d.snapshot("loss"), d.snapshot("margin"), len(logits))
    assert np.isnan(check[0]) or 0 <= check[0] <= 1


@pytest.mark.parametrize("check", [checks.noise_like_planted, checks.no_milder_than_planted])
def test_labels_milder_than_planted_ones_fail_and_alike_ones_do_not(check):
    rng = np.random.default_rng(0)
    value = rng.normal(size=400)
    assert check(DOUBTED, value, FIFTY, 0.3, 0.01).outcome != "fails"
    check = check(DOUBTED, value + ~FIFTY, FIFTY, 0.3, 0.01)
    assert check.outcome == "fails"
    assert check.number > 0.6


@pytest.mark.parametrize("check", [checks.noise_like_planted, checks.no_milder_than_planted])
def test_few_doubted_labels_cannot_tell(check):
    value = np.where(FIFTY, 0.0, 1.0)
    assert check(DOUBTED, value, FIFTY, 0.04, 0.01).outcome == "cannot tell"
    assert check(DOUBTED & ~FIFTY, value, FIFTY, 0.3, 0.01).outcome == "cannot tell"
    assert check(DOUBTED, value, FIFTY, 0.3, 0.01).outcome == "fails"


def test_without_a_sign_natural_noise_cannot_be_ruled_out():
    value = np.random.default_rng(1).normal(size=400)
    assert checks.noise_like_planted(DOUBTED, value, FIFTY, 0.3, 0.01).outcome == "cannot tell"
    assert checks.no_milder_than_planted(DOUBTED, value, FIFTY, 0.3, 0.01).outcome == "holds"


def test_the_number_is_the_share_of_pairs_won():
    value = np.random.default_rng(2).integers(0, 5, size=400).astype(float)
    known, others = value[:50], value[50:150]
    pairs = [(o > k) + 0.5 * (o == k) for o in others for k in known]
    check = checks.noise_like_planted(DOUBTED, value, FIFTY, 0.3, 0.01)
    assert check.number == pytest.approx(np.mean(pairs))


def _overlapping(seed, *, classes=3, n=900, noise="none"):
    """Classes that overlap along a line: a calibrated guess, how sure it is, and given labels."""
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
    return p.argmax(axis=1), p.max(axis=1), given, np.zeros(n, dtype=np.bool_)


@pytest.mark.parametrize(("classes", "power"), [(2, 95), (3, 95), (5, 60)])
def test_one_way_errors_are_noticed_and_clean_or_random_ones_set_off_few_alarms(classes, power):
    fails = {
        noise: sum(
            checks.errors_go_both_ways(*_overlapping(seed, classes=classes, noise=noise)).outcome
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


def test_without_folds_or_sure_errors_nothing_is_said_about_directions():
    labels, none = np.repeat([0, 1], 100), np.zeros(200, dtype=np.bool_)
    sure = np.ones(200)
    for guess, certainty in ((None, None), (labels, None), (labels, sure)):
        check = checks.errors_go_both_ways(guess, certainty, labels, none)
        assert check.outcome == "cannot tell"
    wrong = labels.copy()
    wrong[:40] = 1
    check = checks.errors_go_both_ways(labels, sure, wrong, none)
    assert check.outcome == "fails"
    assert all(
        f"of 30 that are surely class {c}, {n} " in check.reason for c, n in ((1, 0), (0, 30))
    )
    assert "audit" in check.reason
    wrong[100:140] = 0  # as many the other way
    both = checks.errors_go_both_ways(labels, sure, wrong, none)
    assert (both.outcome, "audit" in both.reason) == ("holds", False)
    wrong[100:140] = 1
    assert (
        checks.errors_go_both_ways(labels, sure, wrong, np.arange(200) < 40).outcome
        == "cannot tell"
    )  # canaries


def test_kinds_that_pass_at_different_rates_fail():
    assert checks.kinds_alike((3, 100), (5, 100), 0.01).outcome == "holds"
    check = checks.kinds_alike((0, 4), (4, 4), 0.05)
    assert (check.outcome, check.number) == ("fails", 1.0)  # Fisher: 2/70, the two extremes
    assert checks.kinds_alike((0, 4), (4, 4), 0.02).outcome == "holds"
    check = checks.kinds_alike((1, 4), (3, 4), 0.05)
    assert (check.number, check.threshold) == (0.5, 0.0)  # a quarter beside three
    assert "p = 0.49" in check.reason  # Fisher: (16 + 1) · 2 of 70 tables are as far apart


def test_a_class_too_small_for_this_fraction_fails():
    labels = np.r_[np.zeros(88, dtype=int), np.ones(12, dtype=int)]
    assert checks.classes_survive(labels, 0.25, ("cat", "dog", "owl")).reason.startswith(
        '"dog" has 12'
    )
    check = checks.classes_survive(labels, 0.25)
    assert (check.outcome, check.number) == ("fails", 3)
    assert "class 1 has 12" in check.reason
    assert checks.classes_survive(labels, 0.5).outcome == "holds"


def test_a_class_with_four_kept_examples_starves_and_five_are_a_handful():
    labels = np.arange(100) % 2
    even = labels == 0
    assert checks.starved_class(even | (np.arange(100) < 8), labels) == (1, 4)
    assert checks.starved_class(even | (np.arange(100) < 10), labels) is None


def test_where_all_values_tie_nothing_is_more_plausible():
    suspects, planted = np.ones(60, dtype=bool), np.arange(60) < 30
    check = checks.noise_like_planted(suspects, np.ones(60), planted, 0.5, 0.9999)
    assert (check.outcome, check.number) == ("cannot tell", 0.5)
    assert "p = 1)" in check.reason
