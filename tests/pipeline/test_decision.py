"""The noun that every door shows: its numbers, its words, and what it never becomes."""

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import dris
from dris.core.checks.assumption_checks import HIDING, Check
from dris.core.noise.posterior import NoiseRate
from dris.data.labelled import LabelledData
from dris.pipeline.route import decide, decide_by
from dris.pipeline.settings import Settings
from dris.pipeline.wording import facts
from made_ensemble import made_ensemble

FAST = Settings(epochs=2, models=("sgd_log",))


@pytest.fixture(scope="module")
def decision():
    trusted = np.arange(2000) % 50 == 1
    return decide_by(made_ensemble(trusted=trusted)[0], keep=0.5)


def blobs(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, 3)) + 4 * y[:, None]
    given = np.where(np.arange(n) % 10 == 0, 1 - y, y)
    return LabelledData.of(x, given, classes=("cat", "dog"), ids=[f"r{i}" for i in range(n)])


def test_a_decision_is_frozen_and_its_arrays_cannot_be_written(decision):
    with pytest.raises(FrozenInstanceError):
        decision.rule = "random"
    for values in (decision.kept, decision.p_wrong):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1
    assert decision.kept.dtype == np.int64
    assert decision.p_wrong.dtype == np.float64
    assert decision.p_wrong.shape == (2000,)
    assert len(decision) == 2000
    assert (np.diff(decision.kept) > 0).all()
    assert np.flatnonzero(decision.mask).tolist() == decision.kept.tolist()
    assert repr(decision) == f"Decision({decision.kept.size:,} of 2,000 kept by gated)"


def test_json_holds_counts_rule_limits_harm_and_notes(decision):
    values = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    assert (values["examples"], values["kept"], values["keep"]) == (2000, decision.kept.size, 0.5)
    assert (values["rule"], values["short"], values["trusted"]) == ("gated", decision.short, 40)
    assert values["suspects"] == len(decision.suspects)
    assert values["dropped"] == 2000 - decision.kept.size
    assert values["limits"] == [
        json.loads(json.dumps(limit.to_dict())) for limit in decision.limits
    ]
    assert values["judgement"]["regime"] == decision.judgement.regime
    assert values["harm"] is None
    assert values["notes"] == list(decision.notes)
    assert sum(before for before, _ in values["classes"].values()) == 2000
    assert sum(after for _, after in values["classes"].values()) == decision.kept.size
    labels = decision.data.labels
    assert values["classes"]["c"] == [(labels == 2).sum(), (labels[decision.kept] == 2).sum()]
    bare = replace(decision, suspects=None, judgement=None).to_dict()
    assert (bare["suspects"], bare["judgement"]) == (0, None)


def with_a_failed_check(decision):
    checks = {"hiding": Check(HIDING, "fails", 0.9, 0.6, "made to fail")}
    checks = {**decision.judgement.checks, **checks}
    return replace(decision, judgement=replace(decision.judgement, checks=checks))


def test_a_limit_is_of_use_only_below_that_on_all_the_data_and_where_nothing_hides(decision):
    assert decision.limit_says == "something"
    most = max(c.share for c in decision.corruption)
    size = decision.limit.left

    def with_wrong(wrong):
        return replace(decision, limits=(replace(decision.limit, wrong=wrong),))

    assert with_wrong(int(most * size)).limit_says == "something"
    assert with_wrong(int(most * size) + 1).limit_says == "nothing"
    assert replace(decision, limits=()).limit_says == "nothing"
    for silent in (with_wrong(size), replace(decision, limits=())):
        assert "limit" not in facts(silent)
    exactly = replace(decision.limit, wrong=1, left=2)
    equal = replace(decision.corruption[0], corrupted=1, total=2)
    assert replace(decision, limits=(exactly,), corruption=(equal,)).limit_says == "nothing"
    hidden = with_a_failed_check(decision)
    assert hidden.limit_says == "not to be trusted"
    assert "limit" not in facts(hidden)
    assert replace(hidden, limits=()).limit_says == "nothing"


def test_a_limit_is_withdrawn_where_the_data_contradict_it(decision):
    decision = replace(decision, noise_rate=NoiseRate(0.0, 1.0, 0.1), contradicted=0.0)
    most = max(c.share for c in decision.corruption)
    for low, says in ((most, "something"), (most + 0.01, "not to be trusted")):
        assert replace(decision, noise_rate=NoiseRate(low, 1.0, 0.9)).limit_says == says
    share = decision.limit.share
    assert replace(decision, contradicted=share + 0.001).limit_says == "nothing"  # hard or wrong?
    assert replace(decision, contradicted=share).limit_says == "something"


