"""How many labels are wrong: a range, and the share of random errors that fits best.

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


SUREST = 0.2  # of all examples, those that out-of-fold proxies are surest of
SUREST_OF_TWO = 0.15  # the same with two classes; as many again as are contradicted no more join
RING, WIDEST = 0.05, 0.8  # how many join at a time, and of how many at most
FEWEST, FEWEST_MORE = 30, 15  # examples at first, and at a time
FAR_CLASSES = 0.34  # of the other classes, those that a class is least mixed up with
ERRORS = 1.282  # standard errors by which the lower end is moved outwards: right in nine of ten
ERRORS_ABOVE = 2.0  # and the upper
APART, BLURRED = 0.35, 0.5  # overlap up to which classes are apart, above which they are blurred
MARGIN = 0.01  # by which the lower end is moved down, however many rows: no curve fits exactly
HALF = 0.5  # of the labels; that fewer are wrong is assumed throughout (paper, assumption 1)


@dataclass(frozen=True, slots=True)
class NoiseRate:
    """A share of wrong labels from `low` to `high`, and why each end is where it is.

    `low` is the least that fits if errors fall at random; it is too low where wrong labels can be
    predicted from the features, and zero where classes overlap too much to tell. `high` is the
    share contradicted out of fold; it is too high where classes overlap. Each is moved outwards by
    its uncertainty. `likely` fits best if errors fall at random, None where much else fits as
    well. `surest` counts among the examples that proxies are surest of out of fold, where a wrong
    label stands out, less its uncertainty.
    """

    low: float
    high: float
    likely: float | None = None
    surest: float = 0.0

    @property
    def width(self) -> float:
        """How far the two ends are apart."""
        return self.high - self.low


def estimate_noise_rate(probabilities: NDArray[np.floating], labels: Labels) -> NoiseRate:
    """The range of the share of wrong labels, from out-of-fold probabilities (N, C).

    The lower end is zero where it would be half or more: then nothing can be told.
    """
    contradicted = float((probabilities.argmax(axis=1) != labels).mean())
    high = min(1.0, contradicted + ERRORS_ABOVE * _error(contradicted, labels.size))
    surest = min(surest_share(probabilities, labels), high)
    fits = fit_random_errors(probabilities, labels)
    known = fits.overlap <= APART and fits.narrow and surest <= fits.most
    likely = min(fits.best, high) if known else None
    return NoiseRate(min(_least(fits, surest), high), high, likely, surest)


def surest_share(probabilities: NDArray[np.floating], labels: Labels) -> float:
    """The least share wrong among those that proxies are surest of; 0 where it is half or more."""
    seen, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    order = np.argsort(-sure, kind="stable")
    if probabilities.shape[1] == 2:
        share = _level((seen != labels)[order])
    else:
        share = _spread(seen[order], labels[order], probabilities.shape[1])
    return 0.0 if share >= HALF else share


def _least(fits: RandomErrors, surest: float) -> float:
    """The least share that is wrong: both ways of telling where classes overlap, else either."""
    if fits.overlap > BLURRED:
        return 0.0
    either = max(fits.least, min(fits.less, surest))
    least = either if fits.overlap <= APART else min(fits.least, surest)
    return 0.0 if least >= HALF else max(0.0, least - MARGIN)


def _level(other: NDArray[np.bool_]) -> float:
    """How often the surest carry the other of two labels, less its uncertainty.

    Wrong labels are as frequent among the sure as among the less sure, hard examples are not: as
    long as the next are contradicted no more often, they count too, and what is seen is surer.
    """
    n = other.size
    count = min(n, max(FEWEST, int(np.ceil(SUREST_OF_TWO * n))))
    more = max(FEWEST_MORE, int(RING * n))
    while count + more <= WIDEST * n and other[count : count + more].mean() <= other[:count].mean():
        count += more
    share = float(other[:count].mean())
    return max(0.0, share - ERRORS * _error(share, count))


def _spread(seen: Labels, labels: Labels, classes: int) -> float:
    """How many of the surest carry a wrong label, by labels that no likeness explains.

    Where classes overlap the sure too carry a neighbour's label now and then. So labels of those
    classes are counted that a class is hardly ever taken for among the less sure, and multiplied
    up; where that is more than all other labels come to, these are counted. `seen` is the likeliest
    class of each example, the surest example first.
    """
    n = labels.size
    count = min(n, max(FEWEST, int(np.ceil(SUREST * n))))
    far = max(1, int(FAR_CLASSES * (classes - 1)))
    times = _far_apart(seen[count:], labels[count:], classes, far) * (classes - 1) / far
    seen, labels = seen[:count], labels[:count]
    wrong, apart = seen != labels, times[seen, labels]
    every = float(wrong.mean())
    few = float(apart.mean() - ERRORS * np.sqrt(apart.var() / count))
    return max(0.0, min(few, every - ERRORS * _error(every, count)))


def _far_apart(seen: Labels, labels: Labels, classes: int, far: int) -> NDArray[np.bool_]:
    """Of each class, the `far` others with which it is least mixed up among these, (C, C)."""
    joint = np.zeros((classes, classes))
    np.add.at(joint, (seen, labels), 1.0)
    both = joint + joint.T + 0.5
    mixed = both / (joint.sum(axis=1)[:, None] + joint.sum(axis=0)[None] + 1)
    np.fill_diagonal(mixed, np.inf)
    far_apart = np.zeros((classes, classes), dtype=np.bool_)
    np.put_along_axis(far_apart, np.argsort(mixed, axis=1, kind="stable")[:, :far], True, axis=1)
    return far_apart


def _error(share: float, count: int) -> float:
    """The standard error of a share."""
    return float(np.sqrt(share * (1 - share) / count))
