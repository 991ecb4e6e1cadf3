"""Dynamics made by hand, no training: what is kept, and what in place of what."""

from dataclasses import replace

import numpy as np
import pytest

from dris.core.certify.limits import data_limits, subset_limits
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import SCORES, aum_mean, rank_variance
from dris.core.select.importance import importance
from dris.core.select.rules import RULES, choose
from dris.data.labelled import LabelledData, Leak
from dris.pipeline import route
from dris.pipeline.choice import (
    MIN_CLASS_SHARE,
    MIN_PASS_SHARE,
    _unfit,
    _with_every_class,
    choose_rows,
)
from dris.pipeline.ensemble import import_dynamics
from dris.pipeline.route import decide, decide_by
from dris.pipeline.settings import Settings
from made_ensemble import WRONG, made_ensemble


def by_rule(ensemble, rule, keep):
    """What a rule keeps by itself: chosen blind to canaries, trusted added, canaries dropped."""
    chosen = choose(rule, ensemble.dynamics, keep=keep, choosing=ensemble.choosing)
    return np.flatnonzero((chosen.mask() | ensemble.data.trusted) & ~ensemble.planted)


def but_canaries(decision):
    """The kept rows that were no canary's."""
    return decision.kept[~decision.ensemble.planted[decision.kept]].tolist()


def test_where_nothing_is_lacking_the_rule_of_the_judgement_keeps_what_it_keeps():
    ensemble, wrong = made_ensemble()
    decision = decide_by(ensemble, keep=0.5)
    assert decision.notes == ()
    assert decision.rule == decision.judgement.rule == "gated"
    assert but_canaries(decision) == by_rule(ensemble, "gated", 0.5).tolist()
    assert wrong[decision.kept].mean() < 0.02 < WRONG


@pytest.mark.parametrize("rule", [name for name in RULES if name != "clean"])
def test_every_rule_asked_for_by_name_keeps_its_rows_and_trusted_ones(rule):
    trusted = np.arange(2000) % 25 == 1
    ensemble, _ = made_ensemble(trusted=trusted)
    try:
        expected = by_rule(ensemble, rule, 0.4)
    except InputError:  # a column that these dynamics lack
        with pytest.raises(InputError):
            decide_by(ensemble, keep=0.4, rule=rule)
        return
    decision = decide_by(ensemble, keep=0.4, rule=rule)
    assert (decision.rule, decision.notes) == (rule, ())
    assert but_canaries(decision) == expected.tolist()
    assert decision.mask[trusted].all()
    assert decision.kept.size <= 0.4 * 2000 + trusted.sum()


@pytest.mark.parametrize("rule", ["random", "rank_variance", "aum_mean"])
def test_canaries_rows_take_the_place_of_chosen_canaries_with_their_own_labels(rule):
    ensemble, wrong = made_ensemble(n=300)
    decision, planted = decide_by(ensemble, keep=0.5, rule=rule), ensemble.planted
    chosen = choose(rule, ensemble.dynamics, keep=0.5, choosing=ensemble.choosing).mask()
    assert decision.kept.size == 150 == decision.limits[0].left
    back = decision.mask & planted
    assert back.sum() == (chosen & planted).sum()
    free = planted & ~ensemble.assessment.given.suspects
    assert not (back & ~free).any()  # nothing whose own label is a suspect
    assert (back[chosen & free]).all()  # the chosen ones first
    assert wrong[back].sum() <= wrong[planted & ~free].sum()
    assert np.array_equal(decision.labels, ensemble.data.labels)


def test_clean_drops_suspects_and_nothing_else():
    ensemble, wrong = made_ensemble()
    decision = decide_by(ensemble, keep=None)
    assert (decision.rule, decision.keep, decision.notes) == ("clean", None, ())
    dropped = np.setdiff1d(np.arange(2000), decision.kept)
    assert set(dropped) <= set(decision.suspects.positions)
    assert wrong[dropped].mean() > 0.9
    assert wrong[decision.kept].mean() < 0.01 < WRONG


