"""One job of the store: its key, its rows, and bytes that no kill can change."""

import importlib
import linecache
import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from oracles_networks import images, table

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from sklearn.linear_model import SGDClassifier  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

import counted_training  # noqa: E402
from counted_training import EPOCHS, STEPS, finished, killed_after, started, taken  # noqa: E402
from dris.core.errors import InputError  # noqa: E402
from dris.learn.jobs import proxy_job  # noqa: E402
from dris.learn.jobs.kept_jobs import key_of  # noqa: E402
from dris.learn.proxies import train_proxies  # noqa: E402
from dris.learn.recipe import Recipe  # noqa: E402
from dris.learn.store.run_store import Store  # noqa: E402
from dris.learn.trainers.job import Data, Job  # noqa: E402
from dris.learn.trainers.networks.models import (  # noqa: E402
    Classifier,
    fully_connected,
    linear,
)
from dris.learn.trainers.registry import describe_model  # noqa: E402

RECIPE = Recipe(epochs=3, batch_size=16, learning_rate=0.1)


def job(**changed):
    how = {"model": "linear", "stream": ("proxy", 0), "seed": 0, "classes": 3, "recipe": RECIPE}
    return Job(**{**how, **changed})


def data(**changed):
    x, y = table()
    return Data(**{"x": x, "y": y, "test_x": x[:9], "test_y": y[:9], **changed})


def train(*given):
    return proxy_job.train(*given).dynamics


def saved(dynamics, folder):
    path = folder / "dynamics.safetensors"
    dynamics.save(path)
    return path.read_bytes()


def folders(root):
    return {path.name for path in Path(root).iterdir() if path.is_dir()}


def tick():
    """Nothing to count."""


class Ticks:
    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1


def other_labels():
    y = table()[1].copy()
    y[0] = (y[0] + 1) % 3
    return y


@pytest.mark.parametrize(
    ("of_job", "of_data"),
    [
        ({"seed": 1}, {}),
        ({"model": "fc"}, {}),
        ({"model": linear}, {}),
        ({"model": partial(fully_connected, hidden=(4,))}, {}),
        ({"model": SGDClassifier(alpha=1e-3)}, {}),
        ({"stream": ("proxy", 1)}, {}),
        ({"stream": ("attacker",)}, {}),
        ({"classes": 4}, {}),
        ({"folds": 3}, {}),
        ({"folds": 3, "fold": 1}, {}),
        ({"record": "scored"}, {}),
        ({"gradient_norm": True}, {}),
        ({"normalize": False}, {}),
        ({"members": (0, 1)}, {}),
        ({"patience": 2}, {}),
        ({"pick": True}, {}),
        ({"recipe": Recipe(3, 16, 0.2)}, {}),
        ({"recipe": Recipe(3, 16, 0.1, weight_decay=0)}, {}),
        ({"recipe": Recipe(3, 16, 0.1, stop_epoch=2)}, {}),
        ({"recipe": Recipe(3, 16, 0.1, augment=False)}, {}),
        ({}, {"y": other_labels()}),
        ({}, {"x": table(seed=1)[0]}),
        ({}, {"x": table()[0].astype(np.float32)}),
        ({}, {"test_x": table()[0][1:10]}),
        ({}, {"test_y": other_labels()[:9]}),
        ({}, {"test_x": None, "test_y": None}),
    ],
)
def test_whatever_determines_a_run_is_part_of_its_key(of_job, of_data, tmp_path):
    store = Store(tmp_path)
    assert store.run(key_of(job(), data())).folder == store.run(key_of(job(), data())).folder
    changed = store.run(key_of(job(**of_job), data(**of_data)))
    assert changed.folder != store.run(key_of(job(), data())).folder


def test_data_sets_of_one_kind_and_length_have_their_own_runs():
    x, y = table()
    sets = [TensorDataset(torch.from_numpy(v)) for v in (x, x.copy(), x + 1)]
    keys = [key_of(job(), Data(s, y)) for s in sets]
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


def test_long_parameters_of_an_estimator_are_part_of_the_key():
    weights = {i: 1.0 + i for i in range(80)}
    models = [SGDClassifier(class_weight={**weights, 40: w}) for w in (2.0, 3.0)]
    assert describe_model(models[0]) == describe_model(
        models[1]
    )  # scikit-learn's words leave out the middle
    assert key_of(job(model=models[0]), data()) != key_of(job(model=models[1]), data())


@pytest.mark.parametrize("by", ["path", "function"])
def test_an_edited_function_is_another_run(by, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    x, y = table()
    known = set()
    for width in (4, 5, 5):
        source = (
            "from dris.learn.trainers.networks.models import fully_connected\n\n\n"
            "def build(shape, classes):\n"
            f"    return fully_connected(shape, classes, hidden=({width},))\n"
        )
        path = tmp_path / f"edited_{by}.py"
        path.write_text(source, encoding="utf-8")
        os.utime(path, (width, width))  # else Python may take the compiled file for current
        sys.modules.pop(f"edited_{by}", None)
        importlib.invalidate_caches()
        linecache.clearcache()
        model = f"edited_{by}:build"
        if by == "function":
            model = importlib.import_module(f"edited_{by}").build
        train_proxies(
            x, y, proxies=1, model=model, recipe=RECIPE, workers=1, store=tmp_path / "store"
        )
        known.add((width, len(folders(tmp_path / "store"))))
    assert known == {(4, 1), (5, 2)}


class Builder:
    def __call__(self, shape, classes):
        return linear(shape, classes)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("linear", "linear"),
        ("counted_training:first", "counted_training:first"),
        (linear, "dris.learn.trainers.networks.models:linear"),
        (
            partial(fully_connected, hidden=(4,)),
            "dris.learn.trainers.networks.models:fully_connected(hidden=(4,))",
        ),
        (
            partial(partial(fully_connected), hidden=(4,)),
            "dris.learn.trainers.networks.models:fully_connected(hidden=(4,))",
        ),
        (SGDClassifier(alpha=0.5), "SGDClassifier(alpha=0.5)"),
    ],
)
def test_a_model_is_named_by_what_determines_it(model, name):
    assert describe_model(model) == name


