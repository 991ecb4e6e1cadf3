"""Neural targets on a subset: steps, rates, the last step's accuracy, and exact resuming."""

import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from oracles_networks import table

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from sklearn.linear_model import SGDClassifier  # noqa: E402

import dris  # noqa: E402
import killed_target  # noqa: E402
from counted_training import finished, killed_after, taken  # noqa: E402
from dris import InputError, keep_top  # noqa: E402
from experiments.dris_internals import Recipe, Store, Subset  # noqa: E402
from experiments.dris_torch import Network, TensorSource  # noqa: E402
from experiments.targets.schedules import step_batches  # noqa: E402
from experiments.targets.static import train_target  # noqa: E402

X, Y = table()
KEPT = np.arange(0, 60, 4)
RECIPE = Recipe(epochs=3, batch_size=16, learning_rate=0.1)


def target(model="linear", subset=KEPT, **how):
    return train_target(model, X, Y, subset, **{"recipe": RECIPE, "test": (X, Y), **how})


def bytes_of(trained):
    return {name: a.tobytes() for name, a in trained.weights.items()}


@pytest.fixture
def steps(monkeypatch):
    """(stream, positions, learning rate) of every step of every network."""
    seen, step = [], Network._step

    def spy(network, at, x, number):
        out = step(network, at, x, number)
        seen.append(
            (network._stream[0], at.numpy().copy(), network._optimizer.param_groups[0]["lr"])
        )
        return out

    monkeypatch.setattr(Network, "_step", spy)
    return seen


# -- steps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("batch", "keep"), [(16, 15), (7, 60), (100, 1), (1, 59), (60, 2)])
def test_a_network_takes_exactly_the_full_datas_steps_in_full_batches(steps, batch, keep):
    recipe = Recipe(epochs=2, batch_size=batch, learning_rate=0.01)
    target(subset=np.arange(keep), recipe=recipe, test=None)
    total = 2 * math.ceil(60 / batch)
    assert len(steps) == total
    assert {len(at) for _, at, _ in steps} == {batch}
    plain = step_batches(np.arange(keep), 60, epochs=2, batch_size=batch, seed=0)
    assert [at.tolist() for _, at, _ in steps] == [b.tolist() for b in plain]


def test_the_cosine_runs_over_those_steps(steps):
    target()
    wanted = [0.05 * (1 + math.cos(math.pi * t / 12)) for t in range(12)]
    assert [rate for *_, rate in steps] == pytest.approx(wanted, rel=1e-12)
    # The twin: a cosine over passes of the subset alone would have ended after three steps.
    assert [rate for *_, rate in steps][3] > 0.08


def test_the_accuracy_is_that_of_the_last_step_not_the_best(monkeypatch):
    trained = target()
    with torch.inference_mode():
        x = next(TensorSource(X, torch.device("cpu")).batches([np.arange(60)]))
        again = (trained.model.eval()(x).argmax(dim=1).numpy() == Y).mean()
    assert trained.accuracy == pytest.approx(again)
    falling = iter([0.5, 0.9, 0.7])
    monkeypatch.setattr(Network, "accuracy", lambda *_: next(falling))
    trained = target()
    assert [line.test_accuracy for line in trained.log] == [0.5, 0.9, 0.7]
    assert trained.accuracy == 0.7


def test_labels_outside_the_subset_are_never_read():
    other = Y.copy()
    outside = np.setdiff1d(np.arange(60), KEPT)
    other[outside] = (other[outside] + 1) % 3
    changed = train_target("linear", X, other, KEPT, recipe=RECIPE)
    assert bytes_of(changed) == bytes_of(target())
    inside = Y.copy()
    inside[KEPT[0]] = (inside[KEPT[0]] + 1) % 3
    assert bytes_of(train_target("linear", X, inside, KEPT, recipe=RECIPE)) != bytes_of(target())


