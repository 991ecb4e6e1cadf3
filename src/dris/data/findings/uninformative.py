"""Numbers from memory as files are read: without what tells nothing, or repeats the label."""

from dataclasses import replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dris.data.findings.leaks import leaks_in, leaks_said
from dris.data.labelled import Feature, LabelledData, Leak

MOST = 1 << 27  # bytes; larger tables stay as they are
NARROW = 100  # columns, up to which each is compared with the label: not those of embeddings


def telling(data: LabelledData) -> LabelledData:
    """Arrays without constants, copies and columns that are the label again.

    A file leaves these out as it is read, and the same numbers give the same decision then.

    >>> x = np.array([[0.0, 1.0, 5.0, 1.0], [0.0, 2.0, 7.0, 2.0]])
    >>> telling(LabelledData.of(x, [0, 1], classes=("a", "b"))).x.tolist()
    [[1.0, 5.0], [2.0, 7.0]]
    """
    x = data.x
    plain = all(feature.how == "vector" for feature in data.features)
    if not plain or x.ndim != 2 or x.nbytes > MOST or not len(x):
        return data
    keep = x.max(axis=0) > x.min(axis=0)
    seen: set[bytes] = set()
    for column in np.flatnonzero(keep).tolist():
        values = blake2b(x[:, column].tobytes(), digest_size=16).digest()
        keep[column] = values not in seen
        seen.add(values)
    if not keep.any():
        return data
    names = np.array([f"{f.column}[{i}]" for f in data.features for i in range(f.width)])
    leaks = _leaks(data, names, keep) if keep.sum() <= NARROW else []
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
        notes=(*data.notes, *leaks_said(leaks)),
    )


def _leaks(data: LabelledData, names: NDArray[np.str_], keep: NDArray[np.bool_]) -> list[Leak]:
    """Columns with few values that are the label again, as numbers have them."""
    each = [Feature(str(name), "number") for name in names[keep]]
    rows = np.arange(len(data), dtype=np.uint64)
    x = np.asarray(data.x[:, keep], dtype=np.float32)
    found = leaks_in(x, each, {}, data.labels, len(data.classes), rows)
    return [leak for leak in found if leak.left_out]