def test_clean_keeps_the_row_of_a_canary_whose_own_label_nobody_contradicts():
    ensemble, wrong = made_ensemble()
    decision = decide_by(ensemble, keep=None)
    planted = ensemble.planted
    expected = planted & ~ensemble.assessment.given.suspects
    assert decision.mask[planted].tolist() == expected[planted].tolist()
    assert expected.sum() > 150
    assert wrong[expected].sum() < wrong[planted].sum() / 3
    pruned = decide_by(ensemble, keep=1.0, rule="clean")  # of a share only as many as were chosen
    assert pruned.mask[planted].sum() < expected.sum() / 2


def test_the_gate_saves_what_is_contradicted_but_looks_clean():
    """The clean rule drops what both the gate and most proxies reject."""
    ensemble, _ = made_ensemble(n=700, loved=1)  # nothing passes: contradiction alone decides
    decision = decide_by(ensemble, keep=None)
    free = ~ensemble.planted
    assert decision.mask[free].tolist() == (~ensemble.assessment.given.suspects)[free].tolist()
    ensemble, _ = made_ensemble()
    decision = decide_by(ensemble, keep=None)
    free = ~ensemble.planted
    saved = decision.mask & ensemble.assessment.given.suspects & free
    gate = choose("gated", ensemble.dynamics, keep=1.0, choosing=ensemble.choosing).mask()
    assert saved.sum() == (gate & ensemble.assessment.given.suspects & free).sum()


def test_a_handful_of_examples_or_one_class_are_all_kept_and_nothing_trains(monkeypatch):
    monkeypatch.setattr(route, "train_ensemble", None)  # would fail if it were called
    few = LabelledData.of(np.zeros((19, 1)), np.arange(19) % 2, classes=("a", "b"))
    one = LabelledData.of(np.zeros((500, 1)), np.zeros(500, dtype=int), classes=("a",))
    for data, words in ((few, "19 examples cannot show"), (one, "one class cannot show")):
        for keep in (None, 0.5):
            decision = decide(data, keep=keep)
            assert decision.kept.tolist() == list(range(len(data)))
            assert decision.rule == "everything"
            assert decision.judgement is decision.ensemble is None
            assert (decision.limits, decision.suspects) == ((), None)
            assert len(decision.notes) == 1
            assert words in decision.notes[0]
            with pytest.raises(InputError, match="so little data"):
                decision.weigh()
            with pytest.raises(InputError, match="so little data"):
                decision.at(0.5)
    enough = LabelledData.of(np.zeros((20, 1)), np.arange(20) % 2, classes=("a", "b"))
    with pytest.raises(TypeError):  # the twin: one example more, and proxies train
        decide(enough, keep=0.5)


@pytest.mark.parametrize(("keep", "least"), [(None, 50), (0.5, 200)])
def test_with_few_examples_labels_are_looked_at_and_none_is_dropped(monkeypatch, keep, least):
    asked = []

    def scores(data, settings, **_):
        asked.append(settings.canaries)
        return replace(made_ensemble(n=len(data))[0], data=data, canaries=(), settings=settings)

    monkeypatch.setattr(route, "train_ensemble", scores)

    def few(n):
        return LabelledData.of(np.zeros((n, 1)), np.arange(n) % 10, classes=tuple("abcdefghij"))

    decision = decide(few(least - 1), keep=keep)
    assert (decision.rule, decision.kept.size) == ("everything", least - 1)
    told = f"{least - 1} examples are too few to drop any ({least} are the least)"
    assert decision.notes == (told,)
    assert len(decision.suspects) > 0
    assert not decision.suspects.dropped.any()
    named = decide(few(199), keep=0.5, rule="aum_mean", check_harm=False)
    assert named.rule == "aum_mean"  # asked for by name
    enough = decide(few(200), keep=keep, check_harm=False)  # the twin
    assert enough.rule != "everything"
    assert asked == [(), ("uniform",), ("uniform",)]
    assert decide(few(least), keep=keep, check_harm=False).rule != "everything"


