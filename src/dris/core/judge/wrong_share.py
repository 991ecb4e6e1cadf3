"""How many labels are wrong: a range with both ends explained, not a number that pretends."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SUREST = 0.15  # of all examples, those that out-of-fold proxies are surest of
FEWEST = 30  # of them
ERRORS = 2.0  # standard errors by which each end is moved outwards


@dataclass(frozen=True, slots=True)
class WrongShare:
    """A share of wrong labels from `low` to `high`, and why each end is where it is.

    `low` counts among the examples that strangers are surest of, where a wrong label stands out,
    less two standard errors; it is too low where wrong labels can be predicted from the features,
    and too high where no example is sure. `high` is the share that strangers contradict, and two
    standard errors; it is too high where classes overlap.
    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """How far the two ends are apart."""
        return self.high - self.low

    def __str__(self) -> str:
        return (
            f"between {self.low:.1%} and {self.high:.1%} are (the first among those that proxies "
            "are surest of, too few where errors follow the features; the second contradicted in "
            "all, too many where classes overlap)"
        )


def wrong_share(
    probabilities: NDArray[np.floating], labels: NDArray[np.int64], *, surest: float = SUREST
) -> WrongShare:
    """The range of the share of wrong labels, from out-of-fold probabilities (N, C).

    The `surest` share of the examples is looked at, whatever class they are taken for: how many
    carry another label than the likeliest.

    >>> p = np.repeat([[0.99, 0.01], [0.01, 0.99]], 50, axis=0)
    >>> y = np.repeat([0, 1], 50); y[:10] = 1
    >>> share = wrong_share(p, y, surest=1.0)
    >>> round(share.low, 2), round(share.high, 2)
    (0.04, 0.16)
    """
    n = len(labels)
    other = probabilities.argmax(axis=1) != labels
    count = min(n, max(FEWEST, int(np.ceil(surest * n))))
    sure = np.argsort(-probabilities.max(axis=1), kind="stable")[:count]
    few, all_ = float(other[sure].mean()), float(other.mean())
    high = min(1.0, all_ + ERRORS * _error(all_, n))
    return WrongShare(min(max(0.0, few - ERRORS * _error(few, count)), high), high)


def _error(share: float, count: int) -> float:
    """The standard error of a share."""
    return float(np.sqrt(share * (1 - share) / count))
