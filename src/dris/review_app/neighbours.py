"""Similar examples and exact copies, by distance in what the proxies learn from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

POOLED_SIDE = 8  # images are compared as 8 × 8 means a channel
ROWS_AT_ONCE = 4096


class Neighbours:
    """Distances between examples in standardized features, computed on first use.

    >>> alike = Neighbours(np.array([[0.0, 1], [0, 1], [5, 1], [0, 9]]))
    >>> alike.nearest(0, 2)
    [(1, 0.0), (2, 2.309)]
    """

    def __init__(self, x: Any) -> None:
        self._raw = x
        self._x: NDArray[np.float32] | None = None

    def nearest(self, at: int, count: int) -> list[tuple[int, float]]:
        """The nearest examples with their distances; 0 is a copy, ties keep the data's order."""
        x = self._features()
        far = np.empty(len(x))
        for start in range(0, len(x), ROWS_AT_ONCE):
            part = x[start : start + ROWS_AT_ONCE] - x[at]
            far[start : start + ROWS_AT_ONCE] = np.einsum("nd,nd->n", part, part)
        far[at] = np.inf
        count = min(count, len(x) - 1)
        first = np.argpartition(far, count - 1)[:count] if count else np.array([], dtype=np.int64)
        order = first[np.lexsort((first, far[first]))]
        return [(int(i), round(float(np.sqrt(far[i])), 3)) for i in order]

    def _features(self) -> NDArray[np.float32]:
        if self._x is None:
            x = self._raw
            x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
            flat = (_pool(x) if x.ndim == 4 else x.reshape(len(x), -1)).astype(np.float32)
            flat = flat - flat.mean(axis=0)
            spread = flat.std(axis=0)
            flat /= np.where(spread > 0, spread, 1)
            self._x = flat
        return self._x


def _pool(images: NDArray[Any]) -> NDArray[np.float32]:
    """Images (N, C, H, W) as the means of at most 8 × 8 squares a channel."""
    n, channels, high, wide = images.shape
    rows, columns = min(POOLED_SIDE, high), min(POOLED_SIDE, wide)
    means = np.empty((n, channels, rows, columns), dtype=np.float32)
    for r, top in enumerate(np.array_split(np.arange(high), rows)):
        for c, left in enumerate(np.array_split(np.arange(wide), columns)):
            square = images[:, :, top[0] : top[-1] + 1, left[0] : left[-1] + 1]
            means[:, :, r, c] = square.mean(axis=(2, 3), dtype=np.float32)
    return means.reshape(n, -1)
