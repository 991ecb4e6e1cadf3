"""What `judge` looks at and what it does not, what it refuses, and how it reads."""

from dataclasses import replace

import numpy as np
import pytest

import dris
from dris.core.checks.assumption_checks import (
    Check,
    classes_survive,
    estimate_suspect_share,
    kinds_alike,
    no_milder_than_planted,
    noise_like_planted,
    not_inverted,
    not_memorised,
    plausibility,
    proxies_above_chance,
)
from dris.core.checks.judgement import (
    BROKEN,
    NARROW,
    CheckResults,
    _recommend,
    judge,
    last_unmemorised_epoch,
    run_checks,
)
from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.assessment import contradicted_by_most
from dris.core.noise.canaries import plant_canaries, without_canaries
from dris.core.scores.formulas import aum_mean
from dris.core.scores.ranks import rank_variance
from regimes import limits_of

N, C = 2000, 5


def world(seed=0, strength=4.0, noise=0.0, share=0.08, proxies=3, **kinds):
    """Proxies that see the truth through noise of their own, and canaries they never believe."""
    rng = np.random.default_rng(seed)
    true = np.arange(N) % C
    given = dris.flip_labels(true, noise, seed=seed).given if noise else true
    canaries = plant_canaries(given, share=share, rng=rng, **kinds)
    shared = rng.normal(size=(1, N, C))
    logits = strength * np.eye(C)[true] + shared + 0.5 * rng.normal(size=(proxies, N, C))
    return logits, canaries, true


def judged(logits, canaries, **more):
    dynamics = dris.Dynamics.from_logits(logits, canaries.planted)
    return judge(dynamics, canaries, keep=0.25, **more)


def test_clean_data_are_clean_and_noisy_data_noisy():
    assert judged(*world()[:2]).regime == "clean"
    judgement = judged(*world(noise=0.2)[:2])
    assert (judgement.regime, judgement.rule) == ("moderate noise", "gated")
    assert judged(*world(noise=0.4)[:2]).regime == "heavy noise"


def test_the_limits_on_the_subset_and_on_the_data_hold():
    logits, canaries, true = world(noise=0.2)
    judgement = judged(logits, canaries)
    wrong = canaries.given != true
    dynamics = dris.Dynamics.from_logits(logits, canaries.planted)
    (limit,), (corruption,) = limits_of(dynamics, (canaries,), judgement.subset)
    kept = without_canaries(judgement.subset, canaries).indices
    assert limit.wrong >= wrong[kept].sum()
    assert corruption.corrupted >= wrong.sum()


def test_checks_and_rule_do_not_look_at_who_certifies():
    """Another certifying canary with the same planted labels changes nothing."""
    logits, canaries, _ = world(noise=0.2)
    at = canaries.positions[canaries.certifies]
    free = np.setdiff1d(np.arange(N), canaries.positions)[: at.size]
    moved = np.sort(np.r_[canaries.choosing, free])
    other = replace(canaries, positions=moved, certifies=np.isin(moved, free))
    one, two = judged(logits, canaries), judged(logits, other)
    assert one.checks == two.checks
    assert (one.regime, one.rule, one.suspect_share) == (two.regime, two.rule, two.suspect_share)
    assert one.subset == two.subset


def test_moving_a_choosing_canary_is_seen():
    logits, canaries, _ = world(noise=0.2)
    turned = replace(canaries, certifies=~canaries.certifies)
    assert judged(logits, canaries).checks != judged(logits, turned).checks


def test_a_copied_proxy_a_shuffled_one_and_a_reversed_one_need_other_proxies():
    logits, canaries, _ = world()
    rng = np.random.default_rng(1)
    for broken in (logits[0], rng.permutation(logits[1]), -logits[1]):
        rows = np.array([logits[0], broken, logits[2]])
        judgement = judged(rows, canaries)
        assert judgement.rule == "train other proxies"
        assert judgement.subset is None
    assert judged(logits, canaries).rule == "rank_variance"


