"""Draws from q with replacement, exact to float64: counted block by block, so that rounding does not
grow with N, then permuted.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.core.validate import check_count, numeric

_BLOCK = 4096  # a block's cumulative sum and its uniforms stay in the fastest cache
_PART = 1 << 20


def draw(probabilities: ArrayLike, count: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of `count` independent draws, each falling on i with probability q_i / Σq."""
    q, count = _check(probabilities), check_count(count, "count", at_least=1)
    whole = q.size // _BLOCK * _BLOCK
    sums = q[:whole].reshape(-1, _BLOCK).sum(axis=1)
    sums = sums if whole == q.size else np.append(sums, q[whole:].sum())
    counts = split_counts(sums, count, rng=rng)
    drawn = np.empty(count, dtype=np.int64)
    end = 0
    for block in np.flatnonzero(counts).tolist():
        begin, end, first = end, end + int(counts[block]), block * _BLOCK
        reached = np.cumsum(q[first : first + _BLOCK])
        at = rng.random(end - begin)
        at *= reached[-1]  # stays below the total: the largest uniform is 1 - 2^-53
        at.sort()  # neighbours are found close together: twice as fast as in any order
        np.add(reached.searchsorted(at, side="right"), first, out=drawn[begin:end])
    shuffle(drawn, below=q.size, rng=rng)
    return drawn


def split_counts(
    masses: NDArray[np.float64], count: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """How many of `count` draws fall on each mass: one multinomial draw, by halves of halves."""
    levels = []
    level = masses
    while level.size > 1:
        level = np.append(level, 0.0) if level.size % 2 else level
        levels.append(level)
        level = level[0::2] + level[1::2]
    counts = np.array([count], dtype=np.int64)
    for level in reversed(levels):
        left, both = level[0::2], level[0::2] + level[1::2]
        share = np.divide(left, both, out=np.zeros_like(left), where=both > 0)
        # The level above may have been padded by one: its last count is 0.
        to_left = rng.binomial(counts[: left.size], share)
        counts = np.column_stack([to_left, counts[: left.size] - to_left]).ravel()
    return counts[: masses.size]


def shuffle(values: NDArray[np.int64], *, below: int, rng: np.random.Generator) -> None:
    """Put values in 0..below-1 into a uniformly random order, in place."""
    bits = np.uint64((below - 1).bit_length())
    words = values.view(np.uint64)
    for start in range(0, words.size, _PART):
        part = words[start : start + _PART]
        part |= rng.integers(0, 2**64, part.size, dtype=np.uint64) << bits
    words.sort()
    # Equal keys were put in the order of their values: let chance decide there as well.
    keys = words >> bits
    equal = keys[1:] == keys[:-1]
    tied = np.zeros(words.size, dtype=np.bool_)
    tied[1:] |= equal
    tied[:-1] |= equal
    at = np.flatnonzero(tied)
    words[at] = words[at[np.lexsort((rng.random(at.size), keys[at]))]]
    words &= (np.uint64(1) << bits) - np.uint64(1)


def _check(probabilities: ArrayLike) -> NDArray[np.float64]:
    q = numeric(probabilities, "probabilities")
    if q.ndim != 1 or q.size == 0:
        raise InputError(f"probabilities must be one per example, got shape {q.shape}")
    if not (q.min() >= 0 and 0 < q.sum() < np.inf):
        raise InputError(
            "probabilities must be 0 or more, finite and not all 0, "
            f"got a smallest of {q.min()} and a sum of {q.sum()}"
        )
    return q
