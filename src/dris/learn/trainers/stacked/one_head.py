"""One head in training, with the methods of `loop.Network`: a target, or an attacker's judge."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.learn.recipe import Recipe
from dris.learn.trainers.networks.schedules import Positions, Schedule
from dris.learn.trainers.stacked.feature_table import Floats
from dris.learn.trainers.stacked.head_models import Head
from dris.learn.trainers.stacked.numpy_stack import NumpyStack

_AT_ONCE = 1 << 22  # numbers that are measured at once


class OneHead:
    """A stack of one model; other examples are prepared as its own were.

    >>> from dris.learn.trainers.networks.schedules import Passes
    >>> x = np.array([[-1.0, 1.0], [1.0, 1.0]] * 8, dtype=np.float32)
    >>> head = OneHead(Head(), x, np.array([0, 1] * 8), 2, Recipe(4, 4, 0.5), seed=0,
    ...     stream=("target",), schedule=Passes(np.arange(16), 4, 0, ("target",)))
    >>> for epoch in (1, 2, 3, 4):
    ...     head.train_epoch(epoch)
    >>> head.accuracy(x, np.array([0, 1] * 8))
    1.0
    """

    def __init__(
        self,
        head: Head,
        x: Any,
        labels: NDArray[np.int64],
        classes: int,
        recipe: Recipe,
        *,
        seed: int,
        stream: tuple[str | int, ...],
        schedule: Schedule,
    ) -> None:
        self._x = x
        self.model = NumpyStack(
            x,
            labels,
            classes,
            recipe,
            hidden=head.hidden,
            seed=seed,
            streams=[stream],
            schedules=[schedule],
        )

    @property
    def schedule(self) -> Schedule:
        """What an epoch trains on."""
        return self.model.schedules[0]

    @schedule.setter
    def schedule(self, schedule: Schedule) -> None:
        self.model.schedules[0] = schedule

    def train_epoch(self, epoch: int) -> None:
        """The schedule's batches of an epoch, one step each."""
        self.model.train_epoch(epoch)

    def portions(self, positions: Positions) -> Iterator[Positions]:
        """The examples to measure, as many at once as take little memory."""
        step = max(1, _AT_ONCE // self._x.shape[1])
        return (positions[i : i + step] for i in range(0, len(positions), step))

    def measure(self, positions: Positions, *, hidden: bool = False) -> tuple[Floats, Any]:
        """Logits of the given examples, and what the last layer reads."""
        x = self._x[positions]
        return self._logits(x), self.model.units(x)[0] if hidden else None

    def accuracy(self, x: Any, y: NDArray[np.int64]) -> float:
        """The share of other examples, prepared like the training data, that it gets right."""
        return float((self._logits(x).argmax(axis=1) == y).mean())

    def refuse_broken_weights(self) -> None:
        """Stop when a step has left a weight that is not finite."""
        if self.model.broken():
            raise InputError("the weights must be finite; lower its learning rate or standardize")

    def state(self) -> dict[str, NDArray[Any]]:
        """Weights and momentum."""
        return self.model.state()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave."""
        self.model.restore(state)

    def _logits(self, x: Any) -> Floats:
        pieces = [said.logits[0].T for said in self.model.answers(x=x)]
        return np.ascontiguousarray(np.concatenate(pieces))
