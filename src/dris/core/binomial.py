"""Exact binomial probabilities without SciPy, which is slow to import."""

import numpy as np
from numpy.typing import NDArray


def chances_of(trials: int, p: float) -> NDArray[np.float64]:
    """P(X = k) for k = 0..trials, where X ~ Binomial(trials, p), 0 < p < 1; exact to about 1e-12.

    Built up from exact ratios of neighbours and normalised by their sum.
    """
    k = np.arange(trials, dtype=np.float64)
    logs = np.concatenate(([0.0], np.cumsum(np.log((trials - k) / (k + 1) * (p / (1 - p))))))
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())


def at_most(trials: int, p: float) -> NDArray[np.float64]:
    """P(X ≤ k) for k = 0..trials."""
    return np.minimum(np.cumsum(chances_of(trials, p)), 1.0)


def at_least(trials: int, p: float) -> NDArray[np.float64]:
    """P(X ≥ k) for k = 0..trials, small ones summed from their own terms."""
    return at_most(trials, 1 - p)[::-1]
