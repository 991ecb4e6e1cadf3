"""What share of labels wrong at random fits best to how often strangers agree.

Strangers find a class likeliest, with log odds s. Let it be the true one with probability
q(s) = 1 / (1 + exp(−a − b·s)): classes may overlap as much as they like. If a share e of
the labels is wrong at random, the given label is that class with probability
(1 − e)·q + e/(C−1)·(1 − q): however sure strangers are, no more often than 1 − e. Overlap bends
the curve, random errors lower its ceiling.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEP, MOST = 0.005, 0.6  # shares that are tried, up to the last
BINS = 100  # of examples by how sure strangers are, the same number in each
SLOPE = 0.5  # b at least, so that strangers who are surer are right more often
NEARLY, TIED, UNLIKELY = 0.05, 1e-4, 2.0  # behind the best log likelihood
NARROW = 0.1  # within which shares that are not unlikely must lie for the best to be said
CERTAIN = 1e-6  # probabilities nearer to 0 or 1 count as this near
ROUNDS, STARTS = 40, ((1.0, 1.0), (2.0, 3.0))  # the likelihood may have two tops

Labels = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RandomErrors:
    """Shares of labels wrong at random: the least that fits nearly as well as the best, the best.

    `known` says whether all that fit at all lie near it. They do not where strangers are as sure
    as they are right, which overlap explains as well as errors.
    """

    least: float
    best: float
    known: bool


def random_errors(probabilities: NDArray[np.floating], labels: Labels) -> RandomErrors:
    """The share of labels wrong at random that fits best, from out-of-fold probabilities (N, C).

    Of those that fit the same the largest: overlap that has nothing to do with sureness is not
    believed in. Nothing is wrong with one class, or none.

    >>> rng = np.random.default_rng(0)
    >>> odds = rng.normal(0, 4, 4000)  # of the second class, and it is as often the true one
    >>> p = 1 / (1 + np.exp([odds / 2, -odds / 2])).T  # strangers hedge
    >>> true = (rng.random(4000) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    >>> random_errors(p, true).best < 0.01  # overlap alone
    True
    >>> given = np.where(rng.random(4000) < 0.2, 1 - true, true)
    >>> abs(random_errors(p, given).best - 0.2) < 0.02
    True
    """
    if probabilities.shape[1] < 2 or not labels.size:
        return RandomErrors(0.0, 0.0, False)
    shares, loss = losses_of_shares(probabilities, labels)
    behind = loss - loss.min()
    fit = shares[behind <= UNLIKELY]
    return RandomErrors(
        float(shares[behind <= NEARLY][0]),
        float(shares[behind <= TIED][-1]),
        bool(fit[-1] - fit[0] <= NARROW),
    )


def losses_of_shares(probabilities: NDArray[np.floating], labels: Labels) -> tuple[Values, Values]:
    """Shares e, and the negative log likelihood of each with the best a and b for it.

    By Fisher scoring on binned examples, all shares at once; a step that does not help is
    shortened.
    """
    classes = probabilities.shape[1]
    sure, count, agree, least = _binned(probabilities, labels)
    shares = np.arange(0.0, min(MOST, (classes - 1) / classes - 0.02) + STEP / 2, STEP)
    stray = (shares / (classes - 1))[:, None]
    slope = 1 - shares[:, None] - stray

    def loss_at(a: Values, b: Values) -> tuple[Values, Values, Values]:
        q = 1 / (1 + np.exp(-np.clip(a[:, None] + b[:, None] * sure, -40, 40)))
        r = np.clip(stray + slope * q, 1e-9, 1 - 1e-9)
        return -(agree * np.log(r) + (count - agree) * np.log(1 - r)).sum(axis=1), q, r

    best = np.full(shares.size, np.inf)
    for start in STARTS:
        a, b = np.full(shares.size, start[0]), np.full(shares.size, max(start[1], least))
        loss, q, r = loss_at(a, b)
        pace = np.ones(shares.size)
        for _ in range(ROUNDS):
            d = slope * q * (1 - q)
            score = (agree / r - (count - agree) / (1 - r)) * d
            weight = count * d * d / (r * (1 - r))
            s_0, s_1 = score.sum(axis=1), (score * sure).sum(axis=1)
            h_00, h_11 = weight.sum(axis=1) + 1e-6, (weight * sure**2).sum(axis=1) + 1e-6
            h_01 = (weight * sure).sum(axis=1)
            det = np.maximum(h_00 * h_11 - h_01**2, 1e-9)
            to_a, to_b = (h_11 * s_0 - h_01 * s_1) / det, (h_00 * s_1 - h_01 * s_0) / det
            far = pace / np.maximum(1, np.hypot(to_a, to_b) / 2)
            next_a, next_b = np.clip(a + far * to_a, -15, 15), np.clip(b + far * to_b, least, 20)
            next_loss, next_q, next_r = loss_at(next_a, next_b)
            better = next_loss <= loss
            a, b, loss = (
                np.where(better, new, old)
                for new, old in ((next_a, a), (next_b, b), (next_loss, loss))
            )
            q, r = (np.where(better[:, None], new, old) for new, old in ((next_q, q), (next_r, r)))
            pace = np.where(better, np.minimum(1, 2 * pace), pace / 4)
        best = np.minimum(best, loss)
    return shares, best


def _binned(
    probabilities: NDArray[np.floating], labels: Labels
) -> tuple[Values, Values, Values, float]:
    """Of each bin: how sure strangers are, standardised; how many examples; how many agree.

    And the least b, on that scale.
    """
    n = labels.size
    top = np.clip(probabilities.max(axis=1).astype(np.float64), CERTAIN, 1 - CERTAIN)
    odds, agrees = np.log(top / (1 - top)), probabilities.argmax(axis=1) == labels
    order = np.lexsort((agrees, odds))  # so that no bit depends on the order of the examples
    begin = np.linspace(0, n, min(BINS, n), endpoint=False).astype(np.int64)
    count = np.diff(begin, append=n).astype(np.float64)
    sure = np.add.reduceat(odds[order], begin) / count
    agree = np.add.reduceat(agrees[order].astype(np.float64), begin)
    middle = float((sure * count).sum()) / n
    spread = float(np.sqrt((count * (sure - middle) ** 2).sum() / n))
    return (sure - middle) / (spread + 1e-9), count, agree, min(SLOPE * spread, 20.0)
