"""Classes stand in an order, as grades do, and errors go to the next ones."""

import numpy as np

from dris.core.noise.hypotheses.by_class import ClassNoise
from dris.core.noise.hypotheses.hypothesis import Evidence, Floats
from dris.core.noise.hypotheses.uniform import ALMOST_NONE
from dris.core.noise.views import Labels

DECAYS = (0.05, 0.4)  # how much rarer an error is for each further step


def fit_neighbours(evidence: Evidence, prior: float) -> None:
    """Every rate, with errors that hardly pass the next class and with some that do."""
    rank, each = evidence.rank, prior / len(DECAYS) / len(evidence.learners)
    if rank is None:
        return
    for decay in DECAYS:

        def noise(rate: float, decay: float = decay) -> ClassNoise:
            return ClassNoise(neighbour_matrix(rate, rank, decay))

        for learned in evidence.learners:
            evidence.fit_rates("neighbours", noise, evidence.rates(), each, learned)


def neighbour_matrix(rate: float, rank: Labels, decay: float) -> Floats:
    """The matrix of a rate, true class by given label.

    >>> neighbour_matrix(0.3, np.arange(3), 0.5).round(2).tolist()
    [[0.7, 0.2, 0.1], [0.15, 0.7, 0.15], [0.1, 0.2, 0.7]]
    """
    steps, classes = np.abs(np.subtract.outer(rank, rank)), len(rank)
    others = np.where(steps == 0, 0.0, decay ** (steps - 1.0))
    matrix = rate * others / others.sum(axis=1, keepdims=True) + (1 - rate) * np.eye(classes)
    matrix = np.maximum(matrix, ALMOST_NONE / (classes - 1))  # any label may be a slip
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
