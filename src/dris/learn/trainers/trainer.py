"""What trains, as the rest of `learn` sees it.

To add a kind of model, subclass `Trainer` and `Training` and add it to `registry`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.learn.trainers.job import Data, Job, Normalize
from dris.learn.trainers.schedules import Positions, Schedule

Stream = tuple[str | int, ...]
State = dict[str, NDArray[Any]]
MAX_MEASURED = 1 << 22  # features that are measured at once


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
