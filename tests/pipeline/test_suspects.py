"""What looks wrong: one suspicion about the given labels, canaries' own rows included."""

import numpy as np
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.assessment import find_suspects
from dris.core.noise.canaries import Canaries
from dris.core.scores.formulas import consensus
from dris.core.scores.ranks import normalized_ranks
from dris.data.labelled import LabelledData
from dris.pipeline.ensemble import Ensemble, import_dynamics, train_ensemble
from dris.pipeline.settings import Settings
from dris.pipeline.suspects import Suspects, list_suspects
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


def test_suspicion_is_the_reversed_rank_of_the_margin_and_a_canarys_own_label_decides_its_own():
    ensemble = by_hand()
    listed = ensemble.assessment.given.suspicion
    assert listed[:4] == pytest.approx([0.2, 0.8, 0.4, 0.6])  # margins 3, -4/3, 1/3, -1/3
    assert listed[4] == pytest.approx(0.2)  # two of three give b, by 1: one of four is surer
    assert listed.dtype == np.float64


def test_a_canary_takes_the_place_that_its_own_label_would_among_the_others():
    # The others' margins are 3, 1/3, -1/3 and -4/3. Nobody gives the canary its own label.
    for says, strength, place in (((0, 0, 0), (1, 0.5, 0.6), 1), ((0, 0, 0), (4, 2, 3), 0)):
        listed = by_hand(says, strength).assessment.given.suspicion
        assert listed[4] == np.sort(listed[:4])[::-1][place]
    listed = by_hand((1, 1, 1), (9, 9, 9)).assessment.given.suspicion
    assert listed[4] == listed[:4].min()  # surer than all others, and never 0


def test_canaries_are_on_the_scale_of_the_others():
    # The mean of two ranks is seldom as high as a rank: on a scale of their own, one in ten rows
    # of small data would stand before others that are more likely wrong.
    rng = np.random.default_rng(0)
    truth, wrong = np.arange(600) % 3, rng.random(600) < 0.1
    x = rng.normal(size=(600, 4)) + 4 * np.eye(3, 4)[truth]
    given = np.where(wrong, (truth + 1) % 3, truth)
    data = LabelledData.of(x, given, classes=("a", "b", "c"))
    ensemble = train_ensemble(data, Settings(epochs=6), workers=1, only_assessed=True)
    listed, planted = ensemble.assessment.given.suspicion, ensemble.planted
    assert planted.sum() == 60
    assert set(listed[planted]) <= set(listed[~planted])
    # The twin: a rank by the one view that canaries have.
    likely, twin = ensemble.assessment.probabilities[np.arange(600), given], listed.copy()
    twin[planted] = 1 - np.searchsorted(np.sort(likely[~planted]), likely[planted]) / 540
    assert _found(wrong, listed) > 0.999 > _found(wrong, twin) + 0.001


def _found(wrong, score):
    """How often a wrong label is more suspicious than another."""
    return (score[wrong][:, None] > score[~wrong]).mean()


def test_with_folds_the_given_label_is_judged_by_cuts_that_the_shown_ones_set():
    likely = np.array(
        [[0.9, 0.1, 0], [0, 0.8, 0.2], [0, 0.1, 0.9], [0.05, 0.9, 0.05], [0.1, 0.7, 0.2]]
    )
    # Of those shown as a one is surely b, of those shown as c (the canary among them) too.
    given, shown = by_hand().data.labels, by_hand().dynamics.labels
    assert find_suspects(likely, given, shown).tolist() == [False, False, False, True, False]


def test_contradicted_is_what_at_least_half_of_the_proxies_call_otherwise():
    assert by_hand().assessment.given.suspects.tolist() == [False, True, False, True, False]


def made(given, suggested):
    n = len(given)
    return Suspects(
        positions=np.arange(n),
        given=np.array(given),
        suggested=np.array(suggested),
        suspicion=np.linspace(1, 0.5, n),
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
    assert [one.why for one in listed] == [f"{says}, most of them a"] * 2 + [says] * 2
    assert listed.commonest() == ("b", "a", 2)
    assert made([0, 1], [-1, 1]).commonest() is None


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
    assert first.suspicion > second.suspicion
    assert len(listed) == 2
    assert listed.commonest() == ("a", "b", 1)  # one each: the first pair
    assert listed == list_suspects(ensemble, kept)
    with pytest.raises(ValueError, match="read-only"):
        listed.positions[0] = 9


def test_where_proxies_name_no_other_label_none_is_suggested():
    ensemble = by_hand()
    bare = {name: c[:, 0] for name, c in ensemble.dynamics.columns.items() if name != "rival"}
    only = import_dynamics(ensemble.data, Dynamics.from_arrays(**bare, ids=ensemble.data.ids))
    listed = list_suspects(only, np.ones(5, dtype=bool))
    assert [one.suggested for one in listed] == ["", "", ""]
    assert listed.commonest() is None
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
    suspicion = ensemble.assessment.given.suspicion
    listed = list_suspects(ensemble, np.ones(2000, dtype=bool))
    assert wrong[listed.positions].mean() > 0.9
    truth = np.arange(2000) % 10
    assert (listed.suggested == truth[listed.positions]).mean() > 0.9
    assert (np.diff(listed.suspicion) <= 0).all()
    own = ensemble.planted[listed.positions]
    assert 0 < own.sum() < wrong[ensemble.planted].sum() * 2  # wrong labels under canaries, too
    free = ~ensemble.planted
    assert (suspicion[free] == ensemble.assessment.shown.suspicion[free]).all()
    names, other, count = listed.commonest()
    pairs = [(one.given, one.suggested) for one in listed]
    assert count == max(pairs.count(pair) for pair in set(pairs)) == pairs.count((names, other))


def test_losses_alone_are_ranked_and_nothing_is_contradicted():
    ensemble, _ = made_ensemble()
    only = import_dynamics(ensemble.data, Dynamics.from_losses(ensemble.dynamics.snapshot("loss")))
    assert (only.assessment.given.suspicion == normalized_ranks(consensus(only.dynamics))).all()
    assert not only.assessment.given.suspects.any()
    assert len(list_suspects(only, np.ones(2000, dtype=bool))) == 0
