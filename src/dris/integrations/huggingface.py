"""Hugging Face: a callback that fills a `Recorder`, a Trainer on weighted draws.

Needs the extra `huggingface`.
"""
# ruff: noqa: E402  # The sentence about a missing package must come before its first import.

from dris.learn.extras import require

require("transformers", "huggingface")
require("datasets", "huggingface")

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, default_data_collator
from transformers.trainer_utils import RemoveColumnsCollator

from dris.core.errors import InputError
from dris.data.files import listed
from dris.integrations.passes import begin_epoch, check_loader, end_epoch, record_pass
from dris.learn.record.recorder import Recorder
from dris.learn.trainers.networks.samplers import ImportanceSampler

Collate = Callable[[list[Any]], Mapping[str, Any]]
Look = Callable[[nn.Module, Mapping[str, Any]], tuple[Any, Any]]
WEIGHT = "dris_weight"  # in a batch: the weight of each draw


class RecordDynamics(TrainerCallback):
    """Fill a `Recorder` while a Trainer trains a classifier, on one process or several.

    Every epoch ends with a pass over all examples in eval mode; one cut short is not recorded.

    Args:
        recorder: What to fill, with record="all"; its ids are in the order of the data set.
        dataset: The training examples without augmentation, as the model takes them.
        collate: The data collator of the Trainer.
        look: (model, batch) → logits (B, classes) and labels (B,); a classifier's unless given,
            `preferred` for TRL's RewardTrainer.
    """

    def __init__(
        self,
        recorder: Recorder,
        dataset: Any,
        *,
        collate: Collate = default_data_collator,
        look: Look | None = None,
    ) -> None:
        if recorder.record != "all" or recorder.gradient_norm:
            raise InputError(
                "a Trainer shows no training batches and no features; make the recorder with "
                'record="all" and without gradient_norm'
            )
        self.recorder, self.collate, self.look = recorder, collate, look
        self.dataset = check_loader(DataLoader(dataset), recorder).dataset

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Refuse epochs of another run."""
        resume = "give the one of a resumed run the state_dict() that it had"
        begin_epoch(self.recorder, int(state.epoch) + 1, resume)

    def on_epoch_end(
        self, args: Any, state: Any, control: Any, *, model: nn.Module, **_: Any
    ) -> None:
        """Look at every example and close the epoch."""
        if state.epoch < self.recorder.epoch:
            return

        def look(batch: Mapping[str, Any]) -> tuple[Any, Any, None]:
            moved = {n: v.to(args.device) if hasattr(v, "to") else v for n, v in batch.items()}
            return *(self.look or _classify)(model, moved), None

        collate = self.collate
        if self.look is None:
            collate = RemoveColumnsCollator(collate, _columns_for(model))
        loader = DataLoader(
            self.dataset,
            batch_size=args.per_device_eval_batch_size,
            collate_fn=collate,
            num_workers=args.dataloader_num_workers,
        )
        record_pass(self.recorder, model, loader, look)
        end_epoch(self.recorder)


def preferred(model: nn.Module, batch: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Read a batch of TRL's RewardTrainer as two classes of which the first is right, for `look`.

    The margin is then how much higher the chosen answer is rewarded.

    >>> from types import SimpleNamespace
    >>> rewards = torch.tensor([[2.0], [0.5], [1.0], [3.0]])  # two chosen, then their rivals
    >>> logits, labels = preferred(lambda **_: SimpleNamespace(logits=rewards), {})
    >>> logits.tolist(), labels.tolist()
    ([[2.0, 1.0], [0.5, 3.0]], [0, 0])
    """
    given = {name: value for name, value in batch.items() if name != "margin"}
    rewards = model(**given).logits
    if rewards.ndim != 2 or rewards.shape[1] != 1 or len(rewards) % 2:
        raise InputError(
            "preferred takes a model of one reward on batches of all chosen and then all rejected "
            f"answers, as TRL's RewardTrainer makes them; got logits {tuple(rewards.shape)}"
        )
    chosen, rejected = rewards[:, 0].chunk(2)
    return torch.stack((chosen, rejected), dim=1), torch.zeros_like(chosen, dtype=torch.long)


