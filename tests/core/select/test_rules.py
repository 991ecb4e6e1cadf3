"""The registry: every rule is what its name says, the same whoever asks."""

from dataclasses import fields

import numpy as np
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.assessment import assess
from dris.core.scores.formulas import SCORES, aum, aum_mean, hybrid, rank_variance
from dris.core.scores.suspicion import contradicted_by_most
from dris.core.select.gate import canaries_needed, set_gate
from dris.core.select.methods import METHODS
from dris.core.select.rule_parameters import PARAMETERS
from dris.core.select.rules import CLEAN, RECOMMENDED, RULES, Rule, choose, rule_of
from dris.core.select.selection import keep_top, keep_top_per_class, mix_uniform, remove_bottom

N = 400


@pytest.fixture(scope="module")
def dynamics():
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 4
    given = np.where(rng.random(N) < 0.2, (truth + 1) % 4, truth)
    logits = 2 * np.eye(4)[truth] + rng.normal(size=(3, 5, N, 4))
    made = Dynamics.from_logits(logits, given)
    columns = {name: made.column(name) for name in made.columns}
    norm = rng.random((3, 5, N))
    return Dynamics.from_arrays(**columns, labels=given, gradient_norm=norm)


@pytest.fixture(scope="module")
def canaries():
    return np.arange(N) < 40


def same(one, two):
    return one.indices.tolist() == two.indices.tolist()


@pytest.mark.parametrize("name", [name for name in RULES if name in SCORES])
def test_a_rule_with_the_name_of_a_score_keeps_its_largest(dynamics, name):
    try:
        score = SCORES[name](dynamics)
    except InputError:
        with pytest.raises(InputError):
            choose(name, dynamics, keep=0.3)
        return
    assert same(choose(name, dynamics, keep=0.3), keep_top(score, fraction=0.3))


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


def test_confident_learning_drops_no_more_than_look_mislabelled(dynamics):
    score = SCORES["confident_learning"](dynamics)
    margin = dynamics.snapshot("margin").mean(axis=0)
    issues = (score < 0) & (margin < 0)
    kept = choose("confident_learning_remove", dynamics, keep=0.5).mask()
    lowest = np.argsort(score, kind="stable")[: issues.sum()]
    assert not kept[lowest].any()
    assert kept.sum() == N // 2


def test_clean_drops_what_the_gate_rejects_and_most_proxies_contradict(dynamics, canaries):
    suspect = contradicted_by_most(dynamics.snapshot("correct"))
    passed = set_gate(dynamics, canaries).passed
    kept = choose(CLEAN, dynamics, keep=1.0, choosing=canaries)
    assert kept.mask().tolist() == (~(suspect & ~passed)).tolist()
    assert kept.parameters["suspects"] == (suspect & ~passed).sum()
    for none in (None, np.zeros(N, dtype=bool)):
        bare = choose(CLEAN, dynamics, keep=1.0, choosing=none)
        assert bare.mask().tolist() == (~suspect).tolist()
    smaller = choose(CLEAN, dynamics, keep=0.25)
    suspicion = np.where(suspect, np.inf, assess(dynamics).shown.suspicion)
    assert sorted(smaller.indices) == sorted(np.argsort(suspicion)[: N // 4].tolist())


def test_clean_asks_a_gate_as_soon_as_there_are_enough_canaries_for_one(dynamics):
    need = canaries_needed()
    suspect = contradicted_by_most(dynamics.snapshot("correct"))
    sizes = [
        len(choose(CLEAN, dynamics, keep=1.0, choosing=np.arange(N) < count))
        for count in (need - 1, need)
    ]
    assert sizes[0] == (~suspect).sum()
    passed = set_gate(dynamics, np.arange(N) < need).passed
    assert sizes[1] == (~(suspect & ~passed)).sum()


def test_labels_that_are_all_suspect_are_refused():
    wrong = Dynamics.from_arrays(loss=np.ones((2, 3)), correct=np.zeros((2, 3), dtype=bool))
    with pytest.raises(InputError, match="every label is suspect"):
        choose(CLEAN, wrong, keep=1.0)


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


def test_a_rule_with_parameters_is_its_score_at_them(dynamics):
    half = choose(Rule(score="hybrid", beta=0.25), dynamics, keep=0.3)
    assert same(half, keep_top(hybrid(dynamics, beta=0.25), fraction=0.3))
    even = choose(Rule(score="hybrid", beta=0.25, scaled=True), dynamics, keep=0.3)
    assert same(even, keep_top(hybrid(dynamics, beta=0.25, scaled=True), fraction=0.3))
    assert not same(even, half)
    early = choose(Rule(score="rank_variance", epoch=2), dynamics, keep=0.3)
    assert same(early, keep_top(rank_variance(dynamics.at(2)), fraction=0.3))
    mixed = choose(Rule("rank_variance", "mix", share=0.25), dynamics, keep=0.3)
    assert same(mixed, mix_uniform(rank_variance(dynamics), fraction=0.3, share=0.25))
    assert not same(mixed, choose("uniform_hybrid", dynamics, keep=0.3))


@pytest.mark.parametrize("method", [m for m, how in METHODS.items() if how.scored])
def test_every_method_takes_any_score_and_keeps_its_share(dynamics, method):
    rule = Rule("el2n", method)
    kept = choose(rule, dynamics, keep=0.3)
    assert len(kept) == 0.3 * N
    assert same(kept, choose(rule, dynamics, keep=0.3))


def test_a_score_that_nobody_registered_as_a_rule_is_one_all_the_same(dynamics, monkeypatch):
    monkeypatch.setitem(SCORES, "mine", lambda d: -rank_variance(d))
    kept = choose("mine", dynamics, keep=0.3)
    assert same(kept, keep_top(-rank_variance(dynamics), fraction=0.3))
    assert same(kept, choose(Rule(score="mine"), dynamics, keep=0.3))


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (Rule(score="el2n"), "el2n"),
        (Rule(score="hybrid", beta=0.5), "hybrid"),
        (Rule(score="hybrid", beta=0.25, scaled=True), "hybrid(beta=0.25, scaled)"),
        (Rule("hybrid", "draw", beta=0.25), "hybrid(draw, beta=0.25)"),
        (Rule(score="rank_variance", epoch=4), "rank_variance(epoch=4)"),
        (Rule(method="gated", recall=0.8, chooser="el2n"), "gated(recall=0.8, chooser=el2n)"),
    ],
)
def test_a_rule_is_named_after_what_sets_it_apart_from_the_defaults(rule, name):
    assert rule.name == name


