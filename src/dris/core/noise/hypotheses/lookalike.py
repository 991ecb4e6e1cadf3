"""Errors go to the class that the row looks like."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from dris.core.noise.hypotheses.calibration import label_mask
from dris.core.noise.hypotheses.hypothesis import Evidence, Fitted, Floats, Noise
from dris.core.noise.views import Labels, Views


@dataclass(frozen=True, slots=True, eq=False)
class LookalikeNoise(Noise):
    """A share of the labels, moved to another class in proportion to its probability."""

    spares_clear = True

    rate: float
    likeness: Fitted  # the probabilities without noise, by which classes look alike

    def chances(self, views: Views, labels: Labels) -> Floats:
        """How likely each class is taken for the label."""
        alike, own = self.likeness.clean(views), label_mask(views, labels)
        taken_for = alike[own][:, None]
        others = np.maximum(1 - alike / views.spread, 1e-9)
        return np.where(own, 1 - self.rate, self.rate * np.minimum(taken_for / others, 1))


def fit_lookalike(evidence: Evidence, prior: float) -> None:
    """Of two classes each is the other's lookalike, so that there is nothing to tell apart."""
    none, rates = evidence.fitted[0], evidence.rates()[1::2]
    if evidence.views.classes > 2:
        noise = partial(LookalikeNoise, likeness=none)
        evidence.fit_rates("lookalike", noise, rates, prior, none.learned)
