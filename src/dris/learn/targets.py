"""Train the target on a subset for as many gradient steps as on all the data (Algorithm 1)."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.checks import checked_count
from dris.core.errors import InputError
from dris.core.streams import rng_for, seed_for
from dris.learn.estimators import interruptible


def step_batches(
    indices: NDArray[np.int64], total: int, *, epochs: int, batch_size: int, seed: int
) -> Iterator[NDArray[np.int64]]:
    """Exactly epochs·⌈total/batch_size⌉ full batches of positions: step parity.

    Batches are cut from the endless concatenation of shuffled passes. The order in which a
    subset is visited is a subsequence of the full data's under the same seed, so that rules
    differ in the subset only.

    >>> steps = list(step_batches(np.array([1, 5]), total=7, epochs=2, batch_size=3, seed=0))
    >>> len(steps), {len(s) for s in steps}
    (6, {3})
    """
    if len(indices) == 0:
        raise InputError("the subset is empty; nothing to train on")
    if indices.dtype.kind not in "iu" or indices.min() < 0 or indices.max() >= total:
        raise InputError(f"indices must be positions in 0..{total - 1}, got {indices}")
    checked_count(epochs, "epochs", at_least=1)
    checked_count(batch_size, "batch_size", at_least=1)
    kept = np.zeros(total, dtype=bool)
    kept[indices] = True
    waiting = np.empty(0, dtype=np.int64)
    passes = itertools.count()
    for _ in range(epochs * -(-total // batch_size)):
        while len(waiting) < batch_size:
            order = rng_for(seed, "target", "pass", next(passes)).permutation(total)
            waiting = np.concatenate((waiting, order[kept[order]]))
        yield waiting[:batch_size]
        waiting = waiting[batch_size:]


def train_target(
    estimator: Any,
    x: NDArray[Any],
    y: NDArray[np.int64],
    indices: NDArray[np.int64],
    *,
    epochs: int,
    batch_size: int,
    seed: int,
    classes: int,
) -> Any:
    """A fitted copy of `estimator`, one partial_fit per step, initialised from its own stream.

    >>> from sklearn.linear_model import SGDClassifier
    >>> x, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    >>> model = train_target(SGDClassifier(), x, y, np.array([0, 1]), epochs=5, batch_size=2,
    ...                      seed=0, classes=2)
    >>> model.predict(x).tolist()
    [0, 1]
    """
    from sklearn.base import clone
    from threadpoolctl import threadpool_limits

    if not hasattr(estimator, "partial_fit"):
        raise InputError(f"{type(estimator).__name__} has no partial_fit, so it takes no steps")
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed_for(seed, "target", "model"))
    every_class = np.arange(classes)
    with threadpool_limits(limits=1), interruptible():
        for batch in step_batches(indices, len(x), epochs=epochs, batch_size=batch_size, seed=seed):
            model.partial_fit(x[batch], y[batch], classes=every_class)
    return model
