"""What a noise model is, and what fitting one gives."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dris.core.noise.hypotheses.calibration import Shape, fit_calibration, log_views
from dris.core.noise.views import Labels, Views

Floats = NDArray[np.float64]
GRID = np.array(
    [0.01, 0.02, 0.035, *np.arange(0.05, 0.25, 0.025), *np.arange(0.25, 0.51, 0.05), 0.6]
)
MISFIT = 0.0003  # of log-likelihood a row, by which any noise must explain more than none
# Most data sets are clear, before anything is seen: the surest rows of each class nearly certain.
# Only that tells random errors from classes that overlap everywhere alike.
CLEAR, CLEARNESS = 0.7, 20.0  # how many data sets are; of a class the probability to this power
SUREST, MIN_SUREST_ROWS = 0.1, 3  # share of a class's rows that speak for it
MAX_CLASSES_COUNTED = 3  # more classes weigh no more than so many together, for they are alike
LUCK = 8.0  # in log-likelihood, what one set in thousands gains over chance by luck
FAR_BEHIND = 15.0  # in log-likelihood; larger rates are not tried any more


class Noise(ABC):
    """How given labels come about from true ones."""

    spares_clear = False  # such noise explains any overlap, so that clearness is no sign of it

    @abstractmethod
    def chances(self, views: Views, labels: Labels) -> Floats:
        """P(label | each true class), (N, S)."""

    def remove(self, values: Floats, views: Views) -> Floats:
        """What a model that learned noisy labels would say of clean ones, (N, S)."""
        return values


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """One noise model with the calibration under which the given labels are likeliest."""

    name: str  # of the family
    noise: Noise
    cost: float  # negative log-likelihood, and what the family pays for its freedom
    log_prior: float
    parameters: Floats  # of the calibration
    learned: tuple[bool, ...]  # models from whose views the noise is removed first
    clearness: float = 0.0  # what its prior holds of how clear the classes are

    def clean(self, views: Views) -> Floats:
        """η, (N, S)."""
        logs = log_views_without(views, self.noise, self.learned)
        return Shape.of(views).clean(self.parameters, logs, views.spread)


@dataclass(slots=True, eq=False)
class Evidence:
    """What every family is fitted to, and what was fitted so far."""

    views: Views
    labels: Labels
    rank: Labels | None = None  # each class's place where they stand in an order
    fitted: list[Fitted] = field(default_factory=list)

    @property
    def shape(self) -> Shape:
        """Of the calibration."""
        return Shape.of(self.views)

    @property
    def learners(self) -> list[tuple[bool, ...]]:
        """Whose views hold the noise: the flexible models alone, or all of them."""
        every = (True,) * len(self.views.flexible)
        return [self.views.flexible, every] if any(self.views.flexible) else [every]

    @property
    def says_nothing(self) -> bool:
        """Whether the views predict labels hardly better than their frequencies do."""
        counts = np.bincount(self.labels, minlength=self.views.classes)
        share = (counts + 1) / (counts.sum() + counts.size)
        blind = -float((counts * np.log(share)).sum())
        # By chance alone each parameter gains half a unit of log-likelihood.
        return blind - self.fitted[0].cost < self.shape.size / 2 + LUCK

    def fit(
        self,
        name: str,
        noise: Noise,
        *,
        prior: float,
        learned: tuple[bool, ...],
        start: Floats | None = None,
        penalty: float = 0.0,
        rounds: int = 25,
    ) -> Fitted:
        """Fit the calibration under this noise, and remember the result."""
        logs = log_views_without(self.views, noise, learned)
        penalty += MISFIT * len(self.labels) if self.fitted else 0.0
        first = self.shape.start() if start is None else start
        chances = noise.chances(self.views, self.labels)
        cost, v = fit_calibration(logs, chances, self.shape, self.views.spread, first, rounds)
        clearness = log_clearness(self.shape.clean(v, logs, self.views.spread), self.views)
        if noise.spares_clear:
            clearness = min(clearness, self.fitted[0].clearness)
        believed = float(np.log(prior)) + clearness
        self.fitted.append(Fitted(name, noise, cost + penalty, believed, v, learned, clearness))
        return self.fitted[-1]

    def fit_rates(
        self,
        name: str,
        noise: Callable[[float], Noise],
        rates: Floats,
        prior: float,
        learned: tuple[bool, ...],
    ) -> None:
        """Fit a family of one rate along a grid, up to where it is far behind its best."""
        widths = np.gradient(rates)
        shares = prior * widths / widths.sum()
        best, start, rounds = np.inf, self.fitted[0].parameters, 25
        for rate, share in zip(rates.tolist(), shares.tolist(), strict=True):
            made = noise(rate)
            one = self.fit(name, made, prior=share, learned=learned, start=start, rounds=rounds)
            start, best, rounds = one.parameters, min(best, one.cost), 12  # from the neighbour's
            if one.cost > best + FAR_BEHIND:
                break

    def rates(self) -> Floats:
        """The noise rates to try: below that at which a label says nothing."""
        return GRID[(self.views.classes - 1) / self.views.classes - 0.04 > GRID]


def log_clearness(eta: Floats, views: Views) -> float:
    """The logarithm of how likely a data set has classes as clear as these."""
    if views.columns is not None:
        eta = eta.max(axis=1, keepdims=True)
    sizes = np.maximum(MIN_SUREST_ROWS, np.rint(SUREST * eta.sum(axis=0))).astype(int)
    best = -np.sort(-eta, axis=0)
    surest = np.array([column[:size].mean() for column, size in zip(best.T, sizes, strict=True)])
    clear = np.log(CLEARNESS) + (CLEARNESS - 1) * np.log(surest)
    weight = min(1.0, MAX_CLASSES_COUNTED / surest.size)
    any_level = np.log(1 - CLEAR)
    return float(np.logaddexp(np.log(CLEAR) + weight * clear.sum(), any_level))


def log_views_without(views: Views, noise: Noise, learned: tuple[bool, ...]) -> Floats:
    """The logarithms of the views, the noise removed from those models that learned it."""
    values = [
        noise.remove(one, views) if has else one
        for one, has in zip(views.values, learned, strict=True)
    ]
    return log_views(np.stack(values), views.spread)
