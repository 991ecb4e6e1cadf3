"""The share of labels wrong at random that fits the out-of-fold probabilities best.

Let each class j be the true one with probability q_j, in proportion to p_jᵇ: the out-of-fold p,
sharpened or flattened by b, so that classes may overlap. If a share e of the labels is wrong at
random, label j is given with probability (1 − e)·q_j + e/(C−1)·(1 − q_j): however unlikely a class
is, no less often than e/(C−1). Overlap gives a label of a class that looks alike, random errors one
of any class.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEP, MOST = 0.005, 0.6  # shares that are tried, up to the last
POWERS = np.geomspace(0.25, 20, 41)  # b's that are tried
ROWS, CELLS = 10_000, 1_000_000  # of more examples these, evenly by how likely their label is
NEAR, FAR, UNLIKELY = 0.3, 0.8, 2.0  # behind the best log likelihood; nine of ten are above `FAR`
BENT = 4.5  # times `FAR` more where proxies guess, for what no power of p is
NARROW = 0.1  # within which shares that are not unlikely must lie for the best to be said
FAINT = 1e-6  # probabilities are no smaller

Labels = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RandomErrors:
    """Shares of labels wrong at random: `best` fits best, the others not so well.

    `overlap` is how often proxies would be contradicted without these errors, 1 if they guessed;
    the more, the further `least` is from the best, and it is further than `less`. `most` is the
    largest that fits. `narrow` says whether all that fit lie near the best.
    """

    least: float
    less: float
    best: float
    most: float
    overlap: float
    narrow: bool


def fit_random_errors(probabilities: NDArray[np.floating], labels: Labels) -> RandomErrors:
    """The share of labels wrong at random that fits best, from out-of-fold probabilities (N, C).

    Nothing is wrong with one class, or none. Perfectly calibrated proxies leave no errors to see,
    for overlap explains that as well: the fit rests on their hedging, as means of models that
    stopped early do.
    """
    classes = probabilities.shape[1]
    if classes < 2 or not labels.size:
        return RandomErrors(0.0, 0.0, 0.0, 0.0, 0.0, narrow=False)
    shares, loss = losses_of_shares(probabilities, labels)
    behind = loss - loss.min()
    best = float(shares[behind.argmin()])
    contradicted = float((probabilities.argmax(axis=1) != labels).mean())
    chance = (classes - 1) / classes
    overlap = min(1.0, max(0.0, contradicted - best) / (chance - best))
    far = FAR * (1 + BENT * overlap)
    fit = shares[behind <= UNLIKELY]
    return RandomErrors(
        float(shares[behind <= far][0]),
        float(shares[behind <= NEAR][0]),
        best,
        float(fit[-1]),
        overlap,
        bool(fit[-1] - fit[0] <= NARROW),
    )


def losses_of_shares(probabilities: NDArray[np.floating], labels: Labels) -> tuple[Values, Values]:
    """Shares e, and the negative log likelihood of each with the best b for it."""
    classes = probabilities.shape[1]
    given = probabilities[np.arange(labels.size), labels]
    rows = min(ROWS, -(-CELLS // classes))
    if labels.size > rows:
        order = np.lexsort((probabilities.max(axis=1), given))
        some = order[np.linspace(0, labels.size - 1, rows).astype(np.int64)]
        probabilities, labels, given = probabilities[some], labels[some], given[some]
    logs = np.log(np.clip(probabilities, FAINT, 1.0).astype(np.float64))
    top, given = logs.max(axis=1), np.log(np.clip(given, FAINT, 1.0).astype(np.float64))
    shares = np.arange(0.0, min(MOST, (classes - 1) / classes - 0.02) + STEP / 2, STEP)
    stray = (shares / (classes - 1))[:, None]
    loss = np.full(shares.size, np.inf)
    for power in POWERS:
        q = np.exp(power * (given - top)) / np.exp(power * (logs - top[:, None])).sum(axis=1)
        q.sort()  # so that no bit depends on the order of the examples
        fit = -np.log(np.maximum(stray + (1 - shares[:, None] - stray) * q, 1e-12)).sum(axis=1)
        loss = np.minimum(loss, fit)
    return shares, loss
