"""The paper's assumptions as checks: worked by hand, with a twin each, and against loops."""

import numpy as np
import pytest
from scipy.special import comb
from scipy.stats import hypergeom

from dris.core.checks.assumption_checks import (
    disagreement_matters,
    enough_boundary,
    not_inverted,
    rank_concentration,
    rank_spread,
)

PLANTED = np.arange(100) < 20


def test_planted_labels_in_the_upper_half_hold_and_a_third_of_them_below_fail():
    ranks = np.full((3, 100), 0.3)
    ranks[:, :20] = 0.9
    assert rank_concentration(ranks, PLANTED).outcome == "holds"
    ranks[0, :20] = 0.2  # one proxy of three ranks them low: unstable
    check = rank_concentration(ranks, PLANTED)
    assert (check.outcome, check.number) == ("fails", pytest.approx(2 / 3))


def test_concentration_is_judged_at_nine_in_ten():
    ranks = np.full((1, 100), 0.3)
    ranks[0, :18] = 0.5
    assert rank_concentration(ranks, PLANTED).outcome == "holds"
    ranks[0, 17] = 0.49
    assert rank_concentration(ranks, PLANTED).outcome == "fails"


@pytest.mark.parametrize("check", [rank_concentration, lambda r, p: enough_boundary(r[0], p, 0.5)])
def test_nineteen_canaries_cannot_tell(check):
    assert check(np.ones((2, 100)), np.arange(100) < 19).outcome == "cannot tell"
    assert check(np.ones((2, 100)), np.arange(100) < 20).outcome != "cannot tell"


def test_a_spike_at_zero_fails_and_one_moving_rank_in_ten_holds():
    variance = np.zeros(100)
    assert rank_spread(variance, PLANTED).outcome == "fails"
    variance[20:28] = 0.051**2
    assert rank_spread(variance, PLANTED).outcome == "holds"
    variance[27] = 0.049**2
    assert rank_spread(variance, PLANTED).outcome == "fails"


def test_the_spread_of_canaries_does_not_count():
    assert rank_spread(np.where(PLANTED, 0.1, 0.0), PLANTED).number == 0


def test_the_boundary_is_what_varies_more_than_nine_in_ten_canaries():
    variance = np.zeros(100)
    variance[:20] = np.arange(20) / 1000  # 18 of 20 are at most 0.017
    variance[20:60] = 0.0175
    check = enough_boundary(variance, PLANTED, keep=0.5)
    assert (check.outcome, check.number) == ("holds", 0.5)
    assert enough_boundary(variance, PLANTED, keep=0.51).outcome == "fails"
    variance[20:60] = 0.0165
    assert enough_boundary(variance, PLANTED, keep=0.5).outcome == "fails"


def tail(x, n, m, size):
    """P(X ≥ x), X of the m marked among `size` drawn from n, term by term."""
    ways = [comb(m, i, exact=True) * comb(n - m, size - i, exact=True) for i in range(x, m + 1)]
    return sum(ways) / comb(n, size, exact=True)


@pytest.mark.parametrize("x", range(0, 21))
def test_inversion_is_the_exact_test_term_by_term(x):
    chosen = np.zeros(100, dtype=bool)
    chosen[:x] = True
    chosen[20 : 20 + 25 - x] = True
    check = not_inverted(chosen, PLANTED, level=0.01)
    collects, rejects = tail(x, 100, 20, 25), 1 - tail(x + 1, 100, 20, 25)
    expected = "fails" if collects <= 0.01 else "holds" if rejects <= 0.01 else "cannot tell"
    assert check.outcome == expected
    assert check.number == pytest.approx(x / 5)


def test_inversion_has_all_three_outcomes():
    def outcome(x):
        chosen = np.r_[np.arange(20) < x, np.arange(80) < 25 - x]
        return not_inverted(chosen, PLANTED, 0.01).outcome

    assert [outcome(x) for x in (0, 5, 15)] == ["holds", "cannot tell", "fails"]


def test_inversion_is_rare_when_the_subset_is_blind_to_canaries():
    """The test is exact: P(fails) ≤ 0.05, so of 400 more than 35 fail with P < 0.001."""
    rng = np.random.default_rng(0)
    planted = np.arange(500) < 60
    alarms = sum(
        not_inverted(rng.permutation(500) < 125, planted, 0.05).outcome == "fails"
        for _ in range(400)
    )
    assert alarms <= 35
    twin = sum(rng.hypergeometric(60, 440, 125) >= 16 for _ in range(400))  # a cut near the mean
    assert twin > 35


def test_contested_examples_are_those_right_once_and_wrong_once():
    correct = np.ones((2, 3, 400), dtype=bool)
    planted = np.arange(400) >= 200
    assert disagreement_matters(correct, planted).outcome == "fails"
    correct[1, 2, 0] = False
    assert disagreement_matters(correct, planted).outcome == "holds"  # one of two hundred
    correct[:, :, 0] = False  # never right: not contested, only wrong
    assert disagreement_matters(correct, planted).outcome == "fails"


def test_contested_canaries_do_not_count():
    correct = np.ones((2, 1, 400), dtype=bool)
    correct[0, 0, 200:] = False
    assert disagreement_matters(correct, np.arange(400) >= 200).number == 0


def test_shuffled_ranks_of_tiny_losses_are_spread_but_nothing_is_contested():
    rng = np.random.default_rng(0)
    ranks = np.array([rng.permutation(300) / 300 for _ in range(3)])
    planted = np.arange(300) < 30
    assert rank_spread(ranks.var(axis=0), planted).outcome == "holds"
    assert disagreement_matters(np.ones((3, 5, 300), dtype=bool), planted).outcome == "fails"


def test_inversion_is_the_exact_hypergeometric_test_on_both_sides():
    planted = np.arange(300) < 60
    for inside in (5, 15, 25):
        chosen = np.zeros(300, dtype=bool)
        chosen[:inside] = chosen[60 : 135 - inside] = True
        tails = hypergeom.sf(inside - 1, 300, 60, 75), hypergeom.cdf(inside, 300, 60, 75)
        told = not_inverted(chosen, planted, 0.01)
        wanted = "fails" if tails[0] <= 0.01 else "holds" if tails[1] <= 0.01 else "cannot tell"
        assert told.outcome == wanted
        assert f"p = {min(tails):.2g}" in told.reason
