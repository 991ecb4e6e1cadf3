"""The attacker: its own streams, the true labels, the largest gradients."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.learn.attack import attacker_norms, targeted_noise
from dris.learn.proxies import train_proxies
from spies import Spy


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 4)) + np.eye(4)[y], y


def test_the_targets_are_the_examples_with_the_largest_norms():
    x, y = data()
    norms = attacker_norms(x, y, epochs=3, seed=1)
    noisy = targeted_noise(x, y, 0.25, epochs=3, seed=1)
    assert norms.dtype == np.float64
    assert noisy.flipped.sum() == 15
    assert norms[noisy.flipped].min() >= norms[~noisy.flipped].max()
    assert (noisy.given[noisy.flipped] != y[noisy.flipped]).all()
    assert (noisy.given[~noisy.flipped] == y[~noisy.flipped]).all()
    assert np.array_equal(noisy.true, y)


def test_the_attack_can_be_repeated_and_depends_on_its_seed():
    x, y = data()
    assert np.array_equal(attacker_norms(x, y, epochs=2), attacker_norms(x, y, epochs=2))
    assert not np.array_equal(
        attacker_norms(x, y, epochs=2, seed=1), attacker_norms(x, y, epochs=2, seed=2)
    )


def test_the_norms_are_those_of_the_last_epoch_of_a_model_of_its_own():
    x, y = data()
    d = train_proxies(x, y, proxies=5, epochs=20, gradient_norm=True, workers=1)
    norms = attacker_norms(x, y, epochs=20)
    for k in range(5):
        ours = d.column("gradient_norm")[k, -1].astype(np.float64)
        assert np.corrcoef(ours, norms)[0, 1] > 0.5  # the same task
        assert not np.isclose(ours, norms, rtol=1e-3).all()  # another model


def test_the_attacker_shares_no_stream_with_any_proxy():
    x = np.stack([np.arange(30), np.ones(30)], axis=1)
    y = np.arange(30) % 2
    Spy.log.clear()
    train_proxies(x, y, proxies=8, epochs=1, model=Spy(), standardize=False, workers=1)
    proxies = {(s, tuple(ids)) for what, s, ids in Spy.log if what == "fit"}
    Spy.log.clear()
    attacker_norms(x, y, epochs=1, model=Spy())
    ((state, _),) = {(s, len(ids)) for what, s, ids in Spy.log if what == "fit"}
    assert len({s for s, _ in proxies}) == 8
    assert state not in {s for s, _ in proxies}
    firsts = [rng_for(0, "proxy", k, "order", 0).permutation(30).tolist() for k in range(8)]
    assert rng_for(0, "attacker", "order", 0).permutation(30).tolist() not in firsts


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"model": GaussianNB()}, "has no last layer"),
        ({"model": "nope"}, "unknown model 'nope'"),
    ],
)
def test_bad_input_is_refused(change, says):
    settled = {"x": np.arange(6.0)[:, None], "y": np.arange(6) % 2, "epochs": 1, **change}
    with pytest.raises(InputError, match=says):
        attacker_norms(**settled)
