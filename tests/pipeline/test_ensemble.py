from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import SCORES
from dris.data.labelled import LabelledData
from dris.data.reader import read_data
from dris.pipeline.ensemble import Ensemble, import_dynamics, scaling, train_ensemble
from dris.pipeline.route import decide, decide_by
from dris.pipeline.settings import Settings

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
    return train_ensemble(data, settings, workers=1), wrong


@pytest.mark.parametrize(("n", "planted"), [(300, 30), (4000, 290), (8000, 320)])
def test_small_data_gets_enough_canaries_for_a_gate_but_a_tenth_at_most(n, planted):
    x = np.random.default_rng(0).normal(size=(n, 2))
    y = np.arange(n) % 2
    data = LabelledData.of(x + 3 * y[:, None], y, classes=(0, 1))
    settings = Settings(epochs=1, proxies=2, models=("sgd_log",))
    assert len(train_ensemble(data, settings, workers=1).canaries[0]) == planted


def test_canaries_of_all_kinds_are_apart_planted_where_nobody_vouches(world):
    ensemble, _ = world
    one, two = ensemble.canaries
    assert not (one.mask() & two.mask()).any()
    assert not (ensemble.planted & ensemble.data.trusted).any()
    changed = ensemble.dynamics.labels != ensemble.data.labels
    assert np.array_equal(changed, ensemble.planted)


def test_every_kind_certifies_a_limit_that_holds_on_these_labels(world):
    ensemble, wrong = world
    for rule in ("gated", "rank_variance", "loss"):  # loss collects wrong labels
        decision = decide_by(ensemble, keep=0.4, rule=rule)
        assert [limit.kind for limit in decision.limits] == ["uniform", "confusable"]
        for limit in decision.limits:
            assert limit.left == decision.kept.size
            assert wrong[decision.kept].sum() <= limit.wrong
        if decision.limit is not None:
            assert decision.limit.share == max(limit.share for limit in decision.limits)


def test_a_tighter_assumption_never_widens_the_limit(world):
    ensemble, _ = world
    tight = Ensemble(
        ensemble.data,
        ensemble.dynamics,
        ensemble.canaries,
        Settings(epochs=6, canaries=ensemble.settings.canaries, at_most=0.2),
    )
    for a, b in zip(tight.corruption, ensemble.corruption, strict=True):
        assert a.corrupted <= b.corrupted
        assert (a.at_most, b.at_most) == (0.2, 0.5)


def test_imported_dynamics_follow_the_ids_and_certify_nothing(world):
    data = world[0].data
    loss = np.arange(2.0 * N).reshape(2, N)
    back = np.arange(N)[::-1]
    ensemble = import_dynamics(data, Dynamics.from_losses(loss[:, back], ids=data.ids[back]))
    assert np.array_equal(ensemble.dynamics.snapshot("loss"), loss)
    decision = decide_by(ensemble, keep=0.5, rule="loss")
    assert (decision.limits, decision.judgement) == ((), None)
    assert "dynamics were imported: no certificate" in decision.notes
    with pytest.raises(InputError, match="needs canaries"):
        decide_by(ensemble, keep=0.5, rule="gated")
    with pytest.raises(InputError, match=r"are of 3 examples, such as 0, and the data has 1500"):
        import_dynamics(data, Dynamics.from_losses(np.ones((2, 3))))


def summary_of(data, rng):
    """Summary dynamics of the data with every column there is, ids in another order."""
    order = rng.permutation(len(data))
    shape = (2, 6, len(data))
    whole = Dynamics.from_arrays(
        loss=rng.random(shape),
        margin=rng.normal(size=shape),
        correct=rng.random(shape) < 0.8,
        labels=data.labels[order],
        ids=data.ids[order],
    )
    return whole, order


def test_sums_over_epochs_follow_the_ids_as_the_columns_do(world):
    """Sums were left in their own order once: every example silently got another's AUM."""
    data = world[0].data
    whole, order = summary_of(data, np.random.default_rng(1))
    back = np.argsort(order)  # where each example of the data stands in the record
    for dynamics in (whole, whole.summary()):
        decision = import_dynamics(data, dynamics).dynamics
        assert np.array_equal(decision.ids, data.ids)
        for name in ("aum", "aum_mean", "forgetting", "forgetting_unlearned", "loss"):
            assert np.array_equal(SCORES[name](decision), SCORES[name](dynamics)[back]), name
    unmoved = SCORES["aum"](whole)
    assert not np.array_equal(SCORES["aum"](import_dynamics(data, whole).dynamics), unmoved)


