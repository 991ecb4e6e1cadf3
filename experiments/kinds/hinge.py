"""Linear models with the squared hinge loss, many at once, one example per step (NumPy).

For the paper's synthetic study. The objective is mean(max(0, 1 − y·w·x)²) + λ/2·‖w‖² without an
intercept, y = ±1; run r has data, labels and draws of its own, all runs step together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dris import InputError
from experiments.dris_internals import Importance, draw, rng_for
from experiments.targets.schedules import step_batches

Floats = NDArray[np.float64]
# (epoch, weights so far) → positions (run, step) and how much each draw counts (run, step).
Visits = Callable[[int, Floats], tuple[NDArray[np.int64], Floats]]
# (weights so far) → one plan per run.
Plans = Callable[[Floats], Sequence[Importance]]


@dataclass(frozen=True, slots=True)
class HingeRecipe:
    """Epochs, base rate and λ. In epoch e (from 0) the rate is base/(1 + e), clamped per draw.

    The clamp, min(rate, 1/(2·w·‖x‖² + λ)) with w the draw's weight, stops a step where the
    example's margin is 1: no draw overshoots, however long its x.
    """

    epochs: int = 200
    base_rate: float = 0.01
    regularization: float = 0.1


def margins(weights: Floats, x: Floats, sign: Floats) -> Floats:
    """y·w·x as (run, example), for weights (run, feature), x (run, example, feature), y = ±1.

    >>> margins(np.array([[2.0]]), np.array([[[1.0], [3.0]]]), np.array([[1.0, -1.0]])).tolist()
    [[2.0, -6.0]]
    """
    result: Floats = sign * np.matmul(x, weights[:, :, None])[:, :, 0]
    return result


def losses(margin: Floats) -> Floats:
    """max(0, 1 − margin)²; larger: worse, zero from margin 1 on.

    >>> losses(np.array([-1.0, 0.5, 2.0])).tolist()
    [4.0, 0.25, 0.0]
    """
    return np.maximum(0.0, 1.0 - margin) ** 2


def slopes(margin: Floats) -> Floats:
    """ℓ', the derivative of the loss by the margin; the gradient by w is ℓ'·y·x.

    >>> slopes(np.array([-1.0, 0.5])).tolist()
    [-4.0, -1.0]
    """
    return -2.0 * np.maximum(0.0, 1.0 - margin)


def gradient_norms(weights: Floats, x: Floats, sign: Floats) -> Floats:
    """|ℓ'|·‖x‖ of each example as (run, example): exact, without the regulariser (decision 7).

    >>> gradient_norms(np.zeros((1, 2)), np.array([[[3.0, 4.0]]]), np.ones((1, 1))).tolist()
    [[10.0]]
    """
    result: Floats = np.abs(slopes(margins(weights, x, sign))) * np.linalg.norm(x, axis=-1)
    return result


def descend(x: Floats, sign: Floats, visits: Visits, *, recipe: HingeRecipe) -> Floats:
    """Weights (run, feature) after SGD from zero; each epoch visits what `visits` says.

    >>> order = lambda epoch, weights: (np.array([[0, 1]]), np.ones((1, 2)))
    >>> w = descend(np.array([[[1.0], [-1.0]]]), np.array([[1.0, -1.0]]), order,
    ...             recipe=HingeRecipe(epochs=100))
    >>> bool(0 < w[0, 0] < 1)
    True
    """
    if x.ndim != 3 or sign.shape != x.shape[:2]:
        raise InputError(
            f"x must be (run, example, feature) and sign (run, example), "
            f"got {x.shape} and {sign.shape}"
        )
    if not (np.abs(sign) == 1).all():
        raise InputError("sign must be -1 or 1 everywhere; for labels 0 and 1 pass 2 * y - 1")
    weights = np.zeros((x.shape[0], x.shape[2]))
    squares = (x**2).sum(axis=2)
    run = np.arange(x.shape[0])
    for epoch in range(recipe.epochs):
        at, count = visits(epoch, weights)
        at, count = at.T, count.T
        highest = 1.0 / (2.0 * count * squares[run, at] + recipe.regularization)
        rate = np.minimum(recipe.base_rate / (1 + epoch), highest)
        seen, label = x[run, at], sign[run, at]
        shrink, push = 1.0 - recipe.regularization * rate, rate * count * label
        for t in range(len(at)):
            step = slopes(label[t] * np.einsum("rf,rf->r", weights, seen[t])) * push[t]
            weights *= shrink[t][:, None]
            weights -= step[:, None] * seen[t]
    return weights


def in_passes(subsets: Sequence[NDArray[np.int64]], total: int, seeds: Sequence[int]) -> Visits:
    """Shuffled passes over each run's subset, `total` steps an epoch whatever its size.

    >>> at, count = in_passes([np.array([1, 3])], 4, [0])(0, np.zeros((1, 1)))
    >>> sorted(at[0].tolist()), count.tolist()
    ([1, 1, 3, 3], [[1.0, 1.0, 1.0, 1.0]])
    """
    endless = [
        step_batches(subset, total, epochs=2**31, batch_size=total, seed=seed)
        for subset, seed in zip(subsets, seeds, strict=True)
    ]

    def visits(epoch: int, weights: Floats) -> tuple[NDArray[np.int64], Floats]:
        at = np.stack([next(passes) for passes in endless])
        return at, np.ones(at.shape)

    return visits


def by_plan(plans: Plans, total: int, seeds: Sequence[int]) -> Visits:
    """`total` independent draws an epoch from plans asked for anew at the start of each.

    >>> plan = Importance(np.array([0.0, 1.0]), "by hand", {})
    >>> by_plan(lambda weights: [plan], 3, [0])(0, np.zeros((1, 1)))[0].tolist()
    [[1, 1, 1]]
    """

    def visits(epoch: int, weights: Floats) -> tuple[NDArray[np.int64], Floats]:
        asked = plans(weights)
        drawn = [
            draw(plan.probabilities, total, rng=rng_for(seed, "hinge", "draws", epoch))
            for plan, seed in zip(asked, seeds, strict=True)
        ]
        counts = [plan.weights[at] for plan, at in zip(asked, drawn, strict=True)]
        return np.stack(drawn), np.stack(counts)

    return visits


def together(parts: Sequence[Visits], runs: int) -> Visits:
    """Several visits of `runs` runs each as one, in order: all of them then step at once.

    >>> one, two = (in_passes([np.array([i])], 2, [0]) for i in (0, 1))
    >>> together([one, two], 1)(0, np.zeros((2, 1)))[0].tolist()
    [[0, 0], [1, 1]]
    """

    def visits(epoch: int, weights: Floats) -> tuple[NDArray[np.int64], Floats]:
        each = [part(epoch, weights[i * runs : (i + 1) * runs]) for i, part in enumerate(parts)]
        return np.concatenate([at for at, _ in each]), np.concatenate([c for _, c in each])

    return visits
