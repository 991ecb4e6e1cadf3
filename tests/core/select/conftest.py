"""Dynamics of 400 examples in four classes, a fifth of them mislabelled, and canaries."""

import numpy as np
import pytest

from dris.core.dynamics.dynamics import Dynamics

N = 400


@pytest.fixture(scope="package")
def dynamics():
    rng = np.random.default_rng(0)
    truth = np.arange(N) % 4
    given = np.where(rng.random(N) < 0.2, (truth + 1) % 4, truth)
    logits = 2 * np.eye(4)[truth] + rng.normal(size=(3, 5, N, 4))
    made = Dynamics.from_logits(logits, given)
    columns = {name: made.column(name) for name in made.columns}
    norm = rng.random((3, 5, N))
    return Dynamics.from_arrays(**columns, labels=given, gradient_norm=norm)


@pytest.fixture(scope="package")
def canaries():
    return np.arange(N) < 40