def test_a_known_rule_is_recognised_by_its_parameters_and_another_is_not():
    assert rule_of(Rule(score="aum")) is RULES["aum"]
    assert rule_of("gated", fill=True) is RULES["gated_filled"]
    assert rule_of("gated", recall=None) is RULES["gated"]
    other = rule_of("gated", recall=0.8)
    assert other not in RULES.values()
    assert (other.recall, other.detector, other.needs_canaries) == (0.8, "early_margin", True)
    assert other.title == other.name


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_parameters_at_the_ends_of_their_range_are_taken(share):
    assert Rule(score="hybrid", beta=share).beta == share
    assert Rule("aum", "mix", share=share).share == share


@pytest.mark.parametrize(
    ("how", "problems"),
    [
        ({"score": "best"}, ["score"]),
        ({}, ["score"]),
        ({"score": "aum", "method": "worst"}, ["method"]),
        ({"score": "aum", "method": "clean"}, ["score"]),
        ({"score": "hybrid", "beta": 1.01}, ["beta"]),
        ({"score": "hybrid", "beta": "x"}, ["beta"]),
        ({"score": "hybrid", "beta": True}, ["beta"]),
        ({"score": "hybrid", "beta": float("nan")}, ["beta"]),
        ({"score": "hybrid", "scaled": 1}, ["scaled"]),
        ({"score": "aum", "beta": 0.5}, ["beta"]),
        ({"score": "aum", "epoch": 0}, ["epoch"]),
        ({"score": "aum", "epoch": 1.5}, ["epoch"]),
        ({"score": "aum", "share": 0.5}, ["share"]),
        ({"score": "aum", "method": "mix", "share": -0.1}, ["share"]),
        ({"method": "gated", "recall": 1}, ["recall"]),
        ({"method": "gated", "recall": 0}, ["recall"]),
        ({"method": "gated", "epoch": 3}, ["epoch"]),
        ({"method": "gated", "detector": "loss", "chooser": "x"}, ["detector", "chooser"]),
        ({"score": "best", "beta": 7, "fill": "yes"}, ["score", "beta", "fill"]),
    ],
)
def test_all_that_is_wrong_with_a_rule_is_named_at_once(how, problems):
    with pytest.raises(InputError) as caught:
        Rule(**how)
    assert [one.split("`")[1] for one in str(caught.value).split("; ")] == problems


def test_the_parameters_that_commands_offer_are_those_of_a_rule_with_their_types():
    own = {f.name: f.type for f in fields(Rule)}
    for name, (kind, text) in PARAMETERS.items():
        assert own.pop(name) == kind | None
        assert text.endswith(".")
    assert set(own) == {"score", "method", "name", "title", "about"}


@pytest.mark.parametrize("name", ["best", RECOMMENDED, "hybrid:0.25", "rank_variance@2"])
def test_a_name_that_is_none_lists_those_there_are(name):
    with pytest.raises(InputError, match=r"`rule` must be one of clean, clean_then_hard, .*random"):
        rule_of(name)


def test_a_slip_of_the_pen_is_answered_with_the_name_that_was_meant_and_nonsense_is_not():
    with pytest.raises(InputError, match=r"\(did you mean gated\?\)"):
        rule_of("gatd")
    with pytest.raises(InputError) as caught:
        rule_of("best")
    assert "did you mean" not in str(caught.value)


def test_a_seed_decides_between_equals_and_what_is_drawn(dynamics):
    one, two, again = (choose("random", dynamics, keep=0.5, seed=s) for s in (0, 1, 0))
    assert same(one, again)
    ties = [choose("aum_remove", dynamics, keep=0.3, seed=s) for s in (0, 1)]
    assert not same(*ties)
    assert len(two) == N // 2


def test_every_rule_says_in_a_line_what_it_does():
    for name, rule in RULES.items():
        assert rule.name == name
        assert rule.title
        assert 10 < len(rule.about) < 100
        assert not rule.about.endswith(".")


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
