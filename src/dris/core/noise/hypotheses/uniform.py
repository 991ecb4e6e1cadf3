"""Errors fall on any row and go to any other class; or there are none that a model could see."""

from dataclasses import dataclass

import numpy as np

from dris.core.noise.hypotheses.calibration import label_mask
from dris.core.noise.hypotheses.hypothesis import Evidence, Floats, Noise
from dris.core.noise.views import Labels, Views

ALMOST_NONE = 0.002  # a slip of the pen that no model can see


@dataclass(frozen=True, slots=True)
class UniformNoise(Noise):
    """A share of the labels, moved to any other class."""

    rate: float

    def chances(self, views: Views, labels: Labels) -> Floats:
        """The same for every other class."""
        other = self.rate / (views.classes - 1)
        return np.where(label_mask(views, labels), 1 - self.rate, other)

    def remove(self, values: Floats, views: Views) -> Floats:
        """Take away what any class gets from the others."""
        other = self.rate / (views.classes - 1)
        clean = np.maximum((values - other * views.spread) / (1 - self.rate - other), 0)
        return np.asarray(clean / clean.sum(axis=1, keepdims=True))


def fit_none(evidence: Evidence, prior: float) -> None:
    """No errors that a model could see; the models learned clean labels."""
    nobody = (False,) * len(evidence.views.flexible)
    evidence.fit("none", UniformNoise(ALMOST_NONE), prior=prior, learned=nobody, rounds=60)


def fit_uniform(evidence: Evidence, prior: float) -> None:
    """Uniform noise of every rate."""
    each = prior / len(evidence.learners)
    for learned in evidence.learners:
        evidence.fit_rates("uniform", UniformNoise, evidence.rates(), each, learned)
