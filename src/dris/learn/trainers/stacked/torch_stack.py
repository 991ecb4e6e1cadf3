"""The stack in torch, for a GPU: asked for by its device, never chosen by itself.

The same initial weights, orders and steps as in NumPy, equal but for rounding.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dris.core.errors import InputError
from dris.learn.recipe import Recipe, cosine
from dris.learn.trainers.stacked.stack import Answers, Stack, Visit, padded_batches
from dris.learn.trainers.trainer import State

_MEASURED = 1 << 22  # hidden and output numbers of a model that are measured at once


class TorchStack(Stack):
    """A stack whose table and weights lie on a device."""

    def __init__(
        self,
        x: Any,
        labels: NDArray[np.int64],
        classes: int,
        recipe: Recipe,
        *,
        device: str,
        **how: Any,
    ) -> None:
        self._device = torch.device(device)
        self._table = self._moved(x)
        self._labels = torch.from_numpy(np.array(labels)).to(self._device)
        super().__init__(x.shape[1], classes, recipe, **how)
        self._weights = torch.from_numpy(self._weights).to(self._device)
        self._speed = torch.zeros_like(self._weights)

    @torch.no_grad()
    def train_epoch(self, epoch: int) -> None:
        steps = self.steps
        at, counts = (
            torch.from_numpy(a).to(self._device)
            for a in padded_batches(self.schedules, epoch, steps, self.largest)
        )
        slope = torch.empty_like(self._weights)
        begin, horizon = (epoch - 1) * steps, self.recipe.epochs * steps
        for step in range(steps):
            self._slope(at[step], counts[step], slope)
            self._speed.mul_(self.recipe.momentum).add_(slope)
            self._speed.add_(self._weights, alpha=self.recipe.weight_decay)
            self._weights.sub_(self._speed, alpha=cosine(self.recipe, begin + step, horizon))

    def broken(self) -> list[int]:
        wild = ~torch.isfinite(self._weights).all(dim=1)
        return wild.nonzero()[:, 0].tolist()

    @torch.no_grad()
    def answers(
        self, visit: Visit | None = None, *, x: Any = None, together: int = 1, lengths: bool = False
    ) -> list[Any]:
        table = self._table if x is None else self._moved(x)
        rows = max(1, _MEASURED // ((self._classes + (self._hidden or 0)) * len(self)))
        hand_on = (lambda a: a) if visit is None else visit
        out = []
        for begin in range(0, len(table), rows):
            piece = table[begin : begin + rows]
            inputs, logits = self._forward(piece.expand(len(self), *piece.shape))
            z = logits.float().transpose(1, 2).contiguous().cpu().numpy()
            long = None
            if lengths:
                last = inputs[-1].float()
                squares = last.square().sum(dim=2) + (0 if self._hidden is None else 1)
                long = squares.sqrt().cpu().numpy()
            examples = slice(begin, begin + len(piece))
            out.append(hand_on(Answers(slice(0, len(self)), examples, z, long)))
        return out

    def state(self) -> State:
        return {
            "model.weights": np.array(self._weights.cpu().numpy()),
            "momentum": np.array(self._speed.cpu().numpy()),
        }

    def restore(self, state: State) -> None:
        self._weights.copy_(torch.from_numpy(np.array(state["model.weights"])))
        if "momentum" in state:
            self._speed.copy_(torch.from_numpy(np.array(state["momentum"])))

    def _moved(self, x: Any) -> Tensor:
        if not isinstance(x, np.ndarray):
            raise InputError(
                "sparse features are trained on the CPU; use device='cpu', or pass x.toarray()"
            )
        return torch.from_numpy(np.array(x)).to(self._device)

    def _slope(self, at: Tensor, counts: Tensor, slope: Tensor) -> None:
        """The gradient of each model's mean loss over its own batch, into `slope`."""
        x = self._table.index_select(0, at.reshape(-1)).view(*at.shape, -1)
        with self._precision():
            inputs, logits = self._forward(x)
        p = logits.float().softmax(dim=2)
        own = self._labels[at].unsqueeze(2)
        p.scatter_add_(2, own, p.new_full(own.shape, -1.0))
        error = p * counts.unsqueeze(2)
        first, second, bias = self._layers(slope)
        with self._precision():
            if self._hidden is None:
                first.copy_(torch.bmm(x.transpose(1, 2), error))
                return
            second.copy_(torch.bmm(inputs[1].transpose(1, 2), error))
            bias.copy_(error.sum(dim=1))
            weights = self._layers(self._weights)[1]
            back = torch.bmm(error, weights.transpose(1, 2)) * (inputs[1] > 0)
            first.copy_(torch.bmm(x.transpose(1, 2), back))

    def _forward(self, x: Tensor) -> tuple[list[Tensor], Tensor]:
        """What each layer reads, and the logits (model, example, class)."""
        first, second, bias = self._layers(self._weights)
        out = torch.bmm(x, first)
        if self._hidden is None:
            return [x], out
        units = out.relu()
        return [x, units], torch.bmm(units, second) + bias.unsqueeze(1)

    def _precision(self) -> Any:
        """bfloat16 for a step; what is measured is float32, as a network's is."""
        kind = self._device.type
        on = self.recipe.mixed_precision and kind == "cuda"
        return torch.autocast(kind, dtype=torch.bfloat16, enabled=on)
