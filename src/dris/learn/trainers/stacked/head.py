"""Small heads on a table of features: linear, or with one hidden layer; by name or width."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.core.validate import check_count
from dris.learn.recipe import Recipe
from dris.learn.trainers.job import Data, Job, Normalize, Untangled
from dris.learn.trainers.schedules import Passes, Positions, Schedule
from dris.learn.trainers.stacked.stack import Answers, Floats, Stack, as_features
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


RECIPE = Recipe(epochs=15, batch_size=64, learning_rate=0.05)
MIN_STEPS = 250  # with fewer, models of few rows have learned too little to differ


def predict_after(
    x: Any,
    labels: NDArray[np.int64],
    classes: int,
    rows: Sequence[Positions],
    *,
    head: Head,
    recipe: Recipe = RECIPE,
    seed: int = 0,
    tick: Callable[[], None] = lambda: None,
) -> NDArray[np.int64]:
    """The class that each model predicts for every example after training on its rows, (model, N).

    All models take as many steps as one on the most rows takes in `recipe.epochs` epochs, or 250:
    fewer rows are seen more often, as in the paper. All have the same initial weights: they differ
    in what they saw. `x` is as `as_features` prepares it; `tick` is called after each epoch.
    """
    from threadpoolctl import threadpool_limits

    most = max(len(at) for at in rows)
    steps = -(-most // recipe.batch_size)
    recipe = replace(recipe, epochs=max(recipe.epochs, -(-MIN_STEPS // steps)))
    schedules = [
        Passes(_repeat(at, most, seed), recipe.batch_size, seed, ("rows", len(at))) for at in rows
    ]
    with threadpool_limits(limits=1):
        stack = Stack(
            x,
            labels,
            classes,
            recipe,
            hidden=head.hidden,
            seed=seed,
            streams=[("rows",)] * len(rows),
            schedules=schedules,
        )
        for epoch in range(1, recipe.epochs + 1):
            stack.train_epoch(epoch)
            tick()
        predicted = np.empty((len(rows), len(labels)), dtype=np.int64)

        def note(answers: Answers) -> None:
            predicted[answers.models, answers.examples] = answers.logits.argmax(axis=1)

        stack.answers(note)
    return predicted


def _repeat(at: Positions, count: int, seed: int) -> Positions:
    """The rows again and again until there are `count`, the last time round at random."""
    whole, rest = divmod(count, len(at))
    drawn = rng_for(seed, "rows", "rest").permutation(at)[:rest]
    return np.sort(np.concatenate([*[at] * whole, drawn]))
