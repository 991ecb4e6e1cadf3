"""k-means on given features, with a result that does not depend on the order of the examples."""

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import hashed_order, rng_for

_ROWS = 8192  # examples compared with all centres at a time


def nearest_prototype_distance(
    features: NDArray[np.generic],
    ids: NDArray[np.generic],
    *,
    prototypes: int,
    seed: int = 0,
    rounds: int = 50,
) -> NDArray[np.float64]:
    """Cosine distance of each row to its nearest k-means centre.

    Examples are put in the order of a hash of their ids first, so that permuting them permutes
    the result exactly. All-zero rows are at distance 1.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    >>> nearest_prototype_distance(x, np.arange(3), prototypes=2).round(4).tolist()
    [0.0012, 0.0, 0.0012]
    """
    n = len(features)
    if not 1 <= prototypes <= n:
        raise InputError(f"prototypes must be in 1..{n}, the number of examples, got {prototypes}")
    order = np.argsort(hashed_order(ids, seed), kind="stable")
    x = np.ascontiguousarray(features[order], dtype=np.float64)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    x = np.divide(x, length, out=np.zeros_like(x), where=length > 0)
    centres = _first_centres(x, prototypes, seed)
    nearest = np.full(n, -1)
    for _ in range(rounds):
        before, nearest = nearest, _nearest(x, centres)
        if np.array_equal(before, nearest):
            break
        for c in np.unique(nearest):
            centres[c] = x[nearest == c].mean(axis=0)
    size = np.linalg.norm(centres, axis=1)
    cosine = np.einsum("nd,nd->n", x, centres[nearest])
    cosine = np.divide(cosine, size[nearest], out=np.zeros(n), where=size[nearest] > 0)
    out = np.empty(n)
    out[order] = np.maximum(1 - cosine, 0)
    return out


def _first_centres(x: NDArray[np.float64], count: int, seed: int) -> NDArray[np.float64]:
    """k-means++: each next centre is drawn with probability ∝ squared distance to the chosen."""
    rng = rng_for(seed, "prototypes")
    centres = np.empty((count, x.shape[1]))
    centres[0] = x[rng.integers(len(x))]
    gap = ((x - centres[0]) ** 2).sum(axis=1)
    for c in range(1, count):
        reach = np.cumsum(gap)
        pick = np.searchsorted(reach, rng.random() * reach[-1], side="right")
        centres[c] = x[min(pick, len(x) - 1)]
        gap = np.minimum(gap, ((x - centres[c]) ** 2).sum(axis=1))
    return centres


def _nearest(x: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.intp]:
    half = 0.5 * (centres**2).sum(axis=1)
    parts = [
        np.argmax(x[i : i + _ROWS] @ centres.T - half, axis=1) for i in range(0, len(x), _ROWS)
    ]
    return np.concatenate(parts)
