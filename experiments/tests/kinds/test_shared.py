"""What every rule of the bench keeps: the product's rules, on the ensemble that each runs on."""

import time
from dataclasses import replace

import numpy as np
import pytest

from dris import Dynamics, InputError, LabelledData, plant_canaries
from experiments import runner
from experiments.dris_internals import choose, decide_by, train_ensemble
from experiments.kinds import shared
from experiments.kinds.shared import (
    Ensembles,
    corrupt_cell,
    corrupt_labels,
    epoch_folder,
    record_time,
    target_of,
)
from experiments.own.beyond import GATED, UNGATED, VARIANTS
from experiments.paper import food
from experiments.paper.pruning import PRINTED, static
from experiments.rules import PEERS, ensemble_of, gate
from experiments.scales import scale_of
from experiments.spec import CLEAN, Noise
from experiments.workspace import Loaded, Workspace

EVERY = tuple(dict.fromkeys((*UNGATED, *GATED, *VARIANTS, *PRINTED)))


def world(n=400, seed=0):
    """Proxies that see a tenth of wrong labels and three tenths of canaries for what they are."""
    rng = np.random.default_rng(seed)
    true, ids = np.arange(n) % 3, np.arange(n) + 5000
    bad = rng.permutation(n) < n // 10
    given = np.where(bad, (true + 1) % 3, true)
    canaries = plant_canaries(given, share=0.3, rng=rng, classes=3)

    def dynamics(labels, k=3):
        z = rng.normal(size=(k, 4, n, 3)) + 8 * np.eye(3)[true]
        return Dynamics.from_logits(z, labels, ids=ids)

    parts = dynamics(given), dynamics(canaries.planted), dynamics(given, 1)
    return Ensembles(*(lambda part=part: part for part in parts), canaries=canaries), bad


@pytest.mark.parametrize("name", EVERY)
def test_every_rule_keeps_its_share_and_gated_ones_no_canary(name):
    told, bad = world()
    subset = told.subset(name, 0.25, 0)
    assert subset == told.subset(name, 0.25, 0)
    if ensemble_of(name) != "planted":
        assert len(subset) == 100
        return
    assert not told.canaries.mask()[subset.indices].any()
    assert subset.parameters["chosen"] == 100
    assert bad[subset.indices].mean() < 0.1  # the share in all the data


def test_a_gate_is_set_by_the_choosing_half_alone():
    told, _ = world()
    whole = choose("gated", told.planted(), keep=0.25, choosing=told.canaries.mask(), seed=0)
    half = told.subset("gated", 0.25, 0)
    assert half.parameters["cut"] != whole.parameters["cut"]
    choosing = np.zeros(400, dtype=bool)
    choosing[told.canaries.choosing] = True
    product = choose("gated", told.planted(), keep=0.25, choosing=choosing, seed=0)
    kept = product.indices[~told.canaries.mask()[product.indices]]
    assert half.indices.tolist() == kept.tolist()


def test_rules_that_prefer_the_hard_keep_the_corrupted():
    told, bad = world()
    assert bad[told.subset("el2n", 0.1, 0).indices].mean() > 0.8
    assert bad[told.subset(gate("margin", 0.9, "el2n").name, 0.1, 0).indices].mean() < 0.1


def test_confident_learning_removes_what_looks_mislabelled():
    told, bad = world()
    assert bad[told.subset("confident_learning_remove", 0.75, 0).indices].mean() < 0.02
    assert bad[told.subset("random", 0.75, 0).indices].mean() > 0.05


def test_a_noise_that_aims_hits_the_largest_norms_and_another_asks_for_none():
    y = np.arange(8) % 2
    aimed = corrupt_labels(
        y, Noise("targeted", 0.25), seed=0, classes=2, norms=lambda: np.arange(8.0)
    )
    assert np.flatnonzero(aimed.flipped).tolist() == [6, 7]
    assert corrupt_labels(y, Noise("uniform", 0.25), seed=0, classes=2).flipped.sum() == 2
    assert not corrupt_labels(y, CLEAN, seed=0, classes=2).flipped.any()


def test_a_cell_that_trains_no_target_is_told_so_where_one_is_asked_for():
    cell = food.cells(scale_of("smoke"))[0]
    assert target_of(cell) is cell.target
    with pytest.raises(ValueError, match="a cell of kind food needs a target"):
        target_of(replace(cell, target=None))


