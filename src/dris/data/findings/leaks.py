"""Columns that repeat the given label or nearly determine it, and those that say nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dris.data.files import listed
from dris.data.labelled import Feature, LabelledData, Leak

MIN_NAMED = 0.95  # of what the commonest class does not explain: from here on a column is named
MIN_LEFT_OUT = 0.995  # and from here on left out, where it is a list of values
MAX_VALUES_PER_CLASS = (
    8  # values a class at most: more are names of groups, of which the label is a property
)
MIN_ROWS = 50  # rows: with fewer, an honest column may do so
_SAMPLE = 20_000  # rows by which a column of numbers is judged
MAX_BYTES = 1 << 27  # of an array; larger ones stay as they are
MAX_COMPARED = 100  # columns that are compared with the label each: not those of embeddings
_BINS = 64


def determined_share(codes: NDArray[np.integer], labels: NDArray[np.int64], classes: int) -> float:
    """How much of the label a list of values tells: 0 as much as the commonest class, 1 all.

    Each row is judged by the other rows of its value, so that a value of its own says nothing.

    >>> determined_share(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 1]), 2)
    1.0
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
    if len(labels) < MIN_ROWS or classes > len(labels) // 4:
        return []
    drawn: NDArray[np.int64] | slice = slice(None)
    if len(labels) > _SAMPLE:
        drawn = np.argsort(keys, kind="stable")[:_SAMPLE]
    some = labels[drawn]
    leaks: list[Leak] = []
    pairs: dict[str, NDArray[np.bool_]] = {}  # columns of two values
    at = 0
    for feature in features:
        begin, at = at, at + feature.width
        if feature.column in codes:
            own = codes[feature.column]
            share, many = determined_share(own, labels, classes), len(np.unique(own))
        elif feature.how in ("number", "yes/no"):
            column = x[drawn, begin]
            distinct = np.unique(column)
            many = len(distinct)
            if many == 2:
                pairs[feature.column] = column == distinct[1]
            edges = distinct
            if many > _BINS:
                edges = np.quantile(column, np.linspace(0, 1, _BINS + 1)[1:-1])
            share = determined_share(np.searchsorted(edges, column), some, classes)
        else:
            continue
        known = feature.how == "gap" or any(leak.column == feature.column for leak in leaks)
        if share >= MIN_NAMED and not known:
            few = many <= min(_BINS, MAX_VALUES_PER_CLASS * classes)
            leaks.append(Leak(feature.column, share, few and share >= MIN_LEFT_OUT))
    return leaks or [Leak(name, 1.0, True) for name in one_hot_label(pairs, some, classes)]


def one_hot_label(
    pairs: Mapping[str, NDArray[np.bool_]], labels: NDArray[np.int64], classes: int
) -> list[str]:
    """Columns of two values that are the label together: one for each class, or for all but one.

    >>> y = np.arange(9) % 3
    >>> one_hot_label({"a": y == 0, "b": y == 1, "c": np.arange(9) < 4}, y, 3)
    ['a', 'b']
    """
    columns: dict[int, str] = {}
    if len(pairs) < classes - 1:
        return []
    n = len(labels)
    for name, there in pairs.items():
        hits = np.bincount(labels[there], minlength=classes)
        likeliest = int(hits.argmax())
        own = labels == likeliest
        missed = int((there != own).sum())
        if missed <= (1 - MIN_LEFT_OUT) * min(int(own.sum()), n - int(own.sum())):
            columns.setdefault(likeliest, name)
    return list(columns.values()) if len(columns) >= classes - 1 else []


def describe_leaks(leaks: Sequence[Leak]) -> list[str]:
    """A sentence for each; one for several that are the label together."""
    if len(leaks) < 2 or any(leak.share < 1 or not leak.left_out or leak.words for leak in leaks):
        return [str(leak) for leak in leaks]
    names = listed([leak.column for leak in leaks], 6)
    return [f"columns {names} repeat the given label, wrong ones included, and are left out"]


def drop_uninformative_columns(data: LabelledData) -> LabelledData:
    """Arrays from memory without constants, copies and columns that repeat the label.

    A file leaves these out as it is read, so that the same numbers give the same decision.

    >>> x = np.array([[0.0, 1.0, 5.0, 1.0], [0.0, 2.0, 7.0, 2.0]])
    >>> drop_uninformative_columns(LabelledData.of(x, [0, 1], classes=("a", "b"))).x.tolist()
    [[1.0, 5.0], [2.0, 7.0]]
    """
    x = data.x
    plain = all(feature.how == "vector" for feature in data.features)
    if not plain or x.ndim != 2 or x.nbytes > MAX_BYTES or not len(x):
        return data
    keep = x.max(axis=0) > x.min(axis=0)
    seen: set[bytes] = set()
    for column in np.flatnonzero(keep).tolist():
        key = blake2b(x[:, column].tobytes(), digest_size=16).digest()
        keep[column] = key not in seen
        seen.add(key)
    if not keep.any():
        return data
    names = np.array([f"{f.column}[{i}]" for f in data.features for i in range(f.width)])
    leaks: list[Leak] = []
    if keep.sum() <= MAX_COMPARED:
        each = [Feature(str(name), "number") for name in names[keep]]
        rows, values = np.arange(len(data), dtype=np.uint64), np.asarray(x[:, keep], np.float32)
        leaks = leaks_in(values, each, {}, data.labels, len(data.classes), rows)
        leaks = [leak for leak in leaks if leak.left_out]
    left = keep & ~np.isin(names, [leak.column for leak in leaks])
    if not left.any():  # nothing else to learn from
        left, leaks = keep, [replace(leak, left_out=False) for leak in leaks]
    if left.all() and not leaks:
        return data
    widths = np.add.reduceat(left, np.cumsum([0, *(f.width for f in data.features)])[:-1])
    features = tuple(
        replace(f, width=int(w)) for f, w in zip(data.features, widths, strict=True) if w
    )
    return replace(
        data,
        x=x[:, left],
        features=features,
        leaks=(*data.leaks, *leaks),
        notes=(*data.notes, *describe_leaks(leaks)),
    )
