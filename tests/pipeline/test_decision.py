"""The noun that every door shows: its numbers, its words, and what it never becomes."""

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import dris
from dris.core.checks.diagnostics import Check
from dris.core.checks.noise_checks import HIDING
from dris.core.noise.noise_rate import NoiseRate
from dris.data.labelled import LabelledData
from dris.pipeline.route import decide, decide_by
from dris.pipeline.settings import Settings
from made_ensemble import made_ensemble

FAST = Settings(epochs=2, models=("sgd_log",))


@pytest.fixture(scope="module")
def found():
    trusted = np.arange(2000) % 50 == 1
    return decide_by(made_ensemble(trusted=trusted)[0], keep=0.5)


def blobs(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, 3)) + 4 * y[:, None]
    given = np.where(np.arange(n) % 10 == 0, 1 - y, y)
    return LabelledData.of(x, given, classes=("cat", "dog"), ids=[f"r{i}" for i in range(n)])


def test_a_decision_is_frozen_and_its_arrays_cannot_be_written(found):
    with pytest.raises(FrozenInstanceError):
        found.rule = "random"
    for values in (found.kept, found.suspicion):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1
    assert found.kept.dtype == np.int64
    assert found.suspicion.dtype == np.float64
    assert found.suspicion.shape == (2000,)
    assert len(found) == 2000
    assert (np.diff(found.kept) > 0).all()
    assert np.flatnonzero(found.mask).tolist() == found.kept.tolist()
    assert repr(found) == f"Decision({found.kept.size:,} of 2,000 kept by gated)"


def test_the_subset_is_what_trainers_take(found):
    assert found.subset.indices.tolist() == found.kept.tolist()
    assert (found.subset.rule, found.subset.parameters) == ("gated", {"fraction": 0.5})
    assert found.subset.total == 2000
    assert decide_by(found.ensemble, keep=None).subset.parameters == {}


def test_json_holds_counts_rule_limits_harm_and_notes(found):
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (values["examples"], values["kept"], values["keep"]) == (2000, found.kept.size, 0.5)
    assert (values["rule"], values["short"], values["trusted"]) == ("gated", found.short, 40)
    assert values["suspects"] == len(found.suspects)
    assert values["dropped"] == 2000 - found.kept.size
    assert values["limits"] == [json.loads(json.dumps(limit.to_dict())) for limit in found.limits]
    assert values["judgement"]["regime"] == found.judgement.regime
    assert values["harm"] is None
    assert values["notes"] == list(found.notes)
    assert sum(before for before, _ in values["classes"].values()) == 2000
    assert sum(after for _, after in values["classes"].values()) == found.kept.size
    labels = found.data.labels
    assert values["classes"]["c"] == [(labels == 2).sum(), (labels[found.kept] == 2).sum()]
    bare = replace(found, suspects=None, judgement=None).to_dict()
    assert (bare["suspects"], bare["judgement"]) == (0, None)


def test_words_say_what_was_found_kept_certified_and_why(found):
    said = str(found).splitlines()
    given, suggested, count = found.suspects.commonest()
    assert said[0] == (
        f"found  {len(found.suspects)} of 2,000 labels look wrong, most often {given} that should "
        f"be {suggested} ({count})"
    )
    assert said[1] == (
        f"kept   {found.kept.size:,} of 2,000 by gated, all 40 trusted among them; dris clean "
        f"would drop {len(found.suspects):,} at most"
    )
    limit = found.limit
    assert said[2].startswith("blind  errors that follow the features")
    assert said[3] == (
        f"limit  at most {limit.share:.2%} of them are wrong ({limit.wrong} of {limit.left:,}) "
        f"with probability 0.95, if {limit.conditions[0]}"
    )
    assert said[4].startswith("why    moderate noise: about ")
    assert len(said) == 5 + len(found.notes)
    everything = decide_by(found.ensemble, keep=1.0)
    assert f"short  {everything.short} fewer than asked for pass the gate" in str(everything)
    assert everything.short > 100
    noted = str(replace(found, notes=("one", "two"), suspects=None)).splitlines()
    assert noted[0] == "found  0 of 2,000 labels look wrong"
    assert noted[-2:] == ["note   one", "note   two"]


