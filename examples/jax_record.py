"""JAX and Flax: record three networks on digits with wrong labels.

    python examples/jax_record.py

Needs `pip install flax`; seconds on two cores. Expected: of the tenth with the lowest score nearly
all labels are wrong. Arrays of JAX go into `Recorder.update` as they are.
"""

import jax
import numpy as np
import optax
from flax import linen as nn
from sklearn.datasets import load_digits

import dris

EPOCHS, BATCH, WRONG = 8, 64, 0.2


class Network(nn.Module):
    """Any module does."""

    width: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(10)(nn.relu(nn.Dense(self.width)(x)))


def proxy(x: np.ndarray, y: np.ndarray, seed: int) -> dris.Dynamics:
    network, optimizer = Network(32 + 16 * seed), optax.adam(0.01)
    weights = network.init(jax.random.key(seed), x[:1])
    state = optimizer.init(weights)

    @jax.jit
    def step(weights, state, x, y):
        def loss(weights):
            logits = network.apply(weights, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        updates, state = optimizer.update(jax.grad(loss)(weights), state)
        return optax.apply_updates(weights, updates), state

    recorder, rng = dris.Recorder(len(x)), np.random.default_rng(seed)
    for _ in range(EPOCHS):
        for at in np.array_split(rng.permutation(len(x)), len(x) // BATCH):
            weights, state = step(weights, state, x[at], y[at])
        recorder.update(np.arange(len(x)), network.apply(weights, x), y)
        recorder.end_epoch()
    return recorder.dynamics()


if __name__ == "__main__":
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype("float32")
    noisy = dris.flip_labels(y, WRONG, seed=0)
    dynamics = dris.Dynamics.merge([proxy(x, noisy.given, seed) for seed in range(3)])
    print(dynamics)
    lowest = np.argsort(dris.SCORES["aum_mean"](dynamics))[: len(y) // 10]
    print(f"wrong labels in the lowest tenth  {noisy.flipped[lowest].mean():.1%}")
