"""How many labels are wrong: a range with both ends explained, not a number that pretends."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SUREST = 0.1  # of each class's examples, those that out-of-fold proxies are surest of


@dataclass(frozen=True, slots=True)
class WrongShare:
    """A share of wrong labels from `low` to `high`, and why each end is where it is.

    `low` counts among examples that strangers are surest of, where a wrong label stands out, less
    two standard errors; it is too low where wrong labels can be predicted from the features.
    `high` is the share that strangers contradict; it is too high where classes overlap.
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

    Of each class as the proxies see it, the `surest` share of its examples is looked at: how many
    carry another label. The classes count by how many examples carry their label.

    >>> p = np.repeat([[0.99, 0.01], [0.01, 0.99]], 50, axis=0)
    >>> y = np.repeat([0, 1], 50); y[:10] = 1
    >>> share = wrong_share(p, y, surest=1.0)
    >>> round(share.low, 2), share.high
    (0.04, 0.1)
    """
    seen = probabilities.argmax(axis=1)
    high = float((seen != labels).mean())
    wrong, weight, looked = 0.0, 0.0, 0
    for label in range(probabilities.shape[1]):
        at = np.flatnonzero(seen == label)
        if not at.size:
            continue
        count = max(1, int(np.ceil(surest * at.size)))
        sure = at[np.argsort(-probabilities[at, label], kind="stable")[:count]]
        wrong += at.size * float((labels[sure] != label).mean())
        weight += at.size
        looked += count
    share = wrong / weight
    error = float(np.sqrt(share * (1 - share) / looked))
    return WrongShare(min(max(0.0, share - 2 * error), high), high)
