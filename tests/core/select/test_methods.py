"""Every method makes the subset it says, from any score, the same whoever asks."""

import numpy as np
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.assessment import assess, contradicted_by_most
from dris.core.scores.formulas import SCORES, aum, aum_mean, el2n, hybrid, rank_variance
from dris.core.select.gate import canaries_needed, set_gate
from dris.core.select.rules import CLEAN, CLEAN_THEN_HARD, METHODS, RULES, Rule, choose
from dris.core.select.selection import keep_top_per_class, remove_bottom
from made_ensemble import cross_fitted

N = 400


def same(one, two):
    return one.indices.tolist() == two.indices.tolist()


@pytest.mark.parametrize("method", [m for m, how in METHODS.items() if how.scored])
def test_every_method_takes_any_score_and_keeps_its_share(dynamics, method):
    rule = Rule("el2n", method)
    kept = choose(rule, dynamics, keep=0.3)
    assert len(kept) == 0.3 * N
    assert same(kept, choose(rule, dynamics, keep=0.3))


def test_removing_by_aum_looks_at_one_proxy_and_by_its_mean_at_all(dynamics):
    """One name meant two things once: a mean of K in the product, one proxy in the experiments."""
    one, mean = (choose(name, dynamics, keep=0.5) for name in ("aum_remove", "aum_mean_remove"))
    assert same(one, remove_bottom(aum(dynamics), fraction=0.5))
    assert same(mean, remove_bottom(aum_mean(dynamics), fraction=0.5))
    assert not same(one, mean)


def test_per_class_keeps_the_share_of_every_class(dynamics):
    kept = choose("rank_variance_per_class", dynamics, keep=0.25)
    expected = keep_top_per_class(rank_variance(dynamics), dynamics.labels, fraction=0.25)
    assert same(kept, expected)
    with pytest.raises(InputError, match="needs labels"):
        choose("rank_variance_per_class", Dynamics.from_losses(np.eye(3)), keep=0.5)


def test_confident_learning_drops_as_many_as_look_mislabelled_if_so_many_may_go(dynamics):
    score = SCORES["confident_learning"](dynamics)
    issues = (score < 0) & (dynamics.snapshot("margin").mean(axis=0) < 0)
    assert 0.05 < issues.mean() < 0.5
    for keep, removed in ((0.5, issues.mean()), (0.95, 0.05)):
        expected = remove_bottom(score, fraction=keep, remove=removed)
        assert same(choose("confident_learning_remove", dynamics, keep=keep), expected)


def lowest(dynamics, count):
    """The examples with the lowest AUM as canaries: a gate that some suspects pass."""
    mask = np.zeros(dynamics.examples, dtype=bool)
    mask[np.argsort(aum_mean(dynamics))[:count]] = True
    return mask