def _classify(model: nn.Module, inputs: dict[str, Any]) -> tuple[Any, Any]:
    if "labels" not in inputs:
        raise InputError(
            f"the batches hold {listed(list(inputs))}, and no labels; call the column of labels "
            "label or labels"
        )
    targets = inputs.pop("labels")
    return model(**inputs).logits, targets


def _columns_for(model: Any) -> list[str]:
    """What a model takes, below any adapter; collators call any label "labels"."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return [*inspect.signature(inner.forward).parameters, "label", "label_ids"]


class WeightedTrainer(Trainer):
    """A Trainer of classifiers on a sampler's weighted draws: each batch's loss is mean(w·loss)."""

    def __init__(self, *args: Any, sampler: ImportanceSampler, **options: Any) -> None:
        super().__init__(*args, **options)
        if not isinstance(sampler, ImportanceSampler) or sampler.world_size != 1:
            raise InputError(
                "sampler must be an ImportanceSampler of one process, as "
                "ImportanceSampler(dris.importance(score)); the Trainer divides its batches"
            )
        if self.compute_loss_func is not None:
            raise InputError("WeightedTrainer has a loss of its own; leave compute_loss_func out")
        self.sampler = sampler
        # The loss is a mean over the batch, so the Trainer must divide it when it accumulates.
        self.model_accepts_loss_kwargs = False

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Batches of the sampler's draws with their weights, divided by accelerate."""
        size = 0 if self.train_dataset is None else len(self.train_dataset)
        if size != len(self.sampler.weights):
            raise InputError(
                f"the Trainer has {size} examples and the plan {len(self.sampler.weights)}; "
                "score the examples that are drawn from"
            )
        collate = self.data_collator
        if self.args.remove_unused_columns:
            collate = RemoveColumnsCollator(collate, _columns_for(self.model))
        loader = DataLoader(
            _Pairs(self.train_dataset, self.sampler.weights.tolist()),
            batch_size=self._train_batch_size,
            sampler=self.sampler,
            collate_fn=partial(_collate_pairs, collate),
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
            persistent_workers=self.args.dataloader_persistent_workers,
            prefetch_factor=self.args.dataloader_prefetch_factor,
            drop_last=self.args.dataloader_drop_last,
        )
        shared: DataLoader[Any] = self.accelerator.prepare(loader)
        return shared

    def compute_loss(
        self,
        model: nn.Module,
        inputs: Mapping[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The mean of w·loss where there are weights; the model's own loss in evaluation."""
        if WEIGHT not in inputs:
            return super().compute_loss(model, inputs, return_outputs=return_outputs)
        given = dict(inputs)
        weights, labels = given.pop(WEIGHT), given.pop("labels")
        outputs = model(**given)
        if outputs.logits.ndim != 2 or labels.shape != outputs.logits.shape[:1]:
            raise InputError(
                "WeightedTrainer trains classifiers, logits (B, classes) on labels (B,); got "
                f"{tuple(outputs.logits.shape)} and {tuple(labels.shape)}"
            )
        how: Any = {"reduction": "none", "label_smoothing": self.args.label_smoothing_factor}
        losses = cross_entropy(outputs.logits.float(), labels, **how)
        loss = (weights * losses).mean()
        return (loss, outputs) if return_outputs else loss


class _Pairs(torch.utils.data.Dataset[tuple[Any, float]]):
    """Each example of a data set with its weight."""

    def __init__(self, dataset: Any, weights: list[float]) -> None:
        self.dataset, self.weights = dataset, weights

    def __len__(self) -> int:
        return len(self.weights)

    def __getitems__(self, indices: list[int]) -> list[tuple[Any, float]]:
        together = getattr(self.dataset, "__getitems__", None)
        examples = together(indices) if together else [self.dataset[i] for i in indices]
        return list(zip(examples, (self.weights[i] for i in indices), strict=True))


def _collate_pairs(collate: Collate, pairs: list[tuple[Any, float]]) -> dict[str, Any]:
    batch = collate([example for example, _ in pairs])
    return {**batch, WEIGHT: torch.tensor([weight for _, weight in pairs])}
