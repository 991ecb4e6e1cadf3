"""A real Trainer fills the recorder, and trains on mean(w·loss) of what the plan draws."""

import doctest

import numpy as np
import pytest

pytest.importorskip(
    "transformers", reason='transformers is missing: pip install "dris[huggingface]"'
)
pytest.importorskip("datasets", reason='datasets is missing: pip install "dris[huggingface]"')
pytestmark = pytest.mark.frameworks

import torch  # noqa: E402
from accelerate.data_loader import prepare_data_loader  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from transformers import (  # noqa: E402
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

import dris  # noqa: E402
from dris.core.dynamics.dynamics import Dynamics  # noqa: E402
from dris.core.errors import InputError  # noqa: E402
from dris.core.select.importance import Importance  # noqa: E402
from dris.integrations import huggingface as module  # noqa: E402
from dris.integrations.huggingface import (  # noqa: E402
    WEIGHT,
    RecordDynamics,
    WeightedTrainer,
)
from dris.learn.record.recorder import Recorder  # noqa: E402
from dris.learn.trainers.networks.samplers import ImportanceSampler  # noqa: E402
from small_text import encoded, model, tokenizer  # noqa: E402

N = 45
TRAIN = encoded(N)
COLLATE = DataCollatorWithPadding(tokenizer())


def arguments(folder, **options) -> TrainingArguments:
    quiet = {"report_to": [], "disable_tqdm": True, "save_strategy": "no", "use_cpu": True}
    options = {"per_device_train_batch_size": 8, "num_train_epochs": 2, **quiet, **options}
    return TrainingArguments(str(folder), logging_strategy="no", learning_rate=0.01, **options)


def plan_of(n: int = N) -> Importance:
    return dris.importance(np.random.default_rng(0).exponential(size=n), smoothing=0.1)


def whole_batch(*columns):
    return COLLATE([{name: row[name] for name in columns} for row in TRAIN])


def logits_of(network) -> torch.Tensor:
    was = network.training
    network.eval()
    with torch.no_grad():
        logits = network(**whole_batch("input_ids", "attention_mask")).logits
    network.train(was)
    return logits


def trained(folder, *callbacks, network=None, **options) -> Trainer:
    made = {"train_dataset": TRAIN, "data_collator": COLLATE, "callbacks": list(callbacks)}
    trainer = Trainer(network or model(), arguments(folder, **options), **made)
    trainer.train()
    return trainer


class Copies(TrainerCallback):
    """What the model says after each epoch."""

    def __init__(self) -> None:
        self.logits: list[torch.Tensor] = []

    def on_epoch_end(self, args, state, control, model=None, **_) -> None:
        self.logits.append(logits_of(model))


def test_each_epoch_ends_with_one_look_in_eval_mode_at_every_example(tmp_path):
    recorder, copies = Recorder(N), Copies()
    trained(tmp_path, RecordDynamics(recorder, TRAIN, collate=COLLATE), copies)
    assert len(copies.logits) == 2
    direct = Dynamics.from_logits(torch.stack(copies.logits)[None].numpy(), TRAIN["label"][:])
    assert recorder.dynamics().loss.shape == (1, 2, N)
    assert np.allclose(recorder.dynamics().loss, direct.loss, rtol=1e-4, atol=1e-5)


def test_recording_changes_nothing_about_the_training(tmp_path):
    plain = trained(tmp_path).model.state_dict()
    record = RecordDynamics(Recorder(N), TRAIN, collate=COLLATE)
    recorded = trained(tmp_path, record).model.state_dict()
    assert all(torch.equal(plain[name], recorded[name]) for name in plain)


def test_an_epoch_that_is_cut_short_is_not_recorded(tmp_path):
    recorder = Recorder(N)
    record = RecordDynamics(recorder, TRAIN, collate=COLLATE)
    trained(tmp_path, record, max_steps=9)  # an epoch has 6
    assert recorder.dynamics().epochs == (1,)


@pytest.mark.parametrize(
    ("recorder", "words"),
    [
        (Recorder(N, gradient_norm=True), "gradient_norm"),
        (Recorder(N, record="scored", scored_epoch=1), "gradient_norm"),
        (Recorder(N - 1), r"45 examples .* 44"),
    ],
)
def test_a_recorder_of_more_than_a_trainer_shows_or_of_other_examples_is_refused(recorder, words):
    with pytest.raises(InputError, match=words):
        RecordDynamics(recorder, TRAIN)


class Spied(WeightedTrainer):
    """Keeps each training batch, and what its loss was."""

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self.batches: list[dict] = []
        self.losses: list[torch.Tensor] = []

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        self.batches.append({name: value.clone() for name, value in inputs.items()})
        loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        self.losses.append((loss[0] if return_outputs else loss).detach())
        return loss


def weighted(folder, sampler=None, network=None, kind=Spied, **options):
    sampler = sampler or ImportanceSampler(plan_of(), seed=4)
    network = network or model(dropout=0.0)
    made = {"train_dataset": TRAIN, "data_collator": COLLATE, "sampler": sampler}
    return kind(network, arguments(folder, **options), **made)


def test_the_trainer_draws_what_the_plan_says_with_the_weights_of_the_draws(tmp_path):
    trainer = weighted(tmp_path)
    trainer.train()
    alone = ImportanceSampler(plan_of(), seed=4)
    drawn = np.concatenate([alone.draws(0), alone.draws(1)])
    seen = torch.cat([batch[WEIGHT] for batch in trainer.batches])
    assert torch.equal(seen, alone.weights[drawn])
    words = [
        row[mask.bool()].tolist()
        for b in trainer.batches
        for row, mask in zip(b["input_ids"], b["attention_mask"], strict=True)
    ]
    assert words == [TRAIN[int(i)]["input_ids"] for i in drawn]
    assert trainer.train_dataset is TRAIN


def test_the_loss_is_the_mean_of_w_times_loss(tmp_path):
    network = model(dropout=0.0)
    trainer = weighted(tmp_path, network=network, max_steps=1)
    before = {name: w.clone() for name, w in network.state_dict().items()}
    trainer.train()
    batch = dict(trainer.batches[0])
    w, y = batch.pop(WEIGHT), batch.pop("labels")
    network.load_state_dict(before)
    losses = cross_entropy(network(**batch).logits, y, reduction="none").detach()
    assert torch.allclose(trainer.losses[0], (w * losses).mean())
    assert not torch.allclose(trainer.losses[0], (w * losses).sum() / w.sum())


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equal_weights_give_the_loss_of_the_plain_trainer(tmp_path, smoothing):
    sampler = ImportanceSampler(Importance(np.full(N, 1 / N), "by hand", {}), seed=4)
    trainer = weighted(tmp_path, sampler, label_smoothing_factor=smoothing)
    batch = whole_batch("input_ids", "attention_mask", "label")
    ours = trainer.compute_loss(trainer.model, {**batch, WEIGHT: torch.ones(N)})
    plain = Trainer.compute_loss(trainer, trainer.model, dict(batch))
    assert torch.allclose(ours, plain)


def close(one, other):
    return all(torch.allclose(one[name], other[name], atol=1e-6) for name in one)


def test_accumulated_batches_move_the_model_as_one_batch_of_their_size(tmp_path):
    def moved(summed=False, **options):
        trainer = weighted(tmp_path, kind=WeightedTrainer, max_steps=2, optim="sgd", **options)
        trainer.model_accepts_loss_kwargs = summed
        trainer.train()
        return trainer.model.state_dict()

    parts = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2}
    whole = moved(per_device_train_batch_size=8)
    assert close(whole, moved(**parts))
    # The check would see losses that are summed, as the Trainer does for models like this one.
    assert not close(whole, moved(summed=True, **parts))


