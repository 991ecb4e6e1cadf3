"""Samples without replacement whose inclusion probabilities are known, so weights can undo them.

Drawing from q without replacement, one after the other, includes an example with a probability
that nobody can write down; 1/(Nq) is then biased. A systematic sample on a random order includes
example i with probability π_i = min(1, c·q_i), exactly, and has exactly n examples.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.core.validate import check_count, numeric


def inclusion_probabilities(probabilities: ArrayLike, count: int) -> NDArray[np.float64]:
    """π = min(1, c·q) with the c that makes them sum to `count`; larger q is included more often.

    The largest reach 1 and are in every sample; an example with q = 0 is in none.

    >>> inclusion_probabilities([0.5, 0.25, 0.25, 0.0], 2).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    q = numeric(probabilities, "probabilities")
    count = check_count(count, "count", at_least=1)
    if q.ndim != 1 or q.size == 0 or not (q.min() >= 0 and q.sum() < np.inf):
        raise InputError("probabilities must be one per example, 0 or more and finite")
    support = int(np.count_nonzero(q))
    if count > support:
        raise InputError(
            f"only {support} examples can be drawn, {count} without replacement are too many; "
            "take fewer, or draw with replacement"
        )
    falling = np.sort(q)[::-1]
    # What the k largest leave over, added from the small end: no difference of large sums.
    rest = np.cumsum(falling[::-1])[::-1]
    certain = int(np.argmax((count - np.arange(count)) * falling[:count] <= rest[:count]))
    pi: NDArray[np.float64] = np.minimum((count - certain) * q / rest[certain], 1.0)
    return pi


def draw_systematic(
    inclusion: NDArray[np.float64], *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A sample without replacement that includes i with probability π_i, in random order.

    Its size is Σπ, a whole number. Each place in the order falls on i with probability π_i / Σπ,
    so a mini-batch of the sample is as unbiased as the whole.

    >>> drawn = draw_systematic(np.array([1.0, 0.5, 0.5, 0.0]), rng=np.random.default_rng(0))
    >>> drawn.size, 0 in drawn, 3 in drawn
    (2, True, False)
    """
    certain = np.flatnonzero(inclusion == 1)
    rest = np.flatnonzero((inclusion > 0) & (inclusion < 1))
    chosen = _by_steps(rest, inclusion, rng) if rest.size else rest
    drawn = np.concatenate([certain, chosen])
    rng.shuffle(drawn)
    return drawn


def _by_steps(
    rest: NDArray[np.int64], inclusion: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Line the examples up in random order, π long each, and take those under steps of 1."""
    while True:
        order: NDArray[np.int64] = rng.permutation(rest)
        reached = np.cumsum(inclusion[order])
        count = round(float(reached[-1]))
        steps = (rng.random() + np.arange(count)) * (reached[-1] / count)
        places = np.minimum(reached.searchsorted(steps, side="right"), order.size - 1)
        # Rounding may let an example a hair shorter than a step lie under two of them.
        if (np.diff(places) > 0).all():
            chosen: NDArray[np.int64] = order[places]
            return chosen
