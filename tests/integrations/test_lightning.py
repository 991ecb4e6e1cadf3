"""A real Trainer fills the recorder with what the model says, and draws what the plan says."""

import copy
import doctest
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightning", reason='lightning is missing: pip install "dris[lightning]"')
pytestmark = [
    pytest.mark.frameworks,
    # Lightning's own, under torch 2.13 and with few workers; each by its exact words.
    pytest.mark.filterwarnings("ignore:`isinstance\\(treespec, LeafSpec\\)` is deprecated"),
    pytest.mark.filterwarnings("ignore:The 'train_dataloader' does not have many workers"),
    pytest.mark.filterwarnings("ignore:The number of training batches .* is smaller than"),
]

import torch  # noqa: E402
from lightning.pytorch import Callback  # noqa: E402
from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import dris  # noqa: E402
from ddp_lightning import plan  # noqa: E402
from dris.core.dynamics.dynamics import Dynamics  # noqa: E402
from dris.core.errors import InputError  # noqa: E402
from dris.integrations import lightning as module  # noqa: E402
from dris.integrations.lightning import (  # noqa: E402
    DistributedImportanceSampler,
    RecordDynamics,
)
from dris.learn.record.recorder import Recorder  # noqa: E402
from dris.learn.trainers.networks.samplers import ImportanceSampler, WeightedDataset  # noqa: E402
from small_lightning import N, Plain, Sampled, Small, examples, trainer  # noqa: E402

TESTS = Path(__file__).parents[1]


def batches(**options) -> DataLoader:
    made = torch.Generator().manual_seed(3)
    return DataLoader(examples(), batch_size=8, shuffle=True, generator=made, **options)


def snapshot() -> DataLoader:
    return DataLoader(Plain(), batch_size=16)


def logits_of(model: nn.Module) -> torch.Tensor:
    model = copy.deepcopy(model).eval()
    with torch.no_grad():
        return model(examples().tensors[0])


def same(one: Dynamics, other: Dynamics) -> bool:
    assert one.columns.keys() == other.columns.keys()
    pairs = [(column, other.columns[name]) for name, column in one.columns.items()]
    pairs += [(one.ids, other.ids), (one.labels, other.labels)]
    return all(np.array_equal(a, b) for a, b in pairs)


class Copies(Callback):
    """The model as it is after each epoch."""

    def __init__(self) -> None:
        self.logits: list[torch.Tensor] = []

    def on_train_epoch_end(self, trainer, module) -> None:
        self.logits.append(logits_of(module))


def fitted(record: RecordDynamics, model: Small | None = None, epochs: int = 3, **options):
    model = model or Small()
    copies = Copies()
    torch.manual_seed(7)  # of dropout: nothing else draws from torch's own stream
    trainer(record, copies, epochs=epochs, **options).fit(model, batches())
    return model, copies


def test_each_epoch_ends_with_one_look_in_eval_mode_at_every_example():
    recorder = Recorder(N)
    _, copies = fitted(RecordDynamics(recorder, snapshot=snapshot()))
    labels = examples().tensors[1]
    direct = Dynamics.from_logits(torch.stack(copies.logits)[None].numpy(), labels.numpy())
    assert np.allclose(recorder.dynamics().loss, direct.loss, rtol=1e-5, atol=1e-6)
    assert recorder.dynamics().loss.shape == (1, 3, N)


def test_recording_changes_nothing_about_the_training():
    recorded, _ = fitted(RecordDynamics(Recorder(N), snapshot=snapshot()))
    plain = Small()
    torch.manual_seed(7)
    trainer().fit(plain, batches())
    for name, weight in plain.state_dict().items():
        assert torch.equal(weight, recorded.state_dict()[name]), name
    assert recorded.training == plain.training


def test_a_layer_that_the_user_keeps_in_eval_mode_stays_there():
    model = Small()
    modes = []

    class Frozen(Callback):
        def on_train_batch_start(self, trainer, module, batch, batch_idx) -> None:
            module.body[1].eval()

        def on_train_epoch_end(self, trainer, module) -> None:
            modes.append((module.body[1].training, module.body[3].training))

    record = RecordDynamics(Recorder(N), snapshot=snapshot())
    trainer(record, Frozen(), epochs=1).fit(model, batches())
    assert modes == [(False, True)]


@pytest.mark.parametrize(
    "logits",
    ["head", lambda model, batch: model.head(model.body(batch[0]))],
    ids=["a layer by name", "a function"],
)
def test_logits_come_from_the_module_a_layer_or_a_function(logits):
    by_default, otherwise = Recorder(N), Recorder(N)
    fitted(RecordDynamics(by_default, snapshot=snapshot()))
    fitted(RecordDynamics(otherwise, snapshot=snapshot(), logits=logits))
    assert same(otherwise.dynamics(), by_default.dynamics())


