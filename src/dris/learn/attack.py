"""The targeted attacker: flips the labels that hurt most, seen from a model of its own."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.checks import checked_count, checked_ids, checked_labels
from dris.core.columns import labels_for
from dris.core.noise import NoisyLabels, flip_labels
from dris.core.streams import checked_seed
from dris.learn.estimators import resolve
from dris.learn.proxies import Plan, checked_features, standardized, train_one


def attacker_norms(
    x: ArrayLike, y: ArrayLike, *, model: Any = "mlp", epochs: int = 20, seed: int = 0
) -> NDArray[np.float64]:
    """Last-layer gradient norm of each example under an attacker trained on the true labels.

    Larger: a larger gradient. The attacker's random streams are its own, never a proxy's.

    >>> x = np.arange(8.0).reshape(-1, 1); y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> attacker_norms(x, y, epochs=3).shape
    (8,)
    """
    features = standardized(checked_features(x))
    labels = labels_for(checked_labels(y), len(features))
    plan = Plan(
        stream=("attacker",),
        seed=checked_seed(seed),
        epochs=checked_count(epochs, "epochs", at_least=1),
        batch_size=64,
        classes=int(labels.max()) + 1,
        bag=None,
        cross_fit=None,
        gradient_norm=True,
    )
    dynamics = train_one(resolve(model), plan, features, labels, checked_ids(None, len(features)))
    return np.asarray(dynamics.column("gradient_norm")[0, -1], dtype=np.float64)


def targeted_noise(
    x: ArrayLike,
    y: ArrayLike,
    rate: float,
    *,
    model: Any = "mlp",
    epochs: int = 20,
    seed: int = 0,
) -> NoisyLabels:
    """Flip the labels of the ⌊rate·N⌋ examples with the largest gradient norm, in one call.

    >>> x = np.arange(8.0).reshape(-1, 1); y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> int(targeted_noise(x, y, 0.25, epochs=3).flipped.sum())
    2
    """
    norms = attacker_norms(x, y, model=model, epochs=epochs, seed=seed)
    return flip_labels(y, rate, kind="targeted", norms=norms, seed=seed)
