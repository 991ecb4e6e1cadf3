"""Ctrl-C ends a training, whatever the estimator makes of it, and leaves nothing half-trained."""

import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from dris.learn.proxies import train_proxies
from dris.learn.store.run_store import Store
from dris.learn.trainers.estimator import interruptible


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


LONG = """
import numpy as np
from dris import train_proxies
x = np.random.default_rng(0).normal(size=(2000, 50))
print("training", flush=True)
try:
    train_proxies(x, (x[:, 0] > 0).astype(int), epochs=100_000, workers=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_a_real_interrupt_reaches_the_caller():
    with subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as child:
        assert child.stdout.readline() == "training\n"
        time.sleep(4)  # past the imports, in the midst of batches
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"


def test_other_warnings_stay_warnings():
    with pytest.warns(UserWarning, match="something else"), interruptible():
        warnings.warn("something else", stacklevel=1)