@pytest.mark.parametrize(("model", "kept"), [("fc", True), ("sgd_log", False)])
def test_epochs_are_kept_for_models_that_can_go_on_until_the_cell_is_done(tmp_path, model, kept):
    cell, workspace = food.cells(scale_of("smoke"))[0], Workspace(tmp_path)
    with epoch_folder(model, cell, workspace) as folder:
        assert folder == (workspace.epochs_of(cell.key) if kept else None)
        assert workspace.epochs_of(cell.key).exists() is kept
    assert not workspace.epochs_of(cell.key).exists()


def test_the_clock_waits_for_a_gpu_and_counts_its_time(monkeypatch):
    torch = pytest.importorskip("torch")
    waited, plain = [], {}
    with record_time(plain, "target"):
        time.sleep(0.05)
    assert plain["target cpu"] < plain["target"]  # sleeping takes no processor
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(1))
    seconds = {}
    with record_time(seconds, "target"):
        time.sleep(0.05)
    assert len(waited) == 2
    assert seconds["target cpu"] == seconds["target"] >= 0.05


def test_the_clock_of_a_lane_waits_for_the_gpu_of_the_lane(monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    current, waited = ["cuda:0"], []  # torch's own choice, until somebody makes another
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: current.append(device))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(current[-1]))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", False)
    precision = torch.get_float32_matmul_precision()

    def clocked(cells, folder, workspace, tick):
        with record_time({}, "target"):
            pass
        return []

    monkeypatch.setattr(runner, "_group", clocked)
    try:
        # The twin comes first: a lane on the CPU chooses no GPU.
        for device, gpu in (("cpu", "cuda:0"), ("cuda:1", "cuda:1"), ("cuda", "cuda:0")):
            waited.clear()
            runner._groups([[]], tmp_path, Workspace(tmp_path, device=device), lambda: None)
            assert waited == [gpu, gpu]
    finally:
        torch.set_float32_matmul_precision(precision)


def test_the_recommended_rule_is_the_decision_and_peers_share_its_proxies():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    data = LabelledData.of(rng.normal(size=(400, 3)) + 2 * y[:, None], y, classes=("a", "b"))
    scored = train_ensemble(data, workers=1, only_assessed=True)
    plain, _ = world()
    told = replace(plain, product=lambda: scored)
    kept = told.subset("recommended", 0.5, 0).indices.tolist()
    assert kept == decide_by(scored, keep=0.5).kept.tolist()
    dynamics = scored.dynamics
    peer = told.subset(PEERS[0], 0.5, 0)
    assert peer == choose("confident_learning_remove", dynamics.require_out_of_fold(), keep=0.5)
    assert peer != choose("confident_learning_remove", dynamics, keep=0.5)  # out of fold it is
    in_fold = told.subset(PEERS[1], 0.5, 0)
    assert in_fold == choose("aum_mean_remove", dynamics, keep=0.5)
    with pytest.raises(InputError, match="recommended"):  # no proxies of the product, no decision
        plain.subset("recommended", 0.5, 0)


def test_the_products_proxies_read_pictures_where_the_cells_own_do(monkeypatch, tmp_path):
    rng, asked = np.random.default_rng(0), []
    x, y = rng.integers(0, 256, size=(60, 3, 8, 8)).astype(np.uint8), np.arange(60) % 3
    monkeypatch.setattr(shared, "load_examples", lambda *_: Loaded(x, y, x, y, 3))
    monkeypatch.setattr(shared, "train_ensemble", lambda data, how, **_: asked.append((data, how)))
    for name, shape, encoder in (("mid", x.shape, "none"), ("smoke", (60, 192), None)):
        cell = static(scale_of(name).setups[0], CLEAN, "recommended", 4)
        shared.prepare_group([cell], Workspace(tmp_path), {})[2].product()
        data, how = asked.pop()
        assert (data.x.shape, how.encoder, how.seed) == (shape, encoder, 4)
        assert data.labels.tolist() == y.tolist()


def test_each_seed_meets_another_attack(tmp_path):
    setup, noise = scale_of("smoke").setups[0], Noise("targeted", 0.25)
    masks = []
    for seed in (0, 1):
        cell = static(setup, noise, "random", seed)
        data = shared.load_examples(cell.source, Workspace(tmp_path))
        masks.append(corrupt_cell(cell, data, Workspace(tmp_path)).flipped)
    assert masks[0].sum() == masks[1].sum() == 100  # exactly ⌊0.25 · 400⌋
    assert not np.array_equal(*masks)