def test_the_last_layer_brings_the_features_of_the_gradient_norm():
    by_name, by_function = (Recorder(N, gradient_norm=True) for _ in range(2))

    def both(model, batch):
        features = model.body(batch[0])
        return model.head(features), features

    fitted(RecordDynamics(by_name, snapshot=snapshot(), logits="head"))
    fitted(RecordDynamics(by_function, snapshot=snapshot(), logits=both))
    assert by_name.dynamics().column("gradient_norm").min() > 0
    assert same(by_name.dynamics(), by_function.dynamics())


@pytest.mark.parametrize("logits", ["head", ""])
def test_without_a_snapshot_the_training_batches_are_recorded(logits):
    model, outputs = Small(), []

    def kept(layer, given, output):
        outputs.append(output.detach().clone())

    model.head.register_forward_hook(kept)
    recorder = Recorder(N)
    torch.manual_seed(7)
    trainer(RecordDynamics(recorder, logits=logits), epochs=2).fit(model, batches())
    logits = np.empty((1, 2, N, 3), dtype=np.float32)
    order = [i for epoch in model.seen for i in epoch]
    epochs = np.repeat([0, 1], N)
    logits[0, epochs, order] = torch.cat(outputs).numpy()
    direct = Dynamics.from_logits(logits, examples().tensors[1].numpy())
    assert np.allclose(recorder.dynamics().loss, direct.loss, rtol=1e-5, atol=1e-6)


def test_one_pass_at_the_scored_epoch_and_sums_from_the_training_batches():
    recorder = Recorder(N, record="scored", scored_epoch=2, gradient_norm=True)
    whole = Recorder(N, gradient_norm=True)
    looks = []
    loader = DataLoader(Plain(), batch_size=16, collate_fn=lambda items: counted(items, looks))
    fitted(RecordDynamics(recorder, snapshot=loader, logits="head"))
    fitted(RecordDynamics(whole, snapshot=snapshot(), logits="head"))
    assert sum(looks) == N
    kept = recorder.dynamics()
    assert np.array_equal(kept.loss[:, 0], whole.dynamics().loss[:, 1])
    assert kept.stored_totals is not None


def counted(items, looks):
    looks.append(len(items))
    return torch.utils.data.default_collate(items)


@pytest.mark.filterwarnings("ignore:Checkpoint directory .* exists and is not empty")
@pytest.mark.parametrize("ids", [N, [f"row {i}" for i in range(N)]], ids=["numbers", "text"])
def test_a_run_that_resumes_from_a_checkpoint_ends_with_the_same_dynamics(tmp_path, ids):
    straight = Recorder(ids)
    fitted(RecordDynamics(straight, snapshot=snapshot()), model=without_dropout(), epochs=4)
    options = {"enable_checkpointing": True, "default_root_dir": tmp_path}
    first, second = (RecordDynamics(Recorder(ids), snapshot=snapshot()) for _ in range(2))
    loader = batches()

    def keep() -> ModelCheckpoint:
        return ModelCheckpoint(dirpath=tmp_path, filename="kept", save_top_k=-1)

    trainer(first, keep(), epochs=2, **options).fit(without_dropout(), loader)
    trainer(second, keep(), epochs=4, **options).fit(
        without_dropout(), loader, ckpt_path=tmp_path / "kept.ckpt", weights_only=True
    )
    assert same(second.recorder.dynamics(), straight.dynamics())


def without_dropout() -> Small:
    model = Small()
    model.body[3] = nn.Identity()
    return model


def test_training_batches_without_ids_are_refused_with_the_remedy():
    class Pairs(Small):
        def training_step(self, batch, batch_idx):
            return nn.functional.cross_entropy(self(batch[0]), batch[1])

    with pytest.raises(InputError, match=r"\(x, y, id\), or pass snapshot="):
        trainer(RecordDynamics(Recorder(N))).fit(Pairs(), DataLoader(Plain(), batch_size=8))


def test_a_layer_that_is_not_there_is_named_before_an_epoch_is_lost():
    model = Small()
    with pytest.raises(InputError, match=r"'haed'; it has body"):
        fitted(RecordDynamics(Recorder(N), snapshot=snapshot(), logits="haed"), model)
    assert model.seen == []


class Twice(Small):
    def forward(self, x):
        return self.head(self.body(x)) + self.head(self.body(-x))