def test_a_limit_is_of_use_only_below_that_on_all_the_data_and_where_nothing_hides(found):
    assert found.limit_says == "something"
    most = max(c.share for c in found.corruption)
    size = found.limit.left

    def with_wrong(wrong):
        return replace(found, limits=(replace(found.limit, wrong=wrong),))

    assert with_wrong(int(most * size)).limit_says == "something"
    assert with_wrong(int(most * size) + 1).limit_says == "nothing"
    assert "nothing of use is certified about what is kept" in str(with_wrong(size))
    assert replace(found, limits=()).limit_says == "nothing"
    assert "limit " not in str(replace(found, limits=()))
    exactly = replace(found.limit, wrong=1, left=2)
    equal = replace(found.corruption[0], corrupted=1, total=2)
    assert replace(found, limits=(exactly,), corruption=(equal,)).limit_says == "nothing"
    check = Check(HIDING, "fails", 0.9, 0.6, "made to fail")
    judgement = replace(found.judgement, checks={**found.judgement.checks, "hiding": check})
    hidden = replace(found, judgement=judgement)
    assert hidden.limit_says == "not to be trusted"
    assert "certified about what is kept: too good to trust, wrong labels are not" in str(hidden)
    assert replace(hidden, limits=()).limit_says == "nothing"


def test_a_limit_is_withdrawn_where_the_data_contradict_it(found):
    found = replace(found, noise_rate=NoiseRate(0.0, 1.0), contradicted=0.0)
    most = max(c.share for c in found.corruption)
    more = replace(found, noise_rate=NoiseRate(0.0, 1.0, surest=most + 0.01))
    assert more.limit_says == "not to be trusted"  # more is wrong, at least, than it allows
    assert replace(found, noise_rate=NoiseRate(most, 1.0, surest=most)).limit_says == "something"
    fits = replace(found, noise_rate=NoiseRate(most + 0.01, 1.0))
    assert fits.limit_says == "not to be trusted"
    share = found.limit.share
    assert replace(found, contradicted=share + 0.001).limit_says == "nothing"  # hard or wrong?
    assert replace(found, contradicted=share).limit_says == "something"


def test_a_limit_that_is_withdrawn_is_given_nowhere(found):
    said = found.to_dict()
    assert (found.limit is None, said["limit_says"]) == (False, "something")
    assert said["limits"]  # the twin
    assert said["corruption"]
    check = Check(HIDING, "fails", 0.9, 0.6, "made to fail")
    judgement = replace(found.judgement, checks={**found.judgement.checks, "hiding": check})
    share = found.limit.share
    for withdrawn, untrue in (
        (replace(found, judgement=judgement), True),
        (replace(found, noise_rate=NoiseRate(0.9, 1.0)), True),
        (replace(found, contradicted=share + 0.001), False),
    ):
        said = withdrawn.to_dict()
        assert (withdrawn.limit, said["limits"]) == (None, [])
        assert bool(said["corruption"]) != untrue
        assert said["limit_says"] == ("not to be trusted" if untrue else "nothing")
        assert "at most" not in "".join(line for line in withdrawn.lines() if line[:5] == "limit")


def test_a_decision_says_in_four_lines_what_it_found_did_changes_and_cannot_know(found):
    said = [line.split()[0] for line in replace(found, short=0).lines()]
    assert said[: 3 + (found.harm is not None)] == (
        ["found", "kept", "change", "blind"] if found.harm else ["found", "kept", "blind"]
    )


def test_the_widest_limit_is_the_one_to_state(found):
    wider = replace(found.limit, kind="hard", wrong=found.limit.wrong + 5)
    both = replace(found, limits=(found.limit, wider))
    assert both.limit == wider
    assert replace(found, limits=()).limit is None


def test_a_recipe_holds_what_is_needed_to_do_it_again(found):
    values = json.loads(json.dumps(found.recipe()))
    assert (values["keep"], values["rule"]) == (0.5, "gated")
    assert values["settings"]["proxies"] == 3
    few = LabelledData.of(np.zeros((3, 1)), [0, 1, 0], classes=("a", "b"))
    assert decide(few).recipe() == {"keep": None, "rule": "everything"}


# -- from data, by training ------------------------------------------------------------------------


def test_the_same_call_gives_the_same_decision_and_seed_means_settings_seed():
    data = blobs()
    one = decide(data, settings=FAST, workers=1)
    two = decide(data, settings=FAST, workers=2)
    assert one.kept.tolist() == two.kept.tolist()
    assert one.to_dict() == two.to_dict()
    assert (one.suspicion == two.suspicion).all()
    other = decide(data, settings=replace(FAST, seed=3), workers=1)
    assert (other.suspicion != one.suspicion).any()


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
    found = decide(data, dynamics=dynamics, check_harm=False)
    assert (found.rule, found.limits, found.judgement) == ("clean", (), None)
    assert found.notes == ("dynamics were imported: no certificate",)
    wrong = data.labels != truth
    assert wrong[found.kept].mean() < 0.01
    assert found.kept.size > 350
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
    assert np.array_equal(first.suspicion[order], second.suspicion)
    renamed = replace(moved, ids=data.ids)  # the twin: rows that go by other names
    other = decide(renamed, keep=keep, settings=settings, workers=1, check_harm=False)
    assert not np.array_equal(other.suspicion, second.suspicion)
