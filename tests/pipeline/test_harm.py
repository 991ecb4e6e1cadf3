"""What following a decision changes, told without the truth; only sure harm undoes it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from dris.core.select.rules import METHODS, Method
from dris.core.select.selection import keep_top
from dris.data.labelled import LabelledData
from dris.learn.trainers.folds import folds_of
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.stack import as_features
from dris.pipeline import harm as module
from dris.pipeline import route
from dris.pipeline.ensemble import train_ensemble
from dris.pipeline.harm import Change, Harm, Training, measure_harm, resample
from dris.pipeline.route import decide, decide_by, follow_unless_harmful
from dris.pipeline.settings import Settings
from made_ensemble import made_ensemble

CHEAP = Settings(proxies=2, epochs=6, canaries=())


def blobs(wrong=0.3, n=900, seed=0, apart=2.0):
    """Three classes; each label is wrong with the same chance, or with its class's own."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    x = rng.normal(size=(n, 6)) + apart * np.eye(3, 6)[truth]
    flipped = rng.random(n) < np.broadcast_to(wrong, 3)[truth]
    given = np.where(flipped, (truth + rng.integers(1, 3, n)) % 3, truth)
    return LabelledData.of(x, given, classes=("a", "b", "c")), flipped, truth


def scaled(data):
    return as_features(Data(data.x, data.labels), True).x


def keeping(kept, labels):
    """What `measure_harm` asks for: the rows of each fold's rest for which `kept` is true."""

    def prepare(chosen, fold):
        def again(f):
            inside = np.flatnonzero((fold != f) & kept[chosen])
            return {"decision": Training(inside, labels[chosen[inside]])}

        return again

    return prepare


def measured(data, kept, credit=None, labels=None, **more):
    prepare = keeping(kept, data.labels if labels is None else labels)
    credit = np.eye(len(data.classes)) if credit is None else credit
    return measure_harm(scaled(data), data.labels, data.names, prepare, credit=credit, **more)


def test_the_change_is_that_of_accuracy_on_the_true_labels_and_agreement_is_not(monkeypatch):
    data, _, truth = blobs(wrong=(0.5, 0.1, 0.1), n=2400, apart=1.7)
    seen, compare = [], module._compare

    def watched(predictions, arms, names, given, fold, credit):
        seen.append((predictions, arms, names, fold))
        return compare(predictions, arms, names, given, fold, credit)

    monkeypatch.setattr(module, "_compare", watched)
    told = decide(data, workers=1).harm.change
    ((predictions, arms, names, fold),) = seen
    real = compare(predictions, arms, names, truth, fold, np.eye(3)).change.points
    agreed = compare(predictions, arms, names, data.labels, fold, np.eye(3)).change.points
    assert real > 1
    assert abs(told.points - real) < min(2 * told.error, 1.5)
    assert agreed < 0.7 * real  # the twin: noisy labels hide what was gained


def test_keeping_the_right_labels_helps_keeping_the_wrong_ones_harms():
    data, flipped, _ = blobs(wrong=0.4, n=1800, apart=1.5)
    good = measured(data, ~flipped)
    assert (good.says, good.flatters, good.rows) == ("helps", False, 1800)
    assert good.kept == pytest.approx(0.6, abs=0.05)
    shares = dict(zip(data.names, np.bincount(data.labels) / len(data), strict=True))
    in_all = sum(shares[name] * good.classes[name] for name in "abc")
    assert in_all == pytest.approx(good.change.points)  # each class by its share
    assert measured(data, flipped | (np.arange(1800) % 10 == 0)).says == "harms"
    same = measured(data, np.ones(1800, dtype=bool)).change
    assert (same.points, same.error, same.says) == (0, 0, "cannot tell")


def test_labels_that_were_changed_are_trained_on_as_changed():
    data, _, truth = blobs(wrong=0.0, n=900, apart=4.0)
    everything = np.ones(900, dtype=bool)
    assert measured(data, everything, labels=(truth + 1) % 3).change.points < -90
    half = np.where(np.arange(900) % 2, truth, data.labels)
    assert measured(data, everything, labels=half).change.points == 0


