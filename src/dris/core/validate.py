"""Checks at the public door: each turns bad input into one sentence."""

import math
import operator
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from dris.core.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def check_labels(
    labels: ArrayLike, classes: int | None = None, *, least: int = 2
) -> NDArray[np.int64]:
    """Labels as int64 in 0..C-1; at least two classes, declared or present, unless least = 1."""
    if labels is None:
        raise InputError("labels are None; pass one label per example")
    y = np.asarray(labels)
    if y.ndim != 1:
        raise InputError(f"labels must be one-dimensional, got shape {y.shape}")
    if y.size == 0:
        raise InputError("labels are empty; at least two examples are needed")
    if y.dtype.kind in "fO":
        missing = [i for i, v in enumerate(y.tolist()) if v is None or v != v]
        if missing:
            at = missing[0]
            raise InputError(f"the label at position {at} is missing ({y[at]}); drop that example")
    if y.dtype.kind not in "iu":
        raise InputError(
            f"labels must be integers, got {y.dtype}; "
            "encode them with np.unique(labels, return_inverse=True)[1]"
        )
    if int(y.min()) < 0:
        raise InputError(f"labels must be 0 or more, got {y.min()}")
    if classes is not None and int(y.max()) >= classes:
        raise InputError(f"labels must be below classes = {classes}, got {y.max()}")
    if classes is None and least > 1 and y.min() == y.max():
        raise InputError(f"labels need at least two classes, all {y.size} are {y[0]}")
    if classes is None and int(y.max()) >= 1000 + 10 * y.size:
        raise InputError(
            f"labels go up to {y.max()} with {y.size} examples, so most classes would be empty; "
            "encode them with np.unique(labels, return_inverse=True)[1]"
        )
    if classes is not None and classes < 2:
        raise InputError(f"classes must be at least 2, got {classes}")
    return y.astype(np.int64)


def check_score(score: ArrayLike) -> NDArray[np.float64]:
    """A score as a finite float64 vector."""
    s = numeric(score, "score")
    if s.ndim != 1:
        raise InputError(f"score must be one number per example, got shape {s.shape}")
    if s.size == 0:
        raise InputError("score is empty; at least one example is needed")
    bad = first_not_finite(s)
    if bad is not None:
        raise InputError(f"score must be finite, got {s[bad]} at position {bad}")
    return s


def check_mask(mask: ArrayLike, n: int, name: str = "corrupted") -> NDArray[np.bool_]:
    """A boolean mask over n examples with both kinds in it."""
    m = np.asarray(mask)
    if m.dtype != np.bool_ or m.shape != (n,):
        raise InputError(
            f"{name} must be a boolean mask of {n} examples, got {m.dtype} of shape {m.shape}"
        )
    if not m.any() or m.all():
        raise InputError(
            f"{name} must mark some examples and leave some, it marks {m.sum()} of {n}"
        )
    return m


def check_ids(ids: ArrayLike | None, n: int) -> NDArray[np.generic]:
    """Ids as int64 or text, one per example and no two alike; positions when none are given."""
    if ids is None:
        return np.arange(n, dtype=np.int64)
    a = np.asarray(ids)
    if a.dtype == object and all(isinstance(i, str) for i in a.ravel().tolist()):
        a = a.astype(np.str_)
    if a.dtype.kind not in "iuU":
        raise InputError(f"ids must be whole numbers or text, got {a.dtype}")
    if a.shape != (n,):
        raise InputError(f"ids must be one per example: {n} examples, ids of shape {a.shape}")
    if a.dtype.kind == "u" and a.size and int(a.max()) > np.iinfo(np.int64).max:
        raise InputError(f"ids must fit 64 signed bits, got {a.max()}; pass them as text")
    out = a if a.dtype.kind == "U" else a.astype(np.int64)
    if (out[1:] > out[:-1]).all():  # as most ids are, and then no two are alike
        return out
    values, counts = np.unique(out, return_counts=True)
    if values.size < n:
        raise InputError(f"ids must be unique, {values[counts > 1][0]!s} occurs more than once")
    return out


def count_of(fraction: Any, n: int, name: str = "fraction") -> int:
    """⌊fraction · n⌋ exactly as written: 0.29 of 50,000 is 14,500, not floats' 14,499.

    >>> count_of(0.29, 50_000)
    14500
    """
    if not 0 < exact(fraction, name) <= 1:
        raise InputError(f"{name} must be in (0, 1], got {fraction}")
    count = part_of(fraction, n, name)
    if count == 0:
        raise InputError(
            f"{name} = {fraction} of {n} examples is none; use at least {1 / n if n else 1:.3g}"
        )
    return count


