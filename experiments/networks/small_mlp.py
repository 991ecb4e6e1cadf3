"""One hidden layer in NumPy: scikit-learn's MLPClassifier without its cost per step.

Experiments on tables take hundreds of thousands of steps on small batches, where MLPClassifier
spends nine tenths of its time on checks. Same initial weights' distribution, loss, penalty and
momentum; a test holds that the same weights and batches give the same weights.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

Floats = NDArray[np.float32]


class SmallMLP(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """ReLU, softmax and cross-entropy; SGD with Nesterov momentum, one step per partial_fit.

    >>> x, y = np.array([[-1.0], [1.0]], dtype=np.float32), np.array([0, 1])
    >>> model = SmallMLP(hidden=8, learning_rate=0.5, random_state=0)
    >>> for _ in range(20):
    ...     _ = model.partial_fit(x, y, classes=[0, 1])
    >>> model.predict(x).tolist()
    [0, 1]
    """

    def __init__(
        self,
        hidden: int = 64,
        learning_rate: float = 0.02,
        momentum: float = 0.9,
        alpha: float = 1e-4,
        random_state: int | None = None,
    ) -> None:
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.alpha = alpha
        self.random_state = random_state

    def partial_fit(self, x: Floats, y: NDArray[np.int64], classes: Any = None) -> "SmallMLP":
        """One gradient step on a batch; labels are 0..C-1."""
        if not hasattr(self, "coefs_"):
            self._start(x.shape[1], np.asarray(classes))
        (w1, w2), (b1, b2) = self.coefs_, self.intercepts_
        n = np.float32(len(x))
        a = np.maximum(x @ w1 + b1, 0)
        error = _softmax(a @ w2 + b2)
        error[np.arange(len(y)), y] -= 1
        error /= n
        back = (error @ w2.T) * (a > 0)
        decay = np.float32(self.alpha) / n  # the penalty counts once per batch, as in scikit-learn
        gradients = (x.T @ back + decay * w1, a.T @ error + decay * w2, back.sum(0), error.sum(0))
        weights = (*self.coefs_, *self.intercepts_)
        rate, momentum = np.float32(self.learning_rate), np.float32(self.momentum)
        for weight, speed, gradient in zip(weights, self._speed, gradients, strict=True):
            gradient *= rate
            speed *= momentum
            speed -= gradient
            weight += momentum * speed - gradient
        return self

    def decision_function(self, x: Floats) -> Floats:
        """Logits, (example, class)."""
        (w1, w2), (b1, b2) = self.coefs_, self.intercepts_
        logits: Floats = np.maximum(x @ w1 + b1, 0) @ w2 + b2
        return logits

    def predict(self, x: Floats) -> NDArray[np.int64]:
        """The likeliest class of each row."""
        best: NDArray[np.int64] = self.decision_function(x).argmax(axis=1)
        return best

    def _start(self, inputs: int, classes: NDArray[Any]) -> None:
        rng = np.random.default_rng(self.random_state)
        self.classes_, self.activation, self.out_activation_ = classes, "relu", "softmax"
        sizes = (inputs, self.hidden, len(classes))
        # Kept under scikit-learn's names: what reads its networks then reads these.
        self.coefs_: list[Floats] = []
        self.intercepts_: list[Floats] = []
        for fan_in, fan_out in pairwise(sizes):
            bound = np.sqrt(6.0 / (fan_in + fan_out))
            for held, shape in ((self.coefs_, (fan_in, fan_out)), (self.intercepts_, fan_out)):
                held.append(rng.uniform(-bound, bound, shape).astype(np.float32))
        self._speed = [np.zeros_like(w) for w in (*self.coefs_, *self.intercepts_)]


def _softmax(logits: Floats) -> Floats:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=1, keepdims=True)
    return shares


MODELS = {
    "small_mlp": SmallMLP(hidden=64, learning_rate=0.02),
    "small_mlp_128": SmallMLP(hidden=128, learning_rate=0.05),
}
"""By the names that cells hold: proxies and attackers, and targets."""
