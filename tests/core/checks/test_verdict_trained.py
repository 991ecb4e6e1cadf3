"""Twelve regimes and clean draws, really trained, on seeds no threshold was chosen by."""

import functools

import numpy as np
import pytest
from scipy.stats import binom

from dris.core.checks.assumption_checks import UPPER_HALF
from dris.core.checks.judgement import judge
from dris.core.noise.canaries import without_canaries
from dris.core.scores.formulas import rank_variance
from dris.core.select.selection import keep_top
from regimes import KEEP, REGIMES, limits_of, small_clean

HELD_OUT = 100  # thresholds were read from seeds 0 to 3

RULES = {
    "clean": {"rank_variance", "rank_variance_per_class"},
    "moderate noise": {"gated", "gated_per_class"},
    "heavy noise": {"gated", "gated_per_class"},
    "natural noise": {"gated", "gated_per_class"},
    "inverted": {"gated", "gated_per_class", "train other proxies"},
    "too easy": {"random"},
    "memorised": {"train other proxies"},
    "proxies unusable": {"train other proxies"},
    "small class": {"rank_variance_per_class"},
}

# The checks that must fail, and those that may fail besides; all others must not.
FAILS: dict[str, tuple[set[str], set[str]]] = {
    "clean": (set(), set()),
    "uniform 10 %": (set(), set()),
    "uniform 25 %": (set(), set()),
    "uniform 40 %": (set(), {"boundary", "concentration"}),
    "targeted 10 %": ({"hiding"}, set()),
    "targeted 25 %": ({"hiding"}, set()),
    "targeted 40 %": ({"hiding"}, {"boundary"}),
    "confusable 25 %": ({"natural", "hiding"}, set()),
    "R^20, uniform 10 %": (
        {"inversion", "concentration", "boundary"},
        {"natural", "hiding", "agree", "above chance"},
    ),
    "too easy": ({"contested"}, set()),
    "memorised": ({"memorised"}, set()),
    "copies": ({"differ"}, set()),
    "a class of twelve": ({"classes"}, set()),
}


@functools.cache
def judged(name):
    case = REGIMES[name][0](HELD_OUT)
    return case, judge(case.dynamics, case.canaries, keep=KEEP)


SEVERAL = {
    "targeted 10 %",
    "targeted 40 %",
}  # of one attacker; the third of them is enough by default
NAMES = [pytest.param(n, marks=pytest.mark.slow) if n in SEVERAL else n for n in REGIMES]


@pytest.mark.parametrize("name", NAMES)
def test_the_regime_and_its_rule_are_recognised_and_exactly_the_checks_fail_that_should(name):
    _, judgement = judged(name)
    assert judgement.regime == REGIMES[name][1]
    assert judgement.rule in RULES[judgement.regime]
    must, may = FAILS[name]
    fails = {key for key, check in judgement.checks.items() if check.outcome == "fails"}
    assert must <= fails <= must | may


@pytest.mark.parametrize("name", ["clean", "uniform 10 %", "uniform 25 %", "uniform 40 %"])
def test_the_limits_hold_where_the_noise_is_like_the_canaries(name):
    case, judgement = judged(name)
    wrong = case.canaries.given != case.true
    (limit,), (corruption,) = limits_of(case.dynamics, (case.canaries,), judgement.subset)
    kept = without_canaries(judgement.subset, case.canaries).indices
    assert corruption.corrupted >= wrong.sum()
    assert limit.wrong >= wrong[kept].sum()
    assert abs(judgement.suspect_share - wrong.mean()) < 0.05


def test_where_wrong_labels_hide_the_limit_fails_and_the_judgement_says_it_may():
    case, judgement = judged("targeted 25 %")
    _, (corruption,) = limits_of(case.dynamics, (case.canaries,), judgement.subset)
    assert corruption.corrupted < (case.canaries.given != case.true).sum()
    assert judgement.hides
    assert not judged("uniform 25 %")[1].hides


def test_inversion_is_real_rank_variance_collects_the_truly_wrong_labels_too():
    case, _ = judged("R^20, uniform 10 %")
    wrong = case.canaries.given != case.true
    kept = keep_top(rank_variance(case.dynamics), fraction=KEEP).mask()
    assert wrong[kept].mean() > 1.2 * wrong.mean()


def test_memorising_names_an_epoch_that_would_do():
    case, judgement = judged("memorised")
    epoch = int(judgement.reason.split("score epoch ")[1].split(",")[0])
    again = judge(case.dynamics.at(epoch), case.canaries, keep=KEEP)
    assert again.checks["memorised"].outcome != "fails"


@pytest.mark.slow
def test_of_fifty_clean_draws_few_raise_an_alarm():
    """At a true rate of 5 % more than 7 of 50 alarm with probability 0.0032.

    Four checks are tests, each at 0.05/4; the others are thresholds, whose rate is measured here.
    """
    assert binom.sf(7, 50, 0.05) < 0.004
    judgement = []
    for seed in range(200, 250):
        case = small_clean(seed)
        judgement.append(judge(case.dynamics, case.canaries, keep=KEEP))
    alarms = [f for f in judgement if f.failed]
    assert len(alarms) <= 7
    assert all(f.regime == "clean" for f in judgement if not f.failed)
    numbers = np.array([f.checks["concentration"].number for f in judgement])
    assert (numbers < UPPER_HALF + 0.095).sum() > 7  # the twin: a stricter threshold is seen
