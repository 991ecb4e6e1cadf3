"""The registry: every rule is what its name says, the same whoever asks."""

from dataclasses import fields

import pytest

from dris.core.errors import InputError
from dris.core.scores.formulas import SCORES, hybrid, rank_variance
from dris.core.select.rule_parameters import PARAMETERS
from dris.core.select.rules import RECOMMENDED, RULES, Rule, choose, rule_of
from dris.core.select.selection import keep_top, mix_uniform

N = 400


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


def test_a_score_that_nobody_registered_as_a_rule_is_one_all_the_same(dynamics, monkeypatch):
    monkeypatch.setitem(SCORES, "mine", lambda d: -rank_variance(d))
    kept = choose("mine", dynamics, keep=0.3)
    assert same(kept, keep_top(-rank_variance(dynamics), fraction=0.3))
    assert same(kept, choose(Rule(score="mine"), dynamics, keep=0.3))


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ({"score": "el2n"}, "el2n"),
        ({"score": "hybrid", "beta": 0.5}, "hybrid"),
        ({"score": "hybrid", "beta": 0.25, "scaled": True}, "hybrid(beta=0.25, scaled)"),
        ({"score": "hybrid", "method": "draw", "beta": 0.25}, "hybrid(draw, beta=0.25)"),
        ({"score": "rank_variance", "epoch": 4}, "rank_variance(epoch=4)"),
        ({"method": "gated", "recall": 0.8, "fill": True}, "gated(recall=0.8, fill)"),
    ],
)
def test_a_rule_is_named_after_what_sets_it_apart_from_the_defaults(how, name):
    assert Rule(**how).name == name


def test_a_known_rule_is_recognised_by_its_parameters_and_another_is_not():
    assert rule_of(Rule(score="aum")) is RULES["aum"]
    assert rule_of("gated", fill=True) is RULES["gated_filled"]
    assert rule_of("gated", recall=None) is RULES["gated"]
    other = rule_of("gated", recall=0.8)
    assert other not in RULES.values()
    assert RULES["uniform_hybrid"].share == RULES["hybrid"].beta == 0.5
    assert (other.recall, other.detector, other.needs_canaries) == (0.8, "early_margin", True)
    assert other.title == other.name


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_parameters_at_the_ends_of_their_range_are_taken(share):
    assert Rule(score="hybrid", beta=share).beta == share
    assert Rule("aum", "mix", share=share).share == share
    assert Rule("aum", epoch=1).epoch == 1


@pytest.mark.parametrize(
    ("how", "problems"),
    [
        ({"score": "best"}, ["score"]),
        ({}, ["score"]),
        ({"score": "aum", "method": "worst"}, ["method"]),
        ({"score": "aum", "method": "clean"}, ["score"]),
        ({"score": "hybrid", "beta": 1.01}, ["beta"]),
        ({"score": "hybrid", "beta": True}, ["beta"]),
        ({"score": "hybrid", "scaled": 1}, ["scaled"]),
        ({"score": "aum", "beta": 0.5}, ["beta"]),
        ({"score": "aum", "epoch": 0}, ["epoch"]),
        ({"score": "aum", "share": 0.5}, ["share"]),
        ({"score": "aum", "method": "mix", "share": 1.1}, ["share"]),
        ({"method": "gated", "recall": 1}, ["recall"]),
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


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Rule(method="gated", share=0.5), "detector, recall, chooser, fill"),
        (lambda: Rule(method="clean", share=0.5), "takes none"),
        (lambda: rule_of(RECOMMENDED, beta=0.5), "takes no parameters"),
        (lambda: rule_of("gatd"), "clean, clean_then_hard, .*random.*did you mean gated"),
        (lambda: rule_of("hybrid:0.25"), "must be one of"),
        (lambda: rule_of("rank_variance@2"), "must be one of"),
        (lambda: rule_of("best"), "got 'best';"),  # nothing is like it, so nothing is proposed
    ],
)
def test_what_is_no_rule_or_no_parameter_of_it_is_told_which_there_are(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_a_seed_decides_between_equals_and_what_is_drawn(dynamics):
    one, two, again = (choose("random", dynamics, keep=0.5, seed=s) for s in (0, 1, 0))
    assert same(one, again)
    assert same(
        choose("aum_remove", dynamics, keep=0.3), choose("aum_remove", dynamics, keep=0.3, seed=0)
    )
    ties = [choose("aum_remove", dynamics, keep=0.3, seed=s) for s in (0, 1)]
    assert not same(*ties)
    assert len(two) == N // 2


def test_every_rule_says_in_a_line_what_it_does():
    for name, rule in RULES.items():
        assert rule.name == name
        assert rule.title
        assert 10 < len(rule.about) < 100
        assert not rule.about.endswith(".")
