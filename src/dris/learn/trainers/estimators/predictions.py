"""What a fitted scikit-learn classifier predicts: logits, and the features before them.

Decision functions become logits of a softmax. The one-dimensional kind that two classes have,
z, becomes (−z/2, z/2): its softmax is the logistic function of z and its margin is ±z.
One-against-rest values (SGDClassifier) are taken as they are: their margin is the usual one,
their softmax a monotone stand-in for the normalised sigmoids.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError

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
