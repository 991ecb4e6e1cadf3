"""Large arrays in unnamed files, whose memory can be released and read again.

What a training does not look at need not be held beside what it does: a million rows of features
that were read are not touched again while proxies learn from standardised ones.
"""

import mmap
import os
import shutil
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 27  # bytes from which an array goes into a file; less is not worth the disk
_SPARE = 3  # times the size that must be free on the disk


class _Own(mmap.mmap):
    """A file of ours: what was written stays when its pages are released."""


def roomy(shape: tuple[int, ...], dtype: Any, *, large: int | None = None) -> NDArray[Any]:
    """An array to be filled: in memory, or in an unnamed file if it is large.

    In memory too where the temporary folder has no room, or the system cannot promise it any.
    `large` is the bytes from which it goes into a file, if others than usual.
    """
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if size < (LARGE if large is None else large) or not hasattr(os, "posix_fallocate"):
        return np.empty(shape, dtype=dtype)
    try:
        if shutil.disk_usage(tempfile.gettempdir()).free < _SPARE * size:
            return np.empty(shape, dtype=dtype)
        with tempfile.TemporaryFile() as file:
            os.posix_fallocate(file.fileno(), 0, size)  # a disk that fills up later would kill us
            held = _Own(file.fileno(), size)
    except OSError:
        return np.empty(shape, dtype=dtype)
    return np.frombuffer(held, dtype=dtype).reshape(shape)


def let_go(x: Any) -> None:
    """Release the memory of an array in a file; its values are read again when needed.

    That is what `roomy` made, and files mapped to be read only, of which nothing can be lost.
    Nothing happens to any other array.
    """
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
