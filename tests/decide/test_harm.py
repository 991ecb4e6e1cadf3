"""Whether following advice helps is told without the truth, and a harmful rule is refused."""

from dataclasses import replace

import numpy as np
import pytest

from dris.core.choose.rules import RULES
from dris.core.choose.selection import keep_top
from dris.core.scores.suspicion import suspicion
from dris.data.labelled import LabelledData
from dris.decide import harm as module
from dris.decide.decision import decide, decide_scored, with_harm
from dris.decide.harm import Change, Harm, measure_harm
from dris.decide.scored import score_data
from dris.decide.settings import Settings
from dris.learn.jobs import Data
from dris.learn.stacked.feature_table import as_features

CHEAP = Settings(proxies=2, epochs=6, canaries=())


def blobs(wrong=0.3, n=900, seed=0, apart=2.0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    x = rng.normal(size=(n, 6)) + apart * np.eye(3, 6)[truth]
    flipped = rng.random(n) < wrong
    given = np.where(flipped, (truth + rng.integers(1, 3, n)) % 3, truth)
    return LabelledData.of(x, given, classes=("a", "b", "c")), flipped


def measured(data, again, **more):
    table = as_features(Data(data.x, data.labels), True).x
    return measure_harm(table, data.labels, data.names, again, **more)


def test_keeping_the_right_labels_helps_keeping_the_wrong_ones_harms():
    data, flipped = blobs(wrong=0.4, n=1800, apart=1.5)
    good = measured(data, lambda at: at[~flipped[at]])
    assert good.says == "helps"
    assert good.agreement.above_zero
    assert set(good.models) == {"linear", "hidden layer"}
    assert set(good.classes) == {"a", "b", "c"}
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
    assert half.against_random.points > half.beyond_chance.points - 1
    assert "against a random subset" in str(half)


def test_the_decision_is_made_anew_on_each_fold_alone():
    data, _ = blobs()
    seen = []
    measured(data, lambda at: seen.append(at) or at)
    assert len(seen) == 4
    assert all(len(at) == 675 for at in seen)
    held_out = [np.setdiff1d(np.arange(900), at) for at in seen]
    assert np.array_equal(np.sort(np.concatenate(held_out)), np.arange(900))


def test_beyond_chance_is_not_taken_in_by_who_always_says_the_favoured_class():
    given = np.array([0] * 80 + [1] * 20)
    constant, fold = np.zeros((1, 100), dtype=np.int64), np.arange(100) % 4
    honest = given[None].copy()
    honest[0, :30] = 1 - honest[0, :30]
    plain = module._change(constant == given, honest == given, fold)
    beyond = module._beyond(constant, honest, given, fold, 2)
    assert plain.points == pytest.approx(10)  # 80 % agree with the constant, 70 % with the other
    assert beyond.points < 0


def test_its_mean_is_agreement_less_that_of_strangers():
    rng = np.random.default_rng(0)
    guess, given = rng.integers(3, size=(2, 500))
    said, real = (np.bincount(v, minlength=3) / 500 for v in (guess, given))
    by_hand = (guess == given).mean() - (said * real).sum()
    assert module._influence(guess, given, 3).mean() == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("points", "error", "says"), [(-1, 0.5, "harms"), (1, 0.5, "helps"), (-1, 0.61, "cannot tell")]
)
def test_worse_means_the_interval_below_zero(points, error, says):
    change = Change(points, error)
    assert Harm(change, change, {}, {}, 10, 0.5).says == says


def test_copies_that_leave_no_four_folds_are_not_measured():
    data = LabelledData.of(np.ones((300, 2)), np.arange(300) % 2, classes=("a", "b"))
    assert measure_harm(data.x, data.labels, data.names, lambda at: at) is None


def test_a_harmful_rule_is_refused_and_everything_kept(monkeypatch):
    data, _ = blobs(wrong=0.0, apart=3.0)
    helpful = decide(data, settings=CHEAP, workers=1)
    assert helpful.rule == "clean"

    def backwards(dynamics, canaries, keep, seed):
        return keep_top(suspicion(dynamics), fraction=0.1, seed=seed, ids=dynamics.ids)

    monkeypatch.setitem(RULES, "clean", replace(RULES["clean"], function=backwards))
    refused = decide(data, settings=CHEAP, workers=1)
    assert (refused.rule, refused.kept.size) == ("everything", 900)
    assert refused.harm.says == "harms"
    assert refused.limits == ()
    assert not any(one.dropped for one in refused.suspects)
    assert "dropping them would do harm, so everything is kept" in refused.notes[-1]
    blind = decide(data, settings=CHEAP, workers=1, check_harm=False)  # the twin: nobody looked
    assert blind.kept.size < 200


def test_with_an_explicit_share_only_losing_to_random_changes_the_rule():
    data, _ = blobs(wrong=0.0, apart=3.0)
    scored = score_data(data, CHEAP, workers=1)
    asked = decide_scored(scored, keep=0.1, rule="consensus")  # the hardest
    found = with_harm(asked)
    assert found.kept.size <= 90
    assert found.harm.against_random is not None
    lost = found.harm.against_random.below_zero
    assert (found.rule == "random") == lost
    assert any("loses to a random subset" in note for note in found.notes) == lost
