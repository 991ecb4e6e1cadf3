import numpy as np
import pytest

from dris.core.choose.rules import RULES, choose
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.decide.scored import Scored, Settings, score_data, scored_from

N = 1500


@pytest.fixture(scope="module")
def world():
    """Three separate blobs; every tenth label wrong, either way; every 25th trusted; text ids."""
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 3
    x = rng.normal(size=(N, 4)) + 5 * np.eye(3, 4)[truth]
    wrong = np.arange(N) % 10 == 5
    given = np.where(wrong, (truth + 1 + np.arange(N) // 10 % 2) % 3, truth)
    ids = [f"r{i}" for i in range(N)]
    trusted = np.arange(N) % 25 == 1
    data = LabelledData.of(x, given, classes=("a", "b", "c"), ids=ids, trusted=trusted)
    settings = Settings(epochs=6, models=("mlp",), canaries=("uniform", "confusable"))
    return score_data(data, settings, workers=1), wrong


@pytest.mark.parametrize(("n", "planted"), [(300, 30), (4000, 290), (8000, 320)])
def test_small_data_gets_enough_canaries_for_a_gate_but_a_tenth_at_most(n, planted):
    x = np.random.default_rng(0).normal(size=(n, 2))
    y = np.arange(n) % 2
    data = LabelledData.of(x + 3 * y[:, None], y, classes=(0, 1))
    settings = Settings(epochs=1, proxies=2, models=("sgd_log",))
    assert len(score_data(data, settings, workers=1).canaries[0]) == planted


def test_canaries_of_all_kinds_are_apart_planted_where_nobody_vouches(world):
    scored, _ = world
    one, two = scored.canaries
    assert not (one.mask() & two.mask()).any()
    assert not (scored.planted() & scored.data.trusted).any()
    changed = scored.dynamics.labels != scored.data.labels
    assert np.array_equal(changed, scored.planted())
    assert scored.trained == 6  # a pilot for the confusable ones


@pytest.mark.parametrize("rule", ["gated", "gated_per_class", "rank_variance", "aum_mean", "loss"])
def test_kept_are_the_chosen_without_canaries_and_with_all_that_is_trusted(world, rule):
    scored, _ = world
    chosen = scored.choose(rule, 0.4)
    kept = np.zeros(N, dtype=bool)
    kept[scored.kept(chosen)] = True
    for i in range(N):
        expected = scored.data.trusted[i] or (i in chosen.indices and not scored.planted()[i])
        assert kept[i] == expected


def test_every_kind_certifies_a_limit_that_holds_on_these_labels(world):
    scored, wrong = world
    for rule in ("gated", "rank_variance", "loss"):  # loss collects wrong labels
        chosen = scored.choose(rule, 0.4)
        left = chosen.mask() & ~scored.planted()
        limits = scored.certificates(chosen)
        assert [limit.kind for limit in limits] == ["uniform", "confusable"]
        for limit in limits:
            assert limit.left == left.sum()
            assert wrong[left].sum() <= limit.wrong


def test_limits_worked_out_before_are_used_and_give_the_same(world):
    scored, _ = world
    chosen = scored.choose("gated", 0.4)
    before = scored.corruption()
    assert scored.certificates(chosen, corruption=before) == scored.certificates(chosen)


def test_the_rule_of_the_verdict_chooses_what_the_verdict_kept(world):
    scored, _ = world
    verdict = scored.judge(0.3)
    chosen = scored.choose(verdict.rule, 0.3)
    mine = chosen.indices[~scored.planted()[chosen.indices]]
    assert np.array_equal(mine, verdict.subset.indices)


def test_suggested_labels_find_most_of_the_truth(world):
    scored, wrong = world
    free = wrong & ~scored.planted()
    truth = np.arange(N) % 3
    assert (scored.suggested()[free] == truth[free]).mean() > 0.9


def test_a_tighter_assumption_never_widens_the_limit(world):
    scored, _ = world
    tight = Scored(
        scored.data,
        scored.dynamics,
        scored.canaries,
        Settings(epochs=6, canaries=scored.settings.canaries, at_most=0.2),
    )
    for a, b in zip(tight.corruption(), scored.corruption(), strict=True):
        assert a.corrupted <= b.corrupted


def test_every_rule_is_refused_or_keeps_no_more_than_its_share(world):
    scored, _ = world
    refused = []
    for rule in RULES:
        try:
            assert len(scored.choose(rule, 0.3)) <= 0.3 * N
        except InputError:
            refused.append(rule)
    assert set(refused) <= {"grand", "aum_threshold", "rho_loss", "hybrid", "prototype"}


def test_imported_dynamics_follow_the_ids_and_certify_nothing(world):
    data = world[0].data
    loss = np.arange(2.0 * N).reshape(2, N)
    back = np.arange(N)[::-1]
    scored = scored_from(data, Dynamics.from_losses(loss[:, back], ids=data.ids[back]))
    assert np.array_equal(scored.dynamics.snapshot("loss"), loss)
    assert scored.certificates(scored.choose("loss", 0.5)) == ()
    with pytest.raises(InputError, match="needs canaries"):
        scored.choose("gated", 0.5)
    with pytest.raises(InputError, match="a verdict needs canaries"):
        scored.judge(0.5)
    with pytest.raises(InputError, match=r"are of 3 examples, such as 0, and the data has 1500"):
        scored_from(data, Dynamics.from_losses(np.ones((2, 3))))


def test_an_unknown_rule_names_those_there_are():
    with pytest.raises(InputError, match=r"rule must be one of gated, .*, got 'best'"):
        choose("best", Dynamics.from_losses(np.eye(2)), keep=0.5)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"proxies": 1}, "proxies must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"canaries": ("strange",)}, "canaries must be different kinds"),
        ({"canaries": ("hard", "hard")}, "canaries must be different kinds"),
        ({"at_most": 0.6}, "at_most must be in"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, says):
    with pytest.raises(InputError, match=says):
        Settings(**wrong)


def test_canaries_follow_a_matrix_that_was_given():
    x = np.random.default_rng(0).normal(size=(900, 2))
    y = np.arange(900) % 3
    data = LabelledData.of(x + 3 * y[:, None], y, classes=("a", "b", "c"))
    matrix = ((0.8, 0.2, 0.0), (0.0, 1.0, 0.0), (0.0, 0.3, 0.7))  # b is left alone, a becomes b
    settings = Settings(
        epochs=1, proxies=2, models=("sgd_log",), canaries=("uniform", "matrix"), matrix=matrix
    )
    scored = score_data(data, settings, workers=1)
    planted = scored.canaries[1]
    assert planted.kind == "matrix"
    assert len(planted) > 20
    assert set(y[planted.positions].tolist()) == {0, 2}
    assert set(planted.planted[planted.positions].tolist()) == {1}


@pytest.mark.parametrize("given", [{"canaries": ("matrix",)}, {"matrix": ((1.0,),)}])
def test_a_matrix_and_its_canaries_go_together(given):
    with pytest.raises(InputError, match="go together"):
        Settings(**given)
