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
from dris.learn.recipe import Recipe
from dris.learn.trainers.folds import copies_in, folds_of

Positions = NDArray[np.int64]
Group = int | tuple[int, int]  # so many columns scaled as one, and as how many they weigh
Columns = bool | tuple[Group, ...]


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
    is the hash of the user's own source behind the model. A job of stacked models trains all its
    folds, and a proxy for each of `members`, whose streams are (*stream, member): they stop
    together when `patience` epochs have not lowered the held-out loss, and with `pick` are scored
    where that was smallest. Any other job stops by the loss on its own fold.
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
        """The proxy in words."""
        return " ".join(str(part) for part in self.stream)


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The proxies of a job that finished, and how the others broke, by their place in the job."""

    dynamics: Dynamics | None
    broken: Mapping[int, DivergedError] = field(default_factory=dict)
    from_store: bool = False

    @property
    def whole(self) -> bool:
        """True if all of them finished."""
        return self.dynamics is not None and not self.broken


@dataclass(frozen=True, slots=True)
class Data:
    """What a job trains on, and test examples (both or neither) to state its accuracy on.

    `hashes` are those of all this, where they are known already. `judged` are labels to measure
    stacked models by in place of those they train on.
    """

    x: Any
    y: NDArray[np.int64]
    test_x: Any = None
    test_y: NDArray[np.int64] | None = None
    hashes: Mapping[str, Any] | None = None
    judged: NDArray[np.int64] | None = None

    @property
    def asked(self) -> NDArray[np.int64]:
        """The labels that models are measured by."""
        return self.y if self.judged is None else self.judged


def epochs_of(job: Job) -> int:
    """How many epochs a job trains, counted once for each model."""
    return job.recipe.stop * (len(job.members) * (job.folds or 1) if job.members else 1)


def everyone_or_bag(job: Job, stream: tuple[str | int, ...], n: int) -> Positions:
    """The rows that a proxy without folds trains on."""
    everyone = np.arange(n, dtype=np.int64)
    if job.bag is None:
        return everyone
    size = count_of(job.bag, n, "bag")
    return np.sort(rng_for(job.seed, *stream, "bag").permutation(everyone)[:size])


def folds_for(
    job: Job, stream: tuple[str | int, ...], data: Data, copies: Positions | None = None
) -> Positions:
    """The fold of each example for one proxy; equal rows share one, labels are spread evenly.

    `copies` is `copies_of(data)`, where it is known already.
    """
    rng = rng_for(job.seed, *stream, "folds")
    same = copies_of(data) if copies is None else copies
    return folds_of(data.y, same, job.folds or 1, rng=rng)


def copies_of(data: Data) -> Positions:
    """For each example the first one with the same features; itself in a Dataset."""
    readable = isinstance(data.x, np.ndarray) or hasattr(data.x, "indptr")
    return copies_in(data.x) if readable else np.arange(len(data.y))
