"""Small models, each trained on rows of its own, and what they guess of all the others.

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
from dris.learn.trainers.networks.schedules import Passes
from dris.learn.trainers.stacked.head_models import Head
from dris.learn.trainers.stacked.numpy_stack import Answers, NumpyStack

Positions = NDArray[np.int64]
RECIPE = Recipe(epochs=15, batch_size=64, learning_rate=0.05)
FEWEST = 250  # steps, without which models of few rows have learned too little to differ


def guesses_after(
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
    """The class that each model gives every example after training on its rows, (model, N).

    All models take as many steps as one on the most rows takes in `recipe.epochs` epochs, or 250:
    fewer rows are seen more often, as in the paper. Models begin alike: what they differ in is what
    they saw.

    Args:
        x: Features as `as_features` prepares them.
        labels: As given, 0..C-1.
        classes: C.
        rows: For each model the positions it trains on.
        head: What each model is.
        recipe: Of an epoch on the most rows.
        seed: Of weights and orders.
        tick: Called after each epoch.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> x = np.pad(rng.normal(size=(200, 2)) + 4 * y[:, None] - 2, ((0, 0), (0, 1)))
    >>> x[:, 2] = 1  # what the bias multiplies
    >>> half = guesses_after(x.astype(np.float32), y, 2, [np.arange(100)], head=Head())
    >>> bool((half[0, 100:] == y[100:]).mean() > 0.9)
    True
    """
    from threadpoolctl import threadpool_limits

    most = max(len(at) for at in rows)
    in_an_epoch = -(-most // recipe.batch_size)
    recipe = replace(recipe, epochs=max(recipe.epochs, -(-FEWEST // in_an_epoch)))
    schedules = [
        Passes(_filled(at, most, seed), recipe.batch_size, seed, ("rows", len(at))) for at in rows
    ]
    with threadpool_limits(limits=1):
        stack = NumpyStack(
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
        found = np.empty((len(rows), len(labels)), dtype=np.int64)

        def noted(answer: Answers) -> None:
            found[answer.models, answer.examples] = answer.logits.argmax(axis=1)

        stack.answers(noted)
    return found


def _filled(at: Positions, count: int, seed: int) -> Positions:
    """The rows again and again until there are `count`, the last time round by lot."""
    whole, rest = divmod(count, len(at))
    drawn = rng_for(seed, "rows", "rest").permutation(at)[:rest]
    return np.sort(np.concatenate([*[at] * whole, drawn]))
