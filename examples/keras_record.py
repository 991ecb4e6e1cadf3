"""Keras: record three networks on digits with wrong labels, see which the lowest scores are.

    KERAS_BACKEND=torch python examples/keras_record.py

Needs `pip install keras` and a backend (torch, jax or tensorflow); seconds on two cores. Expected:
of the tenth with the lowest score nearly all labels are wrong.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
from sklearn.datasets import load_digits

import dris

EPOCHS, WRONG = 8, 0.2


class RecordDynamics(keras.callbacks.Callback):
    """After every epoch, what the model says of every example it trains on, in eval mode."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        super().__init__()
        self.x, self.y, self.recorder = x, y, dris.Recorder(len(x))

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        logits = self.model.predict(self.x, batch_size=512, verbose=0)
        self.recorder.update(np.arange(len(self.x)), logits, self.y)
        self.recorder.end_epoch()


def proxy(x: np.ndarray, y: np.ndarray, seed: int) -> dris.Dynamics:
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [keras.layers.Dense(32 + 16 * seed, activation="relu"), keras.layers.Dense(10)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    record = RecordDynamics(x, y)
    model.fit(x, y, batch_size=64, epochs=EPOCHS, verbose=0, callbacks=[record])
    return record.recorder.dynamics()


if __name__ == "__main__":
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype("float32")
    noisy = dris.flip_labels(y, WRONG, seed=0)
    dynamics = dris.Dynamics.merge([proxy(x, noisy.given, seed) for seed in range(3)])
    print(dynamics)
    lowest = np.argsort(dris.SCORES["aum_mean"](dynamics))[: len(y) // 10]
    print(f"wrong labels in the lowest tenth  {noisy.flipped[lowest].mean():.1%}")
