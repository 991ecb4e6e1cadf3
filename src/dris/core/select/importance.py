"""Sampling probabilities q from a score, the weights that undo them, and draws from q.

Draws are counted block by block, so that rounding does not grow with N, then permuted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.core.validate import check_count, check_score, exact, numeric, read_only, same_value

_BLOCK = 4096  # a block's cumulative sum and its uniforms stay in the fastest cache
_PART = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Importance:
    """How often to draw each example, and how much each draw counts."""

    probabilities: NDArray[np.float64]  # q, one per example, sums to 1, read-only
    rule: str  # what made them
    parameters: Mapping[str, Any]  # what that was given, as values that JSON can hold
    exponent: float = 1.0  # between 0 (draws count alike: a shifted objective) and 1 (unbiased)
    # (1 / (Nq)) ** exponent, 0 where q is 0; for batches take mean(weight · loss)
    weights: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        q = numeric(self.probabilities, "probabilities")
        exponent = float(exact(self.exponent, "weight_exponent"))
        if not 0 <= exponent <= 1:
            raise InputError(f"weight_exponent must be in [0, 1], got {self.exponent}")
        weights = _inverse(q) ** exponent
        weights[q == 0] = 0.0
        object.__setattr__(self, "probabilities", read_only(self.probabilities, np.float64))
        object.__setattr__(self, "parameters", dict(self.parameters))
        object.__setattr__(self, "exponent", exponent)
        object.__setattr__(self, "weights", read_only(weights, np.float64))

    __eq__ = same_value

    @property
    def effective_size(self) -> float:
        """N³ / Σ(1/q): the uniform draws that N weighted ones are worth; 0 when some q is 0."""
        inverse = _inverse(self.probabilities)
        if not inverse.all():
            return 0.0
        # Scaled by the largest: a sum of weights may overflow where no weight does.
        largest = inverse.max()
        return float(inverse.size / largest / np.mean(inverse / largest))

    @property
    def concentration_size(self) -> float:
        """1 / Σq²: how many examples carry the draws; far below N is the alarm for collapse."""
        return float(1 / np.sum(self.probabilities**2))

    @property
    def largest_weight(self) -> float:
        """How much one draw counts at most."""
        return float(self.weights.max())

    @property
    def support(self) -> int:
        """How many examples can be drawn at all."""
        return int(np.count_nonzero(self.probabilities))

    @property
    def unbiased(self) -> bool:
        """Whether the weighted mean over draws estimates the mean over all examples."""
        return self.support == self.probabilities.size and self.exponent == 1.0

    def mass(self, mask: NDArray[np.bool_]) -> float:
        """The probability that a draw falls on the marked examples."""
        return float(self.probabilities[mask].sum())


def importance(
    score: ArrayLike, *, smoothing: float = 0.1, weight_exponent: float = 1.0
) -> Importance:
    """Draw with q ∝ s + ξ·mean(s) (paper, eq. 7); larger scores are drawn more often.

    The smoothing ξ keeps every weight at most 1 + 1/ξ. The paper's uniform hybrid (1 − k)/N +
    k·s/Σs is ξ = 1/k − 1.

    >>> importance([0, 1, 2], smoothing=1.0).probabilities.round(3).tolist()
    [0.167, 0.333, 0.5]
    """
    xi = float(exact(smoothing, "smoothing"))
    if xi <= 0:
        raise InputError(
            f"smoothing must be above 0, got {smoothing}; "
            "0.1 is the paper's, proportional(score) has none"
        )
    return _drawn(score, "importance", xi, weight_exponent)


def proportional(score: ArrayLike, *, weight_exponent: float = 1.0) -> Importance:
    """Draw with q ∝ s (paper, eq. 1); an example that scores 0 is never drawn."""
    return _drawn(score, "proportional", 0.0, weight_exponent)


def _drawn(score: ArrayLike, rule: str, xi: float, weight_exponent: float) -> Importance:
    s, exponent = check_score(score), float(exact(weight_exponent, "weight_exponent"))
    if s.min() < 0:
        raise InputError(
            f"score must be 0 or more to become a probability, got {s.min()}; "
            "shift it, or choose with keep_top(score, ...)"
        )
    if s.max() == 0:
        raise InputError(
            f"cannot tell: the score is 0 for all {s.size} examples and distinguishes none; "
            "train more or more diverse proxies, or sample uniformly"
        )
    # Scaled by the largest: sums of huge scores overflow, shares of them do not.
    s = s / s.max()
    q = xi / (1 + xi) / s.size + 1 / (1 + xi) * (s / s.sum())
    q /= q.sum()
    q.flags.writeable = False
    smoothing = {"smoothing": xi} if xi else {}
    return Importance(q, rule, {**smoothing, "weight_exponent": exponent}, exponent)


def _inverse(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (Nq), and 0 where q is 0."""
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.where(q > 0, 1 / (q.size * q), 0.0)
    if np.isinf(inverse).any():
        raise InputError(
            f"a probability of {q[q > 0].min():.3g} gives a weight past the largest float; "
            "use importance(score, smoothing=0.1)"
        )
    return inverse


def draw(probabilities: ArrayLike, count: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of `count` independent draws, each falling on i with probability q_i / Σq."""
    q, count = _check_probabilities(probabilities), check_count(count, "count", at_least=1)
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


def _check_probabilities(probabilities: ArrayLike) -> NDArray[np.float64]:
    q = numeric(probabilities, "probabilities")
    if q.ndim != 1 or q.size == 0:
        raise InputError(f"probabilities must be one per example, got shape {q.shape}")
    if not (q.min() >= 0 and 0 < q.sum() < np.inf):
        raise InputError(
            "probabilities must be 0 or more, finite and not all 0, "
            f"got a smallest of {q.min()} and a sum of {q.sum()}"
        )
    return q
