"""Where batches come from: one tensor on the device, or a user's own map-style data set.

A source turns positions into normalised float batches. Images (uint8 or float, N×C×H×W) are
normalised per channel, tables (N×D) per feature, by the training data's mean and deviation.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad
from torch.utils.data import DataLoader, Dataset, default_collate

PADDING = 4  # pixels of reflected border that crops are cut from
Positions = NDArray[np.int64]


class Source(Protocol):
    """What the loop asks of data."""

    shape: tuple[int, ...]

    def __len__(self) -> int:
        """N, the number of examples."""

    def batches(self, positions: Iterable[Positions]) -> Iterator[Tensor]:
        """One normalised float batch on the device for each array of positions."""

    def like(self, x: Any) -> "Source":
        """Other examples, prepared as these are."""


class TensorSource:
    """The whole data set as one tensor on the device; a batch is a gather.

    Tables are normalised once, here; images batch by batch, so that bytes may stay bytes.

    >>> source = TensorSource(np.array([[0.0], [2.0]]), torch.device("cpu"))
    >>> next(source.batches([np.array([1, 0])])).tolist()
    [[1.0], [-1.0]]
    """

    def __init__(
        self,
        x: NDArray[Any],
        device: torch.device,
        *,
        normalize: bool = True,
        by: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        self.shape = tuple(x.shape[1:])
        # A copy in either case: the caller's array must not change, and may be read-only.
        keep = np.array(x, dtype=x.dtype if x.dtype == np.uint8 and x.ndim == 4 else np.float32)
        self.tensor = torch.from_numpy(keep).to(device)
        shift, scale = by or _normalisation(x, normalize)
        self._by = shift, scale = shift.to(device), scale.to(device)
        if x.ndim != 4:
            self.tensor.sub_(shift).mul_(scale)
        self._device = device

    def __len__(self) -> int:
        return len(self.tensor)

    def batches(self, positions: Iterable[Positions]) -> Iterator[Tensor]:
        """Gather, convert and normalise; images in channels_last order."""
        shift, scale = self._by
        for at in positions:
            # Not self.tensor[at]: that moves element by element and is five times slower.
            batch = self.tensor.index_select(0, torch.from_numpy(at).to(self._device))
            if batch.ndim == 4:
                batch = batch.to(torch.float32, memory_format=torch.channels_last)
                batch = (batch - shift) * scale
            yield batch

    def like(self, x: Any) -> "TensorSource":
        """Other examples with the mean and deviation of these."""
        return TensorSource(x, self._device, by=self._by)


class DatasetSource:
    """A user's map-style data set, read through a DataLoader; item[0], or the item, is x.

    Use one without random transforms: augmentation belongs to the recipe, and what is recorded
    must not depend on a draw. Batches are taken as they come, not normalised.
    """

    def __init__(self, dataset: Dataset[Any], device: torch.device, *, workers: int = 0) -> None:
        self._dataset = dataset
        self._device = device
        self._workers = workers
        self.shape = tuple(_input_of(dataset[0]).shape)

    def __len__(self) -> int:
        return len(self._dataset)  # type: ignore[arg-type]

    def batches(self, positions: Iterable[Positions]) -> Iterator[Tensor]:
        """One DataLoader over the given batches, in their order."""
        order = [at.tolist() for at in positions]
        loader: DataLoader[Any] = DataLoader(
            self._dataset, batch_sampler=order, num_workers=self._workers, collate_fn=_inputs
        )
        for batch in loader:
            yield batch.to(self._device, torch.float32)

    def like(self, x: Any) -> "DatasetSource":
        """Another data set, read the same way."""
        return DatasetSource(x, self._device, workers=self._workers)


def crop_and_flip(batch: Tensor, rng: np.random.Generator) -> Tensor:
    """Each image cropped from its reflected border and flipped by its own draw.

    >>> crop_and_flip(torch.zeros(2, 3, 8, 8), np.random.default_rng(0)).shape
    torch.Size([2, 3, 8, 8])
    """
    n, _, height, width = batch.shape
    down, right = rng.integers(0, 2 * PADDING + 1, (2, n))
    flip = rng.integers(0, 2, n).astype(bool)
    rows = down[:, None] + np.arange(height)
    columns = right[:, None] + np.arange(width)
    columns[flip] = columns[flip, ::-1]
    wide = pad(batch, (PADDING,) * 4, mode="reflect")
    example = torch.arange(n)[:, None, None]
    at = torch.from_numpy(rows)[:, :, None], torch.from_numpy(columns)[:, None, :]
    device = batch.device
    index = tuple(i.to(device) for i in (example, *at))
    # Channels last on both sides: a pixel's channels lie together and move together.
    return wide.permute(0, 2, 3, 1)[index].permute(0, 3, 1, 2)


def _normalisation(x: NDArray[Any], normalize: bool) -> tuple[Tensor, Tensor]:
    """Mean and inverse deviation, shaped to broadcast over a batch; constants are left alone."""
    if not normalize:
        return torch.zeros(()), torch.ones(())
    axes = (0, 2, 3) if x.ndim == 4 else (0,)
    if x.dtype == np.uint8 and x.ndim == 4:
        # From the histogram of each channel: exact, and no float copy of the data.
        counts = [np.bincount(x[:, c].ravel(), minlength=256) for c in range(x.shape[1])]
        share = np.stack(counts) / counts[0].sum()
        mean = share @ np.arange(256.0)
        variance = share @ np.arange(256.0) ** 2 - mean**2
    else:
        mean = x.mean(axis=axes, dtype=np.float64)
        variance = x.var(axis=axes, dtype=np.float64)
    spread = np.where(variance > 0, np.sqrt(np.maximum(variance, 0)), 1)
    shape = (-1, 1, 1) if x.ndim == 4 else (-1,)
    shift, scale = (
        torch.from_numpy(v.astype(np.float32)).reshape(shape) for v in (mean, 1 / spread)
    )
    return shift, scale


def _input_of(item: Any) -> Tensor:
    value = item[0] if isinstance(item, tuple | list) else item
    return torch.as_tensor(np.asarray(value)) if not isinstance(value, Tensor) else value


def _inputs(items: Sequence[Any]) -> Tensor:
    batch: Tensor = default_collate([_input_of(item) for item in items])
    return batch
