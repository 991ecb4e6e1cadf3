"""What a fitted classifier predicts: logits, and the features before them.

Decision functions become logits of a softmax. The one-dimensional kind that two classes have,
z, becomes (−z/2, z/2): its softmax is the logistic function of z and its margin is ±z.
One-against-rest values (SGDClassifier) are taken as they are: their margin is the usual one,
their softmax a monotone stand-in for the normalised sigmoids.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.learn.extras import require

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
