"""Whether proxies are there, differ, work and agree: worked by hand, with a twin each."""

import numpy as np
import pytest
from scipy.stats import binom, spearmanr

from dris.core.chances import at_least, at_most
from dris.core.checks.assumption_checks import (
    ABOVE_CHANCE,
    AGREEMENT,
    COPIES,
    not_memorised,
    proxies_above_chance,
    proxies_agree,
    proxies_complete,
    proxies_differ,
)
from dris.core.scores.ranks import normalized_ranks


def losses(proxies=3, n=400, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=n) + noise * rng.normal(size=(proxies, n))


def test_a_missing_proxy_is_counted_and_named():
    check = proxies_complete({"missing": ["proxy 1 diverged"]}, 2)
    assert (check.outcome, check.number, check.threshold) == ("fails", 2, 3)
    assert "proxy 1" in check.reason
    assert proxies_complete({}, 3).outcome == "holds"


def test_copies_fail_and_are_named():
    rows = losses()
    assert proxies_differ(rows).outcome == "holds"
    rows[2] = rows[0] * 2  # the same ranks
    check = proxies_differ(rows)
    assert (check.outcome, check.number) == ("fails", 0)
    assert "proxies 0 and 2" in check.reason


def test_difference_is_the_mean_distance_of_ranks():
    assert proxies_differ(np.array([[1.0, 2, 3, 4], [2.0, 1, 3, 4]])).number == 0.125


def test_a_constant_answer_is_at_chance_whatever_the_class_sizes():
    labels = np.r_[np.zeros(90, dtype=int), np.ones(10, dtype=int)]
    constant = labels == 0  # right for nine in ten examples
    good = np.ones(100, dtype=bool)
    check = proxies_above_chance(np.array([good, constant]), labels)
    assert (check.outcome, check.number) == ("fails", 0.5)
    assert "proxy 1" in check.reason
    assert proxies_above_chance(np.array([good, good]), labels).outcome == "holds"


def test_agreement_is_spearmans_with_the_mean_of_the_others():
    ranks = normalized_ranks(losses())
    by_hand = [
        np.corrcoef(ranks[k], np.delete(ranks, k, axis=0).mean(axis=0))[0, 1] for k in range(3)
    ]
    assert proxies_agree(ranks).number == pytest.approx(min(by_hand))
    two = ranks[:2]
    assert proxies_agree(two).number == pytest.approx(spearmanr(*two).statistic)


def test_one_shuffled_or_reversed_proxy_does_not_agree():
    rows = losses()
    assert proxies_agree(normalized_ranks(rows)).outcome == "holds"
    for broken in (-rows[1], np.zeros(400)):
        check = proxies_agree(normalized_ranks(np.array([rows[0], broken, rows[2]])))
        assert check.outcome == "fails"
        assert "proxy 1" in check.reason


def memorised(known, m=40, n=200, classes=10, rest=1.0):
    right = np.zeros((3, n), dtype=bool)
    right[:, :known] = True
    right[:, m : m + round(rest * (n - m))] = True
    return not_memorised(right, np.arange(n) < m, classes, 0.01)


@pytest.mark.parametrize("known", range(0, 41, 4))
def test_memorising_is_the_exact_binomial_test(known):
    above, below = binom.sf(known - 1, 40, 0.5), binom.cdf(known, 40, 0.5)
    expected = "fails" if above <= 0.01 else "holds" if below <= 0.01 else "cannot tell"
    assert memorised(known).outcome == expected


def test_memorising_has_all_three_outcomes():
    assert [memorised(known).outcome for known in (0, 20, 40)] == ["holds", "cannot tell", "fails"]


def test_the_threshold_is_half_of_what_the_rest_reaches_but_never_below_chance():
    assert memorised(0, rest=0.6).threshold == pytest.approx(0.3)
    assert memorised(0, rest=0.6, classes=2).threshold == 0.5


def test_most_proxies_decide_whether_a_label_is_known():
    right = np.zeros((3, 200), dtype=bool)
    right[:, 40:] = True
    right[0, :40] = True  # one of three knows them by heart
    planted = np.arange(200) < 40
    assert not_memorised(right, planted, 10, 0.01).number == 0
    right[1, :40] = True
    assert not_memorised(right, planted, 10, 0.01).number == 1


def test_few_canaries_cannot_tell():
    assert memorised(0, m=19).outcome == "cannot tell"


# -- thresholds, to the digit --------------------------------------------------------------------


