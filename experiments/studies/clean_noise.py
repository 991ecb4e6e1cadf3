"""The noise of clean.py: none, uniform, class-dependent, confusable; counted exactly."""

import numpy as np
from numpy.typing import NDArray

import dris

Labels = NDArray[np.int64]
OFTEN, SELDOM = 0.35, 0.05  # of an odd class go to the class before, of an even one to the next
CONFUSED = 0.2
NOISES = {
    "none": "none",
    "uniform-10": "uniform 10 %",
    "uniform-20": "uniform 20 %",
    "uniform-40": "uniform 40 %",
    "class": "class-dependent",
    "confusable": "confusable",
}


def corrupted(kind: str, x: NDArray[np.floating], y: Labels, seed: int) -> Labels:
    """The given labels under a kind of noise."""
    if kind == "none":
        return y.copy()
    if kind == "class":
        return class_dependent(y, seed=seed)
    if kind == "confusable":
        return confusable(x, y, seed=seed)
    rate = float(kind.removeprefix("uniform-")) / 100
    return np.array(dris.flip_labels(y, rate, seed=seed, classes=int(y.max()) + 1).given)


def class_dependent(y: Labels, *, seed: int) -> Labels:
    """Of each odd class ⌊0.35 n⌋ get the class before, of each even one ⌊0.05 n⌋ the next.

    >>> given = class_dependent(np.repeat([0, 1], 100), seed=0)
    >>> np.bincount(given[:100]).tolist(), np.bincount(given[100:]).tolist()
    ([95, 5], [35, 65])
    """
    rng, given, classes = np.random.default_rng((seed, 1)), y.copy(), int(y.max()) + 1
    for label in range(classes):
        at = rng.permutation(np.flatnonzero(y == label))
        share, other = (OFTEN, label - 1) if label % 2 else (SELDOM, (label + 1) % classes)
        given[at[: int(share * at.size + 1e-9)]] = other
    return given


def confusable(x: NDArray[np.floating], y: Labels, *, seed: int) -> Labels:
    """⌊0.2 N⌋ labels, where a forest that did not see the row doubts it, to what it takes it for.

    A random forest, so that neither the proxies of dris nor the model behind cleanlab placed it.
    """
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(200, oob_score=True, random_state=seed, n_jobs=1).fit(x, y)
    seen = np.nan_to_num(forest.oob_decision_function_, nan=1 / (int(y.max()) + 1))
    noisy = dris.flip_labels(y, CONFUSED, kind="instance", seed=seed, probabilities=seen)
    return np.array(noisy.given)
