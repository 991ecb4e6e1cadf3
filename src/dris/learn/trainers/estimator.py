"""scikit-learn classifiers as proxies: what "an epoch" means for each, and a few by name.

Decision functions become logits of a softmax. The one-dimensional kind that two classes have,
z, becomes (−z/2, z/2): its softmax is the logistic function of z and its margin is ±z.
One-against-rest values (SGDClassifier) are taken as they are: their margin is the usual one,
their softmax a monotone stand-in for the normalised sigmoids.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import seed_for
from dris.learn.extras import require
from dris.learn.trainers.job import Data, Job, Normalize
from dris.learn.trainers.schedules import Positions, Schedule
from dris.learn.trainers.standardize import as_table
from dris.learn.trainers.trainer import MAX_MEASURED, Stream, Trainer, Training

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
    return probabilities_as_logits(estimator.predict_proba(x))


def as_logits(values: Matrix) -> Matrix:
    """(N,) or (N, 1) values of a two-class model as (N, 2) logits; others unchanged.

    >>> as_logits(np.array([3.0])).tolist()
    [[-1.5, 1.5]]
    """
    z = values[:, None] if values.ndim == 1 else values
    return np.concatenate((-z / 2, z / 2), axis=1) if z.shape[1] == 1 else z


def probabilities_as_logits(p: Matrix) -> Matrix:
    """Logarithms of probabilities, with zero read as the smallest positive normal number."""
    return np.asarray(np.log(np.maximum(p, np.finfo(p.dtype).tiny)))


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


# -- XGBoost, LightGBM and CatBoost: raw scores after a number of boosting rounds ----------------


@dataclass(frozen=True, slots=True)
class Booster:
    """How one library is used."""

    make: Callable[[], Any]  # an unfitted classifier
    rounds: Callable[[Any], int]  # of a fitted one
    raw: Callable[[Any, NDArray[Any], int], Any]  # scores after rounds: (N,) for two classes
    seed: str = "random_state"  # the parameter


def _xgboost() -> Any:
    return require("xgboost", "boosters").XGBClassifier(
        n_estimators=40, max_depth=4, subsample=0.5, n_jobs=1
    )


def _lightgbm() -> Any:
    return require("lightgbm", "boosters").LGBMClassifier(
        n_estimators=40,
        num_leaves=15,
        subsample=0.5,
        subsample_freq=1,
        n_jobs=1,
        deterministic=True,
        force_col_wise=True,
        verbosity=-1,
    )


def _catboost() -> Any:
    return require("catboost", "catboost").CatBoostClassifier(
        iterations=40,
        max_depth=4,
        bootstrap_type="Bernoulli",
        subsample=0.5,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )


BOOSTERS: dict[str, Booster] = {
    "xgboost": Booster(
        _xgboost,
        lambda model: model.get_booster().num_boosted_rounds(),
        lambda model, x, r: model.predict(x, output_margin=True, iteration_range=(0, r)),
    ),
    "lightgbm": Booster(
        _lightgbm,
        lambda model: model.booster_.current_iteration(),
        lambda model, x, r: model.booster_.predict(x, raw_score=True, num_iteration=r),
    ),
    "catboost": Booster(
        _catboost,
        lambda model: model.tree_count_,
        lambda model, x, r: model.predict(x, prediction_type="RawFormulaVal", ntree_end=r),
        seed="random_seed",
    ),
}


def booster_of(model: Any) -> Booster | None:
    """The entry of a classifier by the package that its class is from; None for any other."""
    packages = {each.__module__.partition(".")[0] for each in type(model).__mro__}
    return next((entry for name, entry in BOOSTERS.items() if name in packages), None)


def scores_after(model: Any, x: NDArray[Any], rounds: int) -> NDArray[np.float64]:
    """Raw scores of a fitted booster after its first rounds."""
    entry = booster_of(model)
    assert entry is not None
    return np.asarray(entry.raw(model, x, rounds), dtype=np.float64)


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