def test_the_log_says_what_was_trained_on():
    flagged = np.arange(60) < 8  # two of the fifteen kept
    subset = keep_top(-(np.arange(60) % 4).astype(float), fraction=0.25)
    trained = target(subset=subset, flagged=flagged)
    assert [line.epoch for line in trained.log] == [1, 2, 3]
    assert all(line.distinct == 15 for line in trained.log)
    sampled = trained.log[0].sampled
    assert (sampled.support, sampled.concentration_size, sampled.largest_weight) == (15, 15, 1)
    assert sampled.flagged_mass == pytest.approx(2 / 15)
    assert not sampled.unbiased
    assert target(subset=np.arange(60)).log[0].sampled.unbiased
    assert trained.how["rule"] == subset.rule
    assert trained.how["recipe"]["epochs"] == 3
    assert trained.record()["log"][2]["sampled"]["support"] == 15


def test_a_subset_and_its_positions_are_the_same_and_flags_decide_nothing():
    subset = Subset(KEPT, "by hand", {}, total=60)
    flagged = np.arange(60) < 8
    assert bytes_of(target(subset=subset, flagged=flagged)) == bytes_of(target(subset=KEPT[::-1]))


def test_progress_counts_epochs_also_those_that_never_come(tmp_path):
    seen = []
    target(progress=lambda done, total: seen.append((done, total)), store=tmp_path)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    target(progress=lambda done, total: seen.append((done, total)), store=tmp_path)
    assert seen[3:] == seen[:3]
    target(recipe=BROKEN, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (4, 4)


# -- diverging -----------------------------------------------------------------------------------

BROKEN = Recipe(epochs=4, batch_size=16, learning_rate=1e30)


def test_a_target_that_diverges_is_a_result_at_chance_with_epoch_and_step(tmp_path, caplog):
    trained = target("fc", recipe=BROKEN, store=tmp_path)
    assert trained.status == "diverged"
    assert trained.accuracy == pytest.approx(1 / 3)
    epoch, step = trained.broke
    assert (epoch, len(trained.log)) == (1, 0)
    assert 2 <= step <= 4
    assert f"target diverged at epoch {epoch}" in caplog.text
    again = target("fc", recipe=BROKEN, store=tmp_path)
    assert again.record() == trained.record()
    assert target("fc", recipe=BROKEN, test=None).accuracy is None
    assert target("fc").status == "finished"


def test_weights_broken_by_the_very_last_step_are_seen():
    # One step in all: its loss is finite, what it leaves is not.
    x = X * 1e30
    recipe = Recipe(epochs=1, batch_size=60, learning_rate=1e30)
    trained = train_target("linear", x, Y, np.arange(60), recipe=recipe, standardize=False)
    assert (trained.status, trained.broke) == ("diverged", (1, 1))


# -- the course ----------------------------------------------------------------------------------


@pytest.fixture
def measured(monkeypatch):
    """How often networks were measured."""
    seen, accuracy = [], Network.accuracy
    monkeypatch.setattr(Network, "accuracy", lambda *what: (seen.append(1), accuracy(*what))[1])
    return seen


def test_without_its_course_a_target_is_the_same_and_measured_once(measured):
    whole = target()
    assert len(measured) == 3
    trained = target(course=False)
    assert len(measured) == 4
    assert [line.test_accuracy for line in trained.log] == [None, None, whole.accuracy]
    assert (trained.accuracy, bytes_of(trained)) == (whole.accuracy, bytes_of(whole))
    assert target(course=False, test=None).accuracy is None
    estimator = target(SGDClassifier(), course=False, recipe=None, epochs=2, batch_size=16)
    assert None not in [line.test_accuracy for line in estimator.log]


def test_without_its_course_a_target_that_breaks_is_measured_where_it_was_whole(monkeypatch):
    step = Network._step

    def breaks(network, at, x, number):
        logits, loss = step(network, at, x, number)
        if number == 9:  # the second of the third epoch
            with torch.no_grad():
                for weight in network.model.parameters():
                    weight.zero_()
            return logits, loss * math.nan
        return logits, loss

    monkeypatch.setattr(Network, "_step", breaks)
    whole, trained = target(), target(course=False)
    assert whole.status == trained.status == "diverged"
    assert whole.broke == trained.broke == (3, 2)
    assert trained.accuracy == whole.accuracy == whole.log[1].test_accuracy > 0.5
    # At the broken weights it would be that of one class for everything.
    assert max(np.bincount(Y)) / len(Y) < 0.5


# -- the store -----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk():
    with mock.patch.object(os, "fsync"):
        yield


def test_a_finished_target_comes_back_from_the_store_whole(tmp_path, steps):
    trained = target(store=tmp_path)
    count = len(steps)
    again = target(store=tmp_path)
    assert len(steps) == count
    assert bytes_of(again) == bytes_of(trained) == bytes_of(target())
    assert again.record() == trained.record()
    assert again.log == trained.log
    x = torch.ones(1, 5)
    assert torch.equal(again.model.eval()(x), trained.model.eval()(x))
    (info,) = Store(tmp_path).runs()
    assert (info.state, info.epoch) == ("done", 3)


def test_another_subset_seed_or_test_set_is_another_run(tmp_path):
    target(store=tmp_path)
    target(store=tmp_path, subset=KEPT[:-1])
    target(store=tmp_path, seed=1)
    target(store=tmp_path, test=None)
    target(store=tmp_path, flagged=np.arange(60) < 8)
    target(store=tmp_path, course=False)
    assert len(Store(tmp_path).runs()) == 6


def stopped_at(count):
    """A network that is interrupted at its step of that number."""
    left, step = [count], Network._step

    def interrupted(network, at, x, number):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return step(network, at, x, number)

    return mock.patch.object(Network, "_step", interrupted)


@pytest.mark.parametrize("kind", ["static", "online"])
@pytest.mark.parametrize("at", [0, 3, 6, 13, 19])
def test_an_interrupted_run_ends_in_the_weights_of_no_interruption(kind, at, tmp_path):
    with stopped_at(at), pytest.raises(KeyboardInterrupt):
        killed_target.train(kind, tmp_path)
    resumed, whole = killed_target.train(kind, tmp_path), killed_target.train(kind)
    assert bytes_of(resumed) == bytes_of(whole)
    assert resumed.record() == whole.record()


def test_a_resume_that_forgot_the_plan_would_be_seen(tmp_path):
    from experiments.targets.plans import Online

    with stopped_at(6), pytest.raises(KeyboardInterrupt):
        killed_target.train("online", tmp_path)
    with mock.patch.object(Online, "restore"):
        resumed = killed_target.train("online", tmp_path)
    assert bytes_of(resumed) != bytes_of(killed_target.train("online"))


@pytest.mark.parametrize(
    ("kind", "at"), [pytest.param("static", 6, marks=pytest.mark.slow), ("online", 13)]
)
def test_a_killed_process_loses_no_bit(kind, at, tmp_path):
    count, out = tmp_path / "steps", tmp_path / "out"
    paths = [Path(dris.__file__).parents[1], Path(__file__).parents[3]]
    process = subprocess.Popen(
        [sys.executable, killed_target.__file__, kind, str(tmp_path / "store"), str(out)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "COUNTED_STEPS": str(count),
            "OMP_NUM_THREADS": "1",
        },
    )
    assert killed_after(process, count, at, 0.0, b"a"), finished(process)
    assert process.returncode == -signal.SIGKILL
    assert not out.exists()
    done = taken(count, b"a")
    assert at <= done < 20
    resumed = killed_target.train(kind, tmp_path / "store")
    whole = killed_target.save(killed_target.train(kind), tmp_path / "whole")
    assert killed_target.save(resumed, out) == whole


# -- the door ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"subset": []}, "the subset is empty"),
        ({"subset": [0, 60]}, r"positions in 0\.\.59"),
        ({"subset": [0.5]}, "positions"),
        ({"subset": [[0]]}, "positions"),
        ({"subset": [3, 3]}, "must not repeat"),
        ({"subset": Subset(np.array([0]), "by hand", {}, total=9)}, "chosen from 9 examples"),
        ({"model": "nonsense"}, "unknown model 'nonsense'"),
        ({"flagged": np.ones(3, dtype=bool)}, "flagged must be a boolean mask of 60"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"test": (X[:, :2], Y)}, "shaped like x"),
        ({"device": "tpu"}, "device must be cpu"),
        ({"model": lambda shape, classes: None, "store": "x"}, "a store finds runs by the model's"),
        ({"model": SGDClassifier(), "store": "x"}, "a store keeps networks"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(how, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=says) as refused:
        target(**how)
    assert "\n" not in str(refused.value)
