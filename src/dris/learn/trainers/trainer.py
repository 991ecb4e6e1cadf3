"""What trains, as the rest of `learn` sees it: one protocol, and an entry per kind of model.

An *engine* is where work runs, a *trainer* is what trains. A kind of model is one file with one
`TrainerKind` in it, and one line in `trainers`.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.learn.jobs.jobs import Data, Job, Normalize, Trained
from dris.learn.store.run_store import Store
from dris.learn.trainers.networks.schedules import Positions, Schedule

Tick = Callable[[], None]
Stream = tuple[str | int, ...]


class Trainer(Protocol):
    """One model in training; its schedule may be replaced between epochs."""

    schedule: Schedule

    @property
    def model(self) -> Any:
        """What is trained, for who wants to have it."""

    def train_epoch(self, epoch: int) -> float | None:
        """The schedule's batches of an epoch; the mean of the steps' losses, where it knows it."""

    def portions(self, positions: Positions) -> Iterable[Positions]:
        """The examples to measure, as many at once as take little memory."""

    def measure(
        self, positions: Positions, *, hidden: bool = False
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Logits of examples, and if asked what the last layer reads, as they are now."""

    def accuracy(self, x: Any, y: NDArray[np.int64]) -> float:
        """The share of other examples, prepared like the training data, that it gets right."""

    def refuse_broken_weights(self) -> None:
        """Stop when a step has left a weight that is not finite."""

    def state(self) -> dict[str, NDArray[Any]] | None:
        """All that a later epoch depends on, as arrays; None where there is no such form."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave."""


def says_not_finite(error: ValueError) -> bool:
    """Whether an error of ours says that numbers ceased to be finite; others are the user's.

    >>> says_not_finite(InputError("the loss must be finite"))
    True
    """
    ours = isinstance(error, InputError) and error.__cause__ is None
    return ours and any(sign in str(error) for sign in ("finite", "diverged"))


def no_code(model: Any) -> str | None:
    """None: the model's name says it all.

    >>> no_code("mlp")
    """
    return None


def no_parameters(model: Any) -> dict[str, str] | None:
    """None: the model's name says it all.

    >>> no_parameters("mlp")
    """
    return None


def nothing_refused(model: Any) -> None:
    """Any model of the kind will do.

    >>> nothing_refused("mlp")
    """


def no_more(job: Job) -> AbstractContextManager[None]:
    """One thread of BLAS and OpenMP is all that has to be seen to."""
    return nullcontext()


def as_asked(job: Job, data: Data) -> Normalize:
    """Features scaled as the job says."""
    return job.normalize


@dataclass(frozen=True, slots=True)
class TrainerKind:
    """How one kind of model is prepared, trained, named and kept.

    Attributes:
        name: Of the kind, in words.
        names: The models of this kind that have one.
        takes: Whether a model, by name or not, is of this kind.
        checked: The model as jobs hold it; refuses one that cannot be a proxy.
        prepare: (data, normalize, folder) to the data as it is trained on; large features may
            become a file in the folder.
        scaling: How a job wants these data scaled, which `prepare` is told.
        build: The trainer of one model: (job, data, schedule, stream).
        batch_size: Examples per step, unless given.
        train: All proxies of a job at once, (job, data, store, tick, threads); None where each
            model is a job of its own.
        named: The model in words that determine it.
        parameters: What its name leaves out.
        code: A hash of the user's source behind it.
        refuse_unnamed: Stops at a model that a store could not find again.
        refuse_steps: Stops at a model that takes no single steps, which targets need.
        equal_batches: Batches of nearly equal size, or full ones and a rest.
        hands_over: Whether training batches are recorded with record="scored"; if not, it is
            measured after every epoch.
        weighted: Whether a schedule's weights count, as weighted draws need.
        keeps_epochs: Whether its state can be kept, so that killed work goes on.
        diverged: Whether an error says that its numbers ceased to be finite.
        one_thread: What else has to be told to use one thread.
    """

    name: str
    names: Callable[[], Sequence[str]]
    takes: Callable[[Any], bool]
    checked: Callable[[Any], Any]
    prepare: Callable[[Data, Normalize, Path | None], Data]
    build: Callable[[Job, Data, Schedule, Stream], Trainer]
    batch_size: int
    train: Callable[[Job, Data, Store | None, Tick, int], Trained] | None = None
    named: Callable[[Any], str] = repr
    parameters: Callable[[Any], dict[str, str] | None] = no_parameters
    code: Callable[[Any], str | None] = no_code
    refuse_unnamed: Callable[[Any], None] = nothing_refused
    refuse_steps: Callable[[Any], None] = nothing_refused
    equal_batches: bool = True
    hands_over: bool = False
    weighted: bool = True
    keeps_epochs: bool = True
    diverged: Callable[[ValueError], bool] = says_not_finite
    one_thread: Callable[[Job], AbstractContextManager[None]] = no_more
    scaling: Callable[[Job, Data], Normalize] = as_asked