def test_clean_drops_what_the_gate_rejects_and_most_proxies_contradict(dynamics):
    canaries = lowest(dynamics, 40)
    suspect = contradicted_by_most(dynamics.snapshot("correct"))
    passed = set_gate(dynamics, canaries).passed
    assert (suspect & passed).any()
    kept = choose(CLEAN, dynamics, keep=1.0, choosing=canaries)
    assert kept.mask().tolist() == (~(suspect & ~passed)).tolist()
    assert kept.parameters["suspects"] == (suspect & ~passed).sum()
    for none in (None, np.zeros(N, dtype=bool)):
        bare = choose(CLEAN, dynamics, keep=1.0, choosing=none)
        assert bare.mask().tolist() == (~suspect).tolist()
    smaller = choose(CLEAN, dynamics, keep=0.25)
    wrong = np.where(suspect, np.inf, assess(dynamics).shown.wrong)
    assert sorted(smaller.indices) == sorted(np.argsort(wrong)[: N // 4].tolist())


def test_clean_asks_a_gate_as_soon_as_there_are_enough_canaries_for_one(dynamics):
    need = canaries_needed()
    suspect = contradicted_by_most(dynamics.snapshot("correct"))
    sizes = [
        len(choose(CLEAN, dynamics, keep=1.0, choosing=lowest(dynamics, count)))
        for count in (need - 1, need)
    ]
    passed = set_gate(dynamics, lowest(dynamics, need)).passed
    assert sizes == [(~suspect).sum(), (~(suspect & ~passed)).sum()]
    assert sizes[0] < sizes[1]


def test_labels_that_are_all_suspect_are_refused():
    wrong = Dynamics.from_arrays(loss=np.ones((2, 3)), correct=np.zeros((2, 3), dtype=bool))
    with pytest.raises(InputError, match="every label is suspect"):
        choose(CLEAN, wrong, keep=1.0)


def test_clean_drops_suspects_alone_and_never_fills_up():
    dynamics, flipped = cross_fitted()
    suspect = assess(dynamics).shown.suspects
    assert flipped[suspect].mean() > 0.9
    kept = choose(CLEAN, dynamics, keep=1.0)
    assert kept.mask().tolist() == (~suspect).tolist()
    assert kept.parameters["filled"] == 0
    assert len(choose(CLEAN, dynamics, keep=0.1)) == 60
    canaries = lowest(dynamics, 60)  # with folds no gate has a say
    assert (suspect & set_gate(dynamics, canaries).passed).any()
    assert same(choose(CLEAN, dynamics, keep=1.0, choosing=canaries), kept)


def test_clean_then_hard_keeps_its_size_fills_up_and_leans_to_the_hard():
    dynamics, _ = cross_fitted(strength=2.5)
    quarter = choose(CLEAN_THEN_HARD, dynamics, keep=0.25)
    assert len(quarter) == 150
    assessment = assess(dynamics)
    suspects, contradicted = assessment.shown.suspects, assessment.contradicted
    assert (contradicted & ~suspects).any()
    hard, rest = el2n(dynamics), ~(suspects | contradicted)
    assert rest[quarter.indices].all()
    assert hard[quarter.indices].mean() > hard[rest].mean()
    assert (quarter.parameters["suspects"], quarter.parameters["filled"]) == ((~rest).sum(), 0)
    most = choose(CLEAN_THEN_HARD, dynamics, keep=0.95)
    assert len(most) == 570
    filled = 570 - int(rest.sum())
    assert most.parameters["filled"] == filled
    least = np.argsort(np.where(rest, np.inf, assessment.shown.wrong), kind="stable")[:filled]
    assert sorted(most.indices) == sorted([*np.flatnonzero(rest), *least])


@pytest.mark.parametrize("name", [n for n, rule in RULES.items() if rule.needs_canaries])
def test_a_gate_needs_canaries_and_keeps_no_more_than_asked_for(dynamics, canaries, name):
    for none in (None, np.zeros(N, dtype=bool)):
        with pytest.raises(InputError, match="needs canaries to set its gate"):
            choose(name, dynamics, keep=0.5, choosing=none)
    kept = choose(name, dynamics, keep=0.9, choosing=canaries)
    assert len(kept) <= 0.9 * N
    if name == "gated_filled":
        assert len(kept) == 0.9 * N
        gated = choose("gated", dynamics, keep=0.9, choosing=canaries)
        assert set(gated.indices) < set(kept.indices)
        assert kept.parameters["filled"] == gated.parameters["short"]
    else:
        assert kept.parameters["short"] == 0.9 * N - len(kept) > 0


def test_a_drawn_hybrid_draws_in_proportion_to_its_score():
    """The first of many draws of one example falls on each with probability q; the top does not."""
    losses = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.2, 0.3, 0.1]])
    dynamics = Dynamics.from_arrays(
        loss=losses, gradient_norm=np.tile([1.0, 2.0, 3.0, 4.0], (2, 1))
    )
    q = hybrid(dynamics, beta=0.5)
    rule = Rule("hybrid", "draw")
    drawn = [choose(rule, dynamics, keep=0.25, seed=s).indices[0] for s in range(2_000)]
    shares = np.bincount(drawn, minlength=4) / 2_000
    assert np.abs(shares - q / q.sum()).max() < 5 * np.sqrt(0.25 / 2_000)
    assert choose("hybrid", dynamics, keep=0.25).indices.tolist() == [3]
    # What has no score is drawn last: two examples that the proxies agree about.
    assert choose(Rule("hybrid", "draw", beta=0), dynamics, keep=0.5).indices.tolist() == [0, 3]
