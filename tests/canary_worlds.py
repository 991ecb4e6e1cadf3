"""Made-up data sets with known wrong labels, canaries and a detector of known quality."""

from dataclasses import dataclass

import numpy as np

from dris.core.noise.canaries import plant_canaries
from dris.core.subset import Subset


@dataclass(frozen=True)
class World:
    """Uniform noise, uniform canaries, and normal scores that are lower for wrong labels.

    A negative quality is an inverted detector, which prefers the wrong ones.
    """

    n: int = 1_000
    classes: int = 10
    rate: float = 0.2
    quality: float = 2.0
    share: float = 0.1
    keep: float = 0.5
    choosing: float = 0.5

    @property
    def wrong(self):
        return int(self.rate * self.n)

    def make(self, rng):
        """Truth, canaries, scores and the best `keep` of them."""
        truth = rng.integers(0, self.classes, self.n)
        labels = truth.copy()
        at = rng.choice(self.n, self.wrong, replace=False)
        labels[at] = (labels[at] + rng.integers(1, self.classes, at.size)) % self.classes
        canaries = plant_canaries(
            labels, share=self.share, rng=rng, classes=self.classes, choosing=self.choosing
        )
        score = rng.normal(size=self.n) - self.quality * (canaries.planted != truth)
        return truth, canaries, score, kept(score, self.keep)


def kept(score, share):
    best = np.argpartition(-score, int(share * score.size))[: int(share * score.size)]
    return Subset(np.sort(best), "best", {}, total=score.size)


def left_wrong(truth, canaries, subset):
    """Wrong labels among what is left of the subset without canaries."""
    rest = subset.mask() & ~canaries.mask()
    return int((rest & (canaries.given != truth)).sum())
