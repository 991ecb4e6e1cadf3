"""One protocol for what trains: every kind keeps it, and a new kind is one entry."""

import sys

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.learn.proxies import train_proxies
from dris.learn.recipe import Recipe
from dris.learn.trainers import registry as trainers
from dris.learn.trainers.job import Data, Job
from dris.learn.trainers.registry import TRAINERS, check_model, check_name, trainer_of
from dris.learn.trainers.trainer import Passes, Trainer, Training

RECIPE = Recipe(epochs=4, batch_size=8, learning_rate=0.2)
X = np.random.default_rng(0).normal(size=(60, 4))
Y = (X[:, 0] > 0).astype(np.int64)
MODELS = ["sgd_log", "sklearn_mlp", "linear", "fc"]  # one at a time; heads: test_stack.py


def needs_torch(model):
    if model in ("linear", "fc"):
        pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')


def built(model, seed=0, data=None):
    needs_torch(model)
    kind = trainer_of(model)
    job = Job(check_model(model), ("target",), seed, 2, RECIPE)
    ready = kind.prepare(data or Data(X, Y, X[:9], Y[:9]), True, None)
    passes = Passes(np.arange(60), 8, seed, job.stream, equal=kind.equal_batches)
    return kind.build(job, ready, passes, job.stream), ready


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_whatever_trains_learns_measures_and_tells_its_accuracy(model):
    trainer, ready = built(model)
    for epoch in range(1, 5):
        trainer.train_epoch(epoch)
    parts = [trainer.measure(at)[0] for at in trainer.portions(np.arange(60))]
    logits = np.concatenate(parts)
    assert logits.shape == (60, 2)
    assert (logits.argmax(axis=1) == Y).mean() > 0.8
    assert trainer.accuracy(ready.test_x, Y[:9]) == (logits.argmax(axis=1) == Y)[:9].mean()
    some = trainer.measure(np.array([5, 3]))[0]
    np.testing.assert_allclose(some, logits[[5, 3]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_state_leads_to_where_it_was_taken_or_there_is_none(model):
    whole, _ = built(model)
    whole.train_epoch(1)
    state = whole.state()
    assert (state is not None) == trainer_of(model).keeps_epochs
    if state is None:
        with pytest.raises(InputError, match="no state"):
            whole.restore({})
        return
    whole.train_epoch(2)
    resumed, _ = built(model)
    resumed.restore(state)
    resumed.train_epoch(2)
    at = np.arange(60)
    assert np.array_equal(resumed.measure(at)[0], whole.measure(at)[0])
    fresh, _ = built(model)
    fresh.train_epoch(2)
    assert not np.array_equal(fresh.measure(at)[0], whole.measure(at)[0])  # the twin


def test_a_model_by_name_is_of_one_kind_only_and_its_name_means_one_thing():
    pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    names = [name for kind in TRAINERS for name in kind.names]
    assert len(names) == len(set(names))
    for kind in TRAINERS:
        assert all(trainer_of(name) is kind for name in kind.names)


class Centres(Training):
    """Nearest centre, learned by steps: a made-up library's model."""

    def __init__(self, job, data, schedule):
        self._x, self._y, self.schedule = data.x, data.y, schedule
        rng = np.random.default_rng([job.seed, *map(ord, str(job.stream))])
        self.model = rng.normal(size=(job.classes, data.x.shape[1]))

    def train_epoch(self, epoch):
        for at in self.schedule.batches(epoch):
            for c in range(len(self.model)):
                mine = at[self._y[at] == c]
                if len(mine):
                    self.model[c] += 0.5 * (self._x[mine].mean(axis=0) - self.model[c])

    def measure(self, positions, *, hidden=False):
        apart = self._x[positions][:, None] - self.model
        return -(apart**2).sum(axis=2), None

    def accuracy(self, x, y):
        return float(((x[:, None] - self.model) ** 2).sum(axis=2).argmin(axis=1) == y).mean()


class CentresTrainer(Trainer):
    title, batch_size, keeps_epochs, names = "centres", 8, False, ("centres",)

    def takes(self, model):
        return isinstance(model, str) and model == "centres"

    def build(self, job, data, schedule, stream):
        return Centres(job, data, schedule)


def test_a_new_kind_of_model_is_two_classes_and_one_entry(monkeypatch, tmp_path):
    with pytest.raises(InputError, match="unknown model 'centres'"):
        train_proxies(X, Y, model="centres", workers=1)
    monkeypatch.setattr(trainers, "TRAINERS", (CentresTrainer(), *TRAINERS))
    how = {"epochs": 5, "model": ["centres", "mlp"], "workers": 1, "store": tmp_path}
    got = train_proxies(X, Y, cross_fit=2, proxies=2, **how)
    assert got.out_of_fold.correct[:, -1].mean() > 0.6
    assert [made["model"] for made in got.provenance["proxies"]] == ["centres", "mlp"]
    assert got.provenance["proxies"][0]["recipe"]["batch_size"] == 8


def test_a_store_reads_the_data_once_for_all_jobs(monkeypatch, tmp_path):
    torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

    class Counted(torch.utils.data.Dataset):
        reads = 0

        def __len__(self):
            return 60

        def __getitem__(self, i):
            Counted.reads += 1
            return torch.from_numpy(X[i].astype(np.float32))

    def reads(proxies, store):
        Counted.reads = 0
        how = {"proxies": proxies, "model": "linear", "recipe": RECIPE, "workers": 1}
        train_proxies(Counted(), Y, store=store, **how)
        return Counted.reads

    marking = [reads(k, tmp_path / str(k)) - reads(k, None) for k in (1, 3)]
    assert marking == [60, 60]


def test_a_slip_of_the_finger_is_no_reason_to_install_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [
        name for name in sys.modules if name.startswith("dris.learn.trainers.networks.models")
    ]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(InputError, match=r"unknown model 'resnet2' \(did you mean resnet20\?\)"):
        check_name("resnet2")
