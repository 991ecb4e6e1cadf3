"""Slow, obvious versions written from the paper: what the fast code is checked against.

Plain Python loops over plain lists; every example and every proxy is looked at on its own.
"""

from fractions import Fraction
from math import exp, log, sqrt

import numpy as np

from dris.core.streams import hashed_order


def doubled_ranks(row):
    """Twice the mean 1-based rank: everything below counts 2, everything equal counts 1, plus 1."""
    return [2 * sum(v < x for v in row) + sum(v == x for v in row) + 1 for x in row]


def normalized_ranks(row):
    return [r / (2 * len(row)) for r in doubled_ranks(row)]


def exact_rank_variance(losses):
    """Eq. 2 in fractions: no rounding anywhere."""
    n, k = len(losses[0]), len(losses)
    rows = [[Fraction(r, 2 * n) for r in doubled_ranks(row)] for row in losses]
    out = []
    for i in range(n):
        mean = sum(row[i] for row in rows) / k
        out.append(sum((row[i] - mean) ** 2 for row in rows) / k)
    return out


def rank_variance(losses):
    return [float(v) for v in exact_rank_variance(losses)]


def of_logits(logits, label):
    """Loss, margin, error norm of one example, from its logits."""
    top = max(logits)
    weights = [exp(z - top) for z in logits]
    p = [w / sum(weights) for w in weights]
    loss = log(sum(weights)) + top - logits[label]
    margin = logits[label] - max(z for c, z in enumerate(logits) if c != label)
    error = sqrt(sum((p[c] - (c == label)) ** 2 for c in range(len(p))))
    return loss, margin, error


def totals(dynamics):
    """(summed margin, learned-then-forgotten count, ever right), each per proxy and example."""
    margin = dynamics.column("margin").tolist()
    right = dynamics.column("correct").tolist()
    k, e, n = len(margin), len(margin[0]), len(margin[0][0])
    summed = [[0.0] * n for _ in range(k)]
    forgotten = [[0] * n for _ in range(k)]
    learned = [[False] * n for _ in range(k)]
    for j in range(k):
        for i in range(n):
            for t in range(e):
                summed[j][i] += margin[j][t][i]
                learned[j][i] = learned[j][i] or right[j][t][i]
                if t > 0 and right[j][t - 1][i] and not right[j][t][i]:
                    forgotten[j][i] += 1
    return summed, forgotten, learned


def at_scored_epoch(dynamics, name):
    e = dynamics.epochs.index(dynamics.scored_epoch)
    return [proxy[e] for proxy in dynamics.column(name).tolist()]


def mean_over_proxies(rows):
    return [sum(row[i] for row in rows) / len(rows) for i in range(len(rows[0]))]


def consensus(d):
    return mean_over_proxies([normalized_ranks(row) for row in at_scored_epoch(d, "loss")])


def aum(d):
    return [total / len(d.epochs) for total in totals(d)[0][0]]


def aum_mean(d):
    rows = [[total / len(d.epochs) for total in row] for row in totals(d)[0]]
    return mean_over_proxies(rows)


def forgetting(d):
    return mean_over_proxies(totals(d)[1])


def forgetting_unlearned(d):
    _, forgotten, learned = totals(d)
    rows = [
        [f if ever else len(d.epochs) for f, ever in zip(*pair, strict=True)]
        for pair in zip(forgotten, learned, strict=True)
    ]
    return mean_over_proxies(rows)


def self_confidence(d):
    return mean_over_proxies([[exp(-v) for v in row] for row in at_scored_epoch(d, "loss")])


def confident_learning(d):
    own = self_confidence(d)
    mean = {y: np.mean([p for p, z in zip(own, d.labels, strict=True) if z == y]) for y in d.labels}
    return [p - mean[y] for p, y in zip(own, d.labels, strict=True)]


def hybrid(d, beta=0.5):
    norms = mean_over_proxies(at_scored_epoch(d, "gradient_norm"))
    variance = rank_variance(at_scored_epoch(d, "loss"))
    return [beta * g + (1 - beta) * v for g, v in zip(norms, variance, strict=True)]


def random(d):
    return [(int(hashed_order(d.ids[i : i + 1], 0)[0]) >> 11) / 2**53 for i in range(d.examples)]


SCORES = {
    "rank_variance": lambda d: rank_variance(at_scored_epoch(d, "loss")),
    "consensus": consensus,
    "loss": lambda d: mean_over_proxies(at_scored_epoch(d, "loss")),
    "el2n": lambda d: mean_over_proxies(at_scored_epoch(d, "error_norm")),
    "grand": lambda d: mean_over_proxies(at_scored_epoch(d, "gradient_norm")),
    "aum": aum,
    "aum_mean": aum_mean,
    "forgetting": forgetting,
    "forgetting_unlearned": forgetting_unlearned,
    "self_confidence": self_confidence,
    "confident_learning": confident_learning,
    "hybrid": hybrid,
    "random": random,
}


def auroc(score, marked):
    """Over all pairs of a marked and an unmarked example."""
    inside = [s for s, m in zip(score, marked, strict=True) if m]
    outside = [s for s, m in zip(score, marked, strict=True) if not m]
    won = sum(2 * (a > b) + (a == b) for a in inside for b in outside)
    return won / (2 * len(inside) * len(outside))
