"""Boosted trees on a table's raw columns: out-of-fold probabilities beside those of the heads.

They see what heads cannot: steps, gaps and columns that matter together. They take three to five
times as long, so they are left out where they earn little: of many classes, or of wide features.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from dris.core.streams import rng_for
from dris.learn.store.run_store import Store, fingerprint
from dris.learn.trainers.stacked.head import Head, train_on
from dris.learn.trainers.stacked.stack import Answers, class_probabilities

Floats = NDArray[np.float32]
Positions = NDArray[np.integer]
MAX_CLASSES = 25
MAX_COLUMNS = 256
# A tree per class and iteration, on at most so many rows of a fold. Twice as many leaves and
# iterations cost twice as much, and memorise more wrong labels.
ROWS = 20_000
GROWTH = {"max_iter": 60, "learning_rate": 0.15, "max_leaf_nodes": 8, "min_samples_leaf": 20}
GROWTH |= {"max_bins": 127}
FEW_CLASSES = 3
GROWTH_OF_MANY = GROWTH | {"max_iter": 30, "learning_rate": 0.3}  # half the cost, finds as much


def suit_trees(x: Any, classes: int) -> bool:
    """True where trees are worth their time: a dense table of few classes and not too wide."""
    dense = isinstance(x, np.ndarray) and x.ndim == 2
    return dense and x.shape[1] <= MAX_COLUMNS and classes <= MAX_CLASSES


def tree_probabilities(
    x: NDArray[Any],
    labels: NDArray[np.integer],
    fold: NDArray[np.integer],
    classes: int,
    *,
    seed: int = 0,
    ids: ArrayLike | None = None,
    store: Store | str | Path | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Floats:
    """Each row's class probabilities from trees that did not train on its fold, (N, C).

    In `x` NaN is a gap. `tick` is called after each fold, and the store keeps it. With `ids` the
    same bytes whatever the order of rows.
    """
    order = np.arange(len(labels)) if ids is None else np.argsort(np.asarray(ids), kind="stable")
    y, place = np.asarray(labels)[order], np.asarray(fold)[order]
    table = x if ids is None else x[order]
    kept = Store(store) if isinstance(store, str | Path) else store
    key = {} if kept is None else _key(table, y, place, classes, seed)
    out = np.empty((len(y), classes), dtype=np.float32)

    # Not in threads: scikit-learn changes the filters of warnings while it grows.
    for f in np.unique(place).tolist():
        rows, outside = np.flatnonzero(place != f), np.flatnonzero(place == f)
        grown = partial(grow, table, y, rows, outside, classes, (seed, "trees", f))
        run = None if kept is None else kept.run({**key, "fold": f})
        out[outside] = grown() if run is None else run.array("probabilities", grown)
        tick()
    return out[np.argsort(order)]


def grow(
    x: NDArray[Any],
    y: NDArray[np.integer],
    rows: Positions,
    asked: Positions,
    classes: int,
    stream: tuple[int | str, ...],  # the seed, and the name of what is drawn
) -> Floats:
    """The class probabilities of the rows at `asked` by trees grown on those at `rows`."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = rng_for(int(stream[0]), *stream[1:])
    if len(rows) > ROWS:
        rows = np.sort(rng.permutation(rows)[:ROWS])
    out = np.zeros((len(asked), classes), dtype=np.float32)
    seen = np.unique(y[rows])
    if len(seen) == 1:
        out[:, seen[0]] = 1
        return out
    how = {**_growth(classes), "random_state": int(rng.integers(1 << 31))}
    model = HistGradientBoostingClassifier(**how, early_stopping=False)
    with threadpool_limits(limits=1):  # sums of several threads differ in their last bits
        model.fit(x[rows], y[rows])
        out[:, model.classes_] = model.predict_proba(x[asked])
    return out


def _growth(classes: int) -> dict[str, Any]:
    return GROWTH if classes <= FEW_CLASSES else GROWTH_OF_MANY


def _key(x: Any, y: Any, fold: Any, classes: int, seed: int) -> dict[str, Any]:
    from sklearn import __version__

    return {
        "model": "trees",
        **_growth(classes),
        "rows": ROWS,
        "classes": classes,
        "seed": seed,
        "sklearn": __version__,
        "data": fingerprint(x),
        "labels": fingerprint(y),
        "folds": fingerprint(fold),
    }


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
