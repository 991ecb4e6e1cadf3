"""A pass over every example in eval mode, divided among the processes; shared by the callbacks."""
# ruff: noqa: E402  # The sentence about a missing torch must come before the first import of it.

from dris.learn.extras import require

require("torch", "torch")

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Subset
from torch.utils.hooks import RemovableHandle

from dris.core.errors import InputError
from dris.data.files import listed
from dris.learn.record.recorder import Recorder

Look = Callable[[Any], tuple[Any, Any, Any]]  # a batch → logits, targets, features or None


def rank_and_size() -> tuple[int, int]:
    """This process's rank, and how many processes train together."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


@contextmanager
def share_buffers(model: nn.Module) -> Iterator[None]:
    """Use the first process's buffers in all of them: batch norm's averages differ."""
    if rank_and_size()[1] == 1:
        yield
        return
    own = [buffer.clone() for buffer in model.buffers()]
    for buffer in model.buffers():
        dist.broadcast(buffer, src=0)
    try:
        yield
    finally:
        for buffer, before in zip(model.buffers(), own, strict=True):
            buffer.copy_(before)


@contextmanager
def evaluate(model: nn.Module) -> Iterator[None]:
    """Eval mode without gradients; afterwards each layer returns to its own mode."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes.items():
            module.training = training


def record_pass(recorder: Recorder, model: nn.Module, loader: DataLoader[Any], look: Look) -> None:
    """Record this process's share of the loader's data set, in the order of the recorder's ids."""
    rank, world_size = rank_and_size()
    dataset: Any = loader.dataset
    mine = range(rank, len(dataset), world_size)
    batches = DataLoader(
        Subset(dataset, mine),
        batch_size=loader.batch_size,
        collate_fn=loader.collate_fn,
        num_workers=loader.num_workers,
        generator=torch.Generator(),  # else it draws from the global one, and training changes
    )
    record = recorder.snapshot if recorder.record == "scored" else recorder.update
    done = 0
    with evaluate(model), share_buffers(model):
        for batch in batches:
            logits, targets, features = look(batch)
            here = mine[done : done + len(targets)]
            record(recorder.ids[here.start : here.stop : here.step], logits, targets, features)
            done += len(targets)


def begin_epoch(recorder: Recorder, epoch: int, resume: str) -> None:
    """Refuse an epoch of another run; `resume` says how this framework resumes one."""
    if recorder.epoch != epoch:
        raise InputError(
            f"the recorder is in epoch {recorder.epoch} and the trainer in epoch {epoch}; make a "
            f"new recorder for a new run, and {resume}"
        )


def end_epoch(recorder: Recorder) -> None:
    """Close the epoch with what all processes have seen of it."""
    _, world_size = rank_and_size()
    if world_size > 1:
        states: list[Any] = [None] * world_size
        dist.all_gather_object(states, recorder.state_dict())
        recorder.merge(states)
    recorder.end_epoch()


def check_loader(loader: Any, recorder: Recorder) -> DataLoader[Any]:
    """Refuse a loader that is not of the recorder's examples in batches."""
    if not isinstance(loader, DataLoader) or loader.batch_size is None:
        raise InputError(
            f"snapshot must be a DataLoader with a batch_size, got {type(loader).__name__}; "
            "pass DataLoader(dataset, batch_size=256), the data set without augmentation"
        )
    dataset: Any = loader.dataset
    if not hasattr(dataset, "__len__") or len(dataset) != len(recorder.ids):
        size = len(dataset) if hasattr(dataset, "__len__") else "an unknown number of"
        raise InputError(
            f"the snapshot has {size} examples and the recorder {len(recorder.ids)}; "
            "make it with Recorder(len(dataset))"
        )
    return loader


class Tap:
    """Keeps the output and the input of one layer of a model, from `open` to `close`."""

    def __init__(self, model: nn.Module, name: str, *, features: bool = False) -> None:
        self.name = name
        self._handle: RemovableHandle | None = None
        layers = dict(model.named_modules())
        if name not in layers:
            raise InputError(
                f"{type(model).__name__} has no submodule {name!r}; "
                f"it has {listed([n for n in layers if n])}"
            )
        self._layer = layers[name]
        if features and getattr(self._layer, "bias", None) is None:
            raise InputError(
                f"the gradient norm is that of a last layer with a bias, {name or 'the model'!r} "
                f"is a {type(self._layer).__name__} without; name the last nn.Linear as logits="
            )
        self._calls: list[tuple[Any, Any]] = []

    def open(self) -> None:
        """Start listening."""
        self.drop()
        self._handle = self._layer.register_forward_hook(self._keep)

    def _keep(self, _: nn.Module, given: tuple[Any, ...], output: Any) -> None:
        self._calls.append((output, given[0] if given else None))

    def drop(self) -> None:
        """Stop listening and forget."""
        if self._handle is not None:
            self._handle.remove()
        self._handle, self._calls = None, []

    def close(self) -> tuple[Any, Any]:
        """Stop listening, and return the layer's output and input."""
        calls = self._calls
        self.drop()
        if len(calls) != 1:
            raise InputError(
                f"{self.name or 'the model'!r} ran {len(calls)} times on one batch; name a layer "
                "that runs once, or pass a function as logits="
            )
        return calls[0]
