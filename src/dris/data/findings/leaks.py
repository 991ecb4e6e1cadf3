"""Columns that repeat the given label, or nearly determine it."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dris.data.files import listed
from dris.data.labelled import Feature, Leak

NAMED = 0.95  # of what the commonest class does not explain: from here on a column is named
LEFT_OUT = 0.995  # and from here on left out, where it is a list of values
A_CLASS = 8  # values a class at most: more are names of groups, of which the label is a property
ENOUGH = 50  # rows: with fewer, an honest column may do so
_SAMPLE = 20_000  # rows by which a column of numbers is judged
_BINS = 64


def determined(codes: NDArray[np.integer], labels: NDArray[np.int64], classes: int) -> float:
    """How much of the label a list of values tells: 0 as much as the commonest class, 1 all.

    Each row is told by the other rows of its value, so that a value of its own tells nothing.

    >>> determined(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 1]), 2)
    1.0
    >>> determined(np.arange(6), np.array([0, 0, 0, 1, 1, 1]), 2) < 0
    True
    """
    n = len(labels)
    _, dense = np.unique(codes, return_inverse=True)
    pairs, counts = np.unique(dense.astype(np.int64) * classes + labels, return_counts=True)
    value = pairs // classes
    order = np.lexsort((-counts, value))
    value, counts = value[order], counts[order]
    first = np.flatnonzero(np.diff(np.concatenate([[-1], value])))
    best = counts[first]
    second = np.zeros_like(best)
    more = np.append(np.diff(first) > 1, len(value) - first[-1] > 1)
    second[more] = counts[first[more] + 1]
    right = int(best[best - 1 > second].sum())
    commonest = np.bincount(labels, minlength=classes).max()
    return float((right - commonest) / max(1, n - commonest))


def leaks_in(
    x: NDArray[np.float32],
    features: Sequence[Feature],
    codes: Mapping[str, NDArray[np.int32]],
    labels: NDArray[np.int64],
    classes: int,
    keys: NDArray[np.uint64],
) -> list[Leak]:
    """Columns that tell nearly all of the label, each with how much.

    `keys` are numbers of the rows, by which a sample is drawn whatever their order.
    """
    if len(labels) < ENOUGH or classes > len(labels) // 4:
        return []
    drawn: NDArray[np.int64] | slice = slice(None)
    if len(labels) > _SAMPLE:
        drawn = np.argsort(keys, kind="stable")[:_SAMPLE]
    some = labels[drawn]
    found: list[Leak] = []
    pairs: dict[str, NDArray[np.bool_]] = {}  # columns of two values
    at = 0
    for feature in features:
        begin, at = at, at + feature.width
        if feature.column in codes:
            own = codes[feature.column]
            share, many = determined(own, labels, classes), len(np.unique(own))
        elif feature.how in ("number", "yes/no"):
            column = x[drawn, begin]
            distinct = np.unique(column)
            many = len(distinct)
            if many == 2:
                pairs[feature.column] = column == distinct[1]
            edges = (
                distinct
                if many <= _BINS
                else np.quantile(column, np.linspace(0, 1, _BINS + 1)[1:-1])
            )
            share = determined(np.searchsorted(edges, column), some, classes)
        else:
            continue
        if (
            share >= NAMED
            and feature.how != "gap"
            and not any(leak.column == feature.column for leak in found)
        ):
            few = many <= min(_BINS, A_CLASS * classes)
            found.append(Leak(feature.column, share, few and share >= LEFT_OUT))
    return found or [Leak(name, 1.0, True) for name in one_hot(pairs, some, classes)]


def one_hot(
    pairs: Mapping[str, NDArray[np.bool_]], labels: NDArray[np.int64], classes: int
) -> list[str]:
    """Columns of two values that are the label together: one for each class, or for all but one.

    >>> y = np.arange(9) % 3
    >>> one_hot({"a": y == 0, "b": y == 1, "c": np.arange(9) < 4}, y, 3)
    ['a', 'b']
    >>> one_hot({"a": y == 0, "c": np.arange(9) < 4}, y, 3)
    []
    """
    told: dict[int, str] = {}
    if len(pairs) < classes - 1:
        return []
    n = len(labels)
    for name, there in pairs.items():
        hits = np.bincount(labels[there], minlength=classes)
        likeliest = int(hits.argmax())
        own = labels == likeliest
        missed = int((there != own).sum())
        if missed <= (1 - LEFT_OUT) * min(int(own.sum()), n - int(own.sum())):
            told.setdefault(likeliest, name)
    return list(told.values()) if len(told) >= classes - 1 else []


def leaks_said(leaks: Sequence[Leak]) -> list[str]:
    """A sentence for each; one for several that are the label together."""
    if len(leaks) < 2 or any(leak.share < 1 or not leak.left_out or leak.words for leak in leaks):
        return [str(leak) for leak in leaks]
    names = listed([leak.column for leak in leaks], 6)
    return [f"columns {names} repeat the given label, wrong ones included, and are left out"]
