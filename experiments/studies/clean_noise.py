"""The noise of `clean`: given labels of every kind, by a seed.

A random forest out of bag says which classes look alike and where they overlap, so that neither
the models of dris nor those behind cleanlab placed an error.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import dris

Labels = NDArray[np.int64]
Points = NDArray[np.floating]
RATE, OFTEN, SELDOM = 0.2, 0.4, 0.05


def uniform(x: Points, y: Labels, seed: int) -> Labels:
    """⌊0.2 N⌋ labels, to any other class."""
    return np.array(dris.flip_labels(y, RATE, seed=seed, classes=int(y.max()) + 1).given)


def class_dependent(x: Points, y: Labels, seed: int) -> Labels:
    """Of each odd class ⌊0.4 n⌋ get the class before, of each even one ⌊0.05 n⌋ the next.

    >>> given = class_dependent(np.empty((200, 0)), np.repeat([0, 1], 100), 0)
    >>> np.bincount(given[:100]).tolist(), np.bincount(given[100:]).tolist()
    ([95, 5], [40, 60])
    """
    rng, given, classes = np.random.default_rng((seed, 1)), y.copy(), int(y.max()) + 1
    for label in range(classes):
        at = rng.permutation(np.flatnonzero(y == label))
        share, other = (OFTEN, label - 1) if label % 2 else (SELDOM, (label + 1) % classes)
        given[at[: int(share * at.size + 1e-9)]] = other
    return given


def lookalike(x: Points, y: Labels, seed: int) -> Labels:
    """⌊0.2 N⌋ labels of any rows, to another class in proportion to what the forest gives it."""
    rng, given = np.random.default_rng((seed, 2)), y.copy()
    others = _forest(x, y, seed) + 1e-3
    others[np.arange(y.size), y] = 0
    others /= others.sum(axis=1, keepdims=True)
    for i in rng.permutation(y.size)[: int(RATE * y.size + 1e-9)]:
        given[i] = rng.choice(others.shape[1], p=others[i])
    return given


def varying(x: Points, y: Labels, seed: int) -> Labels:
    """Labels to any other class at a rate from 0 to 45 %, 20 % on average, that rises along x."""
    rng, classes = np.random.default_rng((seed, 3)), int(y.max()) + 1
    along = ((x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)) @ rng.normal(size=x.shape[1])
    rate = np.clip(RATE + 0.15 * (along - along.mean()) / along.std(), 0, 0.45)
    other = (y + rng.integers(1, classes, y.size)) % classes
    return np.where(rng.random(y.size) < rate, other, y)


def confusable(x: Points, y: Labels, seed: int) -> Labels:
    """⌊0.2 N⌋ labels where the forest doubts the row, to what it takes it for."""
    probabilities = _forest(x, y, seed)
    noisy = dris.flip_labels(y, RATE, kind="instance", seed=seed, probabilities=probabilities)
    return np.array(noisy.given)


NOISES: dict[str, tuple[str, Callable[[Points, Labels, int], Labels]]] = {
    "none": ("none", lambda x, y, seed: y.copy()),
    "uniform": ("uniform 20 %", uniform),
    "class": ("class-dependent 40 and 5 %", class_dependent),
    "lookalike": ("lookalike classes 20 %", lookalike),
    "varying": ("rate varies with x, 20 %", varying),
    "confusable": ("where classes overlap 20 %", confusable),
}


def _forest(x: Points, y: Labels, seed: int) -> NDArray[np.float64]:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(200, oob_score=True, random_state=seed, n_jobs=1).fit(x, y)
    return np.nan_to_num(forest.oob_decision_function_, nan=1 / (int(y.max()) + 1))
