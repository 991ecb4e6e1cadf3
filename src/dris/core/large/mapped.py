"""Large arrays in unnamed files, whose memory can be released and read again."""

import mmap
import os
import shutil
import tempfile
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError

LARGE = 1 << 27  # bytes from which an array goes into a file; less is not worth the disk
_SPARE = 3  # times the size that must be free on the disk


class _Own(mmap.mmap):
    """A file of ours: what was written stays when its pages are released."""


def allocate(shape: tuple[int, ...], dtype: Any, *, large: int | None = None) -> NDArray[Any]:
    """An array to be filled: in memory, or, with `large` bytes or more, in an unnamed file."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if size >= (LARGE if large is None else large) and hasattr(os, "posix_fallocate"):
        with suppress(OSError):
            if shutil.disk_usage(tempfile.gettempdir()).free >= _SPARE * size:
                with tempfile.TemporaryFile() as file:
                    os.posix_fallocate(file.fileno(), 0, size)  # or a full disk would kill us later
                    held = _Own(file.fileno(), size)
                return np.frombuffer(held, dtype=dtype).reshape(shape)
    return np.empty(shape, dtype=dtype)


def release(x: Any) -> None:
    """Release the memory of an array that maps a file, ours or read-only; it is read again."""
    while isinstance(x, np.ndarray) and x.base is not None:
        x = x.base
    if isinstance(x, memoryview):
        x = x.obj
    if not isinstance(x, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
        return
    with memoryview(x) as view:
        safe = isinstance(x, _Own) or view.readonly
    if safe:
        x.madvise(mmap.MADV_DONTNEED)


Keys = NDArray[np.unsignedinteger[Any]]

_FLOATS = {np.dtype(np.uint32): np.float32, np.dtype(np.uint64): np.float64}


def ordered_keys(values: NDArray[np.floating]) -> Keys:
    """Whole numbers in the order of the floats; −0.0 and 0.0 share a key, NaN is refused."""
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