@pytest.mark.parametrize("keep", [None, 0.25, 1.0])
def test_proxies_that_no_rule_is_safe_with_leave_everything_in(keep):
    ensemble, _ = made_ensemble(copies=True)
    decision = decide_by(ensemble, keep=keep)
    assert (decision.rule, decision.kept.size, decision.limits) == ("everything", 2000, ())
    assert "no rule is safe" in decision.notes[0]
    assert decision.judgement.subset is None
    named = decide_by(ensemble, keep=0.25, rule="aum_mean")
    assert (named.rule, named.notes) == ("aum_mean", ())
    assert named.kept.size <= 500


def test_a_gate_that_lacks_canaries_is_replaced_by_the_cleanest():
    ensemble, _ = made_ensemble(n=300)  # 30 canaries, 15 of them choosing, and a gate needs 29
    decision = decide_by(ensemble, keep=0.5, rule="gated")
    assert decision.rule == "aum_mean"
    (note,) = decision.notes
    assert all(number in note for number in ("29", "300", "15"))
    assert but_canaries(decision) == by_rule(ensemble, "aum_mean", 0.5).tolist()


def test_a_gate_that_stray_canaries_set_is_replaced_unless_asked_for_by_name():
    ensemble, wrong = made_ensemble(n=700, stray=3)
    decision = decide_by(ensemble, keep=1.0)
    assert decision.judgement.rule in ("gated", "gated_per_class")
    assert decision.rule == "aum_mean"
    assert all(number in decision.notes[0] for number in ("63", "35"))
    assert wrong[decision.kept].mean() < 0.02
    named = decide_by(ensemble, keep=1.0, rule="gated")
    assert named.rule == "gated"
    assert named.kept.size < decision.kept.size / 2
    calm = decide_by(made_ensemble(n=700)[0], keep=1.0)  # the twin: no strays, the gate stays
    assert calm.rule == "gated"
    assert calm.notes == ()


def test_easy_data_with_suspects_loses_those():
    ensemble, wrong = made_ensemble(apart=12.0)
    decision = decide_by(ensemble, keep=1.0)
    assert decision.judgement.rule == "random"  # no example is contested
    assert decision.rule == "aum_mean"
    (note,) = decision.notes
    assert "10 %" in note
    assert not wrong[decision.kept].any()
    named = decide_by(ensemble, keep=1.0, rule="random")
    assert named.rule == "random"
    assert wrong[named.kept].any()


def test_the_cleanest_are_never_more_than_the_unsuspected():
    ensemble, wrong = made_ensemble(n=300)
    decision = decide_by(ensemble, keep=1.0)  # too few canaries for a gate
    assert decision.rule == decision.judgement.rule == "aum_mean"
    unsuspected = (1 - decision.judgement.suspect_share) * (270 / 300)
    assert but_canaries(decision) == by_rule(ensemble, "aum_mean", unsuspected).tolist()
    assert wrong[decision.kept].mean() < 0.02 < WRONG
    named = decide_by(ensemble, keep=1.0, rule="aum_mean")  # the twin: as was asked
    assert (named.notes, but_canaries(named)) == ((), np.flatnonzero(~ensemble.planted).tolist())
    smaller = decide_by(ensemble, keep=0.5)  # a smaller share is not enlarged
    assert but_canaries(smaller) == by_rule(ensemble, "aum_mean", 0.5).tolist()


def test_without_canaries_the_cleanest_are_kept_and_it_is_said():
    ensemble, wrong = made_ensemble()
    bare = replace(ensemble, canaries=())
    decision = decide_by(bare, keep=0.5)
    assert (decision.rule, decision.judgement, decision.limits) == ("aum_mean", None, ())
    assert decision.notes == ("no canaries: aum_mean in place of a recommendation",)
    assert decision.kept.size == 1000
    assert wrong[decision.kept].mean() < 0.02 < WRONG
    losses = Dynamics.from_losses(ensemble.dynamics.snapshot("loss"))
    only = import_dynamics(ensemble.data, losses)
    assert decide_by(only, keep=0.5).rule == "rank_variance"  # no margins
    cleaned = decide_by(bare, keep=None)
    assert cleaned.rule == "clean"
    assert np.setdiff1d(np.arange(2000), cleaned.kept).size == len(cleaned.suspects)


