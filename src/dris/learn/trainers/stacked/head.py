"""Small heads on a table of features: linear, or with one hidden layer; by name or width."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dris.core.streams import rng_for
from dris.core.validate import check_count
from dris.learn.recipe import Recipe
from dris.learn.trainers.job import Data, Job, Normalize, Positions, Untangled
from dris.learn.trainers.stacked.stack import Answers, Stack, as_features
from dris.learn.trainers.standardize import can_be_untangled
from dris.learn.trainers.trainer import Passes, Trainer


@dataclass(frozen=True, slots=True, repr=False)
class Head:
    """A softmax classifier on a table of features, with one hidden layer of ReLUs or none.

    Untangled, it reads up to 600 standardized columns made nearly uncorrelated: on small data a few
    steps do not reach what tells correlated columns apart.

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
    names = tuple(HEADS)
    trains_together = True

    def takes(self, model: Any) -> bool:
        return model in HEADS if isinstance(model, str) else isinstance(model, Head)

    def prepare(self, data: Data, normalize: Normalize, folder: Path | None) -> Data:
        return as_features(data, normalize, folder)

    def scaling(self, job: Job, data: Data) -> Normalize:
        wanted = head_of(job.model).untangled and job.normalize and can_be_untangled(data.x)
        return Untangled(job.normalize) if wanted else job.normalize


RECIPE = Recipe(epochs=15, batch_size=64, learning_rate=0.05)
MIN_STEPS = 250  # with fewer, models of few rows have learned too little to differ


def train_on(
    x: Any,
    labels: NDArray[np.int64],
    classes: int,
    rows: Sequence[Positions],
    *,
    head: Head,
    seed: int = 0,
) -> Stack:
    """A stack with a model for each set of rows, trained on it, all from the same weights.

    All take as many steps as one on the most rows takes in 15 epochs, or 250: fewer rows are seen
    more often, as in the paper. `x` is as `as_features` prepares it.
    """
    most, batch = max(len(at) for at in rows), RECIPE.batch_size
    epochs = max(RECIPE.epochs, -(-MIN_STEPS // -(-most // batch)))
    passes = [Passes(_repeat(at, most, seed), batch, seed, ("rows", len(at))) for at in rows]
    how: dict[str, Any] = {"hidden": head.hidden, "seed": seed, "streams": [("rows",)] * len(rows)}
    with threadpool_limits(limits=1):
        recipe = replace(RECIPE, epochs=epochs)
        stack = Stack(x, labels, classes, recipe, schedules=passes, **how)
        for epoch in range(1, epochs + 1):
            stack.train_epoch(epoch)
    return stack


def predict_after(
    x: Any, labels: NDArray[np.int64], classes: int, rows: Sequence[Positions], **how: Any
) -> NDArray[np.int64]:
    """The class that each model of `train_on` predicts for every example, (model, N)."""
    stack = train_on(x, labels, classes, rows, **how)
    predicted = np.empty((len(rows), len(labels)), dtype=np.int64)

    def note(answers: Answers) -> None:
        predicted[answers.models, answers.examples] = answers.logits.argmax(axis=1)

    with threadpool_limits(limits=1):
        stack.answers(note)
    return predicted


def _repeat(at: Positions, count: int, seed: int) -> Positions:
    """The rows again and again until there are `count`, the last time round at random."""
    whole, rest = divmod(count, len(at))
    drawn = rng_for(seed, "rows", "rest").permutation(at)[:rest]
    return np.sort(np.concatenate([*[at] * whole, drawn]))