def test_a_class_that_rank_variance_starves_is_kept_by_class():
    logits, canaries, _ = world()
    logits[:, canaries.planted == 4, 4] += 50  # class 4 is easy: its ranks do not move
    logits[:, canaries.planted == 4, 4] += np.linspace(0, 50, (canaries.planted == 4).sum())
    judgement = judged(logits, canaries)
    assert judgement.rule == "rank_variance_per_class"
    assert np.bincount(canaries.given[judgement.subset.indices])[4] > 50


def test_bad_input_is_refused_in_one_sentence():
    logits, canaries, _ = world()
    dynamics = dris.Dynamics.from_logits(logits, canaries.planted)
    with pytest.raises(dris.InputError, match="prox"):
        judge(dynamics.only([0]), canaries, keep=0.25)


@pytest.mark.parametrize("keep", [0.0, 1.5])
def test_numbers_out_of_range_are_refused(keep):
    logits, canaries, _ = world()
    dynamics = dris.Dynamics.from_logits(logits, canaries.planted)
    with pytest.raises(dris.InputError, match="fraction must be in"):
        judge(dynamics, canaries, keep=keep)


def two_kinds(noise=0.2):
    logits, first, true = world(noise=noise)
    rng = np.random.default_rng(9)
    second = plant_canaries(first.planted, share=0.06, rng=rng, classes=C, avoid=first.mask())
    second = replace(second, kind="hard")
    dynamics = dris.Dynamics.from_logits(logits, second.planted)
    return dynamics, (first, second), true


def test_every_kind_of_canaries_shares_the_level_with_the_tests():
    """Four tests and one more for each further kind: 0.05/4, then 0.05/5."""
    dynamics, kinds, _ = two_kinds()
    judgement = judge(dynamics, kinds, keep=0.25).checks
    assert "Fisher's exact test at 0.01," in judgement["uniform and hard"].reason
    assert "exact one-sided test at 0.01)" in judgement["memorised"].reason
    assert "rank test at 0.01," in judgement["natural"].reason
    first = dris.Dynamics.from_logits(world(noise=0.2)[0], kinds[0].planted)
    alone = judge(first, kinds[0], keep=0.25).checks
    assert "exact one-sided test at 0.01" in alone["memorised"].reason
    assert "uniform and hard" not in alone


def test_hidden_canaries_do_not_count_as_suspects_labels():
    dynamics, kinds, _ = two_kinds(noise=0.0)
    judgement = judge(dynamics, kinds, keep=0.25)
    assert judgement.suspect_share < 0.02  # all canaries are suspects: a tenth, were they counted
    assert judgement.regime == "clean"


def recommended(suspect_share=0.1, canaries=40, earlier=False, **failing):
    """The rule for an assessment in which these checks fail, and its reason."""
    dynamics = dris.Dynamics.from_logits(world()[0], world()[1].planted)
    good = run_checks(dynamics, world()[1].mask(), world()[1].given, keep=0.25, level=0.01)
    names = {name.replace(" ", "_"): name for name in good.checks}
    fails = {names[name] for name in failing}
    checks = {
        name: replace(check, outcome="fails" if name in fails else "holds")
        for name, check in good.checks.items()
    }
    mark = np.arange(dynamics.examples) < canaries
    if earlier:
        right = np.ones((3, 2, dynamics.examples), dtype=bool)
        right[:, 0, mark] = False
        loss = np.ones(right.shape)
        dynamics = dris.Dynamics.from_arrays(loss=loss, correct=right, scored_epoch=2)
    return _recommend(dynamics, mark, CheckResults(checks, suspect_share))