def test_copies_differ_by_less_than_a_hundredth_of_a_rank():
    """Swapping neighbours among 100 examples moves the mean rank by 2/100² each."""

    def swapped(pairs):
        order = np.arange(100.0)
        for k in range(pairs):
            order[2 * k], order[2 * k + 1] = order[2 * k + 1], order[2 * k]
        return proxies_differ(np.stack([np.arange(100.0), order]))

    assert (COPIES, swapped(50).number) == (0.01, pytest.approx(0.01))
    assert swapped(49).outcome == "fails"
    exactly = proxies_differ(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert (exactly.number, exactly.threshold, exactly.outcome) == (0.5, 0.01, "holds")


def test_a_difference_of_exactly_the_threshold_is_no_copy(monkeypatch):
    monkeypatch.setattr("dris.core.checks.assumption_checks.COPIES", 0.125)
    assert proxies_differ(np.array([[1.0, 2, 3, 4], [2.0, 1, 3, 4]])).outcome == "holds"


def test_above_chance_is_a_twentieth_of_the_way_to_perfect_for_classes_that_weigh_alike():
    labels = np.r_[np.zeros(30, dtype=int), np.ones(60, dtype=int), np.full(10, 2)]

    def accuracy(*shares):
        """One proxy right on these shares of the classes, another that is always right."""
        right = np.concatenate(
            [np.arange(n) < round(s * n) for n, s in zip((30, 60, 10), shares, strict=True)]
        )
        return proxies_above_chance(np.stack([right, np.ones(100, dtype=bool)]), labels)

    check = accuracy(0.5, 0.1, 0.6)
    assert check.number == pytest.approx(0.4)
    assert check.threshold == pytest.approx(1 / 3 + 0.05 * 2 / 3)
    assert (check.outcome, accuracy(1.0, 0.0, 0.0).outcome) == ("holds", "fails")
    assert "proxy 0 is the worst" in check.reason


def test_exactly_at_the_threshold_is_not_above_chance(monkeypatch):
    monkeypatch.setattr("dris.core.checks.assumption_checks.ABOVE_CHANCE", 0.5)
    labels = np.array([0, 0, 1, 1])  # two classes: the threshold is 0.75
    right = np.array([[True, True, True, False], [True] * 4])
    assert proxies_above_chance(right, labels).outcome == "fails"
    assert proxies_above_chance(right[1:], labels).outcome == "holds"


def test_agreement_is_enough_from_a_twentieth_on(monkeypatch):
    assert (AGREEMENT, ABOVE_CHANCE) == (0.05, 0.05)
    ranks = normalized_ranks(losses(proxies=4))
    number = proxies_agree(ranks).number
    others = [np.delete(ranks, k, axis=0).mean(axis=0) for k in range(4)]
    assert number == pytest.approx(
        min(np.corrcoef(ranks[k], others[k])[0, 1] for k in range(4)), abs=1e-12
    )
    monkeypatch.setattr("dris.core.checks.assumption_checks.AGREEMENT", number)
    assert proxies_agree(ranks).outcome == "holds"
    monkeypatch.setattr("dris.core.checks.assumption_checks.AGREEMENT", number + 1e-9)
    assert proxies_agree(ranks).outcome == "fails"


def test_a_constant_proxy_correlates_with_nothing():
    check = proxies_agree(np.array([[0.5, 0.5, 0.5], [0.25, 0.5, 1.0]]))
    assert (check.number, check.outcome) == (0.0, "fails")
    tiny = np.array([[0.25, 0.5], [0.25, 0.5]])  # a scale below one is a scale
    assert proxies_agree(tiny).number == pytest.approx(1.0)


def test_the_memorising_test_counts_the_number_itself_and_decides_at_the_level():
    planted = np.arange(120) < 20
    right = np.zeros((3, 120), dtype=bool)
    right[:, 20:] = True
    right[:, :14] = True  # 14 of 20 known, the threshold is a half
    above = float(at_least(20, 0.5)[14])  # to the last bit, which is not SciPy's
    assert above == pytest.approx(binom.sf(13, 20, 0.5), rel=1e-12)
    assert not_memorised(right, planted, 10, above).outcome == "fails"
    assert not_memorised(right, planted, 10, above * 0.999).outcome == "cannot tell"
    right[:, 6:20] = False  # 6 of 20
    below = float(at_most(20, 0.5)[6])
    assert not_memorised(right, planted, 10, below).outcome == "holds"
    assert not_memorised(right, planted, 10, below * 0.999).outcome == "cannot tell"


def test_half_of_the_proxies_do_not_make_a_label_known():
    planted = np.arange(200) < 40
    right = np.ones((2, 200), dtype=bool)
    right[0, :40] = False
    assert not_memorised(right, planted, 10, 0.01).number == 0
