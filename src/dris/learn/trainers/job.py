"""What is to be trained: a job, its data, and what comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.columns import labels_for, refuse_not_finite
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.large.mapped import allocate, release
from dris.core.streams import rng_for
from dris.core.validate import refuse_other_index
from dris.learn.recipe import Recipe
from dris.learn.trainers.folds import folds_of, rows_together

Positions = NDArray[np.int64]
Group = int | tuple[int, int]  # so many columns scaled as one, and as how many they weigh
Columns = bool | tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Untangled:
    """Columns that are scaled so, and then made nearly uncorrelated."""

    columns: Columns = True


Normalize = Columns | Untangled


class DivergedError(InputError):
    """A training whose losses are no longer finite; the message names it and the epoch."""

    step: int | None = None  # from 1 in the epoch; None where an estimator does not say


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that determines one training; the same job gives the same bytes.

    A job of stacked models trains all its folds, and a proxy for each of its members, whose streams
    are (*stream, member). They stop together; any other job stops by the loss on its own fold.
    """

    model: Any
    stream: tuple[str | int, ...]  # the name of its random streams: ("proxy", 2)
    seed: int
    classes: int
    recipe: Recipe
    folds: int | None = None
    fold: int = 0  # which, when cross-fitting
    record: Literal["all", "scored", "snapshot"] = "all"
    gradient_norm: bool = False
    rival: bool = False
    normalize: Columns = True
    device: str = "cpu"
    code: str | None = None  # the hash of the user's own source behind the model
    members: tuple[int, ...] = ()
    patience: int | None = None  # stop when so many epochs have not lowered the held-out loss
    pick: bool = False  # score the epoch where that was smallest

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
    """What a job trains on, and test examples (both or neither) to state its accuracy on."""

    x: Any
    y: NDArray[np.int64]
    test_x: Any = None
    test_y: NDArray[np.int64] | None = None
    hashes: Mapping[str, Any] | None = None  # of all this, where they are known already
    judged: NDArray[np.int64] | None = None  # what stacked models are measured by in place of y
    groups: NDArray[np.int64] | None = None  # rows of one share a fold

    @property
    def asked(self) -> NDArray[np.int64]:
        """The labels that models are measured by."""
        return self.y if self.judged is None else self.judged


def epochs_of(job: Job) -> int:
    """How many epochs a job trains, counted once for each model."""
    return job.recipe.stop * (len(job.members) * (job.folds or 1) if job.members else 1)


def folds_for(
    job: Job, stream: tuple[str | int, ...], data: Data, together: Positions | None = None
) -> Positions:
    """The fold of each example for one proxy; `together` is that of `rows_together`, if known."""
    rng = rng_for(job.seed, *stream, "folds")
    if together is None:
        together = rows_together(data.x, data.groups, len(data.y))
    return folds_of(data.y, together, job.folds or 1, rng=rng)


def check_inputs(x: Any) -> Any:
    """Features or images as an array, or a torch Dataset as it is."""
    if any(base.__module__.startswith("torch.utils.data") for base in type(x).__mro__):
        if not hasattr(x, "__len__") or not len(x):
            raise InputError(
                f"x must be a map-style Dataset with examples, {type(x).__name__} has no length "
                "or is empty; read its examples into arrays first"
            )
        return x
    if hasattr(x, "tocsr"):
        raise InputError(
            "x is a sparse matrix, and models need an array; dris.read_data(x, y).x has its main "
            "components, x.toarray() all of it"
        )
    a = np.asarray(x)
    if a.dtype.kind not in "fiub":
        raise InputError(f"x must be numbers, got {a.dtype}; encode text and categories first")
    if a.ndim not in (2, 4) or 0 in a.shape:
        raise InputError(
            "x must be (examples, features) or images (examples, channels, height, width) and not "
            f"empty, got shape {a.shape}"
        )
    if a.ndim == 4 and a.shape[1] == a.shape[2] > 4 >= a.shape[3]:
        raise InputError(
            f"x looks like images with their channels last, {a.shape}; "
            "pass x.transpose(0, 3, 1, 2): (examples, channels, height, width)"
        )
    if a.dtype.kind == "f":
        refuse_not_finite(a.reshape(len(a), -1), "x")
    return a


def rows_at(x: Any, positions: NDArray[np.int64]) -> Any:
    """Some examples of an array or a Dataset, in the order given."""
    if isinstance(x, np.ndarray):
        some = allocate((len(positions), *x.shape[1:]), x.dtype)
        np.take(x, positions, axis=0, out=some, mode="wrap")  # "raise" would make a copy first
        release(x)
        return some
    from torch.utils.data import Subset

    return Subset(x, positions.tolist())


def check_test(
    test: tuple[Any, ArrayLike] | None, data: Any
) -> tuple[Any, NDArray[np.int64] | None]:
    """Held-out examples shaped like the data, and their labels; (None, None) for none."""
    if test is None:
        return None, None
    x = check_inputs(test[0])
    refuse_other_index(*test)
    if hasattr(x, "shape") != hasattr(data, "shape"):
        raise InputError("test must be an array where x is one and a Dataset where x is one")
    if hasattr(x, "shape") and x.shape[1:] != data.shape[1:]:
        wanted, got = data.shape[1:], x.shape[1:]
        raise InputError(f"test must be shaped like x, {wanted} an example, got {got}")
    return x, labels_for(test[1], len(x))