def test_every_regime_has_a_rule_and_a_reason_of_its_own():
    reasons = set()
    for failing, rule, word in (
        ({"suspect_share": 0.01}, "rank_variance", "nothing to drop"),
        ({"suspect_share": 0.1}, "gated", "about 10 %"),
        ({"suspect_share": 0.4}, "gated", "reject"),
        ({"natural": True}, "gated", "natural noise"),
        ({"inversion": True}, "gated", "collects"),
        ({"contested": True}, "random", "every example"),
        ({"suspect_share": 0.01, "classes": True}, "rank_variance_per_class", "vanish"),
        ({"differ": True}, "train other proxies", "proxies differ: no"),
    ):
        chosen, why = recommended(**failing)
        assert chosen == rule
        assert word in why
        reasons.add(why)
    assert len(reasons) == 8


def test_memorised_says_which_epoch_to_score_where_one_is_left():
    assert recommended(memorised=True)[1].endswith("canaries; train shorter")
    assert recommended(memorised=True, earlier=True)[1].endswith("epoch 1, or train shorter")


@pytest.mark.parametrize(("canaries", "rule"), [(28, "aum_mean"), (29, "gated")])
def test_a_gate_takes_29_choosing_canaries(canaries, rule):
    judgement, why = recommended(canaries=canaries)
    assert judgement == rule
    assert ("29" in why and "28" in why) == (rule == "aum_mean")
    assert recommended(canaries=canaries, contested=True)[0] == "random"  # needs none


def test_labels_hide_that_go_one_way_are_far_more_plausible_or_memorised():
    judgement = judged(*world(noise=0.2)[:2])
    assert not judgement.hides
    hiding = replace(judgement.checks["hiding"], outcome="fails")
    other = replace(judgement, checks={**judgement.checks, "hiding": hiding})
    assert other.hides
    assert replace(judgement, regime="memorised").hides
    for number, outcome, hides in (
        (0.75, "fails", True),
        (0.74, "fails", False),
        (0.9, "cannot tell", False),
    ):
        natural = replace(judgement.checks["natural"], outcome=outcome, number=number)
        assert replace(judgement, checks={**judgement.checks, "natural": natural}).hides == hides


def test_json_holds_numbers_that_are_finite_and_none_where_one_is_not():
    judgement = judged(*world(noise=0.2)[:2])
    odd = replace(judgement.checks["spread"], number=float("nan"), threshold=float("inf"))
    values = replace(judgement, checks={**judgement.checks, "spread": odd}).to_dict()
    assert (values["checks"]["spread"]["number"], values["checks"]["spread"]["threshold"]) == (
        None,
        None,
    )
    differ = judgement.checks["differ"]
    assert values["checks"]["differ"]["number"] == differ.number
    assert values["checks"]["differ"]["outcome"] == differ.outcome


def test_the_seed_decides_what_is_drawn():
    logits, canaries, _ = world(noise=0.2)
    judgement = judged(logits, canaries)
    assert judgement.subset == judged(logits, canaries, seed=0).subset
    assert judged(logits, canaries, seed=1).subset != judgement.subset


def test_kinds_are_compared_by_how_many_of_their_choosing_canaries_go_no_suspects():
    dynamics, kinds, _ = two_kinds()
    suspects = contradicted_by_most(dynamics.snapshot("correct"))
    known = kinds[1].choosing[:20]  # twenty of the second kind are believed
    logits = np.array(world(noise=0.2)[0])
    logits[:, known, kinds[1].planted[known]] += 50
    believing = dris.Dynamics.from_logits(logits, kinds[1].planted)
    whole = judge(believing, kinds, keep=0.25)
    judgement = whole.checks["uniform and hard"]
    right = ~contradicted_by_most(believing.snapshot("correct"))
    first, second = (kind.choosing for kind in kinds)
    assert judgement == kinds_alike(
        (int(right[first].sum()), first.size), (int(right[second].sum()), second.size), 0.01
    )
    assert judgement.outcome == "fails"
    assert whole.hides
    assert judge(dynamics, kinds, keep=0.25).checks["uniform and hard"].outcome == "holds"
    assert suspects[known].all()


