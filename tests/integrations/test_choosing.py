"""Dynamics made by hand, no training: what is chosen, and what in place of what."""

import numpy as np
import pytest

from dris.core.choose.importance import importance
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.core.noise.canaries import plant_canaries
from dris.core.scores.formulas import aum_mean, rank_variance
from dris.data.labelled import LabelledData
from dris.decide.scored import Scored, Settings
from dris.integrations import choosing
from dris.integrations.choosing import make_choice

WRONG = 0.1


def world(n=2000, *, apart=4.0, stray=0, loved=0, copies=False, rare=0):
    """Ten classes, a tenth of the labels wrong, and three proxies that see most of them.

    `stray` choosing canaries have got their true label back, `loved` ones a label that the proxies
    believe in above all. The last `rare` examples are an eleventh class, the hardest of all.
    """
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 10
    truth[n - rare :] = 10
    wrong = (rng.random(n) < WRONG) & (truth < 10)
    given = np.where(wrong, (truth + 1) % 10, truth)
    canaries = plant_canaries(given, share=0.1, rng=rng, classes=10 + bool(rare))
    seen = truth.copy()
    back = canaries.choosing.positions[:stray]
    seen[back] = canaries.planted[back]
    logits = apart * np.eye(10 + bool(rare))[seen] + rng.normal(size=(3, n, 10 + bool(rare)))
    best = canaries.choosing.positions[:loved]
    logits[:, best, canaries.planted[best]] += 50
    logits[:, n - rare :, -1] -= 20 * bool(rare)
    if copies:
        logits[:] = logits[0]
    dynamics = Dynamics.from_logits(logits, canaries.planted)
    names = tuple("abcdefghijk"[: 10 + bool(rare)])
    data = LabelledData.of(np.zeros((n, 1)), given, classes=names)
    return Scored(data, dynamics, (canaries,), Settings()), wrong


def chosen(monkeypatch, scored, keep=1.0, rule="recommended", **more):
    monkeypatch.setattr(choosing, "score_data", lambda data, settings, **how: scored)
    choice = make_choice(scored.data, Settings(), keep=keep, rule=rule, **more)
    return choice, np.flatnonzero(choice.weights)


def test_where_nothing_is_lacking_the_choice_is_the_command_lines(monkeypatch):
    scored, wrong = world()
    choice, kept = chosen(monkeypatch, scored, keep=0.5)
    assert choice.notes == ()
    assert choice.rule == choice.verdict.rule == "gated"
    assert kept.tolist() == scored.kept(scored.choose("gated", 0.5)).tolist()
    assert not scored.planted()[kept].any()
    assert wrong[kept].mean() < 0.02 < WRONG
    assert choice.scores.keys() == scored.scores().keys()


def test_few_examples_or_one_class_are_all_kept_and_nothing_trains(monkeypatch):
    monkeypatch.setattr(choosing, "score_data", None)  # would fail if it were called
    few = LabelledData.of(np.zeros((199, 1)), np.arange(199) % 2, classes=("a", "b"))
    one = LabelledData.of(np.zeros((500, 1)), np.zeros(500, dtype=int), classes=("a",))
    for data, words in ((few, "199 examples cannot show"), (one, "one class cannot show")):
        choice = make_choice(data, Settings(), keep=0.5)
        assert choice.weights.all()
        assert (choice.rule, choice.verdict, choice.scores) == ("everything", None, {})
        assert len(choice.notes) == 1
        assert words in choice.notes[0]
    enough = LabelledData.of(np.zeros((200, 1)), np.arange(200) % 2, classes=("a", "b"))
    with pytest.raises(TypeError):  # the twin: one example more, and proxies train
        make_choice(enough, Settings(), keep=0.5)


def test_proxies_that_no_rule_is_safe_with_leave_everything_in(monkeypatch):
    choice, kept = chosen(monkeypatch, world(copies=True)[0], keep=0.25)
    assert (choice.rule, kept.size) == ("everything", 2000)
    assert "no rule is safe with these proxies" in choice.notes[0]
    named, kept = chosen(monkeypatch, world(copies=True)[0], keep=0.25, rule="aum_mean")
    assert (named.rule, named.notes) == ("aum_mean", ())
    assert kept.size <= 500


def test_a_gate_that_lacks_canaries_is_replaced_by_the_cleanest(monkeypatch):
    scored, _ = world(n=300)  # 30 canaries, 15 of them choosing, and a gate needs 29
    choice, kept = chosen(monkeypatch, scored, keep=0.5, rule="gated")
    assert choice.rule == "aum_mean"
    assert "a gate needs 29 choosing canaries and 300 examples gave 15" in choice.notes[0]
    assert kept.tolist() == scored.kept(scored.choose("aum_mean", 0.5)).tolist()


