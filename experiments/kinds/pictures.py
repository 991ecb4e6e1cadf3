"""Pictures given by their files: decoded and resized once, whoever asks and however often.

Few lie in memory; many lie in a file of bytes beside the runs, which all processes read in place.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import Dataset

from experiments.datasets.food101 import decode_images
from experiments.dris_internals import fingerprint, folder_lock
from experiments.dris_torch import extract_features

AT_ONCE = 2 << 30  # bytes of pictures or maps that are held in memory
_PORTION = 256  # pictures decoded before they are written


class Resized(Dataset[Any]):
    """Pictures in a file of bytes, made by the first process that asks while others wait.

    Attributes:
        mark: What tells these pictures from all others.
    """

    def __init__(self, paths: NDArray[np.str_], side: int, folder: Path) -> None:
        self.mark = f"{fingerprint(np.char.encode(paths, 'utf-8'))}-{side}"
        file = folder / "pictures" / f"{self.mark}.npy"
        if not file.exists():
            with folder_lock(file.parent):
                if not file.exists():
                    _decode(paths, side, file)
        self._images = np.load(file, mmap_mode="r")

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, at: int) -> NDArray[np.uint8]:
        return np.array(self._images[at])


def _decode(paths: NDArray[np.str_], side: int, file: Path) -> None:
    # One name for all who try: what a killed process left is written over.
    part = file.with_suffix(".part")
    shape = (len(paths), 3, side, side)
    out = np.lib.format.open_memmap(part, mode="w+", dtype=np.uint8, shape=shape)
    for begin in range(0, len(paths), _PORTION):
        out[begin : begin + _PORTION] = decode_images(paths[begin : begin + _PORTION], side)
    out.flush()
    del out
    os.replace(part, file)


def pictures_of(paths: NDArray[np.str_], side: int, folder: Path) -> NDArray[np.uint8] | Resized:
    """Pictures of `side` pixels a side: in memory, or in a file where that would be too much."""
    if 3 * side**2 * len(paths) > AT_ONCE:
        return Resized(paths, side, folder)
    return decode_images(paths, side)


def features_by(network: nn.Module, x: Any, *, device: str, store: Path) -> NDArray[np.float32]:
    """What a frozen network makes of pictures, kept; those of a file are told by their mark."""
    mark = x.mark if isinstance(x, Resized) else None
    return extract_features(network, x, batch_size=64, device=device, store=store, mark=mark)
