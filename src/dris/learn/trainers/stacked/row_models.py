"""Small models, each trained on rows of its own, and what they predict for all the others.

For questions such as "does a model trained on these rows do better than one trained on those?",
asked of many sets of rows at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.streams import rng_for
from dris.learn.recipe import Recipe
from dris.learn.trainers.schedules import Passes, Positions
from dris.learn.trainers.stacked.head import Head
from dris.learn.trainers.stacked.stack import Answers, Stack

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
