"""What looks wrong: P(wrong) of the given labels, canaries' own rows included."""

import numpy as np
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.canaries import Canaries
from dris.core.scores.formulas import consensus
from dris.core.scores.ranks import normalized_ranks
from dris.data.labelled import LabelledData
from dris.pipeline.ensemble import Ensemble, import_dynamics, train_ensemble
from dris.pipeline.lists import Suspects, list_suspects
from dris.pipeline.settings import Settings
from made_ensemble import made_ensemble


def by_hand(says=(1, 1, 0), strength=(4, 2, 3)):
    """Five examples, classes a, b, c; the last is a canary: b, planted as c.

    Proxies give example 0 its label, all contradict 1 (most of them c), one contradicts 2, two of
    three contradict 3, and two of three give the canary its own label, unless told otherwise.
    """
    given = np.array([0, 1, 2, 0, 1])
    planted = np.array([0, 1, 2, 0, 2])
    correct = np.array([[1, 0, 1, 0, 0], [1, 0, 0, 0, 0], [1, 0, 1, 1, 0]], dtype=bool)
    rival = np.array([[1, 2, 0, 1, 1], [2, 2, 1, 1, 1], [1, 0, 0, 2, 0]])
    margin = np.where(correct, 1.0, -1.0) * np.array(
        [[3, 2, 1, 1, 4], [3, 1, 2, 1, 2], [3, 1, 2, 1, 3]]
    )
    rival[:, 4], margin[:, 4] = says, -np.array(strength)
    dynamics = Dynamics.from_arrays(
        loss=np.ones((3, 5)), labels=planted, correct=correct, rival=rival, margin=margin
    )
    canaries = Canaries(
        positions=np.array([4]),
        given=given,
        planted=planted,
        certifies=np.array([False]),
        kind="uniform",
        stratum=np.zeros(5, dtype=np.int64),
        uncounted_chance=0.5,
        parameters={},
    )
    data = LabelledData.of(np.zeros((5, 1)), given, classes=("a", "b", "c"), ids=list("pqrst"))
    return Ensemble(data, dynamics, (canaries,), Settings())


def test_without_folds_the_margin_orders_labels_and_a_canarys_own_label_decides_its_own():
    wrong = by_hand().assessment.given.wrong  # margins 3, -4/3, 1/3, -1/3, and 1 of the canary's
    assert np.argsort(wrong).tolist() == [0, 4, 2, 3, 1]
    doubted = by_hand((0, 0, 0), (4, 2, 3)).assessment.given.wrong  # nobody gives its own label
    assert np.argsort(doubted).tolist() == [0, 2, 3, 1, 4]
    believed = by_hand((1, 1, 1), (9, 9, 9)).assessment.given.wrong
    assert believed.argmin() == 4


def test_canaries_are_on_the_scale_of_the_others():
    rng = np.random.default_rng(0)
    truth, wrong = np.arange(600) % 3, rng.random(600) < 0.1
    x = rng.normal(size=(600, 4)) + 4 * np.eye(3, 4)[truth]
    given = np.where(wrong, (truth + 1) % 3, truth)
    data = LabelledData.of(x, given, classes=("a", "b", "c"))
    ensemble = train_ensemble(data, Settings(epochs=6), workers=1, only_assessed=True)
    sides, planted = ensemble.assessment, ensemble.planted
    assert planted.sum() == 60
    assert _found(wrong, sides.given.wrong) > 0.999 > _found(wrong, sides.shown.wrong)  # the twin
    assert sides.shown.suspects[planted].mean() > 0.6 > sides.given.suspects[planted].mean()


def _found(wrong, score):
    """How often a wrong label has a higher score than another."""
    return (score[wrong][:, None] > score[~wrong]).mean()


def made(given, suggested):
    n = len(given)
    return Suspects(
        positions=np.arange(n),
        given=np.array(given),
        suggested=np.array(suggested),
        p_wrong=np.linspace(1, 0.5, n),
        p_suggested=np.full(n, 0.9),
        against=np.full(n, 2),
        dropped=np.zeros(n, dtype=bool),
        ids=np.arange(n),
        names=("a", "b"),
        proxies=3,
    )


