"""What models that did not train on a row say of it: the evidence on its label."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.columns import KEPT_CLASSES, ClassProbabilities
from dris.core.dynamics.dynamics import Dynamics

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_CLASSES_IN_FULL = 25  # with more, a row's likeliest classes stand apart and the rest together


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """Out-of-fold class probabilities of M models, (M, N, S), which sum to 1 over the columns.

    Up to 25 classes there is a column for each. With more, a row's columns are its own labels and
    likeliest classes (`columns` says which), and the last one stands for all others together.
    """

    values: Floats
    classes: int
    flexible: tuple[bool, ...]  # can learn any level at which agreement saturates, as trees do
    columns: NDArray[np.int32] | None = None  # (N, S - 1)

    def __len__(self) -> int:
        return int(self.values.shape[1])

    @property
    def spread(self) -> Floats:
        """How many classes each column stands for."""
        counts = np.ones(self.values.shape[2])
        if self.columns is not None:
            counts[-1] = self.classes - self.columns.shape[1]
        return counts

    def take(self, rows: NDArray[np.int64]) -> "Views":
        """The same models' views of some rows."""
        columns = None if self.columns is None else self.columns[rows]
        return replace(self, values=self.values[:, rows], columns=columns)

    def column_of(self, labels: Labels) -> Labels:
        """The column of each row's label, which must be among those that stand apart."""
        if self.columns is None:
            return labels
        return np.asarray((self.columns == labels[:, None]).argmax(axis=1), dtype=np.int64)

    def class_of(self, column: Labels) -> Labels:
        """The class that a column of each row stands for; −1 for all others together."""
        if self.columns is None:
            return column
        ends = np.full((len(self), 1), -1, dtype=np.int32)
        whole = np.concatenate((self.columns, ends), axis=1)
        return np.take_along_axis(whole, column[:, None], axis=1)[:, 0].astype(np.int64)


def join_views(
    proxies: NDArray[np.floating], trees: NDArray[np.floating] | None, labels: Sequence[Labels]
) -> Views:
    """One object of the probabilities of proxies (K, N, C) and of boosted trees (N, C)."""
    parts = [proxies] if trees is None else [proxies, trees[None]]
    whole = np.concatenate(parts).astype(np.float64)
    flexible = (False,) * len(proxies) + (True,) * (len(parts) - 1)
    classes = whole.shape[2]
    if classes <= MAX_CLASSES_IN_FULL:
        return Views(whole, classes, flexible)
    held = ClassProbabilities(whole.astype(np.float32), np.zeros(whole.shape[:2]), classes)
    return likeliest_views(held, labels)


def likeliest_views(held: ClassProbabilities, labels: Sequence[Labels]) -> Views:
    """The views of many classes: each row's labels and its likeliest classes stand apart."""
    kept, values = held.likeliest(labels, KEPT_CLASSES)
    p = values.astype(np.float64)
    rest = np.maximum(1 - p.sum(axis=2, keepdims=True), 0)
    whole = np.concatenate((p, rest), axis=2)
    return Views(whole, held.classes, (False,) * len(whole), kept)


def proxy_views(
    dynamics: Dynamics,
    *,
    labels: Sequence[Labels],
    trees: NDArray[np.floating] | None = None,
    classes: int | None = None,
) -> Views | None:
    """What the proxies of these dynamics, and maybe trees, think out of fold; None without folds.

    Where class probabilities were not kept, those of the label and of its rival follow from loss
    and margin; what is left is spread evenly over the other classes.
    """
    held = dynamics.probabilities
    if held is None:
        made = _from_columns(dynamics, classes)
        return None if made is None else join_views(made, trees, labels)
    if held.kept is not None:
        return likeliest_views(held, labels)
    return join_views(held.values, trees, labels)


def _from_columns(dynamics: Dynamics, classes: int | None) -> Floats | None:
    side, labels = dynamics.out_of_fold, dynamics.labels
    if side is None or labels is None or "rival" not in side.columns:
        return None
    loss, margin, rival = (side.snapshot(name) for name in ("loss", "margin", "rival"))
    if classes is None:
        classes = 1 + max(int(labels.max()), int(rival.max()))
    lost = loss.astype(np.float64)
    own = np.exp(-lost)
    # As one exponent: of a row far from all others the label's may be 0, the rival's 1.
    other = np.minimum(np.exp(np.minimum(-lost - margin, 0)), 1 - own)
    rest = np.maximum(1 - own - other, 0) / max(classes - 2, 1)
    views = np.repeat(rest[:, :, None], classes, axis=2)
    np.put_along_axis(views, np.broadcast_to(labels, own.shape)[:, :, None], own[:, :, None], 2)
    np.put_along_axis(views, rival[:, :, None].astype(np.int64), other[:, :, None], 2)
    return np.asarray(views / views.sum(axis=2, keepdims=True))
