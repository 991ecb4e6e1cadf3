"""k-means on given features, with a result that does not depend on the order of the examples."""

import warnings

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import hashed_order, seed_for

_ROUNDS = 50


def nearest_prototype_distance(
    features: NDArray[np.generic], ids: NDArray[np.generic], *, prototypes: int, seed: int = 0
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
    centres, nearest = _cluster(x, prototypes, seed)
    size = np.linalg.norm(centres, axis=1)
    cosine = np.einsum("nd,nd->n", x, centres[nearest])
    cosine = np.divide(cosine, size[nearest], out=np.zeros(n), where=size[nearest] > 0)
    out = np.empty(n)
    out[order] = np.maximum(1 - cosine, 0)
    return out


def _cluster(
    x: NDArray[np.float64], count: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Centres and each row's, by scikit-learn on one thread: the same bits every time."""
    from sklearn.cluster import KMeans, kmeans_plusplus
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1), warnings.catch_warnings():
        # Fewer distinct rows than centres: some centres stand together, and nothing is wrong.
        warnings.simplefilter("ignore", ConvergenceWarning)
        first, _ = kmeans_plusplus(x, count, random_state=seed_for(seed, "prototypes"))
        fitted = KMeans(count, init=first, n_init=1, max_iter=_ROUNDS, tol=0.0).fit(x)
    return fitted.cluster_centers_, fitted.labels_