def test_losses_alone_say_nothing_of_labels_and_all_is_kept():
    ensemble, _ = made_ensemble()
    only = import_dynamics(ensemble.data, Dynamics.from_losses(ensemble.dynamics.snapshot("loss")))
    decision = decide_by(only, keep=None)
    assert (decision.rule, decision.kept.size, len(decision.suspects)) == ("everything", 2000, 0)
    assert decision.notes[-1] == "these dynamics do not say which labels proxies contradict"


def rare_world(hated=5.0, **more):
    """An eleventh class of 20 that the proxies doubt, though less than a canary."""
    return made_ensemble(rare=20, hated=hated, **more)[0]


def sizes_by_hand(ensemble, mask):
    """Of the rare class: given, and in the mask, by what the choosing canaries show."""
    labels, given = ensemble.dynamics.labels, ensemble.data.labels
    before, after = float((labels == 10).sum()), float((labels[mask] == 10).sum())
    for kind in ensemble.canaries:
        times = len(kind) / kind.choosing.size
        for at in kind.choosing:
            before += times * (int(given[at] == 10) - int(labels[at] == 10))
            after -= times * int(mask[at] and labels[at] == 10)
    return before, after


def test_a_class_below_half_of_its_share_gets_its_cleanest_back():
    ensemble = rare_world()
    labels, margin = ensemble.dynamics.labels, aum_mean(ensemble.dynamics)
    bare = choose("clean", ensemble.dynamics, keep=1.0, choosing=ensemble.choosing).mask()
    least = np.ceil(MIN_CLASS_SHARE * bare.sum() * (labels == 10).mean())
    assert (bare & (labels == 10)).sum() < least  # the twin: without help it falls below
    decision = decide_by(ensemble, keep=None)
    (note,) = decision.notes
    assert note.startswith("class k ")
    back = decision.mask & ~bare & ~ensemble.planted
    assert set(labels[back]) == {10}
    inside = (decision.mask | bare) & (labels == 10)
    outside = ~inside & (labels == 10) & ~ensemble.planted
    assert margin[back].min() >= margin[outside].max()
    free = ~ensemble.planted & (labels != 10)
    assert decision.mask[free].tolist() == bare[free].tolist()  # nobody gives way


def test_at_a_fixed_share_others_give_way_and_the_size_stays():
    trusted = np.arange(2000) % 40 == 3
    ensemble = rare_world(9.0, trusted=trusted)
    decision = decide_by(ensemble, keep=0.5)
    assert any(note.startswith("class k ") for note in decision.notes)
    labels, margin = ensemble.dynamics.labels, aum_mean(ensemble.dynamics)
    chosen = choose(decision.rule, ensemble.dynamics, keep=0.5, choosing=ensemble.choosing).mask()
    bare = chosen | trusted
    before, after = sizes_by_hand(ensemble, bare)
    passed = sum(
        len(kind) / kind.choosing.size * int(bare[kind.choosing].sum())
        for kind in ensemble.canaries
    )
    least = np.ceil(MIN_CLASS_SHARE * (bare.sum() - passed) * before / 2000)
    shown = (
        np.ceil(MIN_CLASS_SHARE * bare.sum() * (labels == 10).mean())
        - (bare & (labels == 10)).sum()
    )
    need = int(min(np.floor(least - after), shown))
    assert need > 0
    expected = bare.copy()  # one by one: the cleanest in, the least clean of the others out
    for _ in range(need):
        expected[max(np.flatnonzero(~expected & (labels == 10)), key=lambda i: margin[i])] = True
        others = np.flatnonzero(expected & (labels != 10) & ~trusted)
        expected[min(others, key=lambda i: margin[i])] = False
    assert expected.sum() == bare.sum()
    assert but_canaries(decision) == np.flatnonzero(expected & ~ensemble.planted).tolist()


