"""What trains, as the rest of `learn` sees it.

To add a kind of model, subclass `Trainer` and `Training` and add it to `registry`.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.learn.trainers.job import Data, Job, Normalize, Positions

Stream = tuple[str | int, ...]
State = dict[str, NDArray[Any]]
MAX_MEASURED = 1 << 22  # features that are measured at once


class Schedule(Protocol):
    """What an epoch trains on, from its number alone, so that a resumed run goes on alike."""

    @property
    def steps(self) -> int:
        """Batches in an epoch."""

    @property
    def largest(self) -> int:
        """Examples in the longest of them."""

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """The weight of each of the N examples' losses; None when all are 1."""

    def batches(self, epoch: int) -> list[Positions]:
        """The positions of every batch of an epoch, epochs from 1."""


@dataclass(frozen=True, slots=True)
class Passes:
    """Every row once an epoch, in a new order: how proxies train.

    `equal` batches have nearly the same size, none of one example where B > 2 (BatchNorm cannot
    take it); otherwise there are full ones and a rest. `batch_count` is how many equal ones.
    """

    rows: Positions
    batch_size: int
    seed: int
    stream: tuple[str | int, ...]
    equal: bool = True
    weights: None = None
    batch_count: int | None = None

    @property
    def steps(self) -> int:
        return self.batch_count or -(-len(self.rows) // self.batch_size)

    @property
    def largest(self) -> int:
        return -(-len(self.rows) // self.steps) if self.equal else self.batch_size

    def batches(self, epoch: int) -> list[Positions]:
        order = rng_for(self.seed, *self.stream, "order", epoch).permutation(self.rows)
        if self.equal:
            size, more = divmod(len(order), self.steps)
            ends = [b * size + min(b, more) for b in range(self.steps + 1)]
            return [order[a:b] for a, b in itertools.pairwise(ends)]
        return [order[b : b + self.batch_size] for b in range(0, len(order), self.batch_size)]


class Training(ABC):
    """One model in training; its `schedule` may be replaced between epochs."""

    schedule: Schedule
    model: Any

    @abstractmethod
    def train_epoch(self, epoch: int) -> float | None:
        """Train on the schedule's batches; the mean loss of the steps, where it is known."""

    @abstractmethod
    def measure(
        self, positions: Positions, *, hidden: bool = False
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Logits of examples, and if asked what the last layer reads."""

    @abstractmethod
    def accuracy(self, x: Any, y: NDArray[np.int64]) -> float:
        """Accuracy on other examples, prepared like the training data."""

    def portions(self, positions: Positions) -> Iterable[Positions]:
        """The positions in pieces that are small enough to be measured at once."""
        return [positions]

    def state(self) -> State | None:
        """All that a later epoch depends on; None if it cannot be kept as arrays."""
        return None

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        raise InputError("this model has no state to go on from; train it again")


class Trainer(ABC):
    """One kind of model."""

    title: ClassVar[str]  # what messages call it
    names: ClassVar[Sequence[str]]  # of the models of this kind that have one
    batch_size: ClassVar[int] = 64  # examples per step, unless given
    trains_together: ClassVar[bool] = False  # all proxies of a job, in the same matrix products
    equal_batches: ClassVar[bool] = True  # batches of nearly equal size, or full ones and a rest
    records_batches: ClassVar[bool] = False  # with record="scored"; others are measured every epoch
    keeps_epochs: ClassVar[bool] = True  # its state can be kept, so that killed work goes on

    @abstractmethod
    def takes(self, model: Any) -> bool:
        """True if the model, by name or not, is of this kind."""

    def check(self, model: Any) -> Any:
        """The model as jobs hold it; raises if it cannot be a proxy."""
        return model

    def prepare(self, data: Data, normalize: Normalize, folder: Path | None) -> Data:
        """The data as it is trained on; large features may become a file in the folder."""
        return data

    def build(self, job: Job, data: Data, schedule: Schedule, stream: Stream) -> Training:
        """A fresh model of a job, on prepared data; of a kind that trains one model at a time."""
        raise NotImplementedError

    def scaling(self, job: Job, data: Data) -> Normalize:
        """How `prepare` shall scale the data of a job."""
        return job.normalize

    def describe(self, model: Any) -> str:
        """The model in words that determine it."""
        return repr(model)

    def parameters(self, model: Any) -> dict[str, str] | None:
        """What `describe` leaves out."""
        return None

    def hash_source(self, model: Any) -> str | None:
        """A hash of the user's own source behind the model; raises if a store needs its name."""
        return None

    def is_divergence(self, error: ValueError) -> bool:
        """True if an error says that numbers ceased to be finite."""
        ours = isinstance(error, InputError) and error.__cause__ is None
        return ours and any(sign in str(error) for sign in ("finite", "diverged"))

    def limit_threads(self, job: Job) -> AbstractContextManager[None]:
        """Keep to one thread whatever BLAS and OpenMP do not govern."""
        return nullcontext()
