"""Slow, obvious versions of sampling designs, and the test that draws follow probabilities."""

import numpy as np
from scipy.stats import chisquare

TAIL = 1e-6  # how often a right implementation would fail one of these tests


def inclusion_by_loop(q: list[float], count: int) -> list[float]:
    """Give everyone c·q; whoever passes 1 gets 1, and the others share what is left, again."""
    certain: set[int] = set()
    while True:
        others = [i for i in range(len(q)) if i not in certain]
        left = sum(q[i] for i in others)
        share = {i: (count - len(certain)) * q[i] / left if left else 0.0 for i in others}
        over = {i for i in others if share[i] > 1}
        if not over:
            return [1.0 if i in certain else share[i] for i in range(len(q))]
        certain |= over


def follows(counts, probabilities, *, cells: int = 200) -> bool:
    """Whether counts of draws fit probabilities: chi-square, tail 10^-6, neighbours pooled.

    The pools are of about equal probability. What has none at all is for other tests to look at.
    """
    q = np.asarray(probabilities) / np.sum(probabilities)
    cell = np.minimum((np.cumsum(q) - q / 2) * cells, cells - 1).astype(np.int64)
    expected = np.bincount(cell, q, minlength=cells) * np.sum(counts)
    # A cell that expects too few for the chi-square law joins the largest.
    cell = np.where(expected < 20, expected.argmax(), np.arange(cells))[cell]
    expected = np.bincount(cell, q, minlength=cells) * np.sum(counts)
    observed = np.bincount(cell, counts, minlength=cells)
    used = expected > 0
    return bool(chisquare(observed[used], expected[used]).pvalue > TAIL)