def test_a_class_at_exactly_half_of_its_share_neither_gets_nor_gives():
    """12 of a, 4 of b, 8 of c; of 8 kept, halves of shares are 2, 1 (of 0.67) and 2 (of 1.33)."""
    labels = np.repeat([0, 1, 2], [12, 4, 8])
    margin = np.linspace(1.0, 3.0, 24)
    dynamics = Dynamics.from_arrays(
        loss=np.ones((2, 24)), margin=np.stack([margin, margin]), labels=labels
    )
    data = LabelledData.of(np.zeros((24, 1)), labels, classes=("a", "b", "c"))
    ensemble = import_dynamics(data, dynamics)

    def topped(mask, fixed):
        after, notes = _with_every_class(ensemble, mask, fixed=fixed)
        return np.flatnonzero(after & ~mask).tolist(), np.flatnonzero(mask & ~after).tolist(), notes

    kept = np.isin(np.arange(24), [0, 1, 2, 3, 4, 12, 16, 17])
    for fixed in (False, True):
        assert topped(kept, fixed) == ([], [], ())
    kept = np.isin(np.arange(24), [0, 1, 2, 3, 4, 5, 16, 17])  # nothing of b
    note = "class b would fall below half of its share and keeps its cleanest"
    assert topped(kept, False) == ([15], [], (note,))
    assert topped(kept, True) == ([15], [0], (note,))  # the least clean of a: c is at its half
    kept = np.isin(np.arange(24), [12, 13, 14, 15, 16, 17, 18, 19])
    note = "class a would fall below half of its share and keeps its cleanest"
    assert topped(kept, True) == ([10, 11], [12, 13], (note,))
    kept = np.isin(np.arange(24), [0, 1, 2, 3, 4, 5, 6, 7])
    both = "classes b, c would fall below half of their share and keep their cleanest"
    assert topped(kept, True) == ([15, 22, 23], [0, 1, 2], (both,))


@pytest.mark.parametrize(("count", "more"), [(12, ""), (13, "… (1 more)"), (500, "… (488 more)")])
def test_of_many_classes_that_would_fall_short_a_dozen_are_named(count, more):
    labels = np.repeat([*range(count), count], [*[4] * count, 8 * count])
    loss = np.ones((2, len(labels)))
    dynamics = Dynamics.from_arrays(loss=loss, margin=loss + 1, labels=labels)
    classes = tuple(f"c{i}" for i in range(count + 1))
    data = LabelledData.of(np.zeros((len(labels), 1)), labels, classes=classes)
    _, (note,) = _with_every_class(import_dynamics(data, dynamics), labels == count, fixed=False)
    assert more in note
    assert len(note) < 200
    assert ("…" in note) == bool(more)


@pytest.mark.parametrize(("suspects", "unfit"), [(0.049, False), (0.05, True)])
def test_random_is_replaced_from_5_percent_suspects_labels_on(suspects, unfit):
    ensemble, _ = made_ensemble(apart=12.0)
    judgement = replace(decide_by(ensemble, keep=0.5).judgement, suspect_share=suspects)
    assert judgement.rule == "random"
    assert (_unfit(ensemble, judgement, 1000.0) is not None) == unfit


def test_a_gate_through_which_exactly_three_quarters_pass_is_fine():
    ensemble, _ = made_ensemble(n=700, stray=3)
    judgement = decide_by(ensemble, keep=0.5).judgement
    passed = 63  # so many do
    assert _unfit(ensemble, judgement, passed / MIN_PASS_SHARE) is None
    assert "only 63 examples pass" in _unfit(ensemble, judgement, passed / MIN_PASS_SHARE + 0.1)


def test_a_class_of_which_nothing_is_left_is_named():
    ensemble, _ = made_ensemble(rare=20)  # its canaries look cleaner than itself, and they leave
    decision = decide_by(ensemble, keep=0.5)
    assert decision.classes()["k"][1] == 0
    assert decision.notes[-1] == "no example of k is kept"
    assert "is kept" not in str(decide_by(rare_world(), keep=0.5).notes)  # the twin


def test_a_rule_asked_for_by_name_is_not_topped_up():
    ensemble, _ = made_ensemble(rare=20)
    decision = decide_by(ensemble, keep=0.5, rule="aum_mean")
    assert decision.notes == ("no example of k is kept",)
    assert but_canaries(decision) == by_rule(ensemble, "aum_mean", 0.5).tolist()


