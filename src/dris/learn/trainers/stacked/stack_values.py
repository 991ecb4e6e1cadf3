"""From the logits of stacked models to what is recorded of them, in fold and out of fold.

Worked out in float32: the label is set apart, so that neither loss nor error of a confident
example is lost beside a 1. What the folds of a proxy say together is `dris.learn.jobs.folds`'s.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.learn.jobs.folds import in_and_out
from dris.learn.trainers.stacked.feature_table import Floats
from dris.learn.trainers.stacked.numpy_stack import Answers

Columns = Mapping[str, NDArray[Any]]


class Values:
    """Writes what models say into columns (proxy, example), one piece after the other.

    Args:
        labels: The N given labels.
        folds: The fold of each example for each proxy (proxy, example); None without folds.
        fold_count: F; 1 without folds.

    >>> out = {n: np.empty((1, 2), np.float32) for n in ("loss", "margin", "error_norm")}
    >>> logits = np.array([[[0.0, 2.0], [0.0, -1.0]]], dtype=np.float32)
    >>> Values(np.array([0, 0])).write(Answers(slice(0, 1), slice(0, 2), logits, None), out)
    >>> out["margin"].tolist()
    [[0.0, 3.0]]
    """

    def __init__(
        self,
        labels: NDArray[np.int64],
        folds: NDArray[np.integer] | None = None,
        fold_count: int = 1,
    ) -> None:
        self._labels, self._folds, self._count = labels, folds, fold_count

    def write(self, said: Answers, into: Columns, outside: Columns | None = None) -> None:
        """What some models say of some examples, into the columns at their places."""
        found = columns_of(said.logits, self._labels[said.examples], tuple(into), said.lengths)
        if self._folds is None:
            for name, column in into.items():
                column[said.models, said.examples] = found[name]
            return
        for k in range(said.models.start // self._count, said.models.stop // self._count):
            first = k * self._count - said.models.start
            mine = {name: found[name][first : first + self._count] for name in into}
            seen, unseen = in_and_out(mine, self._folds[k, said.examples].astype(np.int64))
            for name, values in seen.items():
                into[name][k, said.examples] = values
            if outside is not None:
                for name, values in unseen.items():
                    outside[name][k, said.examples] = values


def columns_of(
    logits: Floats,
    labels: NDArray[np.int64],
    names: Sequence[str],
    lengths: Floats | None = None,
) -> dict[str, NDArray[Any]]:
    """Columns (model, example) from logits (model, class, example), which are changed.

    `lengths` (model, example) are those of what the last layer reads, for the gradient norm.

    >>> z = np.array([[[0.0], [0.0]]], dtype=np.float32)
    >>> columns_of(z, np.array([1]), ["loss"])["loss"].round(2)
    array([[0.69]], dtype=float32)
    """
    at = np.arange(len(labels))
    own = logits[:, labels, at]
    logits[:, labels, at] = -np.inf
    runner_up = logits.max(axis=1)
    margin = own - runner_up
    found: dict[str, NDArray[Any]] = {"margin": margin}
    if "correct" in names:
        found["correct"] = _right(margin, logits, labels)
    if "rival" in names:
        found["rival"] = _rivals(logits, runner_up)
    if "loss" in names:
        top = np.maximum(own, runner_up)
        rest = np.exp(np.subtract(logits, top[:, None], out=logits), out=logits)
        raised, mass = np.exp(own - top), rest.sum(axis=1)
        found["loss"] = top - own + np.log1p(mass + (raised - np.float32(1)))
        squares = np.multiply(rest, rest, out=rest).sum(axis=1)
        error = np.sqrt(squares + mass * mass) / (raised + mass)
        found["error_norm"] = error
        if lengths is not None:
            found["gradient_norm"] = error * lengths
    return found


def _right(margin: Floats, others: Floats, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the label has the largest logit; among equal ones the first class wins."""
    right: NDArray[np.bool_] = margin > 0
    tied = np.nonzero(margin == 0)
    if len(tied[0]):
        right[tied] = others[tied[0], :, tied[1]].argmax(axis=1) > labels[tied[1]]
    return right


def _rivals(others: Floats, best: Floats) -> NDArray[np.int32]:
    """The first class whose logit is the best of the others', (model, example)."""
    rivals = np.zeros(best.shape, dtype=np.int32)
    for c in reversed(range(others.shape[1])):
        np.copyto(rivals, np.int32(c), where=others[:, c] == best)
    return rivals
