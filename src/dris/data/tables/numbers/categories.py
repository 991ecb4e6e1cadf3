"""Categories of any number: a place for each, or for the commonest, a few shared ones, how common.

No encoding looks at the label, and none depends on the order of the rows.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dris.data.labelled import Feature

ONE_HOT_LIMIT = 50  # so many values get a place each
COMMON, SHARED = 128, 31  # of more: places for the commonest, places that the others share
MANY, FEWER = 200_000, 32  # rows past which the commonest are fewer: each place is a column of x
MISSING_CATEGORY = "(missing)"


def one_hot(name: str, values: Sequence[str], *, gaps: bool) -> Feature:
    """A place for each value in order, one for missing ones last."""
    categories = (*sorted(values), *[MISSING_CATEGORY] * gaps)
    return Feature(name, "one-hot", len(categories), categories)


def hashed(name: str, values: Sequence[str], counts: Sequence[int]) -> Feature:
    """How common the value is, a place for each of the commonest, and places for the others.

    >>> hashed("city", ["Rome", "Oslo"], [9, 2]).names()[:3]
    ('city (log count)', 'city=Rome', 'city=Oslo')
    """
    order = sorted(range(len(values)), key=lambda i: (-counts[i], values[i]))
    own = COMMON if sum(counts) <= MANY else FEWER
    common = tuple(values[i] for i in order[:own])
    return Feature(name, "hashed", 1 + len(common) + SHARED, common)


def put_one_hot(cells: Any, feature: Feature, out: NDArray[np.float32]) -> None:
    """Ones in the place of each row's value."""
    known = pa.array(feature.categories, pa.large_string())
    at = pc.index_in(cells.fill_null(MISSING_CATEGORY), known)
    out[:] = 0
    out[np.arange(len(out)), at.to_numpy(zero_copy_only=False)] = 1


def put_hashed(cells: Any, feature: Feature, out: NDArray[np.float32]) -> None:
    """The logarithm of the count, and a one in the value's own place or in a shared one."""
    found = cells.dictionary_encode()
    values = found.dictionary.to_pylist()
    codes = found.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    counts = np.bincount(codes, minlength=len(values) + 1)
    own = {value: place for place, value in enumerate(feature.categories)}
    first = len(own)
    places = [own.get(v, first + zlib.crc32(v.encode()) % SHARED) for v in values]
    out[:] = 0
    out[:, 0] = np.log1p(np.where(codes < len(values), counts[codes], 0))
    there = np.flatnonzero(codes < len(values))  # a missing value has no place
    out[there, 1 + np.array([*places, 0])[codes[there]]] = 1
