"""Known data sets by name: digits, MNIST, Fashion-MNIST, CIFAR, Food-101, the synthetic mixture."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dris import InputError
from experiments.datasets.archives import LocalFile, check_packed, find, search_folders
from experiments.datasets.download import Progress, absent, fetch
from experiments.datasets.official_formats import Examples
from experiments.datasets.published import KNOWN, KnownSet

DataDir = str | os.PathLike[str] | None


@dataclass(frozen=True, slots=True)
class KnownData:
    """A data set in memory: images (N, C, H, W) uint8, a table (N, D) float32, or image paths.

    Labels are int64 positions in `classes`. `note` says what is missing when the set is there
    in part; paths become arrays through `decode_images`. `given` are label sets by people, by name,
    where `train_y` is the truth.
    """

    name: str
    train_x: Examples
    train_y: NDArray[np.int64]
    test_x: Examples
    test_y: NDArray[np.int64]
    classes: tuple[str, ...]
    licence: str
    citation: str
    note: str
    given: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def kind(self) -> Literal["images", "table", "paths"]:
        """What an example is."""
        if self.train_x.dtype.kind == "U":
            return "paths"
        return "images" if self.train_x.dtype == np.uint8 else "table"


@dataclass(frozen=True, slots=True)
class SetStatus:
    """Whether a known data set is at hand; `detail` says what is missing or damaged."""

    known: KnownSet
    state: Literal["present", "absent", "damaged"]
    path: Path | None
    size: int
    detail: str


def load(
    name: str,
    *,
    data_dir: DataDir = None,
    download: bool = True,
    progress: Progress | None = None,
) -> KnownData:
    """A known data set, found on disk or downloaded, every byte checked before it is used.

    Looked for in `data_dir`, then DRIS_DATA, then the user's cache folder; a download lands in
    the first of these. `progress` is called with file name, bytes so far and bytes in all.

    >>> data = load("digits")
    >>> data.train_x.shape, data.test_x.shape, data.kind
    ((1442, 64), (355, 64), 'table')
    """
    if name not in KNOWN:
        raise InputError(f"data set must be one of {', '.join(KNOWN)}, got {name!r}")
    return load_set(KNOWN[name], data_dir=data_dir, download=download, progress=progress)


def load_set(
    known: KnownSet,
    *,
    data_dir: DataDir = None,
    download: bool = True,
    progress: Progress | None = None,
) -> KnownData:
    """As `load`, for a data set described by the caller."""
    folders = search_folders(data_dir)
    local = []
    for published in known.published:
        here = find(published, folders)
        if here is None and not (download and published.address):
            raise absent(published, folders)
        local.append(here or fetch(published, folders, progress))
    splits = known.read(tuple(local))
    return KnownData(
        name=known.name,
        train_x=splits.train_x,
        train_y=splits.train_y,
        test_x=splits.test_x,
        test_y=splits.test_y,
        classes=splits.classes,
        licence=known.licence,
        citation=known.citation,
        note=splits.note,
        given=splits.given,
    )


def status(data_dir: DataDir = None) -> tuple[SetStatus, ...]:
    """What is at hand, every known data set in turn, checksums included; changes nothing."""
    return tuple(set_status(known, data_dir) for known in KNOWN.values())


def set_status(known: KnownSet, data_dir: DataDir = None) -> SetStatus:
    """The state of one data set; `path` is a file, or the folder that several files share.

    >>> set_status(KNOWN["digits"]).state
    'present'
    """
    folders = search_folders(data_dir)
    local = [find(published, folders) for published in known.published]
    here = tuple(one for one in local if one is not None)
    if len(here) < len(local):
        missing = known.published[local.index(None)]
        return SetStatus(known, "absent", None, 0, str(absent(missing, folders)))
    path = None
    if here:
        path = here[0].path.parent if here[0].packed and len(here) > 1 else here[0].path
    size = sum(one.size for one in here)
    try:
        return SetStatus(known, "present", path, size, _verified(known, here))
    except InputError as error:
        return SetStatus(known, "damaged", path, size, str(error))


def _verified(known: KnownSet, here: tuple[LocalFile, ...]) -> str:
    """Check what is there without unpacking anything; returns the note of a partial set."""
    if any(one.packed and one.published.md5 is not None for one in here):
        for one in here:
            check_packed(one)
        return ""
    return known.read(here).note if here else ""
