"""Whole numbers in the order of floats: what can be counted, shifted and split into ranges."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError

Keys = NDArray[np.unsignedinteger[Any]]

_FLOATS = {np.dtype(np.uint32): np.float32, np.dtype(np.uint64): np.float64}


def ordered_keys(values: NDArray[np.floating]) -> Keys:
    """Whole numbers in the order of the floats: 32 bits of float32, 64 bits of float64.

    Negative numbers come first, −0.0 and 0.0 share a key, and neighbouring floats have
    neighbouring keys (the place of −0.0 stays empty). NaN has no place in an order and is refused.
    """
    if values.dtype not in (np.float32, np.float64):
        raise InputError(f"only float32 and float64 have keys, got {values.dtype}; convert them")
    if np.isnan(values.max(initial=-np.inf)):
        raise InputError("NaN has no place in an order; drop that proxy or mend its training")
    unsigned = np.dtype(f"u{values.itemsize}").type
    top = unsigned(8 * values.itemsize - 1)
    bits: Keys = (values + values.dtype.type(0)).view(unsigned)  # adding zero turns −0.0 into 0.0
    # A negative float is all its bits turned over, another only its sign.
    bits ^= (unsigned(0) - (bits >> top)) | (unsigned(1) << top)
    return bits


def values_of(keys: Keys) -> NDArray[np.floating]:
    """The floats that have these keys."""
    unsigned = keys.dtype.type
    top = unsigned(8 * keys.itemsize - 1)
    flipped = (keys >> top) - unsigned(1) | (unsigned(1) << top)
    return (keys ^ flipped).view(_FLOATS[keys.dtype])
