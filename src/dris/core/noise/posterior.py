"""P(wrong) of every label: a posterior over noise models.

Random errors and overlapping classes both lower agreement, but errors saturate (agreement stops
rising however sure the models become), overlap does not. With η(x) the clean class probabilities
and T the noise,

    P(true y | x, given g) = η_y T[y, g] / Σ_c η_c T[c, g],     P(wrong) = 1 − that at y = g,

averaged over noise models by how well each explains the given labels. Errors that follow the
features look right to it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.noise.hypotheses.by_class import fit_by_class
from dris.core.noise.hypotheses.calibration import label_mask, softmax
from dris.core.noise.hypotheses.hypothesis import Evidence, Fitted
from dris.core.noise.hypotheses.lookalike import fit_lookalike
from dris.core.noise.hypotheses.neighbours import fit_neighbours
from dris.core.noise.hypotheses.unclear import fit_unclear
from dris.core.noise.hypotheses.uniform import fit_none, fit_uniform
from dris.core.noise.views import Labels, Views
from dris.core.streams import hashed_order


@dataclass(frozen=True, slots=True)
class NoiseRate:
    """How many labels are wrong, if errors fall at random; too few where they follow the features.

    >>> print(NoiseRate(0.095, 0.15, 0.12))
    12 % (range 9.5–15 %)
    """

    low: float  # the range holds the rate in nine of ten data sets
    high: float
    likely: float  # the mean of P(wrong)

    def __str__(self) -> str:
        return f"{percent(self.likely)} % (range {percent(self.low)}–{percent(self.high)} %)"


def percent(share: float) -> str:
    """Two significant digits of a share in percent.

    >>> percent(0.0951), percent(0.152), percent(0.0004), percent(0.0)
    ('9.5', '15', '0.04', '0')
    """
    if share < 5e-5:
        return "0"
    digits = 0 if share >= 0.0995 else 1 if share >= 0.00095 else 2
    return f"{100 * share:.{digits}f}"


# -- the noise rate --------------------------------------------------------------------------------

Floats = NDArray[np.float64]
# Each family with its prior probability; a later one may look at what was fitted before.
FAMILIES: dict[str, tuple[Callable[[Evidence, float], None], float]] = {
    "none": (fit_none, 0.50),
    "uniform": (fit_uniform, 0.21),
    "lookalike": (fit_lookalike, 0.04),
    "unclear": (fit_unclear, 0.04),
    "by class": (fit_by_class, 0.21),
}
# Where classes stand in an order, errors to the next ones take from what any errors had.
ORDERED_FAMILIES = {
    **FAMILIES,
    "uniform": (fit_uniform, 0.07),
    "by class": (fit_by_class, 0.14),
    "neighbours": (fit_neighbours, 0.21),
}
# Rows are fitted to up to so many values, models times rows times columns, or a quarter of the rows
# if that is more: many rows tell a matrix from overlap. The others only follow.
MAX_FITTED_VALUES, MIN_FITTED_SHARE = 160_000, 0.25
MIN_FITTED_ROWS, MAX_FITTED_ROWS = 2_000, 20_000
MIN_FAMILY = 0.2  # a family with less is left out: it would order labels that the others tie
MIN_WEIGHT = 0.01  # and so is a noise model with less
MAX_TRAINING_WEIGHT = 4.0
SOFTENED = 0.15  # exponent of the likelihood for the outer range: no noise model is exact
EACH_SIDE = 0.05  # of the posterior beyond either end of the range
ERRORS = 1.645


@dataclass(frozen=True, slots=True, eq=False)
class NoisePosterior:
    """The noise models that explain the given labels, and how much each counts."""

    models: tuple[tuple[Fitted, float], ...]
    families: dict[str, float]  # the probability of each family
    rate: NoiseRate

    def of(self, views: Views, labels: Labels) -> "LabelBelief":
        """What follows for labels, those that were fitted or others."""
        truth, weights = np.zeros(views.values.shape[1:]), np.zeros(len(labels))
        own = label_mask(views, labels)
        for one, share in self.models:
            clean = one.clean(views)
            joint = clean * one.noise.chances(views, labels)
            given = np.maximum(joint.sum(axis=1), 1e-12)
            truth += share * joint / given[:, None]
            weights += share * np.clip(clean[own] / given, 0, MAX_TRAINING_WEIGHT)
        return LabelBelief(truth, 1 - truth[own], weights)


@dataclass(frozen=True, slots=True, eq=False)
class LabelBelief:
    """What is believed of each label."""

    truth: Floats  # P(true class) of each column of the views, (N, S)
    wrong: Floats  # P(wrong)
    weights: Floats  # importance weights for training: how much likelier clean data has this row


def fitting_order(ids: NDArray[Any], trusted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The rows to fit to, whose labels nobody vouches for, in an order that follows their ids."""
    order = np.argsort(hashed_order(ids, seed=0), kind="stable")
    return np.asarray(order[~trusted[order]], dtype=np.int64)


