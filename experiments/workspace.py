"""A cell's data set as its models want it, kept in memory for the next cell."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris import InputError
from experiments.datasets.catalogue import load
from experiments.dris_internals import rng_for
from experiments.spec import Source


@dataclass(frozen=True, slots=True)
class Loaded:
    """Training and test examples of a source; `given` are labels that people gave them, by name."""

    x: NDArray[Any]
    y: NDArray[np.int64]
    test_x: NDArray[Any]
    test_y: NDArray[np.int64]
    classes: int
    given: Mapping[str, NDArray[np.int64]] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where data sets and training runs lie, and what trains.

    Attributes:
        own: A person's own data, for the cells whose source names its fingerprint.
    """

    store: Path
    data_dir: Path | None = None
    device: str = "cpu"
    own: Loaded | None = field(default=None, compare=False, repr=False)

    def absolute(self) -> "Workspace":
        """The same folders by absolute paths."""
        data_dir = None if self.data_dir is None else self.data_dir.absolute()
        return replace(self, store=self.store.absolute(), data_dir=data_dir)

    def epochs_of(self, key: str) -> Path:
        """Where the target of a cell keeps its epochs until the cell has its record."""
        return self.store / "targets" / key


@lru_cache(maxsize=2)
def load_examples(source: Source, workspace: Workspace) -> Loaded:
    """The examples of a source; the same ones for every seed, so that seeds differ in noise alone.

    >>> examples = load_examples(Source("digits", 100, 50), Workspace(Path("runs")))
    >>> examples.x.shape, examples.test_y.shape, examples.classes
    ((100, 64), (50,), 10)
    """
    if source.own is not None:
        if workspace.own is None:
            raise ValueError("a cell of somebody's own data needs a place that holds them")
        return workspace.own
    data = load(source.name, data_dir=workspace.data_dir)
    train = _drawn(source, "examples", source.examples, len(data.train_y))
    tests = _drawn(source, "tests", source.tests, len(data.test_y))
    x, test_x = (
        _prepared(part, source, workspace) for part in (data.train_x[train], data.test_x[tests])
    )
    given = {name: labels[train] for name, labels in data.given.items()}
    return Loaded(
        x, data.train_y[train], test_x, data.test_y[tests], len(data.classes), given=given
    )


def _drawn(source: Source, what: str, wanted: int | None, total: int) -> NDArray[np.int64]:
    if wanted is None or wanted >= total:
        return np.arange(total)
    return np.sort(rng_for(0, source.name, what).permutation(total)[:wanted])


def _prepared(x: Any, source: Source, workspace: Workspace) -> Any:
    """Paths decoded, images cut down, and features in place of both where a backbone is named."""
    if x.dtype.kind == "U":
        from experiments.kinds.pictures import pictures_of

        x = pictures_of(x, source.side or 224, workspace.store)
    elif source.side is not None:
        x = average_blocks(x, source.side)
    if source.backbone is None:
        return x
    from experiments.dris_torch import builder_of
    from experiments.kinds.pictures import features_by

    network = builder_of(source.backbone)[0](np.shape(x[0]), 0)
    return features_by(network, x, device=workspace.device, store=workspace.store)


def average_blocks(images: NDArray[Any], side: int) -> NDArray[np.uint8]:
    """Images with `side` pixels a side, each the mean of a block, rounded.

    >>> average_blocks(np.array([[[[0, 2], [4, 6]]]], dtype=np.uint8), 1).tolist()
    [[[[3]]]]
    """
    n, channels, height, width = images.shape
    if height % side or width % side:
        raise InputError(f"images of {height} × {width} pixels cannot be averaged to {side}")
    blocks = images.reshape(n, channels, side, height // side, side, width // side)
    means: NDArray[np.float32] = blocks.mean(axis=(3, 5), dtype=np.float32)
    return np.rint(means).astype(np.uint8)
