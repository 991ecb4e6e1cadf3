"""M small classifiers trained in the same stacked matrix products: what every device shares.

Axis 0 of every array is the model. Each model is trained as if it were alone: its weights, orders
and steps come from streams of its own, a product of stacks is one product per model, and a batch
that is shorter than its neighbours' is filled up with rows of weight zero.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.streams import rng_for
from dris.learn.recipe import Recipe
from dris.learn.trainers.schedules import Schedule
from dris.learn.trainers.stacked.feature_table import Floats
from dris.learn.trainers.trainer import State, Stream


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Predictions of some models for consecutive examples.

    `logits` is (model, class, example); `lengths` (model, example) is the ‖(φ, 1)‖ of what the
    last layer reads, None unless asked for.
    """

    models: slice
    examples: slice
    logits: Floats
    lengths: Floats | None


Visit = Callable[[Answers], Any]


class Stack(ABC):
    """Models in training.

    Args:
        width: Of the features, and of the 1 that the bias multiplies.
        classes: C.
        recipe: How each model trains; steps run along a cosine.
        hidden: Width of one hidden layer with ReLUs; None means linear models.
        seed: Of the initial weights, together with `streams`.
        streams: The name of each model's streams.
        schedules: What an epoch of each model trains on; as many steps for all.
    """

    def __init__(
        self,
        width: int,
        classes: int,
        recipe: Recipe,
        *,
        hidden: int | None,
        seed: int,
        streams: Sequence[Stream],
        schedules: Sequence[Schedule],
    ) -> None:
        self.recipe, self.schedules = recipe, list(schedules)
        self._width, self._classes, self._hidden = width, classes, hidden
        drawn = [
            initial_weights(width, hidden, classes, rng=rng_for(seed, *stream, "model"))
            for stream in streams
        ]
        self._weights: Any = np.stack(drawn)

    def __len__(self) -> int:
        return len(self._weights)

    @property
    def steps(self) -> int:
        """Steps in an epoch."""
        return max(schedule.steps for schedule in self.schedules)

    @property
    def largest(self) -> int:
        """Examples in the longest batch."""
        return max(schedule.largest for schedule in self.schedules)

    @abstractmethod
    def train_epoch(self, epoch: int) -> None:
        """One epoch of every model; numbers that cease to be finite are left to `broken`."""

    @abstractmethod
    def broken(self) -> list[int]:
        """Models with a weight that is not finite."""

    @abstractmethod
    def answers(
        self, visit: Visit | None = None, *, x: Any = None, together: int = 1, lengths: bool = False
    ) -> list[Any]:
        """Predictions of every model for every example, a piece at a time, handed to `visit`.

        For the table's examples, unless others are given as `x`, prepared like them.
        `together` models, such as the folds of a proxy, always come in one piece. Which examples
        make a piece depends on sizes alone. The pieces' order is fixed; the calls may be made at
        the same time by several threads, each for examples of its own.
        """

    @abstractmethod
    def state(self) -> State:
        """Weights and momentum, copied: all that a later epoch depends on."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""

    def _layers(self, flat: Any) -> tuple[Any, Any, Any]:
        """Views of flat parameters (model, all): first layer with its bias, second, its bias.

        For linear models the first layer is all there is.
        """
        models, width, classes = len(flat), self._width, self._classes
        if self._hidden is None:
            return flat.reshape(models, width, classes), flat[:, :0], flat[:, :0]
        ends = width * self._hidden, (width + classes) * self._hidden
        return (
            flat[:, : ends[0]].reshape(models, width, self._hidden),
            flat[:, ends[0] : ends[1]].reshape(models, self._hidden, classes),
            flat[:, ends[1] :],
        )


def initial_weights(
    width: int, hidden: int | None, classes: int, *, rng: np.random.Generator
) -> Floats:
    """A model's parameters in a row: uniform within √(6 / (inputs + outputs)), biases zero.

    `width` counts the inputs and the bias.
    """
    sizes = [(width - 1, classes)] if hidden is None else [(width - 1, hidden), (hidden, classes)]
    parts: list[Floats] = []
    for inputs, outputs in sizes:
        bound = np.sqrt(6.0 / (inputs + outputs))
        parts.append(rng.uniform(-bound, bound, inputs * outputs).astype(np.float32))
        parts.append(np.zeros(outputs, dtype=np.float32))
    return np.concatenate(parts)


def padded_batches(
    schedules: Sequence[Schedule], epoch: int, steps: int, batch: int
) -> tuple[NDArray[np.integer], Floats]:
    """Positions (step, model, batch) of an epoch, and their weights in their batch's mean.

    A batch that is shorter than the longest is filled up with visits of weight zero.
    """
    shape = (steps, len(schedules), batch)
    at, counts = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.float32)
    for m, schedule in enumerate(schedules):  # one order at a time: together they take room
        batches = schedule.batches(epoch)
        sizes = np.array([len(b) for b in batches])
        filled = np.arange(batch) < sizes[:, None]
        rows = np.concatenate(batches)
        if at.dtype == np.int32 and rows.size and rows.max() > np.iinfo(np.int32).max:
            at = at.astype(np.int64)
        at[: len(batches), m][filled] = rows
        counts[: len(batches), m] = filled / np.maximum(sizes, 1)[:, None]
        if schedule.weights is not None:
            counts[:, m] *= schedule.weights[at[:, m]]
    return at, counts
