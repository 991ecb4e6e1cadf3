"""Lightning: a callback that fills a `Recorder`, and a sampler that Lightning leaves in place.

Needs the extra `lightning`.
"""
# ruff: noqa: E402  # The sentence about a missing package must come before its first import.

from dris.learn.extras import require

require("lightning", "lightning")

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import move_data_to_device
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from dris.core.errors import InputError
from dris.core.select.importance import Importance
from dris.integrations.passes import (
    Tap,
    begin_epoch,
    check_loader,
    end_epoch,
    evaluate,
    rank_and_size,
    record_pass,
)
from dris.learn.record.batches import as_array
from dris.learn.record.recorder import Recorder
from dris.learn.trainers.networks.samplers import ImportanceSampler

Logits = str | Callable[[LightningModule, Any], Any]


def read_batch(batch: Any) -> tuple[Any, ...]:
    """Inputs, targets, and ids or None, of a batch in that order."""
    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise InputError(
            f"a batch must be (inputs, targets) or (inputs, targets, ids), "
            f"got {type(batch).__name__}; pass read=, a function that takes yours apart"
        )
    return batch[0], batch[1], batch[2] if len(batch) > 2 else None


class RecordDynamics(Callback):
    """Fill a `Recorder` while a Trainer fits any LightningModule, on one process or several.

    With `snapshot` every epoch ends with a pass over all examples in eval mode; without it the
    training batches are recorded, so each must bring ids. A recorder with record="scored" takes
    both. Lightning's checkpoints hold the recorder.

    Args:
        recorder: What to fill; its ids are in the order of the data set.
        snapshot: A DataLoader over the training examples without augmentation. Its batches go
            straight to the device: `on_after_batch_transfer` does not see them.
        logits: Name of the submodule whose output the logits are; the module itself unless given.
            Or a function (module, batch) → logits, or (logits, features) for a recorder with
            gradient_norm=True; it runs in eval mode.
        read: A batch → (inputs, targets, ids or None), for batches of another form.
    """

    def __init__(
        self,
        recorder: Recorder,
        *,
        snapshot: DataLoader[Any] | None = None,
        logits: Logits = "",
        read: Callable[[Any], tuple[Any, ...]] = read_batch,
    ) -> None:
        if recorder.record == "scored" and snapshot is None:
            raise InputError(
                'record="scored" needs snapshot=, a DataLoader for the pass at the scored epoch'
            )
        self.recorder = recorder
        self.snapshot = None if snapshot is None else check_loader(snapshot, recorder)
        self.logits, self.read = logits, read
        self._follows_training = snapshot is None or recorder.record == "scored"
        self._tap: Tap | None = None

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Find the layer before an epoch is spent."""
        if isinstance(self.logits, str):
            self._tap = Tap(module, self.logits, features=self.recorder.gradient_norm)

    def on_train_epoch_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Refuse epochs of another run."""
        resume = "resume from a checkpoint that was written with this callback"
        begin_epoch(self.recorder, trainer.current_epoch + 1, resume)

    def on_train_batch_start(
        self, trainer: Trainer, module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Listen to the layer while it trains."""
        if self._follows_training and self._tap is not None:
            self._tap.open()

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Record the model's output on a training batch."""
        if not self._follows_training:
            return
        _, targets, ids = self.read(batch)
        if ids is None:
            raise InputError(
                "training batches are recorded by id, and these have none; let the data set hand "
                "out (x, y, id), or pass snapshot= for a pass in eval mode"
            )
        if self._tap is not None:
            logits, features = self._tap.close()
        else:
            with evaluate(module):
                logits, features = self._call(module, batch)
        wanted = self.recorder.gradient_norm and self.recorder.record == "all"
        self.recorder.update(ids, logits, targets, features if wanted else None)

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Make the pass in eval mode where one is due, and close the epoch."""
        due = self.recorder.record == "all" or self.recorder.epoch == self.recorder.scored_epoch
        if self.snapshot is not None and due:
            with trainer.precision_plugin.forward_context():
                record_pass(self.recorder, module, self.snapshot, partial(self._look, module))
        end_epoch(self.recorder)

    def on_exception(
        self, trainer: Trainer, module: LightningModule, exception: BaseException
    ) -> None:
        """Leave no hook behind in the model."""
        if self._tap is not None:
            self._tap.drop()

    def state_dict(self) -> dict[str, Any]:
        """The recorder as tensors and plain values, which checkpoints load without pickle."""
        return {name: _storable(value) for name, value in self.recorder.state_dict().items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue with the recorder of a checkpoint."""
        pairs = state_dict.items()
        arrays = {n: as_array(v) if isinstance(v, list | Tensor) else v for n, v in pairs}
        self.recorder.load_state_dict(arrays)

    def _look(self, module: LightningModule, batch: Any) -> tuple[Any, Any, Any]:
        batch = move_data_to_device(batch, module.device)
        inputs, targets, _ = self.read(batch)
        if self._tap is not None:
            self._tap.open()
            module(inputs)
            logits, features = self._tap.close()
        else:
            logits, features = self._call(module, batch)
        return logits, targets, features if self.recorder.gradient_norm else None

    def _call(self, module: LightningModule, batch: Any) -> tuple[Any, Any]:
        given = self.logits(module, batch) if callable(self.logits) else None
        return given if isinstance(given, tuple) else (given, None)


def _storable(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return value.tolist() if value.dtype.kind == "U" else torch.from_numpy(value.copy())


# DistributedSampler's attributes can be written to; here they say what is so, and cannot.
class DistributedImportanceSampler(  # type: ignore[override]
    ImportanceSampler, DistributedSampler[int]
):
    """An `ImportanceSampler` that reads its rank when used, and that Lightning leaves in place.

    Any sampler but a `DistributedSampler` Lightning wraps in one of its own, which would divide the
    draws a second time.
    """

    def __init__(self, plan: Importance, *, seed: int = 0, num_samples: int | None = None) -> None:
        super().__init__(plan, seed=seed, num_samples=num_samples)

    @property
    def rank(self) -> int:  # type: ignore[override]
        """This process's rank, now."""
        return rank_and_size()[0]

    @property
    def world_size(self) -> int:
        """How many processes there are, now."""
        return rank_and_size()[1]

    @property
    def num_replicas(self) -> int:  # type: ignore[override]
        """`world_size` by `DistributedSampler`'s name for it."""
        return self.world_size
