"""Models that leave out one fold or two, so that a decision can be made again inside each fold.

Inside the rows that fold f leaves, a row of fold g is predicted by a model that saw neither. That
model serves a row of f inside what g leaves as well: F folds take F(F + 1)/2 models, not F².
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dris.learn.trainers.stacked.head import Head, train_on
from dris.learn.trainers.stacked.stack import Answers, class_probabilities
from dris.learn.trees import grow

Floats = NDArray[np.float32]
Positions = NDArray[np.integer]


def nested_heads(
    x: Any,
    labels: NDArray[np.int64],
    fold: Positions,
    classes: int,
    *,
    head: Head,
    seed: int = 0,
) -> Floats:
    """Class probabilities inside every fold, (fold, N, C), by heads trained in one stack.

    At [f], a row of another fold g has those of the head that saw neither f nor g.
    """
    left_out = _left_out(fold)
    out = np.empty((left_out[-1][0] + 1, len(labels), classes), dtype=np.float32)
    rows = [_rows(fold, pair) for pair in left_out]
    stack = train_on(x, labels, classes, rows, head=head, seed=seed)

    def write(answers: Answers) -> None:
        f, g = left_out[answers.models.start]
        at = np.asarray(answers.examples)
        # A row of g is asked about inside f, and a row of f inside g.
        out[np.where(fold[at] == f, g, f), at] = class_probabilities(answers.logits[0])

    with threadpool_limits(limits=1):
        stack.answer_each([np.flatnonzero(np.isin(fold, pair)) for pair in left_out], write)
    return out


def nested_trees(
    x: NDArray[Any],
    labels: NDArray[np.int64],
    fold: Positions,
    classes: int,
    *,
    known: Floats | None = None,
    seed: int = 0,
) -> Floats:
    """The same by boosted trees; `known` (N, C) are those that saw all rows but their fold's."""
    left_out = _left_out(fold)
    out = np.empty((left_out[-1][0] + 1, len(labels), classes), dtype=np.float32)
    if known is not None:
        out[fold, np.arange(len(fold))] = known
        left_out = [(f, g) for f, g in left_out if f != g]
    for f, g in left_out:
        at = np.flatnonzero(np.isin(fold, (f, g)))
        p = grow(x, labels, _rows(fold, (f, g)), at, classes, (seed, "nested trees", f, g))
        out[np.where(fold[at] == f, g, f), at] = p
    return out


def _left_out(fold: Positions) -> list[tuple[int, int]]:
    """Every fold alone, as (f, f), and every pair of folds."""
    folds = int(fold.max()) + 1
    return [(f, g) for f in range(folds) for g in range(f, folds)]


def _rows(fold: Positions, pair: tuple[int, int]) -> NDArray[np.int64]:
    return np.flatnonzero(~np.isin(fold, pair))
