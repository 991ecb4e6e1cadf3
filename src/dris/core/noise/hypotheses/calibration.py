"""From the models' views to the clean class probabilities η(x), fitted by the given labels.

Under a noise model the chance of a given label is Σ_y η_y(x) · P(given | y), and

    η = softmax(Σ_m a_m log u_m + b + mean_m(log u_m) W)

where u_m is what model m says, less the noise it has learned; fitted by maximum likelihood with a
ridge towards the plain geometric mean of the models.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dris.core.noise.views import Labels, Views

Floats = NDArray[np.float64]
LEAST = 1e-4  # below it a probability counts as this much
RIDGE, RIDGE_OF_MATRIX = 2.0, 8.0
MIN_CLASSES_OF_MATRIX = 3
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Shape:
    """How many parameters there are: M weights, and for classes in full C offsets and a matrix."""

    models: int
    offsets: int  # C, or 0 with many classes
    matrix: int  # C², or 0

    @staticmethod
    def of(views: Views) -> "Shape":
        """The shape that these views can support."""
        models = views.values.shape[0]
        if views.columns is not None:
            return Shape(models, 0, 0)
        full = views.classes >= MIN_CLASSES_OF_MATRIX
        return Shape(models, views.classes, views.classes**2 if full else 0)

    @property
    def size(self) -> int:
        """How many parameters in all."""
        return self.models + self.offsets + self.matrix

    def start(self) -> Floats:
        """The geometric mean of the models."""
        even = np.full(self.models, 1 / self.models)
        return np.concatenate((even, np.zeros(self.offsets + self.matrix)))

    def bounds(self) -> list[tuple[float, float]]:
        """Within which the parameters stay."""
        return [(0.0, 8.0)] * self.models + [(-4.0, 4.0)] * self.offsets + [(-2, 2)] * self.matrix

    def ridge(self, v: Floats) -> tuple[float, Floats]:
        """What leaving the start costs, and its gradient."""
        away = v - self.start()
        weak = np.full(self.models + self.offsets, RIDGE)
        strength = np.concatenate((weak, np.full(self.matrix, RIDGE_OF_MATRIX)))
        return float((strength * away**2).sum()), 2 * strength * away

    def clean(self, v: Floats, logs: Floats, spread: Floats) -> Floats:
        """η of every row, (N, S), from the logarithms of the models' views (M, N, S)."""
        z = np.tensordot(v[: self.models], logs, axes=1) + np.log(spread)
        if self.offsets:
            z += v[self.models : self.models + self.offsets]
        if self.matrix:
            z += logs.mean(axis=0) @ v[self.models + self.offsets :].reshape((self.offsets,) * 2)
        return softmax(z)


def softmax(z: Floats) -> Floats:
    """Along the last axis."""
    q = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(q / q.sum(axis=-1, keepdims=True))


def log_views(values: Floats, spread: Floats) -> Floats:
    """The logarithm of each class's probability, never below the least."""
    least = min(LEAST, 0.1 / float(spread.sum()))
    return np.log(np.clip(values / spread, least, 1))


def fit_calibration(
    logs: Floats, chances: Floats, shape: Shape, spread: Floats, start: Floats, rounds: int = 25
) -> tuple[float, Floats]:
    """Maximise the likelihood of labels with these chances (N, S) under each true class.

    Returns the negative log-likelihood, the ridge included, and the parameters. Inside, classes
    come before rows, so that sums over them run along memory.
    """
    models, rows, columns = logs.shape
    flat = np.ascontiguousarray(logs.transpose(0, 2, 1)).reshape(models, -1)
    mean = flat.mean(axis=0).reshape(columns, rows)
    odds, base = np.ascontiguousarray(chances.T), np.log(spread)[:, None]
    ends = models, models + shape.offsets

    def objective(v: Floats) -> tuple[float, Floats]:
        z = (v[: ends[0]] @ flat).reshape(columns, rows) + base
        if shape.offsets:
            z += v[ends[0] : ends[1], None]
        if shape.matrix:
            z += v[ends[1] :].reshape(columns, columns).T @ mean
        z -= z.max(axis=0)
        eta = np.exp(z, out=z)
        eta /= eta.sum(axis=0)
        joint = eta * odds
        given = np.maximum(joint.sum(axis=0), _TINY)
        d = eta - joint / given
        parts = [flat @ d.ravel()]
        if shape.offsets:
            parts.append(d.sum(axis=1))
        if shape.matrix:
            parts.append((mean @ d.T).ravel())
        cost, slope = shape.ridge(v)
        return cost - float(np.log(given).sum()), slope + np.concatenate(parts)

    return minimise(objective, start, shape.bounds(), rounds)


def minimise(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: list[tuple[float, float]],
    rounds: int,
) -> tuple[float, Floats]:
    """The smallest value and where it is, by L-BFGS."""
    from scipy.optimize import fmin_l_bfgs_b

    x, value, _ = fmin_l_bfgs_b(objective, start, bounds=bounds, maxiter=rounds)
    return float(value), np.asarray(x)


def label_mask(views: Views, labels: Labels) -> NDArray[np.bool_]:
    """True at each row's own column, (N, S)."""
    return np.asarray(np.arange(views.values.shape[2]) == views.column_of(labels)[:, None])
