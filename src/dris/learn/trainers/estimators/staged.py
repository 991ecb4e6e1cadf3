"""scikit-learn classifiers as proxies: what "an epoch" means for each kind, and a few by name."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import seed_for
from dris.learn.trainers.estimators.boosters import BOOSTERS, booster_of, scores_after
from dris.learn.trainers.estimators.predictions import (
    as_logits,
    logits_of,
    penultimate_of,
    probabilities_as_logits,
)
from dris.learn.trainers.networks.schedules import Schedule

Positions = NDArray[np.int64]
_AT_ONCE = 1 << 22  # numbers that are measured at once: scikit-learn copies them to float64


def _mlp() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((64,), solver="sgd", learning_rate_init=0.02, momentum=0.9)


def _sgd(loss: str) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss=loss, alpha=1e-3)


def _boosted_trees() -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=40, subsample=0.5, max_depth=3)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "sklearn_mlp": _mlp,
    "sgd_log": lambda: _sgd("log_loss"),
    "sgd_hinge": lambda: _sgd("hinge"),
    "sgd_squared_hinge": lambda: _sgd("squared_hinge"),
    "sgd_modified_huber": lambda: _sgd("modified_huber"),
    "boosted_trees": _boosted_trees,
    **{name: entry.make for name, entry in BOOSTERS.items()},
}


def is_estimator(model: Any) -> bool:
    """Whether a model is one of scikit-learn's, by name or by its methods.

    >>> is_estimator("sgd_log"), is_estimator("resnet20")
    (True, False)
    """
    return model in ESTIMATORS if isinstance(model, str) else hasattr(model, "get_params")


def resolve(model: Any) -> Any:
    """An unfitted estimator from a name or from an estimator; checks that it can be a proxy.

    >>> resolve("sgd_log").loss
    'log_loss'
    """
    if isinstance(model, str) and model not in ESTIMATORS:
        raise InputError(f"unknown model {model!r}; choose from {', '.join(ESTIMATORS)}")
    estimator = ESTIMATORS[model]() if isinstance(model, str) else model
    if isinstance(estimator, type):
        raise InputError(f"model must be an estimator, got the class {estimator.__name__}; call it")
    if not hasattr(estimator, "get_params"):
        raise InputError(
            f"model must be a name or a scikit-learn classifier, got {type(estimator).__name__}"
        )
    if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
        raise InputError(
            f"{type(estimator).__name__} has neither decision_function nor predict_proba; "
            "choose a classifier that scores its classes"
        )
    if not (hasattr(estimator, "partial_fit") or _stages_of(estimator) or booster_of(estimator)):
        raise InputError(
            f"{type(estimator).__name__} has neither partial_fit nor staged predictions, so it has "
            "no epochs to record; use SGDClassifier, MLPClassifier, gradient-boosted trees of "
            "scikit-learn, XGBoost, LightGBM or CatBoost"
        )
    return estimator


class Estimator:
    """A scikit-learn classifier in training, with the methods of `loop.Network`.

    With partial_fit an epoch is its schedule's batches; with staged predictions it is the same
    share of the boosting rounds, fitted to what the schedule's first epoch holds.
    """

    def __init__(
        self,
        estimator: Any,
        x: NDArray[np.float32],
        labels: NDArray[np.int64],
        classes: int,
        *,
        epochs: int,
        seed: int,
        stream: tuple[str | int, ...],
        schedule: Schedule,
    ) -> None:
        from sklearn.base import clone

        self.model = clone(estimator)
        entry = booster_of(self.model)
        name = "random_state" if entry is None else entry.seed
        if entry is not None or name in self.model.get_params():
            self.model.set_params(**{name: seed_for(seed, *stream, "model")})
        self._x, self._labels, self.schedule = x, labels, schedule
        self._classes, self._epochs = classes, epochs
        self._stage = 0

    def train_epoch(self, epoch: int) -> None:
        """The schedule's batches of an epoch, or one share of the boosting rounds."""
        if not hasattr(self.model, "partial_fit"):
            if epoch == 1:
                self._fit_all_stages()
            self._stage = epoch
            return
        every = np.arange(self._classes)
        with interruptible():
            for at in self.schedule.batches(epoch):
                self.model.partial_fit(self._x[at], self._labels[at], classes=every)

    def portions(self, positions: Positions) -> Iterator[Positions]:
        """The examples to measure, as many at once as take little memory."""
        step = max(1, _AT_ONCE // max(self._x.shape[1], self._classes))
        return (positions[i : i + step] for i in range(0, len(positions), step))

    def measure(
        self, positions: Positions, *, hidden: bool = False
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Logits of the given examples, and what the last layer reads."""
        x = self._x[positions]
        features = penultimate_of(self.model, x) if hidden else None
        if self._stage:
            return self._staged(x), features
        return logits_of(self.model, x), features

    def accuracy(self, x: NDArray[Any], y: NDArray[np.int64]) -> float:
        """The share of other examples, prepared like the training data, that it gets right."""
        return float((logits_of(self.model, x).argmax(axis=1) == y).mean())

    def refuse_broken_weights(self) -> None:
        """Nothing: scikit-learn looks at its numbers by itself."""

    def state(self) -> None:
        """Nothing: an estimator has no plain form, so a killed run of it starts over."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Never called: there is no state to go on from."""
        raise InputError("a scikit-learn model has no state to go on from; train it again")

    def _fit_all_stages(self) -> None:
        rows = np.sort(np.concatenate(self.schedule.batches(1)))
        present = np.unique(self._labels[rows])
        if len(present) < self._classes:
            absent = sorted(set(range(self._classes)) - set(present.tolist()))
            raise InputError(
                f"class {absent[0]} has no example in the part that {type(self.model).__name__} "
                "trains on; use fewer folds or a larger bag"
            )
        with interruptible():
            self.model.fit(self._x[rows], self._labels[rows])

    def _staged(self, x: NDArray[Any]) -> NDArray[Any]:
        if (entry := booster_of(self.model)) is not None:
            return as_logits(scores_after(self.model, x, self._round_of(entry.rounds(self.model))))
        method, convert = _stages_of(self.model)
        rounds = list(getattr(self.model, method)(x))
        logits: NDArray[Any] = convert(rounds[self._round_of(len(rounds)) - 1])
        return logits

    def _round_of(self, rounds: int) -> int:
        """The round that ends the present epoch."""
        if rounds < self._epochs:
            raise InputError(
                f"{type(self.model).__name__} stopped after {rounds} rounds, {self._epochs} "
                "epochs were asked for; allow more rounds or ask for fewer epochs"
            )
        return -(-self._stage * rounds // self._epochs)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end the training: MLPClassifier swallows it, warns and goes on half-trained."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Training interrupted by user")
        try:
            yield
        except UserWarning as warning:
            if "interrupted by user" not in str(warning):
                raise
            raise KeyboardInterrupt from None


def _stages_of(estimator: Any) -> Any:
    if hasattr(estimator, "staged_decision_function"):
        return "staged_decision_function", as_logits
    if hasattr(estimator, "staged_predict_proba"):
        return "staged_predict_proba", probabilities_as_logits
    return None
