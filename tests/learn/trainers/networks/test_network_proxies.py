"""Networks as proxies and as the attacker: the same bits everywhere, and a word for what failed."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from oracles_networks import images, softmax, table

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from torch import nn  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

from dris.core.errors import InputError  # noqa: E402
from dris.learn.attack import attacker_norms  # noqa: E402
from dris.learn.jobs.proxy_job import train  # noqa: E402
from dris.learn.proxies import train_proxies  # noqa: E402
from dris.learn.recipe import Recipe  # noqa: E402
from dris.learn.trainers.job import Data, Job, folds_for  # noqa: E402
from dris.learn.trainers.networks.loop import Network  # noqa: E402
from dris.learn.trainers.networks.models import (  # noqa: E402
    Classifier,
    fully_connected,
)
from dris.learn.trainers.networks.sources import TensorSource  # noqa: E402

CPU = torch.device("cpu")
RECIPE = Recipe(epochs=4, batch_size=16, learning_rate=0.1)
USER_MODULE = """
from torch import nn
def build(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[0], 7), nn.Tanh(), nn.Linear(7, classes))
"""


def saved(dynamics, folder):
    path = folder / "dynamics.safetensors"
    dynamics.save(path)
    return path.read_bytes()


def proxies(data=None, **how):
    x, y = table() if data is None else data
    given = {"proxies": 2, "model": "linear", "recipe": RECIPE, "workers": 1}
    return train_proxies(x, y, **{**given, **how})


def broken(shape, classes):
    """A network whose loss is not a number from the third step of training on."""

    class Breaks(nn.Module):
        steps = 0

        def forward(self, x):
            self.steps += self.training
            return x * float("nan") if self.steps >= 3 else x

    return Classifier(Breaks(), nn.Linear(shape[0], classes))


@pytest.mark.slow
def test_the_result_is_the_same_for_one_two_and_three_workers(tmp_path):
    how = {
        "data": images(n=30),
        "proxies": 4,
        "model": ["small_cnn", "sgd_log", partial(fully_connected, hidden=(9,)), "linear"],
        "gradient_norm": True,
        "test": images(n=12, seed=1),
        "recipe": Recipe(epochs=2, batch_size=16, learning_rate=0.05),
    }
    one, two, three = (saved(proxies(workers=w, **how), tmp_path) for w in (1, 2, 3))
    assert one == two == three
    # The twin: another seed is another result.
    assert saved(proxies(workers=1, seed=1, **how), tmp_path) != one


def test_a_proxy_is_recorded_after_each_epoch_over_all_examples_in_eval_mode():
    x, y = images(n=30)
    result = proxies((x, y), model="small_cnn", gradient_norm=True)
    trained = Network("small_cnn", TensorSource(x, CPU), y, 3, RECIPE, seed=0, stream=("proxy", 1))
    for epoch in range(1, 5):
        trained.train_epoch(epoch)
        logits, hidden = trained.measure(np.arange(30), hidden=True)
        p = softmax(logits.astype(np.float64))
        loss = -np.log(p[np.arange(30), y])
        p[np.arange(30), y] -= 1
        norm = np.linalg.norm(p, axis=1)
        got = {name: result.column(name)[1, epoch - 1] for name in result.columns}
        np.testing.assert_allclose(got["loss"], loss, atol=1e-5)
        np.testing.assert_allclose(got["error_norm"], norm, atol=1e-5)
        np.testing.assert_array_equal(got["correct"], logits.argmax(axis=1) == y)
        lengths = np.sqrt(1 + (hidden.astype(np.float64) ** 2).sum(axis=1))
        np.testing.assert_allclose(got["gradient_norm"], norm * lengths, rtol=1e-4, atol=1e-5)
    assert result.scored_epoch == 2


def test_stopping_at_the_scored_epoch_gives_the_snapshot_of_the_whole_training():
    short = Recipe(epochs=4, batch_size=16, learning_rate=0.1, stop_epoch=2)
    np.testing.assert_array_equal(
        proxies(recipe=short).snapshot("loss"), proxies().snapshot("loss")
    )


def test_scored_has_the_snapshot_of_all_and_totals_of_the_training_batches():
    x, y = images(n=20)
    every = proxies((x, y), model="small_cnn")
    scored = proxies((x, y), model="small_cnn", record="scored")
    for name in ("loss", "margin", "correct", "error_norm"):
        np.testing.assert_array_equal(scored.snapshot(name), every.snapshot(name))
    assert scored.totals().epochs == every.totals().epochs == 4
    margins = np.zeros(20)
    trained = Network("small_cnn", TensorSource(x, CPU), y, 3, RECIPE, seed=0, stream=("proxy", 0))

    def add(at, logits):
        z = logits.numpy().astype(np.float64)
        own = z[np.arange(len(at)), y[at]].copy()
        z[np.arange(len(at)), y[at]] = -np.inf
        margins[at] += own - z.max(axis=1)

    for epoch in range(1, 5):
        trained.train_epoch(epoch, add)
    np.testing.assert_allclose(scored.totals().margin[0], margins, rtol=1e-4, atol=1e-4)
    # The twin: eval mode without augmentation adds up to something else.
    assert not np.allclose(every.totals().margin[0], margins, rtol=1e-2)


def test_networks_and_estimators_make_one_ensemble():
    x, y = images(n=30)
    result = proxies((x, y), proxies=4, model=["fc", "sgd_log", "sklearn_mlp", "linear"])
    made = [entry["model"] for entry in result.provenance["proxies"]]
    assert made[0] == "fc"
    assert made[1].startswith("SGDClassifier")
    assert made[2].startswith("MLPClassifier")
    assert made[3] == "linear"
    for k in (0, 3):  # a network's training does not depend on its company
        alone = train(Job(made[k], ("proxy", k), 0, 3, RECIPE), Data(x, y), None, lambda: None)
        alone = alone.dynamics
        np.testing.assert_array_equal(alone.loss[0], result.loss[k])


@pytest.mark.parametrize("order", [["linear", "sgd_log"], ["sgd_log", "linear"]])
def test_in_a_mix_each_kind_has_its_own_batch_size(order):
    result = proxies(model=order, recipe=None, epochs=2)
    sizes = [entry["recipe"]["batch_size"] for entry in result.provenance["proxies"]]
    assert sizes == [{"linear": 128, "sgd_log": 64}[name] for name in order]
    given = proxies(model=order, recipe=None, epochs=2, batch_size=32)
    assert {entry["recipe"]["batch_size"] for entry in given.provenance["proxies"]} == {32}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_model_by_import_path_works_in_every_process(workers, tmp_path, monkeypatch):
    name = f"module_of_a_user_{workers}"
    (tmp_path / f"{name}.py").write_text(USER_MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    result = proxies(model=f"{name}:build", workers=workers)
    assert result.provenance["proxies"][0]["model"] == f"{name}:build"


def test_cross_fitted_values_are_those_of_the_folds_networks():
    x, y = table()
    result = proxies((x, y), cross_fit=3, gradient_norm=True)
    assert result.loss.shape == result.out_of_fold.loss.shape == (2, 4, 60)
    np.testing.assert_array_equal(result.labels, y)
    base = Job("linear", ("proxy", 1), 0, 3, RECIPE, folds=3, gradient_norm=True)
    fits = [train(replace(base, fold=f), Data(x, y), None, lambda: None).dynamics for f in range(3)]
    fold = folds_for(base, base.stream, Data(x, y))
    for i in range(60):
        others = [fits[f].loss[0, :, i] for f in range(3) if f != fold[i]]
        np.testing.assert_array_equal(result.out_of_fold.loss[1, :, i], fits[fold[i]].loss[0, :, i])
        np.testing.assert_allclose(result.loss[1, :, i], np.mean(others, axis=0), rtol=1e-6)


def test_test_accuracy_is_in_the_provenance():
    x, y = table(n=120)
    result = proxies((x[:80], y[:80]), test=(x[80:], y[80:]), model=["fc", "sgd_log"])
    for entry in result.provenance["proxies"]:
        assert 0.5 < entry["test_accuracy"] <= 1
    wrong = proxies((x[:80], y[:80]), test=(x[80:], (y[80:] + 1) % 3))
    assert all(entry["test_accuracy"] < 0.5 for entry in wrong.provenance["proxies"])
    assert all(entry["test_accuracy"] is None for entry in proxies().provenance["proxies"])


def test_a_test_set_of_another_kind_or_shape_is_refused():
    x, y = table()
    items = TensorDataset(torch.from_numpy(x))
    for data, test in [((x, y), (items, y)), ((items, y), (x, y))]:
        with pytest.raises(InputError, match="test must be an array where x is one"):
            proxies(data, test=test)
    with pytest.raises(InputError, match=r"test must be shaped like x, \(5,\) an example"):
        proxies((x, y), test=(x[:, :4], y))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_data_set_gives_the_dynamics_of_its_array(workers, tmp_path):
    x, y = images(n=30)
    small = (x / 255).astype(np.float32)
    items = TensorDataset(torch.from_numpy(small), torch.from_numpy(y))
    test = images(n=9, seed=1)
    held = TensorDataset(torch.from_numpy((test[0] / 255).astype(np.float32)))
    how = {"model": ["small_cnn", "fc"], "workers": workers}
    of_array = proxies(
        (small, y), standardize=False, test=((test[0] / 255).astype("f"), test[1]), **how
    )
    of_set = proxies((items, y), test=(held, test[1]), store=tmp_path / "store", **how)
    assert saved(of_set, tmp_path) == saved(of_array, tmp_path)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("record", ["all", "scored"])
def test_a_proxy_that_diverges_is_named_and_the_others_go_on(workers, record):
    with pytest.warns(UserWarning, match="2 of 3 proxies finished") as warned:
        result = proxies(proxies=3, model=["linear", broken, "fc"], workers=workers, record=record)
    told = next(text for text in map(str, (w.message for w in warned)) if "finished" in text)
    assert (
        "proxy 1 diverged at epoch 1: the loss must be finite, it is nan at step 3 of epoch 1"
        in told
    )
    assert result.proxies == 2
    (missing,) = result.provenance["missing"]
    assert missing in told
    assert [e["stream"] for e in result.provenance["proxies"]] == [["proxy", 0], ["proxy", 2]]
    whole = proxies(proxies=3, model=["linear", "linear", "fc"], record=record)
    np.testing.assert_array_equal(result.snapshot("loss"), whole.snapshot("loss")[[0, 2]])


@pytest.mark.parametrize("error", [ValueError("infinitely many"), RuntimeError("a finite grid")])
def test_an_error_of_the_users_code_is_not_taken_for_divergence(error):
    def picky(shape, classes):
        class Picky(nn.Linear):
            def forward(self, x):
                raise error

        return Picky(shape[0], classes)

    with pytest.raises(ValueError, match=str(error)) as caught:
        proxies(model=["linear", picky])
    assert "diverged" not in str(caught.value)


def test_an_attacker_that_diverges_says_so():
    hot = Recipe(epochs=2, batch_size=16, learning_rate=1e30)
    with pytest.raises(InputError, match=r"^attacker diverged at epoch 1: .* step \d"):
        attacker_norms(*table(), model="fc", recipe=hot)


def for_other_inputs(shape, classes):
    """A network built for one feature more than there is."""
    return nn.Sequential(nn.Linear(shape[0] + 1, classes))


def test_a_module_that_cannot_take_the_batch_is_named_with_the_shape_and_torchs_words():
    x, _ = table()
    with pytest.raises(
        InputError,
        match=rf"Sequential failed on a batch of shape \(.*, {x.shape[1]}"
        r"\): mat1 and mat2 .*; build it for examples of shape",
    ) as caught:
        proxies(model=for_other_inputs)
    assert isinstance(caught.value.__cause__, RuntimeError)
