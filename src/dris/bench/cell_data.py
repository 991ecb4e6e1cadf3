"""A cell's data set as its models want it, kept in memory for the next cell."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.bench.spec import Source
from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.data.known.catalogue import load


@dataclass(frozen=True, slots=True)
class Loaded:
    """Training and test examples of a source."""

    x: NDArray[Any]
    y: NDArray[np.int64]
    test_x: NDArray[Any]
    test_y: NDArray[np.int64]
    classes: int


@lru_cache(maxsize=2)
def loaded(source: Source, data_dir: Path | None = None) -> Loaded:
    """The examples of a source; the same ones for every seed, so that seeds differ in noise alone.

    >>> found = loaded(Source("digits", 100, 50))
    >>> found.x.shape, found.test_y.shape, found.classes
    ((100, 64), (50,), 10)
    """
    data = load(source.name, data_dir=data_dir)
    train = _drawn(source, "examples", source.examples, len(data.train_y))
    tests = _drawn(source, "tests", source.tests, len(data.test_y))
    x, test_x = data.train_x[train], data.test_x[tests]
    if source.side is not None:
        x, test_x = (halved(images, source.side) for images in (x, test_x))
    return Loaded(x, data.train_y[train], test_x, data.test_y[tests], len(data.classes))


def _drawn(source: Source, what: str, wanted: int | None, total: int) -> NDArray[np.int64]:
    if wanted is None or wanted >= total:
        return np.arange(total)
    return np.sort(rng_for(0, source.name, what).permutation(total)[:wanted])


def halved(images: NDArray[Any], side: int) -> NDArray[np.uint8]:
    """Images with `side` pixels a side, each the mean of a block, rounded.

    >>> halved(np.array([[[[0, 2], [4, 6]]]], dtype=np.uint8), 1).tolist()
    [[[[3]]]]
    """
    n, channels, height, width = images.shape
    if height % side or width % side:
        raise InputError(f"images of {height} × {width} pixels cannot be averaged to {side}")
    blocks = images.reshape(n, channels, side, height // side, side, width // side)
    means: NDArray[np.float32] = blocks.mean(axis=(3, 5), dtype=np.float32)
    return np.rint(means).astype(np.uint8)
