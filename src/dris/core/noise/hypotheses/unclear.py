"""Errors fall where the class is least clear."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from dris.core.noise.hypotheses.calibration import label_mask
from dris.core.noise.hypotheses.hypothesis import Evidence, Fitted, Floats, Noise
from dris.core.noise.views import Labels, Views

SHARES = np.array([0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4])  # of all rows that are wrong
WIDTH = 0.1  # in shares of the rows, over which the rate falls from most to few
MOST = 0.95  # of the least clear rows that are wrong


@dataclass(frozen=True, slots=True, eq=False)
class UnclearNoise(Noise):
    """A rate that falls with how clear a row's class is without noise, as attackers choose rows.

    Where classes merely overlap an unclear row has one of its two likeliest labels; these errors
    give it any.
    """

    spares_clear = True

    share: float
    likeness: Fitted  # the probabilities without noise
    steps: Floats  # the gap between the two likeliest classes, at even shares of the fitted rows

    def rates(self, views: Views) -> Floats:
        """How likely each row's label is wrong, whatever it is."""
        rank = np.interp(gaps(self.likeness, views), self.steps, np.linspace(0, 1, self.steps.size))
        return MOST / (1 + np.exp((rank - self.share) / WIDTH))

    def chances(self, views: Views, labels: Labels) -> Floats:
        """The same for every other class."""
        rate = self.rates(views)[:, None]
        return np.where(label_mask(views, labels), 1 - rate, rate / (views.classes - 1))


def gaps(likeness: Fitted, views: Views) -> Floats:
    """How far the likeliest class is ahead of the second."""
    two = np.partition(likeness.clean(views) / views.spread, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def fit_unclear(evidence: Evidence, prior: float) -> None:
    """Errors on a smaller or larger share of the rows."""
    none = evidence.fitted[0]
    steps = np.quantile(gaps(none, evidence.views), np.linspace(0, 1, 101))
    noise = partial(UnclearNoise, likeness=none, steps=steps)
    evidence.fit_rates("unclear", noise, SHARES, prior, none.learned)
