"""scikit-learn classifiers as proxies: what "an epoch" means for each, and a few by name."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import seed_for
from dris.learn.trainers.estimators.predictions import (
    BOOSTERS,
    as_logits,
    booster_of,
    logits_of,
    penultimate_of,
    probabilities_as_logits,
    scores_after,
)
from dris.learn.trainers.job import Data, Job, Normalize
from dris.learn.trainers.schedules import Positions, Schedule
from dris.learn.trainers.standardize import as_table
from dris.learn.trainers.trainer import MAX_MEASURED, Stream, Trainer, Training


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


class EstimatorTrainer(Trainer):
    """Classifiers with partial_fit or staged predictions, by name or as they are."""

    title = "scikit-learn classifier"
    equal_batches = False
    takes_weights = False
    keeps_epochs = False

    def names(self) -> Sequence[str]:
        return tuple(ESTIMATORS)

    def takes(self, model: Any) -> bool:
        return model in ESTIMATORS if isinstance(model, str) else hasattr(model, "get_params")

    def check(self, model: Any) -> Any:
        estimator = ESTIMATORS[model]() if isinstance(model, str) else model
        if isinstance(estimator, type):
            raise InputError(
                f"model must be an estimator, got the class {estimator.__name__}; call it"
            )
        if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
            raise InputError(
                f"{type(estimator).__name__} has neither decision_function nor predict_proba; "
                "choose a classifier that scores its classes"
            )
        epochs = hasattr(estimator, "partial_fit") or _stages_of(estimator)
        if not (epochs or booster_of(estimator)):
            raise InputError(
                f"{type(estimator).__name__} has neither partial_fit nor staged predictions, so it "
                "has no epochs to record; use SGDClassifier, MLPClassifier, gradient-boosted trees "
                "of scikit-learn, XGBoost, LightGBM or CatBoost"
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

    def refuse_steps(self, model: Any) -> None:
        if not hasattr(model, "partial_fit"):
            raise InputError(f"{type(model).__name__} has no partial_fit, so it takes no steps")

    def is_divergence(self, error: ValueError) -> bool:
        # scikit-learn's own errors are plain ones.
        return any(sign in str(error) for sign in ("finite", "overflow"))


class Estimator(Training):
    """A scikit-learn classifier in training.

    With partial_fit an epoch is its schedule's batches; with staged predictions it is the same
    share of the boosting rounds, fitted to what the schedule's first epoch holds. It has no plain
    form, so a killed run starts over.
    """

    def __init__(self, job: Job, data: Data, schedule: Schedule, stream: Stream) -> None:
        from sklearn.base import clone

        self.model = clone(EstimatorTrainer().check(job.model))
        entry = booster_of(self.model)
        name = "random_state" if entry is None else entry.seed
        if entry is not None or name in self.model.get_params():
            self.model.set_params(**{name: seed_for(job.seed, *stream, "model")})
        self._x, self._labels, self.schedule = data.x, data.y, schedule
        self._classes, self._epochs = job.classes, job.recipe.epochs
        self._stage = 0

    def train_epoch(self, epoch: int) -> None:
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
        step = max(1, MAX_MEASURED // max(self._x.shape[1], self._classes))
        return (positions[i : i + step] for i in range(0, len(positions), step))

    def measure(
        self, positions: Positions, *, hidden: bool = False
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        x = self._x[positions]
        features = penultimate_of(self.model, x) if hidden else None
        return self._staged(x) if self._stage else logits_of(self.model, x), features

    def accuracy(self, x: NDArray[Any], y: NDArray[np.int64]) -> float:
        return float((logits_of(self.model, x).argmax(axis=1) == y).mean())

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