def test_the_first_class_can_be_suggested_and_nothing_or_the_given_one_is_no_suggestion():
    listed = made([1, 1, 0, 1], [0, 0, -1, 1])
    assert [one.suggested for one in listed] == ["a", "a", "", ""]
    says = "2 of 3 proxies give another label"
    assert [one.why for one in listed] == ["2 of 3 proxies say a"] * 2 + [says] * 2
    assert listed.pairs() == [(1, 0, 2)]
    assert made([0, 1], [-1, 1]).pairs() == []


def test_suspects_come_with_given_suggested_reason_and_what_became_of_them():
    ensemble = by_hand()
    kept = np.array([True, False, True, True, True])
    listed = list_suspects(ensemble, kept)
    assert listed.positions.tolist() == [1, 3]
    first, second = listed
    assert (first.id, first.given, first.suggested, first.dropped) == ("q", "b", "c", True)
    assert first.why == "3 of 3 proxies give another label, most of them c"
    assert (second.id, second.given, second.suggested, second.dropped) == ("s", "a", "b", False)
    assert second.why == "2 of 3 proxies give another label, most of them b"
    assert first.p_wrong > second.p_wrong > 0.5
    assert len(listed) == 2
    assert listed.pairs() == [(0, 1, 1), (1, 2, 1)]  # one each
    assert listed == list_suspects(ensemble, kept)
    with pytest.raises(ValueError, match="read-only"):
        listed.positions[0] = 9


def test_where_proxies_name_no_other_label_none_is_suggested():
    ensemble = by_hand()
    bare = {name: c[:, 0] for name, c in ensemble.dynamics.columns.items() if name != "rival"}
    only = import_dynamics(ensemble.data, Dynamics.from_arrays(**bare, ids=ensemble.data.ids))
    listed = list_suspects(only, np.ones(5, dtype=bool))
    assert [one.suggested for one in listed] == ["", "", ""]
    assert listed.pairs() == []
    assert next(iter(listed)).why == "3 of 3 proxies give another label"


def test_a_trusted_label_is_no_suspect():
    trusted = np.zeros(2000, dtype=bool)
    trusted[[1, 11, 21, 31, 41, 51, 61, 71, 81, 91]] = True
    ensemble, _ = made_ensemble(trusted=trusted)
    everyone = np.ones(2000, dtype=bool)
    listed = list_suspects(ensemble, everyone)
    assert not trusted[listed.positions].any()
    plain, _ = made_ensemble()  # the twin: it would be one
    assert trusted[list_suspects(plain, everyone).positions].any()


def test_most_suspects_are_wrong_and_most_suggestions_right_canaries_rows_included():
    ensemble, wrong = made_ensemble()
    listed = list_suspects(ensemble, np.ones(2000, dtype=bool))
    assert wrong[listed.positions].mean() > 0.9
    truth = np.arange(2000) % 10
    assert (listed.suggested == truth[listed.positions]).mean() > 0.9
    assert (np.diff(listed.p_wrong) <= 0).all()
    own = ensemble.planted[listed.positions]
    assert 0 < own.sum() < wrong[ensemble.planted].sum() * 2  # wrong labels under canaries, too
    free = ~ensemble.planted
    sides = ensemble.assessment
    assert np.array_equal(sides.given.suspects[free], sides.shown.suspects[free])
    given, other, count = listed.pairs()[0]
    pairs = [*zip(listed.given.tolist(), listed.suggested.tolist(), strict=True)]
    assert count == max(pairs.count(pair) for pair in set(pairs)) == pairs.count((given, other))


def test_losses_alone_are_ranked_and_nothing_is_contradicted():
    ensemble, _ = made_ensemble()
    only = import_dynamics(ensemble.data, Dynamics.from_losses(ensemble.dynamics.snapshot("loss")))
    order = np.argsort(only.assessment.given.wrong)
    assert (np.diff(normalized_ranks(consensus(only.dynamics))[order]) >= 0).all()
    assert not only.assessment.given.suspects.any()
    assert len(list_suspects(only, np.ones(2000, dtype=bool))) == 0