def test_dynamics_of_other_labels_are_taken_and_that_is_said(world):
    data = world[0].data
    whole, _ = summary_of(data, np.random.default_rng(1))
    assert import_dynamics(data, whole).notes == ("dynamics were imported: no certificate",)
    other = np.array(whole.labels)
    other[:7] = (other[:7] + 1) % 3
    told = import_dynamics(data, replace(whole, labels=other)).notes
    assert told[-1] == "7 of 1,500 labels were other ones when they were recorded"


def test_canaries_follow_a_matrix_that_was_given():
    x = np.random.default_rng(0).normal(size=(900, 2))
    y = np.arange(900) % 3
    data = LabelledData.of(x + 3 * y[:, None], y, classes=("a", "b", "c"))
    matrix = ((0.8, 0.2, 0.0), (0.0, 1.0, 0.0), (0.0, 0.3, 0.7))  # b is left alone, a becomes b
    settings = Settings(
        epochs=1, proxies=2, models=("sgd_log",), canaries=("uniform", "matrix"), matrix=matrix
    )
    ensemble = train_ensemble(data, settings, workers=1)
    planted = ensemble.canaries[1]
    assert planted.kind == "matrix"
    assert len(planted) > 20
    assert set(y[planted.positions].tolist()) == {0, 2}
    assert set(planted.planted[planted.positions].tolist()) == {1}


def test_the_calendar_of_a_date_weighs_as_one_column():
    days = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(60)]
    frame = pa.table({"when": days, "size": [float(i * i % 7) for i in range(60)]})
    data = read_data(frame, [f"{i % 2}" for i in range(60)])
    assert [(f.how, f.width) for f in data.features] == [("days", 5), ("number", 1)]
    assert data.column_groups == (1, (4, 1), 1)
    assert scaling(data) == data.column_groups
    assert scaling(read_data(np.eye(4), [0, 1, 0, 1])) is True  # each number for itself


def test_wrong_labels_in_texts_are_found_because_their_components_are_scaled_as_one(monkeypatch):
    """A planted label is more suspicious than another with this probability; here nearly always."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 600)
    words = [[f"{topic}{chr(97 + i)}ing" for i in range(20)] for topic in ("ab", "ce")]
    filler = [f"{chr(97 + i % 26)}{chr(97 + i // 26)}w" for i in range(300)]
    texts = [" ".join([*rng.choice(words[t], 3), *rng.choice(filler, 6)]) for t in truth]
    wrong = rng.random(600) < 0.1
    data = read_data(texts, np.where(wrong, 1 - truth, truth))
    assert data.column_groups == (data.x.shape[1],)

    def decision():
        decided = decide(data, check_harm=False, workers=1)
        p_wrong, held_out = decided.p_wrong, decided.ensemble.dynamics.out_of_fold
        found = (p_wrong[wrong][:, None] > p_wrong[~wrong]).mean()
        return found, held_out.snapshot("loss")[:, ~wrong].mean()

    found, loss = decision()
    assert found > 0.999
    monkeypatch.setattr("dris.pipeline.ensemble.scaling", lambda data, features: True)
    assert decision()[1] > 1.1 * loss  # the twin: each component for itself


@pytest.mark.parametrize(
    ("settings", "epochs"),
    [({}, 3), ({"scored_epoch": 6}, 8), ({"models": ("mlp",)}, 8), ({"folds": None}, 8)],
)
def test_many_rows_take_fewer_passes_unless_an_epoch_or_a_model_is_named(
    world, settings, epochs, monkeypatch
):
    monkeypatch.setattr("dris.learn.proxies.MAX_STEPS", 1)
    chosen = train_ensemble(world[0].data, Settings(epochs=8, **settings), workers=1)
    recipe = chosen.dynamics.provenance["proxies"][0]["recipe"]
    assert recipe["epochs"] == chosen.settings.epochs == epochs
    assert recipe["learning_rate"] == (0.1 if epochs < 8 else 0.05)