def test_a_run_that_resumes_in_the_middle_of_an_epoch_draws_on(tmp_path):
    straight = weighted(tmp_path / "a", num_train_epochs=3)
    straight.train()
    first = weighted(tmp_path / "b", num_train_epochs=3, save_strategy="steps", save_steps=8)

    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            control.should_training_stop = state.global_step == 8

    first.add_callback(Stop())
    first.train()
    second = weighted(tmp_path / "b", num_train_epochs=3)
    second.train(resume_from_checkpoint=str(tmp_path / "b" / "checkpoint-8"))
    weights = [batch[WEIGHT].tolist() for batch in (*first.batches, *second.batches)]
    assert weights == [batch[WEIGHT].tolist() for batch in straight.batches]
    assert close(straight.model.state_dict(), second.model.state_dict())


def test_two_processes_share_out_what_one_process_draws():
    def batches(rank: int, processes: int) -> list[list[int]]:
        sampler = ImportanceSampler(plan_of(48), seed=4)
        loader = DataLoader(list(range(48)), batch_size=8, sampler=sampler)
        shared = prepare_data_loader(loader, num_processes=processes, process_index=rank)
        return [batch.tolist() for batch in shared]

    alone = batches(0, 1)
    assert [
        batch for both in zip(batches(0, 2), batches(1, 2), strict=True) for batch in both
    ] == alone


def test_evaluation_is_the_trainers_own(tmp_path):
    trainer = weighted(tmp_path)
    trainer.eval_dataset = TRAIN
    loss = trainer.evaluate()["eval_loss"]
    labels = torch.tensor(TRAIN["label"][:])
    assert loss == pytest.approx(float(cross_entropy(logits_of(trainer.model), labels)), rel=1e-4)


def test_a_plan_of_other_examples_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"45 examples .* 44"):
        weighted(tmp_path, ImportanceSampler(plan_of(N - 1))).train()


@pytest.mark.parametrize(
    "sampler", [plan_of(), ImportanceSampler(plan_of(), rank=1, world_size=2)], ids=["plan", "rank"]
)
def test_only_a_sampler_of_one_process_will_do(tmp_path, sampler):
    with pytest.raises(InputError, match="one process"):
        weighted(tmp_path, sampler)


def test_the_examples_in_the_docstrings_run():
    assert doctest.testmod(module).failed == 0
