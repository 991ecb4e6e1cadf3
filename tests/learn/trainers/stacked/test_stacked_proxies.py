"""Stacked proxies: an oracle, folds, ids, bytes whatever the machine does, and a kill."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dris
from commands import run_python
from dris.core.dynamics.dynamics import Dynamics, best_epoch
from dris.core.errors import InputError
from dris.core.scores.formulas import SCORES
from dris.learn.jobs import stacked_job
from dris.learn.proxies import train_proxies
from dris.learn.recipe import Recipe
from dris.learn.store.run_store import Store
from dris.learn.trainers.job import Data, Job, folds_for
from dris.learn.trainers.stacked import stack as stack_module
from dris.learn.trainers.stacked.head import Head
from dris.learn.trainers.trainer import Passes
from oracles_heads import trained_head

SHORT = Recipe(epochs=3, batch_size=16, learning_rate=0.1, weight_decay=1e-3)
TOLERANCE = 2e-4


def toy(n=100, width=6, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width)).astype(np.float32)
    y = (x[:, :classes] + 0.5 * rng.normal(size=(n, classes))).argmax(axis=1)
    y[:classes] = range(classes)
    return x, y


def train(x, y, **how):
    given = {"proxies": 2, "model": Head(5), "recipe": SHORT, "workers": 1, "rival": True}
    return train_proxies(x, y, **{**given, **how})


def bits(dynamics):
    sides = [dynamics] if dynamics.out_of_fold is None else [dynamics, dynamics.out_of_fold]
    held = [(n, c.tobytes()) for side in sides for n, c in sorted(side.columns.items())]
    p = dynamics.probabilities
    return held if p is None else [*held, ("p", p.values.tobytes()), ("fold", p.fold.tobytes())]


@pytest.mark.parametrize("hidden", [None, 5])
@pytest.mark.parametrize("wrong", [{}, {"weight_decay": 0.1}, {"momentum": 0.5}], ids=str)
def test_heads_follow_the_loop_oracle_and_the_oracle_notices_another_recipe(hidden, wrong):
    x, y = toy(n=41)  # batches of 14, 14 and 13
    got = train(x, y, model=Head(hidden), gradient_norm=True, standardize=False)
    for k in range(2):
        recipe = replace(SHORT, **wrong)
        how = {"hidden": hidden, "classes": 3, "seed": 0, "stream": ("proxy", k)}
        want = trained_head(x, y, np.arange(41), recipe, **how)
        if wrong:
            assert np.abs(got.loss[k] - want["loss"]).max() > 10 * TOLERANCE
            continue
        for name, column in want.items():
            np.testing.assert_allclose(got.column(name)[k], column, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("hidden", [None, 5])
@pytest.mark.parametrize("folds", [2, 3])
def test_folds_follow_the_loop_oracle_in_fold_and_out_of_fold(hidden, folds):
    x, y = toy(n=33)
    got = train(x, y, model=Head(hidden), cross_fit=folds, standardize=False)
    job = Job(Head(hidden), ("proxy",), 0, 3, SHORT, folds=folds)
    for k in range(2):
        fold = folds_for(job, ("proxy", k), Data(x, y))
        rows = [np.flatnonzero(fold != f) for f in range(folds)]
        steps = -(-max(len(r) for r in rows) // SHORT.batch_size)
        models = [
            trained_head(
                x,
                y,
                rows[f],
                SHORT,
                hidden=hidden,
                classes=3,
                seed=0,
                stream=("proxy", k, "fold", f),
                steps=steps,
            )
            for f in range(folds)
        ]
        for i in range(33):
            for name in ("loss", "margin", "error_norm"):
                away = models[fold[i]][name][:, i]
                home = np.mean([models[f][name][:, i] for f in range(folds) if f != fold[i]], 0)
                result = got.column(name)[k, :, i], got.out_of_fold.column(name)[k, :, i]
                np.testing.assert_allclose(result, (home, away), rtol=0, atol=TOLERANCE)
            assert np.array_equal(
                got.out_of_fold.column("rival")[k, :, i], models[fold[i]]["rival"][:, i]
            )


@pytest.mark.parametrize("hidden", [None, 7])
def test_one_step_is_the_gradient_that_torch_traces(hidden):
    torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    from dris.learn.trainers.stacked.stack import Stack

    x, y = toy(n=20)
    table = np.concatenate([x, np.ones((20, 1), np.float32)], axis=1)
    recipe = Recipe(epochs=1, batch_size=20, learning_rate=0.5, momentum=0.0, weight_decay=0.0)
    passes = [Passes(np.arange(20), 20, 0, ("a", m)) for m in range(2)]
    streams = [("a", m) for m in range(2)]
    how = {"hidden": hidden, "seed": 0, "streams": streams, "schedules": passes}
    stack = Stack(table, y, 3, recipe, **how)
    before = stack.state()["model.weights"]
    stack.train_epoch(1)
    for m in range(2):
        flat = torch.tensor(before[m], dtype=torch.float64, requires_grad=True)
        rows = torch.tensor(table, dtype=torch.float64)
        if hidden is None:
            logits = rows @ flat.view(7, 3)
        else:
            units = (rows @ flat[: 7 * hidden].view(7, hidden)).relu()
            logits = units @ flat[7 * hidden : -3].view(hidden, 3) + flat[-3:]
        torch.nn.functional.cross_entropy(logits, torch.tensor(y)).backward()
        want = before[m] - 0.5 * flat.grad.numpy()
        np.testing.assert_allclose(stack.state()["model.weights"][m], want, atol=1e-5)


def losses_of(dynamics):
    """The out-of-fold loss at the scored epoch, by the columns and by the class probabilities."""
    p = dynamics.probabilities.dense()
    at = np.arange(len(dynamics.labels))
    loss = np.minimum(dynamics.out_of_fold.snapshot("loss"), 80)  # e⁻⁸⁷ is the smallest number
    return loss, np.minimum(-np.log(p[:, at, dynamics.labels]), 80)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"scored_epoch": "held_out", "patience": 2},
        {"record": "scored", "scored_epoch": "held_out"},
        {"model": [Head(5), Head(untangled=True)], "scored_epoch": "held_out"},
        {
            "model": [Head(5), Head(untangled=True)],
            "scored_epoch": "held_out",
            "patience": 1,
            "record": "scored",
        },
        {"record": "snapshot", "scored_epoch": "held_out", "patience": 2},
        {"record": "snapshot", "model": [Head(5), Head()], "scored_epoch": "held_out"},
        {"judged": True},
    ],
    ids=str,
)
def test_class_probabilities_are_those_of_the_scored_epoch(how, tmp_path):
    x, y = toy(n=120, width=30)
    if "judged" in how:
        how = {"judged": np.roll(y, 1)}
    given = {"recipe": Recipe(8, 16, 0.3), "cross_fit": 3, "store": tmp_path, **how}
    got = train(x, y, **given)
    want, told = losses_of(got)
    np.testing.assert_allclose(told, want, atol=TOLERANCE)
    assert got.probabilities.fold.shape == want.shape
    other = [e for e in got.epochs if e != got.scored_epoch]
    assert not other or got.at(other[0]).probabilities is None
    order = np.random.default_rng(0).permutation(120)
    some = got.reorder(order).only([1])
    np.testing.assert_array_equal(some.probabilities.values[0], got.probabilities.values[1][order])
    assert train(x, y).probabilities is None


def test_with_many_classes_the_likeliest_are_kept_and_the_others_share_the_rest(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(600) % 80
    x = (rng.normal(size=(600, 20)) + 3 * rng.normal(size=(80, 20))[y]).astype(np.float32)
    planted = np.where(np.arange(600) % 10 == 0, (y + 1) % 80, y)
    given = {"cross_fit": 2, "judged": planted, "store": tmp_path, "proxies": 1}
    got = [train(x, y, model=m, **given) for m in (Head(5), Head())]
    both = Dynamics.merge(got)
    p = both.probabilities
    assert p.values.shape == (2, 600, 13)
    want, told = losses_of(both)
    np.testing.assert_allclose(told, want, atol=TOLERANCE)
    dense = p.dense()
    np.testing.assert_allclose(dense.sum(axis=2), 1, atol=1e-5)
    classes, values = p.likeliest([y])
    assert classes.shape == (600, 13)
    assert (classes == y[:, None]).any(axis=1).all()
    np.testing.assert_array_equal(values, np.take_along_axis(dense, classes[None], axis=2))
    rest = dense.mean(axis=0)
    np.put_along_axis(rest, classes, -1, axis=1)
    others = np.where(classes == y[:, None], np.inf, values.mean(axis=0))
    assert (others.min(axis=1) >= rest.max(axis=1)).all()
    again = Dynamics.load(both.save(tmp_path / "both.dynamics"))
    np.testing.assert_array_equal(again.probabilities.dense(), dense)


def test_the_scored_epoch_is_where_the_out_of_fold_loss_is_smallest():
    x, y = toy(n=200, width=30)
    how = {"cross_fit": 4, "recipe": Recipe(12, 16, 0.3)}
    got = train(x, y, scored_epoch="held_out", **how)
    plain = train(x, y, **how)
    assert plain.scored_epoch == 6
    assert got.scored_epoch == got.out_of_fold.scored_epoch == best_epoch(plain) < 6
    assert bits(replace(got, probabilities=None)) == bits(replace(plain, probabilities=None))
    assert not np.array_equal(got.probabilities.values, plain.probabilities.values)
    summary = train(x, y, scored_epoch="held_out", record="scored", **how)
    assert summary.is_summary
    assert summary.scored_epoch == got.scored_epoch
    assert bits(summary) == bits(got.summary())
    for side in (summary, summary.out_of_fold):
        whole = got if side is summary else got.out_of_fold
        assert np.array_equal(side.totals().margin, whole.totals().margin)


@pytest.mark.parametrize("how", [{}, {"cross_fit": 3}, {"cross_fit": 3, "pick": True}], ids=str)
def test_a_snapshot_is_the_scored_epoch_without_sums(how):
    x, y = toy()
    if how.pop("pick", False):
        how = {**how, "scored_epoch": "held_out"}
    whole, some = train(x, y, **how), train(x, y, record="snapshot", **how)
    assert bits(some) == bits(whole.summary())
    assert some.scored_epoch == whole.scored_epoch
    assert [m.get("held_out_loss") for m in some.made()] == [
        pytest.approx(np.array(m["held_out_loss"]), rel=1e-4) if how else None for m in whole.made()
    ]
    with pytest.raises(InputError, match="totals"):
        SCORES["aum"](some)
    with pytest.raises(InputError, match="stacked"):
        train(x, y, record="snapshot", model="sgd_log")


def test_patience_stops_all_proxies_together_and_changes_nothing_before():
    x, y = toy(n=200, width=30)
    how = {"cross_fit": 4, "recipe": Recipe(12, 16, 0.3), "scored_epoch": "held_out"}
    whole = train(x, y, **how)
    seen = []
    stopped = train(x, y, patience=2, progress=lambda *at: seen.append(at), **how)
    last = whole.scored_epoch + 2
    assert stopped.epochs == tuple(range(1, last + 1))
    assert stopped.scored_epoch == whole.scored_epoch
    assert np.array_equal(stopped.loss, whole.loss[:, :last])
    assert seen[-1] == (12 * 8, 12 * 8)
    assert train(x, y, patience=12, **how).epochs == whole.epochs  # the twin


def test_other_models_stop_by_their_own_folds_and_keep_the_epochs_that_all_have():
    x, y = toy(n=200, width=30)
    how = {"model": "sgd_log", "recipe": Recipe(12, 16, 0.3), "cross_fit": 3, "workers": 1}
    whole = train(x, y, scored_epoch="held_out", **how)
    seen = []
    how |= {"scored_epoch": "held_out", "patience": 2}
    stopped = train(x, y, progress=lambda *at: seen.append(at), **how)
    last = stopped.epochs[-1]
    assert last < 12
    assert np.array_equal(stopped.loss, whole.loss[:, :last])
    assert stopped.scored_epoch == best_epoch(stopped)
    assert seen[-1][0] == seen[-1][1]
    mixed = train(x, y, **{**how, "model": ["mlp", "sgd_log"]})
    assert mixed.epochs == tuple(range(1, mixed.epochs[-1] + 1))
    assert train(x, y, **{**how, "patience": 12}).epochs == whole.epochs  # the twin


def test_a_network_that_stops_by_itself_goes_on_after_a_kill_to_the_same_bytes(
    tmp_path, monkeypatch
):
    pytest.importorskip("torch")
    from dris.learn.trainers.networks.loop import Network

    x, y = toy(n=120, width=30)
    how = {"model": "linear", "recipe": Recipe(12, 16, 0.5), "cross_fit": 2, "proxies": 2}
    how |= {"scored_epoch": "held_out", "patience": 2}
    whole = train(x, y, **how)
    assert whole.epochs[-1] < 12
    real, died = Network.train_epoch, []

    def dies(self, epoch, *more):
        if epoch == 3 and not died:
            died.append(epoch)
            raise Killed
        return real(self, epoch, *more)

    monkeypatch.setattr(Network, "train_epoch", dies)
    with pytest.raises(Killed):
        train(x, y, store=tmp_path, **how)
    got = train(x, y, store=tmp_path, **how)
    assert bits(got) == bits(whole)
    assert (got.epochs, got.scored_epoch) == (whole.epochs, whole.scored_epoch)
    assert bits(train(x, y, store=tmp_path, **how)) == bits(whole)  # and from the store


@pytest.mark.parametrize("how", [{}, {"cross_fit": 3}, {"record": "scored"}], ids=str)
@pytest.mark.parametrize("model", [Head(5), Head(5, True), "linear_head", "sgd_log"], ids=str)
def test_the_same_rows_in_another_order_give_the_same_values_bit_for_bit(how, model):
    if model == "sgd_log" and "record" in how:
        how = {}
    x, y = toy(n=83)
    names = np.array([f"row {i:x}" for i in np.random.default_rng(1).permutation(83)])
    order = np.random.default_rng(2).permutation(83)
    one = train(x, y, ids=names, model=model, **how)
    other = train(x[order], y[order], ids=names[order], model=model, **how)
    assert other.ids.tolist() == names[order].tolist()
    assert bits(one.reorder(order)) == bits(other)
    assert np.array_equal(other.labels, y[order])
    unnamed = train(x[order], y[order], model=model, **how)  # the twin: positions are ids too
    assert bits(one.reorder(order)) != bits(unnamed)


@pytest.mark.parametrize("how", [{}, {"cross_fit": 3}], ids=str)
def test_a_proxy_does_not_depend_on_its_company(how):
    x, y = toy(n=101)
    three = train(x, y, proxies=3, **how)
    assert bits(train(x, y, proxies=2, **how)) == bits(three.only([0, 1]))
    mixed = train(x, y, proxies=3, model=[Head(5), "sgd_log", Head(5)], **how)
    assert bits(mixed.only([0, 2])) == bits(replace(three.only([0, 2]), probabilities=None))


@pytest.mark.parametrize("how", [{}, {"cross_fit": 3}], ids=str)
def test_one_two_and_eight_workers_give_the_same_bytes(how, monkeypatch):
    x, y = toy(n=300)
    one = train(x, y, proxies=3, **how)
    monkeypatch.setattr(stack_module, "_WORTH_A_THREAD", -1.0)
    monkeypatch.setattr(stack_module, "_WORTH_A_STEP", 0.0)
    monkeypatch.setattr(stack_module, "_MEASURED", 8 * 64)
    split = train(x, y, proxies=3, workers=1, **how)
    for workers in (2, 8):
        assert bits(train(x, y, proxies=3, workers=workers, **how)) == bits(split)
    np.testing.assert_allclose(one.loss, split.loss, atol=TOLERANCE)


def test_models_that_step_apart_for_want_of_room_give_the_same_bytes(monkeypatch):
    x, y = toy(n=101)
    whole = train(x, y, proxies=5, cross_fit=3)
    monkeypatch.setattr(stack_module, "_ROOM", 2 * 16 * 7)
    assert bits(train(x, y, proxies=5, cross_fit=3)) == bits(whole)


PRINTED = """
import hashlib, numpy as np
from dris.learn.proxies import train_proxies
rng = np.random.default_rng(0)
x = rng.normal(size=(2000, 200)); y = (x[:, 0] > 0).astype(int)
d = train_proxies(x, y, epochs=2, cross_fit=2, model="mlp")
print(hashlib.sha256(d.loss.tobytes() + d.out_of_fold.loss.tobytes()).hexdigest())
"""


def test_the_bytes_do_not_depend_on_the_threads_of_the_machine():
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    one, four = (run_python("-c", PRINTED, **dict.fromkeys(names, threads)) for threads in "14")
    assert one == four != ""


def test_training_needs_neither_torch_nor_scikit_learn_nor_processes():
    code = (
        "import sys, numpy as np\n"
        "from dris.learn.proxies import train_proxies\n"
        "x = np.random.default_rng(0).normal(size=(50, 3))\n"
        "train_proxies(x, np.arange(50) % 2, epochs=2, cross_fit=2)\n"
        "print([m for m in ('torch', 'sklearn', 'scipy', 'joblib') if m in sys.modules])\n"
    )
    assert run_python("-c", code) == "[]\n"


def test_one_wild_model_of_a_stack_leaves_its_neighbours_alone(monkeypatch):
    x, y = toy()
    calm = train(x, y, proxies=3)
    made = stacked_job.stack_for

    def hit(*given):
        stack = made(*given)
        stack._weights[1] = np.nan
        return stack

    monkeypatch.setattr(stacked_job, "stack_for", hit)
    with pytest.warns(UserWarning, match=r"2 of 3 proxies finished; proxy 1 diverged at epoch 1"):
        got = train(x, y, proxies=3)
    assert bits(got) == bits(calm.only([0, 2]))
    assert [p["stream"] for p in got.provenance["proxies"]] == [["proxy", 0], ["proxy", 2]]


@pytest.mark.parametrize("how", [{}, {"cross_fit": 3}, {"record": "scored"}], ids=str)
def test_a_second_call_takes_the_result_from_the_store(how, tmp_path, monkeypatch):
    x, y = toy()
    first = train(x, y, store=tmp_path, **how)
    monkeypatch.setattr(stacked_job, "_follow", lambda *_: pytest.fail("trained again"))
    seen = []
    again = train(x.copy(), y, store=Store(tmp_path), progress=lambda *at: seen.append(at), **how)
    assert bits(first) == bits(again)
    assert again.provenance == first.provenance
    total = 2 * 3 * how.get("cross_fit", 1)
    assert seen[-1] == (total, total)
    with pytest.raises(pytest.fail.Exception):
        train(x, y, store=tmp_path, seed=1, **how)  # the twin


class Killed(BaseException):
    pass


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cross_fit": 3},
        {"record": "scored"},
        {"record": "scored", "cross_fit": 3, "scored_epoch": "held_out"},
        {"record": "snapshot", "cross_fit": 3, "scored_epoch": "held_out"},
        {"record": "snapshot"},
    ],
    ids=str,
)
def test_interrupted_work_goes_on_from_the_last_epoch_to_the_same_bytes(
    after, how, tmp_path, monkeypatch
):
    x, y = toy()
    whole = train(x, y, **how)
    monkeypatch.setattr(stacked_job, "SAVE_EVERY", 0.0)
    real, trained = stack_module.Stack.train_epoch, []

    def dies(self, epoch):
        if epoch == after + 1 and not trained.count("died"):
            trained.append("died")
            raise Killed
        trained.append(epoch)
        real(self, epoch)

    monkeypatch.setattr(stack_module.Stack, "train_epoch", dies)
    with pytest.raises(Killed):
        train(x, y, store=tmp_path, **how)
    got = train(x, y, store=tmp_path, **how)
    assert trained == [*range(1, after + 1), "died", *range(after + 1, 4)]
    assert bits(got) == bits(whole)
    assert got.provenance == whole.provenance


LONG = """
import sys, numpy as np
from dris.learn.proxies import train_proxies
from dris.learn.jobs import stacked_job
stacked_job.SAVE_EVERY = 0.0
rng = np.random.default_rng(0)
x = rng.normal(size=(3000, 60)); y = (x[:, 0] > 0).astype(int)
d = train_proxies(x, y, epochs=30, cross_fit=2, model="mlp", store=sys.argv[1] or None)
print(d.loss.tobytes().hex()[:4000], d.out_of_fold.loss.sum())
"""


def test_kill_9_costs_the_epochs_that_were_not_kept_and_changes_no_byte(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(Path(dris.__file__).parents[1])}
    start = [sys.executable, "-c", LONG, str(tmp_path)]
    child = subprocess.Popen(start, env=env, stdout=subprocess.DEVNULL)
    while not list(tmp_path.glob("*/epoch-00003.safetensors")):
        assert child.poll() is None
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not list(tmp_path.glob("*/done.json"))
    assert run_python("-c", LONG, tmp_path) == run_python("-c", LONG, "") != ""
    assert list(tmp_path.glob("*/done.json"))