def test_models_that_share_a_name_are_refused_where_there_is_a_store(tmp_path):
    def local(shape, classes):
        return linear(shape, classes)

    x, y = table()
    unnamed = [
        lambda shape, classes: linear(shape, classes),
        local,
        partial(local),
        Builder(),
        partial(fully_connected, hidden=Builder()),
    ]
    for model in unnamed:
        named = {"proxies": 2, "epochs": 1, "model": model, "workers": 1}
        with pytest.raises(InputError, match="name the function"):
            train_proxies(x, y, **named, store=tmp_path)
        assert not folders(tmp_path)
        if not isinstance(model, partial):
            assert train_proxies(x, y, **named).proxies == 2  # the twin: fine without a store


@pytest.mark.parametrize("record", ["all", "scored"])
def test_a_store_changes_no_byte_and_a_finished_run_is_not_trained_again(
    record, tmp_path, monkeypatch
):
    mine, ticks = job(record=record, gradient_norm=True), Ticks()
    plain = train(mine, data(), None, tick)
    store = Store(tmp_path / "store")
    assert saved(train(mine, data(), store, ticks), tmp_path) == saved(plain, tmp_path)
    assert ticks.count == 3
    monkeypatch.setattr("dris.learn.jobs.proxy_job._one_epoch", None)  # whoever trains now fails
    again = train(mine, data(), store, ticks)
    assert ticks.count == 6
    assert saved(again, tmp_path) == saved(plain, tmp_path)


class Stopped(Exception):  # noqa: N818
    """The machine went down."""


def stopped_after(epochs, mine, given, store):
    ticks = Ticks()

    def pull_the_plug():
        ticks()
        if ticks.count == epochs:
            raise Stopped

    with pytest.raises(Stopped):
        train(mine, given, store, pull_the_plug)


@pytest.mark.parametrize("record", ["all", "scored"])
@pytest.mark.parametrize("model", ["small_cnn", "linear"])
@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_interrupted_after_any_epoch_it_ends_with_the_same_bytes(model, record, epochs, tmp_path):
    x, y = images(n=30)
    given = Data(x, y)
    mine = job(model=model, record=record, gradient_norm=True)
    whole = saved(train(mine, given, None, tick), tmp_path)
    store = Store(tmp_path / "store")
    stopped_after(epochs, mine, given, store)
    assert store.runs()[0].epoch == epochs
    assert saved(train(mine, given, store, tick), tmp_path) == whole


def test_it_trains_in_one_thread_and_leaves_the_number_of_threads_as_it_was():
    seen = []

    def asking(shape, classes):
        seen.append(torch.get_num_threads())
        return Classifier(torch.nn.Flatten(), torch.nn.Linear(5, classes))

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(job(model=asking), data(), None, tick)
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "kills"), [(1, 2), (2, 1)])
def test_killed_at_random_moments_it_ends_with_the_bytes_of_an_undisturbed_run(
    workers, kills, tmp_path, monkeypatch
):
    rng = np.random.default_rng()  # any moment must do
    store, out, steps = tmp_path / "store", tmp_path / "out", tmp_path / "steps"
    whole = saved(counted_training.train(), tmp_path)
    total = 2 * EPOCHS * STEPS
    for n in rng.integers(1, total // (kills + 1), kills):
        process = started(store, out, steps, workers)
        assert killed_after(process, steps, int(n), rng.uniform(0, 0.02))
        assert "running" not in {run.state for run in Store(store).runs()}  # workers died too
    if workers == 1:
        process = started(store, out, steps)
        assert killed_after(process, steps, int(rng.integers(1, total // 4)), 0, letters=b"b")
        # Killed during the second, the first is kept: it takes no step after this.
        assert store_state(store, "counted_training:first") == "done"
        kept = taken(steps, b"a")
    assert not finished(started(store, out, steps, workers))
    assert out.read_bytes() == whole
    if workers == 1:
        assert taken(steps, b"a") == kept
    # A kill costs each proxy in training the epoch it is in, and no more.
    assert total <= taken(steps) <= total + (kills + 1) * workers * STEPS
    before = taken(steps)
    monkeypatch.setenv("COUNTED_STEPS", str(steps))
    assert saved(counted_training.train(store), tmp_path) == whole
    assert taken(steps) == before  # finished proxies are not trained again


@pytest.mark.slow
def test_two_processes_on_one_store_share_the_work_and_the_bytes(tmp_path):
    outs, steps = [tmp_path / "a", tmp_path / "b"], tmp_path / "steps"
    for process in [started(tmp_path / "store", out, steps) for out in outs]:
        assert not finished(process)
    assert outs[0].read_bytes() == outs[1].read_bytes() == saved(counted_training.train(), tmp_path)
    assert taken(steps) == 2 * EPOCHS * STEPS  # each proxy was trained by one of them only


def store_state(root, model):
    return next((run.state for run in Store(root).runs() if run.key["model"] == model), None)


def test_the_count_sees_training_that_starts_over(tmp_path, monkeypatch):
    # The twin: without a store a second training takes all its steps again.
    monkeypatch.setenv("COUNTED_STEPS", str(tmp_path / "steps"))
    for n in (1, 2):
        counted_training.train()
        assert taken(tmp_path / "steps") == n * 2 * EPOCHS * STEPS
