"""Ctrl-C ends a training, whatever the estimator makes of it, and leaves nothing half-trained."""

import warnings

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from dris.learn.proxies import train_proxies
from dris.learn.store.run_store import Store


class Interrupted(MLPClassifier):
    """An MLPClassifier whose third batch is met by Ctrl-C, which it swallows."""

    def partial_fit(self, x, y, classes=None):
        self.calls_ = getattr(self, "calls_", 0) + 1
        if self.calls_ == 3:
            warnings.warn("Training interrupted by user.", stacklevel=2)
            return self
        return super().partial_fit(x, y, classes=classes)


def test_an_interrupt_that_the_estimator_swallows_ends_the_training_and_keeps_nothing(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 4))
    y = (x[:, 0] > 0).astype(int)
    with pytest.raises(KeyboardInterrupt):
        train_proxies(x, y, epochs=3, model=Interrupted((4,)), workers=1, store=tmp_path)
    assert [info.state for info in Store(tmp_path).runs() if info.state == "done"] == []