def fit_posterior(
    views: Views,
    labels: Labels,
    order: NDArray[np.int64],
    *,
    rank: Labels | None = None,
    among: Mapping[str, float] | None = None,
) -> NoisePosterior:
    """Fit every family to labels that the models of the views trained on, and weigh them.

    `order` is from `fitting_order`: the first are fitted to, as many as matter. `rank` is each
    class's place where they stand in an order, `among` the probability of each family by other
    models: those that do not count stay out.
    """
    models, n, columns = views.values.shape
    most = max(MIN_FITTED_ROWS, MAX_FITTED_VALUES // (models * columns), int(MIN_FITTED_SHARE * n))
    rows = order[: min(most, MAX_FITTED_ROWS)]
    evidence = Evidence(views.take(rows), labels[rows], rank)
    families = FAMILIES if rank is None or views.classes == 2 else ORDERED_FAMILIES
    for name, (fit, prior) in families.items():
        if among is None or name == "none" or among.get(name, 0.0) >= MIN_FAMILY:
            fit(evidence, prior)
        if evidence.says_nothing:  # where labels cannot be predicted no error can be seen
            none = {name: float(name == "none") for name in FAMILIES}
            any_share = NoiseRate(0.0, 1 - 1 / views.classes, 0.0)
            return NoisePosterior(((evidence.fitted[0], 1.0),), none, any_share)
    fitted = evidence.fitted
    log_prior = np.array([one.log_prior for one in fitted])
    cost = np.array([one.cost for one in fitted])
    weights = softmax(log_prior - cost)
    names = np.array([one.name for one in fitted])
    share_of = {name: float(weights[names == name].sum()) for name in families}
    kept = (weights >= MIN_WEIGHT) & np.array([share_of[name] >= MIN_FAMILY for name in names])
    shares = weights[kept] / weights[kept].sum()
    models = tuple((one, float(w)) for one, w in zip(np.array(fitted)[kept], shares, strict=True))
    soft = softmax(log_prior - SOFTENED * cost)
    return NoisePosterior(models, share_of, _rate(evidence, weights, soft))


def _rate(evidence: Evidence, weights: Floats, soft: Floats) -> NoiseRate:
    """The noise rate with a range: of the noise models by weight, and by softened weight."""
    own, rates = label_mask(evidence.views, evidence.labels), []
    for one, weight, other in zip(evidence.fitted, weights, soft, strict=True):
        if one.name == "none" or max(weight, other) < MIN_WEIGHT / 100:
            rates.append(0.0)
            continue
        joint = one.clean(evidence.views) * one.noise.chances(evidence.views, evidence.labels)
        rates.append(1 - float((joint[own] / np.maximum(joint.sum(axis=1), 1e-12)).mean()))
    values = np.array(rates)
    likely = float(weights @ values)
    ends = [_quantiles(values, w) for w in (weights, soft)]
    error = ERRORS * np.sqrt(likely * (1 - likely) / len(evidence.labels))
    low = max(0.0, min(end[0] for end in ends) - error)
    return NoiseRate(low, min(1.0, max(end[1] for end in ends) + error), likely)


def _quantiles(values: Floats, weights: Floats) -> tuple[float, float]:
    order = np.argsort(values)
    places = np.searchsorted(np.cumsum(weights[order]), (EACH_SIDE, 1 - EACH_SIDE))
    low, high = values[order][np.minimum(places, values.size - 1)]
    return float(low), float(high)
