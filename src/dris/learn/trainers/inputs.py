"""What a user passes to train on, checked once at the door."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.columns import labels_for, refuse_not_finite
from dris.core.errors import InputError
from dris.core.large.mapped import allocate, release
from dris.learn.record.array_like import refuse_other_index


def check_inputs(x: Any) -> Any:
    """Features or images as an array, or a torch Dataset as it is."""
    if any(base.__module__.startswith("torch.utils.data") for base in type(x).__mro__):
        if not hasattr(x, "__len__") or not len(x):
            raise InputError(
                f"x must be a map-style Dataset with examples, {type(x).__name__} has no length "
                "or is empty; read its examples into arrays first"
            )
        return x
    if hasattr(x, "tocsr"):
        return _check_sparse(x)
    a = np.asarray(x)
    if a.dtype.kind not in "fiub":
        raise InputError(f"x must be numbers, got {a.dtype}; encode text and categories first")
    if a.ndim not in (2, 4) or 0 in a.shape:
        raise InputError(
            "x must be (examples, features) or images (examples, channels, height, width) and not "
            f"empty, got shape {a.shape}"
        )
    if a.ndim == 4 and a.shape[1] == a.shape[2] > 4 >= a.shape[3]:
        raise InputError(
            f"x looks like images with their channels last, {a.shape}; "
            "pass x.transpose(0, 3, 1, 2): (examples, channels, height, width)"
        )
    if a.dtype.kind == "f":
        refuse_not_finite(a.reshape(len(a), -1), "x")
    return a


def _check_sparse(x: Any) -> Any:
    rows = x.tocsr()
    if rows.dtype.kind not in "fiub":
        raise InputError(f"x must be numbers, got {rows.dtype}; encode text and categories first")
    if 0 in rows.shape:
        raise InputError(f"x must be (examples, features) and not empty, got shape {rows.shape}")
    if not np.isfinite(rows.data).all():
        raise InputError("x must be finite, a sparse matrix holds NaN or infinity; remove them")
    return rows


def count_rows(x: Any) -> int:
    """N, of an array, a sparse matrix or a Dataset."""
    return int(x.shape[0]) if hasattr(x, "indptr") else len(x)


def rows_at(x: Any, positions: NDArray[np.int64]) -> Any:
    """Some examples of an array, a sparse matrix or a Dataset, in the order given."""
    if isinstance(x, np.ndarray):
        some = allocate((len(positions), *x.shape[1:]), x.dtype)
        np.take(x, positions, axis=0, out=some, mode="wrap")  # "raise" would make a copy first
        release(x)
        return some
    if hasattr(x, "indptr"):
        return x[positions]
    from torch.utils.data import Subset

    return Subset(x, positions.tolist())


def check_test(
    test: tuple[Any, ArrayLike] | None, data: Any
) -> tuple[Any, NDArray[np.int64] | None]:
    """Held-out examples shaped like the data, and their labels; (None, None) for none."""
    if test is None:
        return None, None
    x = check_inputs(test[0])
    refuse_other_index(*test)
    if hasattr(x, "shape") != hasattr(data, "shape") or hasattr(x, "indptr") != hasattr(
        data, "indptr"
    ):
        raise InputError("test must be an array where x is one and a Dataset where x is one")
    if hasattr(x, "shape") and x.shape[1:] != data.shape[1:]:
        raise InputError(
            f"test must be shaped like x, {data.shape[1:]} an example, got {x.shape[1:]}"
        )
    return x, labels_for(test[1], count_rows(x))
