"""scikit-learn classifiers with partial_fit as proxies, a few of them by name.

Decision functions become logits of a softmax. The one-dimensional kind that two classes have,
z, becomes (−z/2, z/2): its softmax is the logistic function of z and its margin is ±z.
One-against-rest values (SGDClassifier) are taken as they are: their margin is the usual one,
their softmax a monotone stand-in for the normalised sigmoids.
"""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import seed_for
from dris.learn.trainers.job import Data, Job, Normalize, Positions
from dris.learn.trainers.standardize import as_table
from dris.learn.trainers.trainer import MAX_MEASURED, Schedule, Stream, Trainer, Training

Matrix = NDArray[Any]

_ACTIVATIONS: dict[str, Callable[[Matrix], Matrix]] = {
    "identity": lambda h: h,
    "relu": lambda h: np.maximum(h, 0),
    "tanh": np.tanh,
    "logistic": lambda h: np.exp(-np.logaddexp(0, -h)),  # never overflows
}


def logits_of(estimator: Any, x: Matrix) -> Matrix:
    """Logits (N, C) of a fitted classifier, from the most exact source that it has."""
    if _is_network(estimator):
        # predict_proba would round confident examples to exactly 1; the weights do not.
        return as_logits(_hidden(estimator, x) @ estimator.coefs_[-1] + estimator.intercepts_[-1])
    if hasattr(estimator, "decision_function"):
        return as_logits(estimator.decision_function(x))
    p = estimator.predict_proba(x)
    return np.asarray(np.log(np.maximum(p, np.finfo(p.dtype).tiny)))  # no probability is 0


def as_logits(values: Matrix) -> Matrix:
    """(N,) or (N, 1) values of a two-class model as (N, 2) logits; others unchanged.

    >>> as_logits(np.array([3.0])).tolist()
    [[-1.5, 1.5]]
    """
    z = values[:, None] if values.ndim == 1 else values
    return np.concatenate((-z / 2, z / 2), axis=1) if z.shape[1] == 1 else z


def penultimate_of(estimator: Any, x: Matrix) -> Matrix:
    """What the last layer multiplies: hidden units of a network, the inputs of a linear model."""
    if _is_network(estimator):
        return _hidden(estimator, x)
    if hasattr(estimator, "coef_"):
        return x
    raise InputError(
        f"{type(estimator).__name__} has no last layer, so no gradient norm; "
        "use a linear model or MLPClassifier"
    )


def _is_network(estimator: Any) -> bool:
    return hasattr(estimator, "coefs_") and hasattr(estimator, "out_activation_")


def _hidden(network: Any, x: Matrix) -> Matrix:
    activate = _ACTIVATIONS[network.activation]
    for weight, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
        x = activate(x @ weight + bias)
    return x


def _mlp() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((64,), solver="sgd", learning_rate_init=0.02, momentum=0.9)


def _sgd(loss: str) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss=loss, alpha=1e-3)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "sklearn_mlp": _mlp,
    "sgd_log": lambda: _sgd("log_loss"),
    "sgd_hinge": lambda: _sgd("hinge"),
    "sgd_squared_hinge": lambda: _sgd("squared_hinge"),
    "sgd_modified_huber": lambda: _sgd("modified_huber"),
}


class EstimatorTrainer(Trainer):
    """Classifiers with partial_fit, by name or as they are."""

    title = "scikit-learn classifier"
    equal_batches = False
    names = tuple(ESTIMATORS)
    keeps_epochs = False

    def takes(self, model: Any) -> bool:
        return model in ESTIMATORS if isinstance(model, str) else hasattr(model, "get_params")

    def check(self, model: Any) -> Any:
        estimator = ESTIMATORS[model]() if isinstance(model, str) else model
        if isinstance(estimator, type):
            raise InputError(f"model must be an estimator, got the class {estimator.__name__}")
        if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
            raise InputError(
                f"{type(estimator).__name__} has neither decision_function nor predict_proba; "
                "choose a classifier that scores its classes"
            )
        if not hasattr(estimator, "partial_fit"):
            raise InputError(
                f"{type(estimator).__name__} has no partial_fit, so no epochs to record; use "
                "SGDClassifier or MLPClassifier"
            )
        return estimator

    def prepare(self, data: Data, normalize: Normalize, folder: Path | None) -> Data:
        return as_table(data, normalize, folder)

    def build(self, job: Job, data: Data, schedule: Schedule, stream: Stream) -> "Estimator":
        return Estimator(job, data, schedule, stream)

    def describe(self, model: Any) -> str:
        return " ".join(repr(model).split())

    def parameters(self, model: Any) -> dict[str, str]:
        # An estimator's own words leave out the middle of long parameters.
        return {n: repr(v) for n, v in model.get_params().items() if n != "random_state"}

    def is_divergence(self, error: ValueError) -> bool:
        # scikit-learn's own errors are plain ones.
        return any(sign in str(error) for sign in ("finite", "overflow"))


class Estimator(Training):
    """A scikit-learn classifier in training; it has no plain form, so a killed run starts over."""

    def __init__(self, job: Job, data: Data, schedule: Schedule, stream: Stream) -> None:
        from sklearn.base import clone

        self.model = clone(EstimatorTrainer().check(job.model))
        if "random_state" in self.model.get_params():
            self.model.set_params(random_state=seed_for(job.seed, *stream, "model"))
        self._x, self._labels, self.schedule = data.x, data.y, schedule
        self._classes = job.classes

    def train_epoch(self, epoch: int) -> None:
        every = np.arange(self._classes)
        with warnings.catch_warnings():
            # MLPClassifier swallows Ctrl-C, warns and goes on half-trained.
            warnings.filterwarnings("error", message="Training interrupted by user")
            try:
                for at in self.schedule.batches(epoch):
                    self.model.partial_fit(self._x[at], self._labels[at], classes=every)
            except UserWarning as warning:
                if "interrupted by user" not in str(warning):
                    raise
                raise KeyboardInterrupt from None

    def portions(self, positions: Positions) -> Iterator[Positions]:
        step = max(1, MAX_MEASURED // max(self._x.shape[1], self._classes))
        return (positions[i : i + step] for i in range(0, len(positions), step))

    def measure(
        self, positions: Positions, *, hidden: bool = False
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        x = self._x[positions]
        features = penultimate_of(self.model, x) if hidden else None
        return logits_of(self.model, x), features

    def accuracy(self, x: NDArray[Any], y: NDArray[np.int64]) -> float:
        return float((logits_of(self.model, x).argmax(axis=1) == y).mean())
