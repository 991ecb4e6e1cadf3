"""Whether following advice helps is told without the truth, and a harmful rule is refused."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from dris.core.select.methods import METHODS, Method
from dris.core.select.selection import keep_top
from dris.data.labelled import LabelledData
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.stack import as_features
from dris.pipeline import harm as module
from dris.pipeline.ensemble import train_ensemble
from dris.pipeline.harm import Change, Harm, measure_harm
from dris.pipeline.route import decide, decide_by, follow_unless_harmful
from dris.pipeline.settings import Settings
from made_ensemble import made_ensemble

CHEAP = Settings(proxies=2, epochs=6, canaries=())


def blobs(wrong=0.3, n=900, seed=0, apart=2.0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    x = rng.normal(size=(n, 6)) + apart * np.eye(3, 6)[truth]
    flipped = rng.random(n) < wrong
    given = np.where(flipped, (truth + rng.integers(1, 3, n)) % 3, truth)
    return LabelledData.of(x, given, classes=("a", "b", "c")), flipped


def as_scaled(data):
    return as_features(Data(data.x, data.labels), True).x


def measured(data, again, **more):
    return measure_harm(as_scaled(data), data.labels, data.names, again, **more)


def test_keeping_the_right_labels_helps_keeping_the_wrong_ones_harms():
    data, flipped = blobs(wrong=0.4, n=1800, apart=1.5)
    good = measured(data, lambda at: at[~flipped[at]])
    assert good.says == "helps"
    assert good.agreement.above_zero
    assert set(good.models) == {"linear", "hidden layer"}
    shares = dict(zip(data.names, np.bincount(data.labels) / len(data), strict=True))
    in_all = sum(shares[name] * good.classes[name] for name in "abc")
    assert in_all == pytest.approx(good.agreement.points)  # each class by its share
    assert good.kept == pytest.approx(0.6, abs=0.05)
    bad = measured(data, lambda at: at[flipped[at] | (np.arange(at.size) % 10 == 0)])
    assert bad.says == "harms"
    assert "points, beyond chance by -" in str(bad)


def test_keeping_everything_changes_nothing():
    data, _ = blobs()
    same = measured(data, lambda at: at)
    assert (same.agreement.points, same.beyond_chance.points, same.says) == (0, 0, "cannot tell")


def test_a_random_subset_of_the_same_size_stands_beside_where_it_is_asked_for():
    data, flipped = blobs()
    half = measured(data, lambda at: at[~flipped[at]][::2], random_too=True)
    assert half.against_random.points > max(0, half.beyond_chance.points - 1)
    assert "against a random subset" in str(half)


def test_the_decision_is_made_anew_on_each_fold_alone():
    data, _ = blobs()
    seen = []
    measured(data, lambda at: seen.append(at) or at)
    assert len(seen) == 2 * 4  # as many folds, drawn twice with so few rows
    assert all(len(at) == 675 for at in seen)
    held_out = [np.setdiff1d(np.arange(900), at) for at in seen]
    for draw in (held_out[:4], held_out[4:]):
        assert np.array_equal(np.sort(np.concatenate(draw)), np.arange(900))


def test_beyond_chance_is_not_taken_in_by_who_always_says_the_favoured_class():
    given = np.array([0] * 80 + [1] * 20)
    constant, fold = np.zeros((1, 100), dtype=np.int64), np.arange(100) % 4
    honest = given[None].copy()
    honest[0, :30] = 1 - honest[0, :30]
    plain = module._change(constant == given, honest == given, fold)
    beyond = module._beyond(constant, honest, given, fold, 2)
    assert plain.points == pytest.approx(10)  # 80 % agree with the constant, 70 % with the other
    assert beyond.points < 0


def test_the_error_is_that_of_rows_or_of_folds_whichever_is_larger_by_hand():
    fold, nothing = np.arange(8) // 2, np.zeros((1, 8))
    # One fold gains both rows. Means 1, 0, 0, 0 have deviation 1/2, over √4; rows less.
    moved = module._change((fold == 0)[None], nothing, fold)
    assert (moved.points, moved.error) == (25, 25)
    # Each fold gains one and loses one: folds agree, rows have variance 8/7, over 8.
    torn = module._change(np.array([[1, -1] * 4]), nothing, fold)
    assert (torn.points, torn.error) == (0, pytest.approx(100 * np.sqrt(1 / 7)))
    # Two models count by their mean.
    two = module._change(np.stack([fold == 0, fold == 9]), np.zeros((2, 8)), fold)
    assert (two.points, two.error) == (12.5, 12.5)


def test_what_each_row_adds_by_hand():
    # Said 0 for three of four, given 0 for two: chance 3/4·1/2 + 1/4·1/2 = 1/2.
    guess, given = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    # Agreement, less the given share of what was told, less the told share of what was given.
    assert module._influence(guess, given, 2).tolist() == [0.25, 0.25, -0.25, 0.75]


def test_its_mean_is_agreement_less_that_of_strangers():
    rng = np.random.default_rng(0)
    guess, given = rng.integers(3, size=(2, 500))
    told, real = (np.bincount(v, minlength=3) / 500 for v in (guess, given))
    by_hand = (guess == given).mean() - (told * real).sum()
    assert module._influence(guess, given, 3).mean() == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("points", "error", "says"), [(-1, 0.5, "harms"), (1, 0.5, "helps"), (-1, 0.61, "cannot tell")]
)
def test_worse_means_the_interval_below_zero(points, error, says):
    change = Change(points, error)
    assert Harm(change, change, {}, {}, 10, 0.5).says == says


@pytest.mark.parametrize(
    ("plain", "chance", "disagree"),
    [(9, -9, True), (-9, 9, True), (9, 9, False), (-9, -9, False), (9, 0, False), (0, -9, False)],
)
def test_the_two_measures_disagree_where_both_are_sure_and_point_apart(plain, chance, disagree):
    made = Harm(Change(plain, 1), Change(chance, 1), {}, {}, 10, 0.5)
    assert made.disagree == disagree
    assert ("the two disagree" in str(made)) == disagree


def test_a_model_of_ones_own_is_fitted_on_each_fold_and_asked_about_the_rows_held_out(monkeypatch):
    data, _ = blobs(n=450)
    monkeypatch.setattr(module, "REPEATS", ())
    insides = []
    decision = measured(
        data,
        lambda at: insides.append(at) or at[::2],
        estimators={"nearest": KNeighborsClassifier(1)},
    )
    assert set(decision.models) == {"linear", "hidden layer", "nearest"}
    x, y, fold = as_scaled(data), data.labels, np.empty(450, dtype=np.int64)
    guess = np.empty((2, 1, 450), dtype=np.int64)
    for f, inside in enumerate(insides):
        out = np.setdiff1d(np.arange(450), inside)
        fold[out] = f
        for arm, rows in enumerate((inside, inside[::2])):
            model = KNeighborsClassifier(1).fit(x[rows], y[rows])
            guess[arm, 0, out] = model.predict(x[out])
    by_hand = module._beyond(guess[1], guess[0], y, fold, 3)
    assert decision.models["nearest"].points == pytest.approx(by_hand.points)
    assert by_hand.points != 0


def test_copies_that_leave_no_four_folds_are_not_measured():
    data = LabelledData.of(np.ones((300, 2)), np.arange(300) % 2, classes=("a", "b"))
    assert measure_harm(data.x, data.labels, data.names, lambda at: at) is None


@pytest.mark.parametrize(("copies", "measured"), [(20, True), (21, False)])
def test_copies_may_make_up_half_of_the_rows_and_no_more(copies, measured):
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    x[:copies] = x[0]
    decision = measure_harm(x, np.arange(40) % 2, ("a", "b"), lambda at: at)
    assert (decision is not None) == measured


def test_a_harmful_rule_is_refused_and_everything_kept(monkeypatch):
    data, _ = blobs(wrong=0.2, apart=3.0)
    helpful = decide(data, settings=CHEAP, workers=1)
    assert helpful.rule == "clean"
    assert not helpful.harm.loses

    def backwards(task):
        return keep_top(task.assess().shown.suspicion, **{**task.how, "fraction": 0.1})

    monkeypatch.setitem(METHODS, "clean", Method(backwards, scored=False))
    refused = decide(data, settings=CHEAP, workers=1)
    assert (refused.rule, refused.kept.size) == ("everything", 900)
    assert refused.harm.says == "harms"
    assert refused.limits == ()
    assert not any(one.dropped for one in refused.suspects)
    assert "do harm" in refused.notes[-1]
    blind = decide(data, settings=CHEAP, workers=1, check_harm=False)  # the twin: nobody looked
    assert blind.kept.size < 200


def test_with_an_explicit_share_only_losing_to_random_changes_the_rule():
    data, _ = blobs(wrong=0.0, apart=3.0)
    ensemble = train_ensemble(data, CHEAP, workers=1)
    asked = decide_by(ensemble, keep=0.1, rule="consensus")  # the hardest
    decision = follow_unless_harmful(asked)
    assert decision.kept.size <= 90
    assert decision.harm.against_random is not None
    lost = decision.harm.against_random.below_zero
    assert (decision.rule == "random") == lost
    assert any("loses to a random subset" in note for note in decision.notes) == lost


# -- what becomes of the answer, nothing trained --------------------------------------------------


def answered(monkeypatch, points, against_random=None, error=1.0, beyond=None):
    """Have the check answer this, and note how it was asked."""
    told = {}
    lost = None if against_random is None else Change(against_random, error)

    def answer(x, given, names, again, **how):
        told.update(again=again, **how)
        both = Change(points, error), Change(points if beyond is None else beyond, error)
        return Harm(*both, {}, {}, len(given), 0.5, against_random=lost)

    monkeypatch.setattr("dris.pipeline.route.measure_harm", answer)
    return told


@pytest.fixture(scope="module")
def folded():
    """Overlapping classes, a fifth of the labels wrong, proxies in folds, canaries."""
    data, _ = blobs(wrong=0.2, n=700, apart=2.0)
    return train_ensemble(
        data, replace(CHEAP, canaries=("uniform",)), workers=1, only_assessed=True
    )


@pytest.mark.parametrize(
    ("points", "beyond", "rule"),
    [
        (0.0, -1.0, "clean"),  # it loses nothing
        (-0.04, 9, "clean"),  # nothing that would be printed
        (-0.06, 9, "everything"),  # what is beyond chance does not make up for it
        (-9, -9, "everything"),
        (9, -9, "everything"),  # worse by either measure
    ],
)
def test_where_models_lose_by_clean_everything_is_kept_with_the_numbers(
    monkeypatch, folded, points, beyond, rule
):
    asked = decide_by(folded, keep=None)
    told = answered(monkeypatch, points, beyond=beyond)
    decision = follow_unless_harmful(asked)
    assert decision.rule == rule
    assert decision.harm.agreement.points == points
    assert not told["random_too"]
    if rule == "clean":
        assert decision.kept.tolist() == asked.kept.tolist()
        assert decision.notes == asked.notes
    else:
        assert decision.harm.says != "helps"
        assert decision.kept.size == 700 > asked.kept.size
        assert asked.limits
        assert (decision.limits, decision.short) == ((), 0)
        assert len(decision.suspects) == len(asked.suspects) > 0
        assert not decision.suspects.dropped.any()
        assert decision.notes[:-1] == asked.notes
        assert ("do harm" in decision.notes[-1]) == (min(points, beyond) < -1.645)


def test_a_rule_asked_for_by_name_is_refused_only_where_it_is_worse(monkeypatch):
    ensemble, _ = made_ensemble(n=700)
    asked = decide_by(ensemble, keep=None, rule="gated")
    answered(monkeypatch, -1.0)
    assert follow_unless_harmful(asked).kept.tolist() == asked.kept.tolist()
    answered(monkeypatch, -9)
    assert follow_unless_harmful(asked).rule == "everything"


def test_a_share_that_was_asked_for_is_kept_by_clean_too(monkeypatch, folded):
    asked = decide_by(folded, keep=0.25, rule="clean")
    answered(monkeypatch, -9, against_random=1.0)
    decision = follow_unless_harmful(asked)
    assert (decision.rule, decision.keep, decision.kept.size) == ("clean", 0.25, asked.kept.size)


@pytest.mark.parametrize(
    ("lead", "rule"), [(-9, "random"), (-1, "rank_variance"), (9, "rank_variance")]
)
def test_a_share_that_was_asked_for_is_honoured_and_only_a_rule_that_loses_to_lots_changes(
    monkeypatch, lead, rule
):
    ensemble, _ = made_ensemble(n=700)
    asked = decide_by(ensemble, keep=0.25, rule="rank_variance")
    told = answered(monkeypatch, -9, against_random=lead)
    decision = follow_unless_harmful(asked)
    assert told["random_too"]
    assert decision.rule == rule
    assert decision.kept.size <= 175
    assert any("loses to a random subset" in note for note in decision.notes) == (rule == "random")
    lot = decide_by(ensemble, keep=0.25, rule="random")
    assert follow_unless_harmful(lot).notes == lot.notes  # lots do not lose to lots


@pytest.mark.parametrize(("rule", "kinds"), [("clean", ()), ("gated", ("uniform",))])
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
    asked = decide_by(ensemble, keep=None if rule == "clean" else 0.5, rule=rule)
    again = answered(monkeypatch, 0)
    follow_unless_harmful(asked)
    monkeypatch.setattr("dris.pipeline.route.train_ensemble", noted)
    with pytest.raises(EnoughError):
        again["again"](np.arange(10, 300))
    ((part, settings),) = seen
    assert part.ids.tolist() == ensemble.data.ids[10:300].tolist()
    assert part.labels.tolist() == ensemble.data.labels[10:300].tolist()
    assert (settings.canaries, settings.scored_epoch) == (kinds, None)
    longest = ensemble.dynamics.scored_epoch + 1
    assert settings.epochs == max(2, min(ensemble.settings.epochs, longest))
    assert settings.seed == ensemble.settings.seed


def test_of_many_rows_only_the_sample_is_learned_from_and_asked_about(monkeypatch):
    """Rows beyond the sample change nothing: neither their features nor how many there are."""
    monkeypatch.setattr(module, "MAX_HARM_CHECK_ROWS", 600)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1200)
    x = np.pad(rng.normal(size=(1200, 2)) + 2 * y[:, None], ((0, 0), (0, 1)), constant_values=1)
    x = x.astype(np.float32)
    asked = []
    guesses = module.predict_after

    def watched(table, given, *rest, **how):
        asked.append((len(table), len(given)))
        return guesses(table, given, *rest, **how)

    monkeypatch.setattr(module, "predict_after", watched)
    chosen = np.sort(module.rng_for(0, "harm", "rows").permutation(1200)[:600])
    seen = []

    def again(at):
        seen.append(at)
        return at[::2]

    names = ("a", "b")
    of_all = measure_harm(x, y, names, again, random_too=True)
    assert set(asked) == {(600, 600)}
    assert np.isin(np.concatenate(seen), chosen).all()  # decisions are made on the data's places
    # The sample alone, with the decisions that its places had in the data.
    places = {int(p): i for i, p in enumerate(chosen)}
    halves = iter(seen)
    monkeypatch.setattr(module, "MAX_HARM_CHECK_ROWS", 8_000)
    of_sample = measure_harm(
        x[chosen],
        y[chosen],
        names,
        lambda at: np.array([places[int(p)] for p in next(halves)[::2]]),
        random_too=True,
    )
    assert of_all == of_sample