def part_of(share: Any, n: int, name: str) -> int:
    """⌊share · n⌋ exactly as written; none and all are allowed."""
    value = exact(share, name)
    if not 0 <= value <= 1:
        raise InputError(f"{name} must be in [0, 1], got {share}")
    return math.floor(value * n)


def check_count(value: Any, name: str, at_least: int, at_most: int | None = None) -> int:
    """A whole number within limits; True and 3.0 are not counts."""
    if isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be a whole number, got {value}")
    try:
        count = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, got {value!r}") from None
    if count < at_least:
        raise InputError(f"{name} must be at least {at_least}, got {count}")
    if at_most is not None and count > at_most:
        raise InputError(f"{name} must be at most {at_most:,}, got more")
    return count


def exact(value: Any, name: str) -> Fraction:
    """The number as the decimal it was written as, not as the nearest binary fraction.

    >>> exact(0.1, "rate")
    Fraction(1, 10)
    """
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{name} must be a finite number, got {value!r}") from None


def numeric(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Anything numeric as float64 (exact for float32 and for whole numbers below 2^53)."""
    a = np.asarray(values)
    if a.dtype.kind not in "fiub":
        raise InputError(f"{name} must be numbers, got {a.dtype}")
    return a.astype(np.float64, copy=False)


def as_floats(values: ArrayLike, name: str) -> NDArray[Any]:
    """Anything numeric as float32 or float64; float64 stays, casting down would merge values."""
    a = np.asarray(values)
    if a.dtype.kind not in "fiu":
        raise InputError(f"{name} must be numbers, got {a.dtype}")
    if a.dtype in (np.float32, np.float64):
        return a
    return a.astype(np.float32 if a.dtype == np.float16 else np.float64)


def check_rows(values: ArrayLike, name: str, rows: int, columns: int) -> NDArray[np.float64]:
    """A (rows, columns) array whose rows are probabilities; float16 softmax rows pass."""
    p = numeric(values, name)
    if p.shape != (rows, columns):
        raise InputError(f"{name} must have shape ({rows}, {columns}), got {p.shape}")
    good = (p.min(axis=1) >= 0) & (np.abs(p.sum(axis=1) - 1) <= 1e-3)  # so that NaN fails
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise InputError(
            f"each row of {name} must be 0 or more and sum to 1, "
            f"row {row} has a smallest of {p[row].min():.6g} and a sum of {p[row].sum():.6g}"
        )
    return p


def first_not_finite(a: NDArray[np.floating]) -> int | None:
    """The flat position of the first NaN or infinity, None when all is finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(a.sum()):  # one pass that allocates nothing
            return None
    bad = np.flatnonzero(~np.isfinite(a))  # may be empty: finite terms can overflow together
    return int(bad[0]) if bad.size else None


def read_only(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """The values as a read-only array; copied unless they are one already."""
    array = np.asarray(values, dtype=dtype)
    if array.flags.writeable:
        # A list was just turned into an array of our own; anything else may have another owner.
        array = array.copy() if isinstance(values, np.ndarray) else array
        array.flags.writeable = False
    return array


def same_value(one: "DataclassInstance", other: object) -> bool:
    """Whether two value objects are of one kind and agree in every field, NaN equal to itself."""
    if type(one) is not type(other):
        return False
    pairs = ((getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return all(
        np.array_equal(a, np.asarray(b), equal_nan=a.dtype.kind == "f")
        if isinstance(a, np.ndarray)
        else bool(a == b)
        for a, b in pairs
    )


class Positions:
    """Finds the positions of ids among N known ones, N log N once and log N per lookup."""

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
        # Text wider than the table's is cut, so that the table is never copied; the comparison
        # below sees the whole text.
        place = np.searchsorted(self._sorted, ids.astype(self._sorted.dtype, copy=False))
        np.minimum(place, self._count - 1, out=place)
        known = self._sorted[place] == ids
        if not known.all():
            raise _unknown(ids[~known], f"the {self._count} ids given before")
        return self._order[place]


def alignment(own: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.intp] | None:
    """The positions that bring `own` into the order of `wanted`; None unless both are one set."""
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


def refuse_other_index(x: Any, y: Any) -> None:
    """Stop when x and y are pandas objects whose rows carry different names, or another order."""
    if not (hasattr(x, "iloc") and hasattr(y, "iloc")) or len(x) != len(y):
        return
    if not x.index.equals(y.index):
        starts = " and ".join(f"{list(a.index[:3])}" for a in (x, y))
        raise InputError(
            f"x and y must have the same index, theirs differ (they begin {starts}); pass "
            "y.loc[x.index] to match rows by name, or reset_index(drop=True) of both to match "
            "them by position"
        )