@pytest.mark.parametrize("keep", [None, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("kind", [{}, {"rare": 20}, {"n": 300}, {"n": 700, "stray": 3}])
def test_limits_count_exactly_the_kept_rows_and_hold(keep, kind):
    ensemble, wrong = made_ensemble(**kind)
    decision = decide_by(ensemble, keep=keep)
    (limit,) = decision.limits
    assert limit.left == decision.kept.size
    assert wrong[decision.kept].sum() <= limit.wrong
    assert limit.delta == 0.05
    assert decision.limit == (limit if decision.limit_says == "something" else None)


def test_limits_of_a_prune_are_those_of_the_protocol():
    ensemble, _ = made_ensemble()
    decision = decide_by(ensemble, keep=0.5)
    corruption = data_limits(-ensemble.assessment.shown.wrong, ensemble.canaries)
    chosen = choose("gated", ensemble.dynamics, keep=0.5, choosing=ensemble.choosing)
    assert decision.corruption == corruption == ensemble.corruption
    back = decision.mask & ensemble.planted
    assert decision.limits == subset_limits(chosen, ensemble.canaries, corruption, rows=back)
    again = choose_rows(ensemble, decision.judgement, keep=0.5, rule="recommended")
    assert again.limits == decision.limits


def test_another_share_comes_with_its_own_rows_and_limits():
    ensemble, _ = made_ensemble()
    decision, other = decide_by(ensemble, keep=0.5), decide_by(ensemble, keep=0.25)
    choice = decision.at(0.25)
    assert np.flatnonzero(choice.kept).tolist() == other.kept.tolist()
    assert choice.limits == other.limits
    assert choice.rule == "gated"
    everything = decide_by(made_ensemble(copies=True)[0], keep=0.5)
    assert everything.at(0.5).rule == "rank_variance"


def test_weights_are_the_papers_probabilities_among_those_kept_or_all_but_canaries():
    ensemble, _ = made_ensemble()
    decision = decide_by(ensemble, keep=0.5)
    weighting = decision.weigh()
    plan, at = weighting.importance, weighting.positions
    assert at.tolist() == decision.kept.tolist()
    assert plan.probabilities == pytest.approx(
        importance(rank_variance(ensemble.dynamics)[decision.kept]).probabilities
    )
    of_kept = decision.weigh("p_wrong")
    assert of_kept.positions.tolist() == decision.kept.tolist()
    assert (of_kept.weights == np.where(decision.mask, decision.sample_weight, 0)).all()
    weighting = decision.weigh("loss", smoothing=0.3, exponent=0.5, of="all")
    plan, at = weighting.importance, weighting.positions
    assert (weighting.weights[at] == plan.weights).all()
    assert not weighting.probabilities[ensemble.planted].any()
    assert at.tolist() == np.flatnonzero(~ensemble.planted).tolist()
    by_hand = importance(SCORES["loss"](ensemble.dynamics)[at], smoothing=0.3, weight_exponent=0.5)
    assert (plan.weights == by_hand.weights).all()
    with pytest.raises(InputError, match=r"weights need a score, one of .*, got 'gated'"):
        decision.weigh("gated")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rule": "best"}, "`rule` must be one of clean, .*, got 'best'"),
        ({"keep": 1.5}, r"keep must be in \(0, 1\], got 1.5"),
        ({"keep": 0.0001}, "keep = 0.0001 of 2000 examples is none"),
        ({"rule": "gated", "settings": Settings(canaries=())}, "needs canaries to set its gate"),
    ],
)
def test_bad_options_are_refused_before_anything_trains(monkeypatch, options, words):
    monkeypatch.setattr(route, "train_ensemble", None)
    with pytest.raises(InputError, match=words):
        decide(made_ensemble()[0].data, **{"keep": 0.5, **options})


def test_no_limit_is_certified_while_a_column_that_tells_the_label_is_learned_from():
    ensemble, _ = made_ensemble()
    for left_out, certified in ((True, True), (False, False)):
        leak = Leak("code", 1.0, left_out)
        with_leak = replace(ensemble, data=replace(ensemble.data, leaks=(leak,)))
        decision = decide_by(with_leak, keep=0.5)
        assert bool(decision.limits) == bool(decision.corruption) == certified
        assert any("read off code" in note for note in decision.notes) == (not certified)
