"""Small heads on a table of features: linear, or with one hidden layer; by name or width."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.validate import check_count
from dris.learn.trainers.job import Data, Job, Normalize, Untangled
from dris.learn.trainers.schedules import Positions, Schedule
from dris.learn.trainers.stacked.feature_table import Floats, as_features
from dris.learn.trainers.stacked.stack import Stack
from dris.learn.trainers.standardize import can_be_untangled
from dris.learn.trainers.trainer import MAX_MEASURED, State, Stream, Trainer, Training


@dataclass(frozen=True, slots=True, repr=False)
class Head:
    """A softmax classifier on a table of features, with one hidden layer of ReLUs or none.

    Untangled, it reads columns that have been made nearly uncorrelated: on small data a few steps
    do not reach what tells correlated columns apart. Sparse features, more than 600 columns and
    those that are not standardized stay as they are.

    >>> Head(hidden=128), Head(untangled=True)
    (Head(hidden=128), Head(hidden=None, untangled=True))
    """

    hidden: int | None = None
    untangled: bool = False

    def __repr__(self) -> str:
        apart = ", untangled=True" if self.untangled else ""
        return f"Head(hidden={self.hidden}{apart})"

    def __post_init__(self) -> None:
        if self.hidden is not None:
            # A plain number, also from NumPy's: it is part of a run's key.
            object.__setattr__(self, "hidden", check_count(self.hidden, "hidden", at_least=1))


HEADS: dict[str, Head] = {
    "mlp": Head(hidden=64),
    "linear_head": Head(),
    "untangled_mlp": Head(hidden=64, untangled=True),
    "untangled_linear": Head(untangled=True),
}


def head_of(model: Any) -> Head:
    """The head that a name means, or the head itself."""
    head: Head = HEADS[model] if isinstance(model, str) else model
    return head


class HeadTrainer(Trainer):
    """Heads, whose proxies are all trained in the same matrix products."""

    title = "stacked head"
    trains_together = True

    def names(self) -> Sequence[str]:
        return tuple(HEADS)

    def takes(self, model: Any) -> bool:
        return model in HEADS if isinstance(model, str) else isinstance(model, Head)

    def prepare(self, data: Data, normalize: Normalize, folder: Path | None) -> Data:
        return as_features(data, normalize, folder)

    def scaling(self, job: Job, data: Data) -> Normalize:
        wanted = head_of(job.model).untangled and job.normalize and can_be_untangled(data.x)
        return Untangled(job.normalize) if wanted else job.normalize

    def build(self, job: Job, data: Data, schedule: Schedule, stream: Stream) -> "OneHead":
        return OneHead(job, data, schedule, stream)


class OneHead(Training):
    """A stack of one model: a target, or an attacker's judge."""

    def __init__(self, job: Job, data: Data, schedule: Schedule, stream: Stream) -> None:
        self._x = data.x
        self.model: Stack = Stack(
            data.x,
            data.y,
            job.classes,
            job.recipe,
            hidden=head_of(job.model).hidden,
            seed=job.seed,
            streams=[stream],
            schedules=[schedule],
        )

    @property
    def schedule(self) -> Schedule:
        return self.model.schedules[0]

    @schedule.setter
    def schedule(self, schedule: Schedule) -> None:
        self.model.schedules[0] = schedule

    def train_epoch(self, epoch: int) -> None:
        self.model.train_epoch(epoch)

    def portions(self, positions: Positions) -> Iterator[Positions]:
        step = max(1, MAX_MEASURED // self._x.shape[1])
        return (positions[i : i + step] for i in range(0, len(positions), step))

    def measure(self, positions: Positions, *, hidden: bool = False) -> tuple[Floats, Any]:
        x = self._x[positions]
        return self._logits(x), self.model.units(x)[0] if hidden else None

    def accuracy(self, x: Any, y: NDArray[np.int64]) -> float:
        return float((self._logits(x).argmax(axis=1) == y).mean())

    def refuse_broken_weights(self) -> None:
        if self.model.broken():
            raise InputError("the weights must be finite; lower its learning rate or standardize")

    def state(self) -> State:
        return self.model.state()

    def restore(self, state: State) -> None:
        self.model.restore(state)

    def _logits(self, x: Any) -> Floats:
        pieces = [answers.logits[0].T for answers in self.model.answers(x=x)]
        return np.ascontiguousarray(np.concatenate(pieces))
