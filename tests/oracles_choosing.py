"""Slow, obvious versions of choosing: subsets, gates, sampling designs, quotas."""

from fractions import Fraction
from itertools import product
from math import comb, floor

import numpy as np
from scipy.stats import chisquare

from dris.core.streams import hashed_order, seed_for

TAIL = 1e-6  # how often a right implementation would fail one of these tests


def place(name, seed):
    """One example's place in the tie-break, computed alone."""
    return int(hashed_order(np.array([name]), seed)[0])


def uniform_place(name, seed):
    """One example's place in a uniform draw: the same hash under another salt."""
    return place(name, seed_for(seed, "selection", "uniform"))


def best_first(score, ids, seed):
    """Positions from the highest score down, equals in the order of their places."""
    return sorted(range(len(score)), key=lambda i: (-score[i], place(ids[i], seed)))


def keep_top(score, count, ids, seed):
    return set(best_first(score, ids, seed)[:count])


def tied_at_the_cut(score, kept):
    """How many of the kept beat an example of exactly their score."""
    out = {score[i] for i in range(len(score)) if i not in kept}
    return sum(score[i] in out for i in kept)


def remove_bottom(score, count, removed, ids, seed):
    rest = best_first(score, ids, seed)[: len(score) - removed]
    return set(sorted(rest, key=lambda i: uniform_place(ids[i], seed))[:count])


def mix_uniform(score, count, from_top, ids, seed):
    order = best_first(score, ids, seed)
    rest = sorted(order[from_top:], key=lambda i: uniform_place(ids[i], seed))
    return set(order[:from_top] + rest[: count - from_top])


def stratified(score, count, bins, dropped, ids, seed):
    """Zheng et al. 2023, algorithm 1: the smallest stratum first, an even share of the rest."""
    rest = best_first(score, ids, seed)[: len(score) - dropped]
    low, high = min(score[i] for i in rest), max(score[i] for i in rest)
    strata = {}
    for i in rest:
        b = 0 if low == high else min(int((score[i] - low) / (high - low) * bins), bins - 1)
        strata.setdefault(b, []).append(i)
    chosen = set()
    while strata:
        b = min(strata, key=lambda b: (len(strata[b]), b))
        share = (count - len(chosen)) // len(strata)
        members = sorted(strata.pop(b), key=lambda i: uniform_place(ids[i], seed))
        chosen.update(members[:share])
    return chosen


def smallest_distance_to_proportion(sizes, count):
    """The least Σ(quota − exact share)² over all ways to hand out `count`, one or more each."""
    shares = [Fraction(count * size, sum(sizes)) for size in sizes]
    ways = product(*(range(1, size + 1) for size in sizes))
    return min(distance(way, shares) for way in ways if sum(way) == count)


def distance(quotas, shares):
    return sum((q - s) ** 2 for q, s in zip(quotas, shares, strict=True))


def importance(score, smoothing):
    """Paper, eq. 7, in exact arithmetic."""
    s = [Fraction(float(v)) for v in score]
    mean = sum(s) / len(s)
    raw = [v + Fraction(smoothing) * mean for v in s]
    return [v / sum(raw) for v in raw]


def uniform_hybrid(score, share):
    s, k = [Fraction(float(v)) for v in score], Fraction(share)
    return [(1 - k) / len(s) + k * v / sum(s) for v in s]


def effective_size(q):
    """N times what one uniform draw's second moment is of one weighted draw's, for f = ±1."""
    n = len(q)
    weighted = sum(p * (1 / (n * p)) ** 2 for p in q)
    return n * 1 / weighted


def flips(rate, n):
    return floor(Fraction(str(rate)) * n)


def binomial_below(j, m, p):
    """P(Binomial(m, p) < j), term by term."""
    return sum(comb(m, i) * p**i * (1 - p) ** (m - i) for i in range(j))


def cut(values, recall, confidence):
    """The lowest canary value that rejects enough with enough confidence; None: too few."""
    ordered = sorted(values)
    for j in range(1, len(ordered) + 1):
        if binomial_below(j, len(ordered), recall) >= confidence:
            return ordered[j - 1]
    return None


def gated(detector, score, at, count, fill, ids, seed):
    """Positions kept: one by one from the best score among what passes."""
    order = [i for i in best_first(score, ids, seed) if detector[i] > at]
    if fill:
        order = order[:count] + [i for i in best_first(detector, ids, seed) if detector[i] <= at]
    return set(order[:count])


def class_balanced_counts(sizes, count):
    """One example from every class that has one left, over and over."""
    taken = [0] * len(sizes)
    while sum(taken) < count:
        for c in sorted(range(len(sizes)), key=lambda c: taken[c]):
            if taken[c] < sizes[c]:
                taken[c] += 1
                break
    return taken


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