def test_a_limit_that_is_withdrawn_is_given_nowhere(decision):
    told = decision.to_dict()
    assert (decision.limit is None, told["limit_says"]) == (False, "something")
    assert told["limits"]  # the twin
    assert told["corruption"]
    share = decision.limit.share
    for withdrawn, untrue in (
        (with_a_failed_check(decision), True),
        (replace(decision, noise_rate=NoiseRate(0.9, 1.0, 0.95)), True),
        (replace(decision, contradicted=share + 0.001), False),
    ):
        told = withdrawn.to_dict()
        assert (withdrawn.limit, told["limits"]) == (None, [])
        assert bool(told["corruption"]) != untrue
        assert told["limit_says"] == ("not to be trusted" if untrue else "nothing")
        assert "limit" not in facts(withdrawn)


def test_the_widest_limit_is_the_one_to_state(decision):
    wider = replace(decision.limit, kind="hard", wrong=decision.limit.wrong + 5)
    both = replace(decision, limits=(decision.limit, wider))
    assert both.limit == wider
    assert replace(decision, limits=()).limit is None


def test_a_recipe_holds_what_is_needed_to_do_it_again(decision):
    values = json.loads(json.dumps(decision.recipe()))
    assert (values["keep"], values["rule"]) == (0.5, "gated")
    assert values["settings"]["proxies"] == 3
    few = LabelledData.of(np.zeros((3, 1)), [0, 1, 0], classes=("a", "b"))
    assert decide(few).recipe() == {"reading": {}, "keep": None, "rule": "everything"}


def test_the_same_call_gives_the_same_decision_and_seed_means_settings_seed():
    data = blobs()
    one = decide(data, settings=FAST, workers=1)
    two = decide(data, settings=FAST, workers=2)
    assert one.kept.tolist() == two.kept.tolist()
    assert one.to_dict() == two.to_dict()
    assert (one.p_wrong == two.p_wrong).all()
    other = decide(data, settings=replace(FAST, seed=3), workers=1, check_harm=False)
    assert (other.p_wrong != one.p_wrong).any()


def test_a_seed_alone_is_that_of_the_settings(monkeypatch):
    seen = []

    def scores(data, settings, **_):
        seen.append(settings)
        raise RuntimeError

    monkeypatch.setattr("dris.pipeline.route.train_ensemble", scores)
    for options in ({"seed": 7}, {"settings": FAST}):
        with pytest.raises(RuntimeError):
            decide(blobs(), **options)
    assert seen == [Settings(seed=7), FAST]


def test_what_a_recorder_filled_decides_without_training_by_its_ids(monkeypatch):
    monkeypatch.setattr("dris.pipeline.route.train_ensemble", None)
    data = blobs()
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 2
    order = rng.permutation(400)
    logits = 4 * np.eye(2)[truth] + rng.normal(size=(2, 400, 2))
    dynamics = dris.Dynamics.from_logits(logits[:, order], data.labels[order], ids=data.ids[order])
    decision = decide(data, dynamics=dynamics, check_harm=False)
    assert (decision.rule, decision.limits, decision.judgement) == ("clean", (), None)
    assert decision.notes == ("dynamics were imported: no certificate",)
    wrong = data.labels != truth
    assert wrong[decision.kept].mean() < 0.01
    assert decision.kept.size > 350
    pruned = decide(data, dynamics=dynamics, keep=0.25, check_harm=False)
    assert pruned.kept.size == 100
    few = LabelledData.of(data.x[:10], data.labels[:10], classes=data.classes, ids=data.ids[:10])
    ten = dris.Dynamics.from_logits(logits[:, :10], few.labels, ids=few.ids)
    assert decide(few, dynamics=ten).ensemble is not None  # somebody trained: it is shown


@pytest.mark.parametrize("keep", [None, 0.25])
def test_the_rows_of_a_file_in_another_order_are_the_same_choice(keep):
    data, order = blobs(), np.random.default_rng(1).permutation(400)
    moved = LabelledData.of(
        data.x[order], data.labels[order], classes=data.classes, ids=data.ids[order]
    )
    settings = Settings(proxies=2, epochs=3)
    first, second = (
        decide(part, keep=keep, settings=settings, workers=1, check_harm=False)
        for part in (data, moved)
    )
    assert set(data.ids[first.kept]) == set(moved.ids[second.kept])
    assert second.p_wrong == pytest.approx(first.p_wrong[order], abs=1e-6)
    renamed = replace(moved, ids=data.ids)  # the twin: rows that go by other names
    other = decide(renamed, keep=keep, settings=settings, workers=1, check_harm=False)
    assert not np.array_equal(other.p_wrong, second.p_wrong)