def test_what_each_prediction_is_worth_by_hand():
    credit = np.array([[2.0, -1.0], [-1.0, 2.0]])
    given, fold = np.array([0, 0, 1, 1, 0, 0, 1, 1]), np.arange(8) // 2
    everything, decision = given.copy(), given.copy()
    everything[0], decision[2] = 1, 0  # one row gains 3, another loses 3
    arms = ("everything", "decision", "weights", "random")
    predictions = {"linear": np.stack((everything, decision, given, everything))}
    harm = module._compare(predictions, arms, ("a", "b"), given, fold, credit)
    assert harm.change.points == 0
    assert harm.classes == {"a": 75, "b": -75}
    assert harm.worst == ("b", -75)
    assert harm.others["weights"].points == pytest.approx(300 / 8)
    assert harm.other_classes["weights"] == {"a": 75, "b": 0}
    assert harm.over_random == harm.change  # here it predicts as everything does


def test_the_error_is_that_of_rows_or_of_folds_whichever_is_larger_by_hand():
    fold = np.arange(8) // 2
    # One fold gains both rows. Means 1, 0, 0, 0 have deviation 1/2, over √4; rows less.
    moved = module._change((fold == 0).astype(float), fold)
    assert (moved.points, moved.error) == (25, 25)
    # Each fold gains one and loses one: folds agree, rows have variance 8/7, over 8.
    torn = module._change(np.array([1.0, -1.0] * 4), fold)
    assert (torn.points, torn.error) == (0, pytest.approx(100 * np.sqrt(1 / 7)))


@pytest.mark.parametrize(
    ("points", "error", "says"),
    [(-1, 0.5, "harms"), (1, 0.5, "helps"), (-1, 0.61, "cannot tell"), (1, 0.61, "cannot tell")],
)
def test_harm_and_help_are_said_only_where_the_interval_leaves_zero_out(points, error, says):
    assert Change(points, error).says == says
    assert Harm(Change(points, error), {}, {"a": 1.0}, 10, 0.5).to_dict()["says"] == says


@drawn(st.lists(st.floats(0, 4), min_size=1, max_size=40))
def test_rows_are_drawn_as_often_as_their_weight_says(values):
    weights = np.array(values) + 1e-3
    rows = resample(np.arange(len(values)), weights)
    times = np.bincount(rows, minlength=len(values))
    assert rows.size == len(values)
    assert np.abs(times - weights * len(values) / weights.sum()).max() <= 1 + 1e-9


def test_a_model_of_ones_own_is_fitted_on_each_fold_and_asked_about_the_rows_held_out(monkeypatch):
    data, flipped, _ = blobs(n=450)
    monkeypatch.setattr(module, "REPEATS", ())
    monkeypatch.setattr(module, "HEADS", {})
    model, x, y = KNeighborsClassifier(1), scaled(data), data.labels
    told = measured(data, ~flipped, estimators={"nearest": model}).change.points
    rng = module.rng_for(0, "harm", "folds", 0)
    fold = folds_of(y, module.rows_together(x, None, len(x)), module.FOLDS, rng=rng)
    right = np.zeros((2, 450))
    for f in range(4):
        for arm, rows in enumerate((fold != f, (fold != f) & ~flipped)):
            held = fold == f
            right[arm, held] = model.fit(x[rows], y[rows]).predict(x[held]) == y[held]
    assert told == pytest.approx(100 * (right[1] - right[0]).mean())
    assert told != 0


@pytest.mark.parametrize(("copies", "there"), [(20, True), (21, False)])
def test_copies_may_make_up_half_of_the_rows_and_no_more(copies, there):
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    x[:copies] = x[0]
    y, every = np.arange(40) % 2, np.ones(40, dtype=bool)
    found = measure_harm(x, y, ("a", "b"), keeping(every, y), credit=np.eye(2))
    assert (found is not None) == there


def test_of_many_rows_only_the_sample_is_learned_from_and_asked_about(monkeypatch):
    """Rows beyond the sample change nothing: neither their features nor how many there are."""
    monkeypatch.setattr(module, "MAX_HARM_CHECK_ROWS", 600)
    monkeypatch.setattr(module, "REPEATS", ())
    data, flipped, _ = blobs(n=1200)
    x, y, names, credit = scaled(data), data.labels, data.names, np.eye(3)
    seen = []

    def prepare(chosen, fold):
        seen.append(chosen)
        return keeping(~flipped, y)(chosen, fold)

    of_all = measure_harm(x, y, names, prepare, credit=credit)
    (chosen,) = seen
    assert np.unique(chosen).size == of_all.rows == 600
    of_sample = measure_harm(
        x[chosen], y[chosen], names, keeping(~flipped[chosen], y[chosen]), credit=credit
    )
    assert of_all == of_sample