def test_a_gate_through_which_only_canaries_pass_is_closed():
    logits, canaries, _ = world(noise=0.2)
    best = canaries.choosing[:6]
    logits[:, best, canaries.planted[best]] += 60  # above every other example
    judgement = judged(logits, canaries)
    assert judgement.rule == "aum_mean"
    assert "nothing passes" in judgement.reason
    assert len(judgement.subset) > 400


ROWS, CLASSES = 900, 3


def made(noise=0.15, seed=0):
    """Proxies that see the truth, canaries on the first 90, every other of them hidden."""
    rng = np.random.default_rng(seed)
    truth = np.arange(ROWS) % CLASSES
    given = np.where(rng.random(ROWS) < noise, (truth + 1) % CLASSES, truth)
    canaries = np.arange(ROWS) < 90
    shown = np.where(canaries, (given + 1) % CLASSES, given)
    logits = 3 * np.eye(CLASSES)[truth] + rng.normal(size=(3, ROWS, CLASSES))
    return Dynamics.from_logits(logits, shown), np.arange(ROWS) < 45, given


def regime(suspects, failing=(), otherwise="holds"):
    names = {*failing, "natural", "classes"}
    checks = {
        name: Check(name, "fails" if name in failing else otherwise, 0.0, 0.0, "") for name in names
    }
    return CheckResults(checks, suspects).regime


@pytest.mark.parametrize(
    ("suspects", "failing", "expected"),
    [
        (0.0, (), "clean"),
        (0.0499, (), "clean"),
        (0.05, (), "moderate noise"),
        (0.2999, (), "moderate noise"),
        (0.3, (), "heavy noise"),
        (0.01, ("classes",), "small class"),
        (0.05, ("classes",), "moderate noise"),  # a small class matters where nothing is noisy
        # In order of what makes the rest meaningless:
        (0.4, ("natural",), "natural noise"),
        (0.4, ("natural", "contested"), "too easy"),
        (0.4, ("contested", "agree"), "proxies unusable"),
        (0.4, ("agree", "inversion"), "inverted"),
        (0.4, ("inversion", "memorised"), "memorised"),
        (0.4, ("memorised", "differ"), "proxies unusable"),
        *((0.1, (name,), "proxies unusable") for name in sorted(NARROW | BROKEN)),
    ],
)
def test_the_regime_is_the_first_that_applies_with_thresholds_to_the_digit(
    suspects, failing, expected
):
    assert regime(suspects, failing) == expected


def test_what_cannot_be_told_is_no_failure():
    assert regime(0.01, otherwise="cannot tell") == "clean"


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
    assert checks["memorised"] == not_memorised(right, planted, CLASSES, 0.01)
    free = ~planted
    labels = dynamics.labels
    assert checks["above chance"] == proxies_above_chance(right[:, free], labels[free])
    top = variance >= np.sort(variance)[-ROWS // 4]
    assert checks["inversion"] == not_inverted(top, planted, 0.01)
    plausible = plausibility(loss, dynamics.snapshot("margin"), CLASSES)
    assert checks["natural"] == noise_like_planted(suspects, plausible, planted, share, 0.01)
    score = aum_mean(dynamics)
    assert checks["hiding"] == no_milder_than_planted(suspects, score, planted, share, 0.01)
    assert checks["classes"] == classes_survive(given, 0.25)
    assert len(checks) == 13
    assert {*NARROW, *BROKEN} < set(checks)


def test_two_classes_are_counted_as_two():
    """With two classes the margin says how plausible a label is, and chance is a half."""
    rng = np.random.default_rng(0)
    truth = np.arange(ROWS) % 2
    given = np.where(rng.random(ROWS) < 0.15, 1 - truth, truth)
    planted = np.arange(ROWS) < 90
    shown = np.where(planted, 1 - given, given)
    logits = 1.5 * np.eye(2)[truth] + rng.normal(size=(3, ROWS, 2))
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