def test_a_gate_that_stray_canaries_set_is_replaced_unless_asked_for_by_name(monkeypatch):
    scored, wrong = world(n=700, stray=3)
    choice, kept = chosen(monkeypatch, scored)
    assert choice.verdict.rule in ("gated", "gated_per_class")
    assert choice.rule == "aum_mean"
    assert "examples pass a gate set by 35 canaries" in choice.notes[0]
    assert wrong[kept].mean() < 0.02
    named, behind = chosen(monkeypatch, scored, rule="gated")
    assert named.rule == "gated"
    assert behind.size < kept.size / 2
    calm, _ = chosen(monkeypatch, world(n=700)[0])  # the twin: no strays, and the gate stays
    assert calm.rule in ("gated", "gated_per_class")
    assert calm.notes == ()


def test_easy_data_with_doubted_labels_loses_those_and_without_them_nothing(monkeypatch):
    scored, wrong = world(apart=12.0)
    choice, kept = chosen(monkeypatch, scored)
    assert choice.verdict.rule == "random"  # the verdict: no example is contested
    assert choice.rule == "aum_mean"
    assert "nothing is contested, yet 10% of the labels are doubted" in choice.notes[0]
    assert not wrong[kept].any()
    named, at_random = chosen(monkeypatch, scored, rule="random")
    assert named.rule == "random"
    assert wrong[at_random].any()


def test_where_nothing_passes_the_gate_the_cleanest_are_kept(monkeypatch):
    scored, wrong = world(n=700, loved=1)
    choice, kept = chosen(monkeypatch, scored, keep=0.5)
    assert choice.rule == choice.verdict.rule == "aum_mean"
    assert "nothing passes the gate" in choice.verdict.reason
    assert kept.size > 300
    assert wrong[kept].mean() < 0.02 < WRONG


def test_the_cleanest_are_never_more_than_the_undoubted(monkeypatch):
    scored, wrong = world(n=300)
    choice, kept = chosen(monkeypatch, scored)  # keep = 1, and too few canaries for a gate
    assert choice.rule == choice.verdict.rule == "aum_mean"
    undoubted = (1 - choice.verdict.doubted) * (270 / 300)
    assert kept.tolist() == scored.kept(scored.choose("aum_mean", undoubted)).tolist()
    assert wrong[kept].mean() < 0.02 < WRONG
    named, all_of_them = chosen(monkeypatch, scored, rule="aum_mean")  # the twin: as was asked
    assert (named.notes, all_of_them.size) == ((), 270)


def test_a_class_that_would_vanish_keeps_its_share_of_its_cleanest(monkeypatch):
    scored, _ = world(rare=20)
    bare = scored.kept(scored.choose("aum_mean", 0.5))
    assert not (bare >= 1980).any()  # the twin: without help it vanishes
    choice, kept = chosen(monkeypatch, scored, keep=0.5, rule="aum_mean")
    assert "class k would vanish" in choice.notes[0]
    rare = kept[kept >= 1980]
    margin = aum_mean(scored.dynamics)
    assert rare.size == 10
    assert margin[rare].min() >= np.sort(margin[1980:])[10]
    assert kept[kept < 1980].tolist() == bare.tolist()


def test_weights_are_the_papers_probabilities_among_those_kept(monkeypatch):
    scored, _ = world()
    alike, kept = chosen(monkeypatch, scored, keep=0.5)
    weighted, same = chosen(monkeypatch, scored, keep=0.5, weight=True)
    assert kept.tolist() == same.tolist()
    assert set(alike.weights.tolist()) == {0.0, 1.0}
    q = importance(rank_variance(scored.dynamics)[kept]).probabilities
    assert weighted.weights[kept] == pytest.approx(q * kept.size)
    assert weighted.weights[kept].mean() == pytest.approx(1)
    assert np.ptp(weighted.weights[kept]) > 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rule": "best"}, "rule must be one of recommended, gated"),
        ({"keep": 1.5}, r"keep must be in \(0, 1\], got 1.5"),
        ({"keep": 0.0001}, "keep = 0.0001 of 2000 examples is none"),
    ],
)
def test_bad_options_are_refused_before_anything_trains(monkeypatch, options, words):
    monkeypatch.setattr(choosing, "score_data", None)
    with pytest.raises(InputError, match=words):
        make_choice(world()[0].data, Settings(), **{"keep": 0.5, **options})