@pytest.fixture(scope="module")
def folded():
    """Overlapping classes, a fifth of the labels wrong, proxies in folds, canaries."""
    data, _, _ = blobs(wrong=0.2, n=700, apart=2.0)
    return train_ensemble(
        data, replace(CHEAP, canaries=("uniform",)), workers=1, only_assessed=True
    )


def made_again(ensemble, fold, **more):
    """What each arm trains on in each fold, by name."""
    decision = decide_by(ensemble, keep=None, **more)
    again = route._clean_again(
        decision, ensemble, scaled(ensemble.data), np.arange(len(fold)), fold
    )
    return [again(f) for f in range(4)]


def test_labels_in_the_held_out_fold_do_not_change_what_is_kept_inside(monkeypatch, folded):
    fold = np.arange(700) % 4
    # The noise model, a few numbers, is fitted to all folds once; here it stays as it is.
    belief = folded.assessment.posterior
    monkeypatch.setattr(route, "fit_posterior", lambda *evidence, **more: belief)
    before, planted = made_again(folded, fold), np.array(folded.data.labels)
    planted[:160:4] = (planted[:160:4] + 1) % 3  # of fold 0
    data = LabelledData.of(folded.data.x, planted, classes=folded.data.classes)
    after = made_again(replace(folded, data=data), fold)
    for f, (one, other) in enumerate(zip(before, after, strict=True)):
        assert not (fold[one["decision"].rows] == f).any()
        moved = np.setxor1d(one["decision"].rows, other["decision"].rows)
        assert (moved.size > 0) == (f > 0), f  # the twin: the other folds learn from it
        assert np.array_equal(one["decision"].labels, folded.data.labels[one["decision"].rows])


def test_inside_a_fold_weights_are_an_arm_and_only_sure_fixes_are_made(folded):
    plain, fixed = (made_again(folded, np.arange(700) % 4, fix=fix) for fix in (False, True))
    for one, other in zip(plain, fixed, strict=True):
        assert list(one) == ["decision", "weights"]
        assert one["weights"].rows.size == 525
        assert set(one["decision"].rows) <= set(other["decision"].rows)
        changed = other["decision"].labels != folded.data.labels[other["decision"].rows]
        assert set(other["decision"].rows[~changed]) == set(one["decision"].rows)
        assert changed.any()


def test_a_share_is_compared_with_as_many_at_random_that_did_not_see_the_fold():
    data, _, _ = blobs(wrong=0.2, n=700)
    ensemble = train_ensemble(data, CHEAP, workers=1)
    decision, fold = decide_by(ensemble, keep=0.3, rule="aum_mean"), np.arange(700) % 4
    again = route._prune_again(decision, ensemble, np.arange(700), fold)
    arms = again(1)
    assert list(arms) == ["decision", "random"]
    for arm in arms.values():
        assert arm.rows.size == np.unique(arm.rows).size == int(0.3 * 525)
        assert not (fold[arm.rows] == 1).any()
    assert not np.array_equal(arms["decision"].rows, arms["random"].rows)


@pytest.mark.parametrize(("rule", "kinds"), [("rank_variance", ()), ("gated", ("uniform",))])
def test_inside_a_fold_canaries_are_planted_only_for_a_gate_and_no_epoch_is_wasted(
    monkeypatch, rule, kinds
):
    class EnoughError(Exception):
        pass

    seen = []

    def noted(part, settings, **how):
        seen.append((part, settings))
        raise EnoughError

    ensemble, _ = made_ensemble(n=700)
    asked = decide_by(ensemble, keep=0.5, rule=rule)
    monkeypatch.setattr(route, "train_ensemble", noted)
    again = route._prune_again(asked, ensemble, np.arange(10, 300), np.arange(290) % 4)
    with pytest.raises(EnoughError):
        again(0)
    ((part, settings),) = seen
    inside = 10 + np.flatnonzero(np.arange(290) % 4)
    assert part.ids.tolist() == ensemble.data.ids[inside].tolist()
    assert part.labels.tolist() == ensemble.data.labels[inside].tolist()
    assert (settings.canaries, settings.scored_epoch) == (kinds, None)
    longest = ensemble.dynamics.scored_epoch + 1
    assert settings.epochs == max(2, min(ensemble.settings.epochs, longest))
    assert settings.seed == ensemble.settings.seed


