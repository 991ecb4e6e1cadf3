import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from dris import InputError  # noqa: E402
from experiments.dris_internals import NothingPassesError  # noqa: E402
from experiments.dris_torch import Network  # noqa: E402
from experiments.kinds import food_cell as kind  # noqa: E402
from experiments.kinds.shared import Ensembles  # noqa: E402
from experiments.networks import torchvision_backbones  # noqa: E402
from experiments.networks.backbones import random_trunk  # noqa: E402
from experiments.paper import food  # noqa: E402
from experiments.scales import scale_of  # noqa: E402
from experiments.spec import CLEAN  # noqa: E402
from experiments.targets.static import train_target  # noqa: E402
from experiments.targets.target_run import TargetRun  # noqa: E402
from experiments.workspace import Workspace  # noqa: E402

CELL = food.cells(scale_of("smoke"))[0]


def trained(workspace, seed=0):
    data = kind.pictures(CELL.source, workspace)
    model, x, test_x = kind.split_target(CELL.target, data, workspace)
    return train_target(
        model,
        x,
        data.y,
        np.arange(len(data.y)),
        recipe=CELL.target.recipe,
        seed=seed,
        classes=10,
        test=(test_x, data.test_y),
        standardize=False,
    )


def test_maps_that_are_kept_train_the_same_tail_as_the_whole_network_on_images(
    monkeypatch, tmp_path
):
    kept, other = trained(Workspace(tmp_path)), trained(Workspace(tmp_path), seed=1)
    monkeypatch.setattr(kind, "AT_ONCE", 0)
    whole = trained(Workspace(tmp_path))
    assert whole.how["model"].startswith("experiments.networks.backbones:build_fine_tuned(")
    for name, weights in kept.weights.items():
        # Up to rounding: the same steps from the same start.
        assert np.allclose(whole.weights[f"tail.{name}"], weights, atol=1e-4), name
    head = "4.weight"
    assert not np.allclose(other.weights[head], kept.weights[head], atol=1e-2)


def test_a_frozen_trunk_stays_as_it_was(monkeypatch, tmp_path):
    monkeypatch.setattr(kind, "AT_ONCE", 0)
    run = trained(Workspace(tmp_path))
    for name, tensor in random_trunk((3, 8, 8), 10).state_dict().items():
        assert np.array_equal(run.weights[f"trunk.{name}"], tensor.numpy())
    assert not run.model.train().trunk.training


def test_a_prediction_is_the_class_with_the_largest_logit():
    maps = np.repeat(np.arange(300) >= 150, 4).astype(np.float32).reshape(-1, 1, 2, 2)
    model = torch.nn.Sequential(torch.nn.Flatten(), _Step())
    told = kind.predicted(TargetRun("finished", None, (), {}, {}, model), maps)
    assert told.tolist() == [0] * 150 + [1] * 150


def test_candidates_are_what_a_reference_from_the_test_set_would_not_say(tmp_path):
    data = kind.pictures(CELL.source, Workspace(tmp_path))
    steps = []

    def train(x, y, kept, target, seed):
        steps.append((len(x), target.recipe.epochs))
        model = torch.nn.Sequential(torch.nn.Flatten(), _Step())
        return TargetRun("finished", None, (), {}, {}, model)

    maps = np.where(np.arange(200) < 50, 1, 0).astype(np.float32)[:, None, None, None]
    maps = np.repeat(np.repeat(maps, 2, axis=2), 2, axis=3)
    flagged = kind.candidate_noise(CELL, data, train, maps, data.test_x)
    assert flagged[:50].tolist() == (data.y[:50] != 1).tolist()
    assert flagged[50:].tolist() == (data.y[50:] != 0).tolist()
    # 100 test images for twice the epochs: as many steps as 200 training images take.
    assert steps == [(100, 2 * CELL.target.recipe.epochs)]


class _Step(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cut = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        above = (x.sum(dim=1) > self.cut).float()
        return torch.stack([1 - above, above], dim=1)


@pytest.mark.parametrize("broken", ["absent", "built for another torch"])
def test_the_papers_backbones_name_the_torchvision_that_works(monkeypatch, tmp_path, broken):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    if broken != "absent":  # as it is beside another torch: it is found, and breaks
        monkeypatch.delitem(sys.modules, "torchvision")
        (tmp_path / "torchvision.py").write_text(
            "raise RuntimeError('operator torchvision::nms does not exist')", encoding="utf-8"
        )
        monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r'pip install "torchvision==0\.\d+\.\*"'):
        torchvision_backbones.resnet50_trunk((3, 224, 224), 101)


@pytest.mark.parametrize("at_once", [kind.AT_ONCE, 0], ids=["on maps", "on images"])
def test_a_killed_target_goes_on_and_its_reference_is_trained_once(monkeypatch, tmp_path, at_once):
    monkeypatch.setattr(kind, "AT_ONCE", at_once)
    cells = [c for c in food.cells(scale_of("smoke")) if not c.seed and c.noise == CLEAN][:1]
    real, steps, tested = Network.train_epoch, [], []
    accuracy = Network.accuracy
    epochs = CELL.target.recipe.epochs

    def train_epoch(self, epoch, on_batch=None):
        steps.append((self.recipe.epochs, epoch))
        if killed and (self.recipe.epochs, epoch) == (epochs, epochs):
            raise KeyboardInterrupt
        return real(self, epoch, on_batch)

    monkeypatch.setattr(Network, "train_epoch", train_epoch)
    monkeypatch.setattr(Network, "accuracy", lambda *a: tested.append(1) or accuracy(*a))

    def result(workspace):
        steps.clear(), tested.clear()
        [one] = kind.findings(cells, workspace)
        clocks.append("target cpu" in one.seconds)
        return one.result

    killed, clocks = False, []
    whole = result(Workspace(tmp_path / "other"))  # the twin: nothing is there yet
    assert steps == [(2 * epochs, e + 1) for e in range(2 * epochs)] + [
        (epochs, e + 1) for e in range(epochs)
    ]
    assert len(tested) == 1  # at the end, not after every epoch
    assert not Workspace(tmp_path / "other").epochs_of(cells[0].key).exists()
    workspace, killed = Workspace(tmp_path), True
    with pytest.raises(KeyboardInterrupt):
        result(workspace)
    assert workspace.epochs_of(cells[0].key).exists()
    killed = False
    assert result(workspace) == whole
    assert steps == [(epochs, epochs)]
    assert clocks == [True, False]  # what was left of it is not how long it takes


def test_a_gate_that_nothing_passes_skips_its_cell_and_not_the_group(monkeypatch, tmp_path):
    cells = [c for c in food.cells(scale_of("smoke")) if not c.seed and c.noise != CLEAN]
    real = Ensembles.subset

    def subset(self, rule, keep, seed):
        if rule == cells[0].rule:
            raise NothingPassesError("nothing passes")
        return real(self, rule, keep, seed)

    monkeypatch.setattr(Ensembles, "subset", subset)
    result = list(kind.findings(cells[:2], Workspace(tmp_path)))
    assert [f.result["size"] > 0 for f in result] == [False, True]
