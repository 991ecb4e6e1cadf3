"""One training loop for every network: proxies, the attacker, targets.

Orders, crops and dropout of an epoch come from streams named by that epoch, so the state that a
resumed run needs is the weights, the optimizer's momentum and the epoch's number.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dris.core.errors import InputError
from dris.core.streams import rng_for, seed_for
from dris.learn.recipe import Recipe, cosine
from dris.learn.trainers.job import DivergedError, Positions
from dris.learn.trainers.networks.models import Classifier, build_model
from dris.learn.trainers.networks.sources import (
    PADDING,
    Source,
    crop_and_flip,
    draw_crops,
    on_device,
)
from dris.learn.trainers.trainer import Passes, Schedule, Training

_MEASURED_AT_ONCE = 512
_STEPS_UNSEEN = 32  # on a GPU, which waits whenever somebody looks
OnBatch = Callable[[Positions, Tensor], None]


class Network(Training):
    """A network in training, on passes over everything unless another schedule is given."""

    def __init__(
        self,
        model: Any,
        source: Source,
        labels: NDArray[np.int64],
        classes: int,
        recipe: Recipe,
        *,
        seed: int,
        stream: tuple[str | int, ...],
        schedule: Schedule | None = None,
        device: torch.device | None = None,
    ) -> None:
        if recipe.augment and len(source.shape) == 3 and min(source.shape[1:]) <= PADDING:
            raise InputError(
                f"crops need images of more than {PADDING} pixels a side, got {source.shape}; "
                "use Recipe(..., augment=False)"
            )
        self.recipe, self._source, self._seed, self._stream = recipe, source, seed, stream
        self._classes = classes
        self._device = device or torch.device("cpu")
        built = build_model(model, source.shape, classes, seed=seed_for(seed, *stream, "model"))
        self.model: nn.Module = built.to(self._device)
        if len(source.shape) == 3:
            self.model = self.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._labels = torch.from_numpy(np.array(labels)).to(self._device)
        every = np.arange(len(source))
        self.schedule = schedule or Passes(every, recipe.batch_size, seed, stream)
        how: Any = {"momentum": recipe.momentum, "weight_decay": recipe.weight_decay}
        self._optimizer = torch.optim.SGD(self.model.parameters(), recipe.learning_rate, **how)

    @property
    def schedule(self) -> Schedule:
        return self._schedule

    @schedule.setter
    def schedule(self, schedule: Schedule) -> None:
        self._schedule = schedule
        weights = schedule.weights
        self._weights = None if weights is None else torch.from_numpy(weights).to(self._device)

    def train_epoch(self, epoch: int, on_batch: OnBatch | None = None) -> float:
        """`on_batch` sees positions and logits of every training batch, on a GPU of several."""
        batches = self._schedule.batches(epoch)
        # What the steps need of the host is moved before them: a step that copies waits for it.
        where, crops = on_device(batches, self._device), None
        if self.recipe.augment and len(self._source.shape) == 3:
            rng = rng_for(self._seed, *self._stream, "augment", epoch)
            crops = draw_crops([len(at) for at in batches], self._device, rng=rng)
        often = _STEPS_UNSEEN if _waits(self._device) else 1
        first, total = (epoch - 1) * len(batches), 0.0
        self.model.train()
        with torch.random.fork_rng(devices=_cuda(self._device)):
            # Only the generators that fork_rng restores; torch.manual_seed would reseed every GPU.
            seed = seed_for(self._seed, *self._stream, "dropout", epoch)
            torch.default_generator.manual_seed(seed)
            for index in _cuda(self._device):
                torch.cuda.default_generators[index].manual_seed(seed)
            losses: list[Tensor] = []
            answers: list[Tensor] = []
            for step, (at, x) in enumerate(zip(where, self._source.batches(batches), strict=True)):
                if crops is not None:
                    x = crop_and_flip(x, crops[step])
                logits, loss = self._step(at, x, first + step)
                losses.append(loss)
                if on_batch is not None:
                    answers.append(logits)
                done = step + 1
                if done % often == 0 or done == len(batches):
                    total += _sum_of_finite(losses, epoch, done)
                    if on_batch is not None:
                        _hand_on(batches[done - len(answers) : done], answers, on_batch)
        return total / len(batches)

    def _step(self, at: Tensor, x: Tensor, step: int) -> tuple[Tensor, Tensor]:
        for group in self._optimizer.param_groups:
            group["lr"] = cosine(self.recipe, step, self.recipe.epochs * self._schedule.steps)
        self._optimizer.zero_grad(set_to_none=True)
        # bfloat16 for a step; losses that are ranked are measured in float32, where few tie.
        mixed = self.recipe.mixed_precision
        on = mixed == "everywhere" or (mixed and self._device.type == "cuda")
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=on):
            logits = self._called(x)
        logits = logits.float()
        if logits.shape != (len(at), self._classes):
            raise InputError(
                f"a model for {self._classes} classes must give logits of shape "
                f"{(len(at), self._classes)} here, got {tuple(logits.shape)}; build its last "
                "layer with the number of classes it is called with"
            )
        if self._weights is None:
            loss = cross_entropy(logits, self._labels[at])
        else:
            # The mean of w·loss; divided by the sum of w it would be biased.
            each = cross_entropy(logits, self._labels[at], reduction="none")
            loss = (self._weights[at] * each).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        return logits.detach(), loss.detach()

    def _called(self, x: Tensor) -> Tensor:
        try:
            return self.model(x)  # type: ignore[no-any-return]
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise InputError(
                f"{type(self.model).__name__} failed on a batch of shape {tuple(x.shape)}: "
                f"{error}; build it for examples of shape {self._source.shape}"
            ) from error

    def measure(
        self, positions: Positions, *, hidden: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        split = self.model if hidden and isinstance(self.model, Classifier) else None
        if hidden and split is None:
            raise InputError(
                f"{type(self.model).__name__} does not say what its last layer reads, so it has no "
                "gradient norm; wrap it: dris.learn.trainers.networks.models.Classifier(body, head)"
            )
        if split is not None and split.head.bias is None:
            raise InputError(
                "the gradient norm is that of a last layer with a bias, this one has none; "
                "build it with bias=True"
            )
        self.model.eval()
        logits: list[Tensor] = []
        features: list[Tensor] = []
        pieces = np.array_split(positions, -(-len(positions) // _MEASURED_AT_ONCE))
        with torch.inference_mode():
            for x in self._source.batches(pieces):
                if split is not None:
                    features.append(split.features(x))
                logits.append(self._called(x) if split is None else split.head(features[-1]))
        held = torch.cat([part.float().cpu() for part in features]).numpy() if hidden else None
        return torch.cat([part.float().cpu() for part in logits]).numpy(), held

    def accuracy(self, x: NDArray[Any], y: NDArray[np.int64]) -> float:
        kept, self._source = self._source, self._source.like(x)
        try:
            logits, _ = self.measure(np.arange(len(x)))
        finally:
            self._source = kept
        return float((logits.argmax(axis=1) == y).mean())

    def state(self) -> dict[str, NDArray[Any]]:
        out = {f"model.{n}": _copy(t) for n, t in self.model.state_dict().items()}
        for i, parameter in enumerate(self.model.parameters()):
            momentum = self._optimizer.state.get(parameter, {}).get("momentum_buffer")
            if momentum is not None:
                out[f"momentum.{i}"] = _copy(momentum)
        return out

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        ours = [n for n in state if n.startswith(("model.", "momentum."))]
        held = {n: torch.from_numpy(np.array(state[n])) for n in ours}
        weights = {n.removeprefix("model."): t for n, t in held.items() if n.startswith("model.")}
        self.model.load_state_dict(weights)
        for i, parameter in enumerate(self.model.parameters()):
            if f"momentum.{i}" in held:
                momentum = torch.empty_like(parameter)
                momentum.copy_(held[f"momentum.{i}"])
                self._optimizer.state[parameter]["momentum_buffer"] = momentum


def _waits(device: torch.device) -> bool:
    """True if looking at a number makes a device wait that would otherwise work ahead."""
    return device.type != "cpu"


def _sum_of_finite(losses: list[Tensor], epoch: int, step: int) -> float:
    """Stop at the first loss that is not finite; `losses` are those not looked at yet."""
    values: list[float] = torch.stack(losses).tolist()
    losses.clear()
    for at, value in enumerate(values, step - len(values) + 1):
        if not math.isfinite(value):
            error = DivergedError(
                f"the loss must be finite, it is {value} at step {at} of epoch {epoch}; "
                "lower its learning rate"
            )
            error.step = at
            raise error
    return math.fsum(values)


def _hand_on(batches: list[Positions], answers: list[Tensor], on_batch: OnBatch) -> None:
    """The logits of some steps by one copy; `answers` are those not handed on yet."""
    logits = torch.split(torch.cat(answers).cpu(), [len(at) for at in batches])
    answers.clear()
    for at, each in zip(batches, logits, strict=True):
        on_batch(at, each)


def _copy(tensor: Tensor) -> NDArray[Any]:
    """An array of its own; on a CPU `numpy` alone would share memory with what is trained."""
    return np.array(tensor.detach().cpu().numpy())


def _cuda(device: torch.device) -> list[int]:
    return [device.index or 0] if device.type == "cuda" else []