def answered(monkeypatch, points, error=1.0, lead=None, **others):
    """Have the check answer this."""
    over = None if lead is None else Change(lead, error)
    changes = {name: Change(value, error) for name, value in others.items()}
    classes = {name: {"a": value, "b": value + 1} for name, value in others.items()}
    own = {"a": points, "b": points - 1}
    more = {"other_classes": classes, "over_random": over}
    harm = Harm(Change(points, error), changes, own, 700, 0.5, **more)
    monkeypatch.setattr(route, "measure_harm", lambda *args, **how: harm)


@pytest.mark.parametrize("points", [9.0, 0.0, -1.0])
def test_a_decision_that_may_harm_is_followed_with_its_numbers(monkeypatch, folded, points):
    asked = decide_by(folded, keep=None)
    answered(monkeypatch, points)
    decision = follow_unless_harmful(asked)
    assert (decision.rule, decision.harm.change.points) == ("clean", points)
    assert decision.kept.tolist() == asked.kept.tolist()
    assert decision.notes == asked.notes
    assert decision.harm.worst == ("b", points - 1)


@pytest.mark.parametrize(("weights", "named"), [(9, True), (1, False), (-9, False)])
@pytest.mark.parametrize("fix", [False, True])
def test_sure_harm_keeps_everything_and_names_weights_where_they_help(
    monkeypatch, folded, weights, named, fix
):
    asked = decide_by(folded, keep=None, fix=fix)
    answered(monkeypatch, -9, weights=weights)
    decision = follow_unless_harmful(asked)
    assert (decision.rule, decision.kept.size, decision.fixed) == ("everything", 700, None)
    assert decision.harm.says == "harms"
    assert (decision.limits, decision.short) == ((), 0)
    assert len(decision.suspects) == len(asked.suspects) > 0
    assert not decision.suspects.dropped.any()
    assert decision.notes[:-1] == asked.notes
    assert "−9.0 ± 1.0" in decision.notes[-1]
    assert ("dris weights" in decision.notes[-1]) == named
    assert (decision.sample_weight == asked.sample_weight).all()  # they may still be used


def test_a_rule_that_keeps_the_wrong_ones_is_refused_unless_nobody_looks(monkeypatch):
    data, _, _ = blobs(wrong=0.2, n=500, apart=3.0)
    suspects = decide(data, settings=CHEAP, workers=1, check_harm=False).p_wrong > 0.5

    def backwards(task):
        return keep_top(task.assessment.shown.wrong, **{**task.how, "fraction": 0.15})

    monkeypatch.setitem(METHODS, "clean", Method(backwards, scored=False))
    blind = decide(data, settings=CHEAP, workers=1, check_harm=False)
    assert suspects[blind.kept].mean() > 0.9
    harm = measured(data, blind.mask)
    assert harm.says == "harms"
    monkeypatch.setattr(route, "measure_harm", lambda *args, **how: harm)
    assert decide(data, settings=CHEAP, workers=1).rule == "everything"


@pytest.mark.parametrize(
    ("lead", "rule"), [(-9, "random"), (-1, "rank_variance"), (9, "rank_variance")]
)
def test_a_share_is_honoured_and_only_a_rule_that_surely_loses_to_a_random_subset_changes(
    monkeypatch, lead, rule
):
    random = -20 - lead  # both lose to everything; only which loses more matters
    ensemble, _ = made_ensemble(n=700)
    asked = decide_by(ensemble, keep=0.25, rule="rank_variance")
    answered(monkeypatch, -20, lead=lead, random=random)
    decision = follow_unless_harmful(asked)
    assert (decision.rule, decision.keep) == (rule, 0.25)
    assert 0 < decision.kept.size <= 175
    taken = rule == "random"
    assert any("random" in note for note in decision.notes) == taken
    # What is said is of the rule that was taken; the other stands beside it.
    assert decision.harm.change.points == (random if taken else -20)
    assert decision.harm.worst == (("a", random) if taken else ("b", -21))
    other = decision.harm.others
    assert {name: c.points for name, c in other.items()} == (
        {"rank_variance": -20} if taken else {"random": random}
    )
    drawn_by_lot = decide_by(ensemble, keep=0.25, rule="random")
    assert follow_unless_harmful(drawn_by_lot).notes == drawn_by_lot.notes  # it is one already
