"""Errors go to the classes that a row looks like: the likelier a class, the likelier the slip."""

from dataclasses import dataclass

import numpy as np

from dris.core.noise.hypotheses.calibration import label_mask
from dris.core.noise.hypotheses.hypothesis import Evidence, Fitted, Floats, Noise
from dris.core.noise.views import Labels, Views


@dataclass(frozen=True, slots=True, eq=False)
class LookalikeNoise(Noise):
    """A share of the labels, moved to another class in proportion to its probability."""

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
    if evidence.views.classes == 2:
        return
    none = evidence.fitted[0]
    evidence.fit_rates(
        "lookalike",
        lambda rate: LookalikeNoise(rate, none),
        evidence.rates()[1::2],
        prior=prior,
        learned=none.learned,
        spares_clear=True,
    )
