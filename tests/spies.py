"""A classifier that remembers what it was fitted on and says so of whatever it is shown.

In a module of its own, so that worker processes can import it. The first feature of each
example is its id. The logit of the second class is positive for examples that were trained on,
negative for all others: the sign of ±margin tells them apart wherever the model ran.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Spy(ClassifierMixin, BaseEstimator):
    log: list = []  # noqa: RUF012 (shared on purpose: (what, random_state, ids))

    def __init__(self, random_state=None):
        self.random_state = random_state

    def partial_fit(self, x, y, classes=None):
        self.coef_ = np.zeros((1, x.shape[1]))
        self.seen_ = getattr(self, "seen_", set()) | set(x[:, 0].astype(int).tolist())
        Spy.log.append(("fit", self.random_state, x[:, 0].astype(int).tolist()))
        return self

    def decision_function(self, x):
        ids = x[:, 0].astype(int).tolist()
        Spy.log.append(("measure", self.random_state, ids))
        seen = np.array([1.0 if i in self.seen_ else -1.0 for i in ids])
        # Different models must not look like copies of each other.
        return seen * (1 + np.random.default_rng(self.random_state).random(len(ids)))

    def predict(self, x):
        return (self.decision_function(x) > 0).astype(int)
