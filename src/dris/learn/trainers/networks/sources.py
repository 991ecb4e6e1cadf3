"""Where batches come from: one tensor on the device, or a user's own map-style data set.

Images (uint8 or float, N×C×H×W) are normalised per channel, tables (N×D) per feature, by the
training data's mean and deviation.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad
from torch.utils.data import DataLoader, Dataset, default_collate

from dris.learn.trainers.job import Positions
from dris.learn.trainers.standardize import divisor_of

PADDING = 4  # pixels of reflected border that crops are cut from
_ROWS = 4096  # normalised at once
_Moments = tuple[NDArray[np.float64], NDArray[np.float64]]


class TensorSource:
    """The whole data set as one tensor on the device; images of bytes stay bytes there."""

    def __init__(
        self,
        x: NDArray[Any],
        device: torch.device,
        *,
        normalize: bool = True,
        like: "TensorSource | None" = None,
    ) -> None:
        self.shape = tuple(x.shape[1:])
        self._device = device
        self._moments: _Moments = _moments(x, normalize) if like is None else like._moments
        mean, spread = self._moments
        if _is_bytes(x):
            held = np.array(x)
        else:
            held = np.empty(x.shape, dtype=np.float32)
            for begin in range(0, len(x), _ROWS):  # no float64 copy of all the data
                held[begin : begin + _ROWS] = (x[begin : begin + _ROWS] - mean) / spread
        self.tensor = torch.from_numpy(held).to(device)
        self._shift, self._scale = (
            torch.from_numpy(v.astype(np.float32)).to(device) for v in (mean, 1 / spread)
        )

    def __len__(self) -> int:
        return len(self.tensor)

    def batches(self, positions: Sequence[Positions]) -> Iterator[Tensor]:
        for at in on_device(positions, self._device):
            # Not self.tensor[at]: that moves element by element and is five times slower.
            batch = self.tensor.index_select(0, at)
            if batch.ndim == 4:
                batch = batch.to(torch.float32, memory_format=torch.channels_last)
            yield (batch - self._shift) * self._scale if self.tensor.dtype == torch.uint8 else batch

    def like(self, x: Any) -> "TensorSource":
        return TensorSource(x, self._device, like=self)


class DatasetSource:
    """A user's map-style data set, read through a DataLoader; item[0], or the item, is x.

    Batches are not normalised, and must not depend on a draw: augmentation belongs to the recipe.
    """

    def __init__(self, dataset: Dataset[Any], device: torch.device) -> None:
        self._dataset, self._device = dataset, device
        self.shape = tuple(input_of(dataset[0]).shape)

    def __len__(self) -> int:
        return len(self._dataset)  # type: ignore[arg-type]

    def batches(self, positions: Sequence[Positions]) -> Iterator[Tensor]:
        loader: DataLoader[Any] = DataLoader(
            self._dataset,
            batch_sampler=[at.tolist() for at in positions],
            collate_fn=_inputs,
            pin_memory=self._device.type == "cuda",
            # A DataLoader draws a number when it starts; without this from torch's global state.
            generator=torch.Generator(),
        )
        for batch in loader:
            yield as_floats(batch.to(self._device, non_blocking=True))

    def like(self, x: Any) -> "DatasetSource":
        return DatasetSource(x, self._device)


def as_floats(batch: Tensor) -> Tensor:
    """In the layout of `TensorSource`: the same values then give the same bits."""
    x = batch.to(torch.float32)
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x


Source = TensorSource | DatasetSource


def on_device(batches: Sequence[Positions], device: torch.device) -> tuple[Tensor, ...]:
    """The positions of every batch, moved by one copy; each copy makes a GPU wait."""
    flat = torch.from_numpy(np.concatenate(batches)).to(device)
    return torch.split(flat, [len(at) for at in batches])


def draw_crops(
    sizes: Sequence[int], device: torch.device, *, rng: np.random.Generator
) -> tuple[Tensor, ...]:
    """Offsets down and right of each image's crop, and flips: each batch (3, images)."""
    drawn = []
    for n in sizes:
        offsets = rng.integers(0, 2 * PADDING + 1, (2, n))
        drawn.append(np.concatenate([offsets, rng.integers(0, 2, (1, n))]))
    return torch.split(torch.from_numpy(np.concatenate(drawn, axis=1)).to(device), [*sizes], dim=1)


def crop_and_flip(batch: Tensor, crops: Tensor) -> Tensor:
    """Each image cropped from its reflected border and flipped as `drawn_crops` says."""
    n, _, height, width = batch.shape
    down, right, flip = crops.unsqueeze(2)
    rows = down + torch.arange(height, device=batch.device)
    columns = right + torch.arange(width, device=batch.device)
    columns = torch.where(flip.bool(), columns.flip(1), columns)
    wide = pad(batch, (PADDING,) * 4, mode="reflect")
    example = torch.arange(n, device=batch.device)[:, None, None]
    index = example, rows[:, :, None], columns[:, None, :]
    # Channels last on both sides: a pixel's channels lie together and move together.
    return wide.permute(0, 2, 3, 1)[index].permute(0, 3, 1, 2)


def _is_bytes(x: NDArray[Any]) -> bool:
    return x.dtype == np.uint8 and x.ndim == 4


def _moments(x: NDArray[Any], normalize: bool) -> _Moments:
    """Mean and deviation in float64, shaped to broadcast over a batch; a constant's are (c, 1)."""
    if not normalize:
        return np.zeros(1), np.ones(1)
    axes = (0, 2, 3) if x.ndim == 4 else (0,)
    if _is_bytes(x):
        # From the histogram of each channel: exact, and no float copy of the data.
        counts = [np.bincount(x[:, c].ravel(), minlength=256) for c in range(x.shape[1])]
        share = np.stack(counts) / counts[0].sum()
        mean = share @ np.arange(256.0)
        spread = np.sqrt(np.maximum(share @ np.arange(256.0) ** 2 - mean**2, 0))
    else:
        mean = x.mean(axis=axes, dtype=np.float64)
        spread = x.std(axis=axes, dtype=np.float64)
    spread = divisor_of(spread, mean)
    shape = (-1, 1, 1) if x.ndim == 4 else (-1,)
    return mean.reshape(shape), spread.reshape(shape)


def input_of(item: Any) -> Tensor:
    """The x of an item of a data set: its first part when it has parts."""
    value = item[0] if isinstance(item, tuple | list) else item
    return torch.as_tensor(np.asarray(value)) if not isinstance(value, Tensor) else value


def _inputs(items: Sequence[Any]) -> Tensor:
    """Bytes as they are, a quarter of what is moved; all else in single precision."""
    batch: Tensor = default_collate([input_of(item) for item in items])
    return batch if batch.dtype == torch.uint8 else batch.to(torch.float32)
