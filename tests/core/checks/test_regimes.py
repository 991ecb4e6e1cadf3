"""What the checks add up to: thresholds to the last digit, levels shared over the tests."""

from dataclasses import replace

import numpy as np
import pytest

from dris.core.checks.assumption_checks import (
    classes_survive,
    estimate_suspect_share,
    no_milder_than_planted,
    noise_like_planted,
    not_inverted,
    not_memorised,
    plausibility,
    proxies_above_chance,
)
from dris.core.checks.diagnostics import Check
from dris.core.checks.judgement import (
    BROKEN,
    CHECKS,
    NARROW,
    CheckResults,
    last_unmemorised_epoch,
    run_checks,
)
from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.assessment import contradicted_by_most
from dris.core.scores.formulas import aum_mean
from dris.core.scores.ranks import rank_variance

N, C = 900, 3


def made(noise=0.15, seed=0):
    """Proxies that see the truth, canaries on the first 90, every other of them hidden."""
    rng = np.random.default_rng(seed)
    truth = np.arange(N) % C
    given = np.where(rng.random(N) < noise, (truth + 1) % C, truth)
    canaries = np.arange(N) < 90
    shown = np.where(canaries, (given + 1) % C, given)
    logits = 3 * np.eye(C)[truth] + rng.normal(size=(3, N, C))
    return Dynamics.from_logits(logits, shown), np.arange(N) < 45, given


def held(**outcomes):
    names = {name.replace(" ", "_"): name for name in CHECKS}
    checks = {name: Check(name, "holds", 0.0, 0.0, "") for name in CHECKS}
    for name, outcome in outcomes.items():
        checks[names[name]] = replace(checks[names[name]], outcome=outcome)
    return checks


@pytest.mark.parametrize(
    ("suspects", "regime"),
    [
        (0.0, "clean"),
        (0.0499, "clean"),
        (0.05, "moderate noise"),
        (0.2999, "moderate noise"),
        (0.3, "heavy noise"),
        (0.9, "heavy noise"),
    ],
)
def test_noise_is_moderate_from_5_percent_and_heavy_from_30_percent(suspects, regime):
    assert CheckResults(held(), suspects).regime == regime


def test_a_small_class_matters_only_where_nothing_is_noisy():
    assert CheckResults(held(classes="fails"), 0.01).regime == "small class"
    assert CheckResults(held(classes="fails"), 0.05).regime == "moderate noise"
    assert CheckResults(held(classes="cannot tell"), 0.01).regime == "clean"


@pytest.mark.parametrize("name", sorted(NARROW | BROKEN))
def test_any_one_of_these_makes_proxies_unusable(name):
    assert CheckResults(held(**{name.replace(" ", "_"): "fails"}), 0.1).regime == "proxies unusable"


def test_what_cannot_be_told_is_no_failure():
    names = [name.replace(" ", "_") for name in CHECKS]
    assert CheckResults(held(**dict.fromkeys(names, "cannot tell")), 0.01).regime == "clean"


def test_each_test_is_made_at_the_level():
    dynamics, planted, given = made()
    results = run_checks(dynamics, planted, given, keep=0.25, level=0.1).checks
    assert "exact one-sided test at 0.1" in results["memorised"].reason
    assert "rank test at 0.1" in results["natural"].reason
    assert "rank test at 0.1" in results["hiding"].reason
    assert "at 0.1" in results["inversion"].reason


def test_every_check_gets_what_it_is_about():
    dynamics, planted, given = made()
    results = run_checks(dynamics, planted, given, keep=0.25, level=0.01, hidden=45)
    right, loss = dynamics.snapshot("correct"), dynamics.snapshot("loss")
    suspects = contradicted_by_most(right)
    share = estimate_suspect_share(suspects, planted, 45)
    assert results.suspect_share == share == pytest.approx(0.15, abs=0.05)
    assert (
        results.suspect_share
        < run_checks(dynamics, planted, given, keep=0.25, level=0.01).suspect_share
    )  # none hidden
    checks, variance = results.checks, rank_variance(loss)
    assert checks["memorised"] == not_memorised(right, planted, C, 0.01)
    free = ~planted
    labels = dynamics.labels
    assert checks["above chance"] == proxies_above_chance(right[:, free], labels[free])
    top = variance >= np.sort(variance)[-N // 4]
    assert checks["inversion"] == not_inverted(top, planted, 0.01)
    plausible = plausibility(loss, dynamics.snapshot("margin"), C)
    assert checks["natural"] == noise_like_planted(suspects, plausible, planted, share, 0.01)
    score = aum_mean(dynamics)
    assert checks["hiding"] == no_milder_than_planted(suspects, score, planted, share, 0.01)
    assert checks["classes"] == classes_survive(given, 0.25)
    assert list(checks) == list(CHECKS)


def test_two_classes_are_counted_as_two():
    """With two classes the margin says how plausible a label is, and chance is a half."""
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 2
    given = np.where(rng.random(N) < 0.15, 1 - truth, truth)
    planted = np.arange(N) < 90
    shown = np.where(planted, 1 - given, given)
    logits = 1.5 * np.eye(2)[truth] + rng.normal(size=(3, N, 2))
    dynamics = Dynamics.from_logits(logits, shown)
    results = run_checks(dynamics, planted, given, keep=0.25, level=0.01)
    loss, margin = dynamics.snapshot("loss"), dynamics.snapshot("margin")
    suspects = contradicted_by_most(dynamics.snapshot("correct"))
    plausible = plausibility(loss, margin, 2)
    expected = noise_like_planted(suspects, plausible, planted, results.suspect_share, 0.01)
    assert results.checks["natural"] == expected
    assert results.checks["memorised"].threshold == 0.5


def test_the_last_epoch_before_the_scored_one_that_still_doubts_half_of_the_planted():
    """Five epochs, two proxies; of four canaries 4, 2, 1, 0 are suspects after 1, 2, 3, 4."""
    planted = np.array([True] * 4 + [False] * 2)
    correct = np.zeros((2, 5, 6), dtype=bool)
    for epoch, known in enumerate((0, 2, 3, 4, 4)):
        correct[:, epoch, :known] = True
    correct[:, :, 4:] = True
    dynamics = Dynamics.from_arrays(
        loss=np.ones((2, 5, 6)), correct=correct, labels=[0] * 6, scored_epoch=5
    )
    assert last_unmemorised_epoch(dynamics, planted) == 2
    assert (
        last_unmemorised_epoch(dynamics.at(2), planted) == 1
    )  # the scored epoch itself is no answer
    assert last_unmemorised_epoch(dynamics.at(1), planted) is None
