"""What is to be trained: a job, its data, and what comes of it.

A `Job` is everything that determines one training; the same job gives the same bytes, in
whatever process, after however many interruptions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.core.validate import count_of
from dris.learn.jobs.folds import copies_in, folds_of
from dris.learn.recipe import Recipe

Positions = NDArray[np.int64]
Stretch = int | tuple[int, int]  # so many columns scaled as one, and as how many they weigh
Columns = bool | tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Untangled:
    """Columns that are scaled so, and then made nearly uncorrelated."""

    columns: Columns = True


Normalize = Columns | Untangled


class DivergedError(InputError):
    """A training whose losses are no longer finite; the message names it, the epoch and the step.

    `step` counts from 1 in the epoch; it is None where an estimator does not say.
    """

    epoch: int = 0
    step: int | None = None


class CollapsedError(InputError):
    """A sampling plan that cannot be built, in a run that is not to be rescued."""


@dataclass(frozen=True, slots=True)
class Job:
    """One training: who, on which rows, and what is kept of it.

    `stream` names the random streams ("proxy", 2); `fold` counts folds when cross-fitting; `code`
    is what `code_of` says of the model. A job of stacked models trains all its folds, and a proxy
    for each of `members`, whose streams are (*stream, member): they stop together when `patience`
    epochs have not lowered the held-out loss, and with `pick` are scored where that was smallest.
    Any other job stops by the loss on its own fold.
    """

    model: Any
    stream: tuple[str | int, ...]
    seed: int
    classes: int
    recipe: Recipe
    bag: float | None = None
    folds: int | None = None
    fold: int = 0
    record: Literal["all", "scored"] = "all"
    gradient_norm: bool = False
    rival: bool = False
    normalize: Columns = True
    device: str = "cpu"
    code: str | None = None
    members: tuple[int, ...] = ()
    patience: int | None = None
    pick: bool = False

    @property
    def who(self) -> str:
        """The proxy in words.

        >>> Job("mlp", ("proxy", 2), 0, 10, Recipe(1, 1, 0.1)).who
        'proxy 2'
        """
        return " ".join(str(part) for part in self.stream)


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The proxies of a job that finished, and how the others broke, by their place in the job.

    `found` says that they were in the store, and nothing was trained.
    """

    dynamics: Dynamics | None
    broken: Mapping[int, DivergedError] = field(default_factory=dict)
    found: bool = False

    @property
    def whole(self) -> bool:
        """Whether all of them finished."""
        return self.dynamics is not None and not self.broken


@dataclass(frozen=True, slots=True)
class Data:
    """What a job trains on, and held-out examples (both or neither) to state its accuracy on.

    `mark` is what `mark_of` says of all this, where somebody has asked before. `judged` are the
    labels that models are asked about in place of those they train on, of stacked models only.
    """

    x: Any
    y: NDArray[np.int64]
    test_x: Any = None
    test_y: NDArray[np.int64] | None = None
    mark: Mapping[str, Any] | None = None
    judged: NDArray[np.int64] | None = None

    @property
    def asked(self) -> NDArray[np.int64]:
        """The labels that models are asked about."""
        return self.y if self.judged is None else self.judged


def models_of(job: Job) -> int:
    """How many models a job trains.

    >>> models_of(Job("mlp", ("proxy",), 0, 2, Recipe(1, 1, 0.1), folds=4, members=(0, 1, 2)))
    12
    """
    return len(job.members) * (job.folds or 1) if job.members else 1


def epochs_of(job: Job) -> int:
    """How many epochs a job trains, counted once for each model.

    >>> epochs_of(Job("mlp", ("proxy",), 0, 2, Recipe(5, 1, 0.1), members=(0, 1)))
    10
    """
    return job.recipe.stop * models_of(job)


def everyone_or_bag(job: Job, stream: tuple[str | int, ...], n: int) -> Positions:
    """The rows that a proxy without folds trains on.

    >>> job = Job("mlp", ("proxy", 0), 0, 2, Recipe(1, 1, 0.1), bag=0.4)
    >>> len(everyone_or_bag(job, job.stream, 10))
    4
    """
    everyone = np.arange(n, dtype=np.int64)
    if job.bag is None:
        return everyone
    size = count_of(job.bag, n, "bag")
    return np.sort(rng_for(job.seed, *stream, "bag").permutation(everyone)[:size])


def folds_for(
    job: Job,
    stream: tuple[str | int, ...],
    data: Data,
    copies: Positions | None = None,
) -> Positions:
    """The fold of each example for one proxy; equal rows share one, labels are spread evenly.

    `copies` is what `copies_of` says of the data, where somebody has asked it before.

    >>> job = Job("mlp", ("proxy", 0), 0, 2, Recipe(1, 1, 0.1), folds=5)
    >>> np.bincount(folds_for(job, job.stream, Data(np.eye(10), np.arange(10) % 2))).tolist()
    [2, 2, 2, 2, 2]
    """
    rng = rng_for(job.seed, *stream, "folds")
    same = copies_of(data) if copies is None else copies
    return folds_of(data.y, same, job.folds or 1, rng=rng)


def copies_of(data: Data) -> Positions:
    """For each example the first one with the same features; itself in a Dataset.

    >>> copies_of(Data(np.array([[1.0], [2.0], [1.0]]), np.array([0, 0, 1]))).tolist()
    [0, 1, 0]
    """
    readable = isinstance(data.x, np.ndarray) or hasattr(data.x, "indptr")
    return copies_in(data.x) if readable else np.arange(len(data.y))
