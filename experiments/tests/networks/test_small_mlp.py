import numpy as np
import pytest

from experiments.networks.small_mlp import SmallMLP


def both(ours, theirs):
    weights = (model.coefs_ + model.intercepts_ for model in (ours, theirs))
    return zip(*weights, strict=True)


def test_the_small_network_takes_the_steps_of_scikit_learns():
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 5)).astype(np.float32), rng.integers(0, 3, 60)
    ours = SmallMLP(hidden=7, learning_rate=0.05, random_state=0)
    theirs = MLPClassifier((7,), solver="sgd", learning_rate_init=0.05, momentum=0.9)
    ours.partial_fit(x[:10], y[:10], classes=range(3))
    theirs.partial_fit(x[:10], y[:10], classes=range(3))
    for mine, other in both(ours, theirs):
        other[...] = mine
    for speed, other in zip(ours._speed, theirs._optimizer.velocities, strict=True):
        other[...] = speed
    for at in np.split(np.arange(60), 6) * 3:
        ours.partial_fit(x[at], y[at])
        theirs.partial_fit(x[at], y[at])
    for mine, other in both(ours, theirs):
        assert mine == pytest.approx(other, abs=2e-5)
    plain = SmallMLP(hidden=7, learning_rate=0.05, momentum=0.0, random_state=0)
    plain.partial_fit(x, y, classes=range(3)).partial_fit(x, y)
    assert plain.coefs_[0] != pytest.approx(theirs.coefs_[0], abs=1e-3)  # the check can fail


def test_the_same_seed_starts_from_the_same_weights():
    one, two = (
        SmallMLP(random_state=3).partial_fit(np.ones((2, 4), np.float32), [0, 1], range(2))
        for _ in range(2)
    )
    assert (one.coefs_[0] == two.coefs_[0]).all()
