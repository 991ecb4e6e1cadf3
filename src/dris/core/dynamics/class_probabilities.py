"""Class probabilities of K proxies, each row's from a model that did not train on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MAX_DENSE_CLASSES = 64  # with more, each example keeps its likeliest classes only
KEPT_CLASSES = 13  # the given label's and twelve others
_AT_ONCE = 1 << 22  # probabilities that are spread out at a time


@dataclass(frozen=True, slots=True, eq=False)
class ClassProbabilities:
    """Out-of-fold class probabilities at the scored epoch.

    `values` is (proxy, example, class). With more than 64 classes it is (proxy, example, 13):
    `kept` says which classes these are, and the others share what is left evenly.
    `fold` (proxy, example) is the fold each example is in.

    >>> p = ClassProbabilities(np.array([[[0.75, 0.25]]], np.float32), np.zeros((1, 1)), 2)
    >>> p.dense().tolist(), [part.tolist() for part in p.likeliest([np.array([1])])]
    ([[[0.75, 0.25]]], [[[0, 1]], [[[0.75, 0.25]]]])
    """

    values: Floats
    fold: NDArray[Any]
    classes: int
    kept: NDArray[np.int32] | None = None

    def dense(self, rows: slice = slice(None)) -> Floats:
        """All probabilities of some examples, (proxy, example, class)."""
        values = self.values[:, rows]
        if self.kept is None:
            return values
        left = np.maximum(1 - values.sum(axis=2, keepdims=True), 0)
        out = np.repeat(left / (self.classes - values.shape[2]), self.classes, axis=2)
        np.put_along_axis(out, self.kept[:, rows].astype(np.intp), values, axis=2)
        return out

    def likeliest(
        self, labels: Sequence[NDArray[np.integer]], count: int = KEPT_CLASSES
    ) -> tuple[NDArray[np.int32], Floats]:
        """Each example's labels and likeliest other classes, and every proxy's probabilities.

        The classes (example, count), ascending, have the largest mean over proxies; the
        probabilities are (proxy, example, count).
        """
        count = min(count, self.classes)
        proxies, n = self.values.shape[:2]
        classes = np.empty((n, count), dtype=np.int32)
        values = np.empty((proxies, n, count), dtype=np.float32)
        step = max(1, _AT_ONCE // (proxies * self.classes))
        for rows in (slice(a, a + step) for a in range(0, n, step)):
            p = self.dense(rows)
            classes[rows] = top = likeliest_classes(
                p.mean(axis=0), [given[rows] for given in labels], count
            )
            values[:, rows] = np.take_along_axis(p, top[None].astype(np.intp), axis=2)
        return classes, values

    def pick(self, at: Any) -> "ClassProbabilities":
        """Those of some proxies, or at `(slice(None), positions)` of some examples."""
        kept = None if self.kept is None else self.kept[at]
        return replace(self, values=self.values[at], fold=self.fold[at], kept=kept)

    @staticmethod
    def join(parts: "Sequence[ClassProbabilities | None]") -> "ClassProbabilities | None":
        """Those of proxies trained separately, on the same examples; None if any has none."""
        held = [part for part in parts if part is not None]
        if not held or len(held) < len(parts):
            return None
        kept = [part.kept for part in held if part.kept is not None]
        return replace(
            held[0],
            values=np.concatenate([part.values for part in held]),
            fold=np.concatenate([part.fold for part in held]),
            kept=np.concatenate(kept) if kept else None,
        )


def likeliest_classes(
    p: Floats, labels: Sequence[NDArray[np.integer]], count: int = KEPT_CLASSES
) -> NDArray[np.int32]:
    """The labels and the likeliest other classes of each example, ascending; `p` is changed."""
    for given in labels:
        np.put_along_axis(p, given[:, None], np.inf, axis=1)
    top = np.argpartition(-p, count - 1, axis=1)[:, :count]
    return np.sort(top, axis=1).astype(np.int32)
