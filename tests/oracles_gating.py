"""Slow, obvious versions of the gate and of choosing behind it."""

from math import comb

from oracles_choosing import best_first


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
