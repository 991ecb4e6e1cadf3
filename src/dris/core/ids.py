"""Where each example stands, by its id: the one place where ids are looked up and aligned."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError


class Positions:
    """Finds the positions of ids among N known ones.

    Ids 0..N-1 are their own positions; all others are found in a sorted table, N log N once and
    log N per lookup.

    >>> Positions(np.array(["b", "a"])).of(np.array(["a", "b", "a"])).tolist()
    [1, 0, 1]
    """

    def __init__(self, ids: NDArray[Any]) -> None:
        self._count = len(ids)
        self._order: NDArray[np.intp] | None = None
        self._sorted = ids
        if not np.array_equal(ids, np.arange(len(ids))):
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]

    def of(self, ids: NDArray[Any]) -> NDArray[np.intp]:
        """The positions of a batch of ids; one that is not known is an error naming it."""
        if ids.size == 0:
            return np.zeros(0, dtype=np.intp)
        text = self._sorted.dtype.kind == "U"
        if text and ids.dtype == object:
            ids = ids.astype(np.str_)
        if ids.dtype.kind not in ("U" if text else "iu"):
            kind = "text" if text else "whole numbers"
            raise InputError(f"the ids here are {kind}, got {ids.dtype}")
        if self._order is None:
            place = ids.astype(np.intp, copy=False)
            if not all_below(place, self._count):
                known = (ids >= 0) & (ids < self._count)
                raise _unknown(ids[~known], f"0 to {self._count - 1}")
            return place
        # A batch whose text is wider than the table's is cut, so that the table is never copied;
        # the comparison below sees the whole text.
        place = np.searchsorted(self._sorted, ids.astype(self._sorted.dtype, copy=False))
        np.minimum(place, self._count - 1, out=place)
        known = self._sorted[place] == ids
        if not known.all():
            raise _unknown(ids[~known], f"the {self._count} ids given before")
        return self._order[place]


def alignment(own: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.intp] | None:
    """The positions that bring `own` into the order of `wanted`; None unless both are one set.

    >>> alignment(np.array(["b", "a"]), np.array(["a", "b"])).tolist()
    [1, 0]
    >>> alignment(np.array(["b", "a"]), np.array(["a", "c"])) is None
    True
    """
    if own.size != wanted.size or own.dtype.kind != wanted.dtype.kind:
        return None
    if np.array_equal(own, wanted):
        return np.arange(own.size, dtype=np.intp)
    try:
        order = Positions(own).of(wanted)
    except InputError:
        return None
    return order if np.unique(order).size == own.size else None


def all_below(values: NDArray[np.int64], bound: int) -> bool:
    """Whether all of a batch, not an empty one, is in 0..bound-1."""
    # On a batch, finding where the extremes are costs a fifth of min() and max().
    return bool(values[values.argmax()] < bound and values[values.argmin()] >= 0)


def _unknown(ids: NDArray[Any], known: str) -> InputError:
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return InputError(f"unknown id {ids[0]!s}{more}; known are {known}")