class Fails(Small):
    def training_step(self, batch, batch_idx):
        raise ZeroDivisionError("in a step")


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [(Twice, InputError, "'head' ran 2 times"), (Fails, ZeroDivisionError, "in a step")],
)
def test_a_layer_that_runs_twice_or_a_step_that_fails_leaves_no_hook(kind, error, words):
    model = kind()
    with pytest.raises(error, match=words):
        fitted(RecordDynamics(Recorder(N), logits="head"), model)
    assert not model.head._forward_hooks


def test_a_recorder_of_another_run_is_refused():
    recorder = Recorder(N)
    fitted(RecordDynamics(recorder, snapshot=snapshot()), epochs=1)
    with pytest.raises(InputError, match=r"epoch 2 .* epoch 1"):
        fitted(RecordDynamics(recorder, snapshot=snapshot()), epochs=1)


@pytest.mark.parametrize(
    ("recorder", "loader", "message"),
    [
        (Recorder(N - 1), snapshot(), "47 examples .* 46"),
        (Recorder(N), Plain(), "batch_size, got Plain"),
        (Recorder(N), DataLoader(Plain(), batch_size=None), "batch_size"),
        (Recorder(N, record="scored", scored_epoch=1), None, "needs snapshot="),
    ],
)
def test_a_recorder_and_a_loader_that_do_not_fit_are_refused(recorder, loader, message):
    with pytest.raises(InputError, match=message):
        RecordDynamics(recorder, snapshot=loader)


def test_a_trainer_draws_what_the_plan_says_epoch_by_epoch():
    model = Small()
    trainer().fit(model, datamodule=Sampled(DistributedImportanceSampler(plan(), seed=5)))
    expected = ImportanceSampler(plan(), seed=5)
    assert model.seen == [expected.draws(epoch).tolist() for epoch in range(3)]


def test_the_sampler_hands_its_weights_to_the_weighted_data_set():
    sampler = DistributedImportanceSampler(plan(), num_samples=20)
    dataset = WeightedDataset(TensorDataset(*examples().tensors[:2]), sampler)
    assert dataset[3][2] == ImportanceSampler(plan(), num_samples=20).weights[3]


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Path:
    """A folder with what each of two processes has seen."""
    folder = tmp_path_factory.mktemp("ddp")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(Path(dris.__file__).parents[1])])
    script = [sys.executable, str(TESTS / "ddp_lightning.py"), str(folder)]
    run = subprocess.run(
        script, capture_output=True, text=True, env=environment, timeout=400, encoding="utf-8"
    )
    assert run.returncode == 0, run.stderr
    return folder


def seen(folder: Path, kind: str) -> list[list[list[int]]]:
    """What each rank was trained on, epoch by epoch."""
    return [
        json.loads((folder / f"{rank}.json").read_text(encoding="utf-8"))[kind] for rank in (0, 1)
    ]


def test_two_processes_together_draw_what_one_process_draws(two):
    ranks = seen(two, "ours")
    alone = ImportanceSampler(plan(), seed=5)
    for epoch in (0, 1):
        united = np.stack([ranks[0][epoch], ranks[1][epoch]], axis=1).reshape(-1)
        assert united[:N].tolist() == alone.draws(epoch).tolist()
        assert len(united) == N + 1  # one more, so that both have as many


def test_the_check_would_see_a_sampler_that_lightning_divides_again(two):
    # A quarter of the draws each, where it should be half.
    assert [len(rank[0]) for rank in seen(two, "divided")] == [12, 12]


def test_two_processes_record_one_and_the_same_whole(two):
    first, second = (Dynamics.load(two / f"{rank}.dynamics") for rank in (0, 1))
    assert same(first, second)
    model = Small()
    saved = np.load(two / "0.npz")
    model.load_state_dict({name: torch.from_numpy(saved[name]) for name in saved.files})
    labels = examples().tensors[1].numpy()
    direct = Dynamics.from_logits(logits_of(model)[None, None].numpy(), labels)
    assert first.loss.shape == (1, 2, N)
    assert np.allclose(first.loss[0, 1], direct.loss[0, 0], rtol=1e-4, atol=1e-5)


def test_the_averages_of_batch_norm_differ_between_processes_without_help(two):
    # Else the test above would hold without the first process's buffers in all of them.
    first, second = (np.load(two / f"{rank}.npz")["body.1.running_mean"] for rank in (0, 1))
    assert not np.allclose(first, second, rtol=1e-3)


def test_the_examples_in_the_docstrings_run():
    assert doctest.testmod(module).failed == 0
