"""K heads on one table of features, trained in the same few matrix products.

Each head is the network that `loop.Network` would train by itself: the same initial weights,
orders and steps, equal but for rounding. What is shared is one product of stacked matrices per
layer, a gradient written down instead of traced, and one pass over the table for all heads when
they are measured.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dris.core.streams import rng_for, seed_for
from dris.learn.networks.loop import cosine
from dris.learn.networks.models import build_model
from dris.learn.networks.models.dense import mlp
from dris.learn.recipe import Recipe

Positions = NDArray[np.int64]


class StackedHeads:
    """Heads in training: `train_epoch` and `measure`; axis 0 is always the head.

    Args:
        table: Features (N, F), prepared as the heads are to see them.
        labels: The N given labels.
        classes: C.
        recipe: How each head trains.
        hidden: Width of one hidden layer with ReLUs; None means linear heads.
        seed: Of all random streams.
        streams: The name of each head's streams.
        rows: What each head trains on; equally many for all.

    >>> table = torch.tensor([[-1.0], [1.0]] * 8)
    >>> rows, recipe = np.arange(16), Recipe(epochs=4, batch_size=4, learning_rate=0.5)
    >>> heads = StackedHeads(table, np.array([0, 1] * 8), 2, recipe, hidden=None, seed=0,
    ...                      streams=[("proxy", 0), ("proxy", 1)], rows=[rows, rows])
    >>> [heads.train_epoch(epoch) for epoch in (1, 2, 3, 4)]
    [{}, {}, {}, {}]
    >>> heads.measure(np.arange(2), range(2))[0].argmax(axis=2).tolist()
    [[0, 1], [0, 1]]
    """

    def __init__(
        self,
        table: Tensor,
        labels: NDArray[np.int64],
        classes: int,
        recipe: Recipe,
        *,
        hidden: int | None,
        seed: int,
        streams: Sequence[tuple[str | int, ...]],
        rows: Sequence[Positions],
    ) -> None:
        self.recipe, self._table, self._seed, self._streams = recipe, table, seed, streams
        self._rows = rows
        self._labels = torch.from_numpy(np.array(labels)).to(table.device)
        self.steps_per_epoch = -(-len(rows[0]) // recipe.batch_size)
        largest = -(-len(rows[0]) // self.steps_per_epoch)
        self._batch = table.new_empty(len(streams) * largest, table.shape[1])
        build = partial(mlp, hidden=() if hidden is None else (hidden,))
        seeds = [seed_for(seed, *stream, "model") for stream in streams]
        models = [build_model(build, table.shape[1:], classes, seed=s) for s in seeds]
        self._layers = _stacked(models, table.device)
        self._momenta = [(torch.zeros_like(w), torch.zeros_like(b)) for w, b in self._layers]

    @torch.no_grad()
    def train_epoch(self, epoch: int) -> dict[int, str]:
        """One pass of every head in an order of its own; says which heads broke, and where."""
        orders = np.stack(
            [
                rng_for(self._seed, *stream, "order", epoch).permutation(rows)
                for stream, rows in zip(self._streams, self._rows, strict=True)
            ]
        )
        losses = []
        for step, at in enumerate(np.array_split(orders, self.steps_per_epoch, axis=1)):
            losses.append(self._step(at, (epoch - 1) * self.steps_per_epoch + step))
        return _broken(torch.stack(losses).cpu().numpy(), epoch)

    def _step(self, at: Positions, step: int) -> Tensor:
        """Descend on each head's own batch `at` (K, B); the losses (K,) before the step."""
        where = torch.from_numpy(np.ascontiguousarray(at)).to(self._table.device)
        x = self._batch[: where.numel()]
        torch.index_select(self._table, 0, where.reshape(-1), out=x)
        inputs, logits = self._forward(x.view(*where.shape, -1))
        log_p = logits.float().log_softmax(2)
        target = self._labels[where].unsqueeze(2)
        losses = -log_p.gather(2, target).mean((1, 2))
        # ∂loss/∂logits = (p − e_y) / B; what no layer below needs is never computed.
        error = log_p.exp_().scatter_add_(2, target, log_p.new_full(target.shape, -1.0))
        error /= where.shape[1]
        rate = cosine(self.recipe, step, self.recipe.epochs * self.steps_per_epoch)
        for i in reversed(range(len(self._layers))):
            with self._precision():
                slopes = torch.bmm(error.transpose(1, 2), inputs[i]), error.sum(1, keepdim=True)
                if i > 0:
                    error = torch.bmm(error, self._layers[i][0]) * (inputs[i] > 0)
            self._descend(i, slopes, rate)
        return losses

    def _descend(self, layer: int, slopes: tuple[Tensor, Tensor], rate: float) -> None:
        pairs = zip(self._layers[layer], self._momenta[layer], slopes, strict=True)
        for parameter, momentum, slope in pairs:
            momentum.mul_(self.recipe.momentum).add_(slope)
            momentum.add_(parameter, alpha=self.recipe.weight_decay)
            parameter.sub_(momentum, alpha=rate)

    def _forward(self, x: Tensor) -> tuple[list[Tensor], Tensor]:
        """What each layer reads, and the logits."""
        inputs: list[Tensor] = []
        with self._precision():
            for weight, bias in self._layers:
                if inputs:
                    x = x.relu_()
                inputs.append(x)
                x = torch.baddbmm(bias.to(x.dtype), x, weight.transpose(1, 2))
        return inputs, x

    @torch.no_grad()
    def measure(
        self, positions: Positions, heads: Sequence[int]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Logits (heads, B, C), and what their last layers read, (heads or 1, B, width)."""
        at = torch.from_numpy(positions).to(self._table.device)
        return self._answers(self._table.index_select(0, at), heads)

    def accuracies(self, table: Tensor, labels: NDArray[np.int64]) -> list[float]:
        """The share of other examples, prepared like the table, that each head gets right."""
        with torch.no_grad():
            logits, _ = self._answers(table, range(len(self._streams)))
        return (logits.argmax(axis=2) == labels).mean(axis=1).tolist()  # type: ignore[no-any-return]

    def _answers(
        self, x: Tensor, heads: Sequence[int]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        layers = [(w[list(heads)], b[list(heads)]) for w, b in self._layers]
        weight, bias = layers[0]
        read = x[None]
        with self._precision():
            # The first layers of all heads are one matrix: the table is read once.
            flat = torch.addmm(bias.reshape(-1), x, weight.reshape(-1, x.shape[1]).t())
            out = flat.view(len(x), len(heads), -1).transpose(0, 1)
            for weight, bias in layers[1:]:
                read = out.relu()
                out = torch.baddbmm(bias.to(read.dtype), read, weight.transpose(1, 2))
        logits, last = (t.float().contiguous().cpu().numpy() for t in (out, read))
        return logits, last

    def _precision(self) -> Any:
        kind = self._table.device.type
        on = self.recipe.mixed_precision and kind == "cuda"
        return torch.autocast(kind, dtype=torch.bfloat16, enabled=on)


def _stacked(models: Sequence[nn.Module], device: torch.device) -> list[tuple[Tensor, Tensor]]:
    """The linear layers of equal models: weights (K, outputs, inputs) and biases (K, 1, outputs).

    Outputs before inputs, as torch keeps them: the gradient's product in the other layout took
    ten times as long.
    """
    each = [[m for m in model.modules() if isinstance(m, nn.Linear)] for model in models]
    return [
        (
            torch.stack([layer.weight.detach() for layer in layers]).to(device),
            torch.stack([layer.bias.detach() for layer in layers]).unsqueeze(1).to(device),
        )
        for layers in zip(*each, strict=True)
    ]


def _broken(losses: NDArray[np.float32], epoch: int) -> dict[int, str]:
    """For each head whose loss (step, head) is not finite, the first step where it is not.

    >>> _broken(np.array([[0.1, 0.2], [0.1, np.nan], [0.1, np.nan]], np.float32), 3)
    {1: 'the loss is nan at step 2 of epoch 3; lower its learning rate'}
    """
    found = {}
    for k, of_head in enumerate(losses.T.tolist()):
        step = next((i for i, loss in enumerate(of_head) if not math.isfinite(loss)), None)
        if step is not None:
            found[k] = (
                f"the loss is {of_head[step]} at step {step + 1} of epoch {epoch}; "
                "lower its learning rate"
            )
    return found
