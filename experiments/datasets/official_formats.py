"""The official file formats as arrays: idx (MNIST) and CIFAR's binary batches; never a pickle."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dris import InputError

# Images as (N, C, H, W) bytes, a table as (N, D) float32, or the paths of images to decode.
Examples = NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Splits:
    """What a data set's files hold: both splits, the names of the classes, what is missing.

    `given` are labels that people gave the training examples, where `train_y` are the true ones.
    """

    train_x: Examples
    train_y: NDArray[np.int64]
    test_x: Examples
    test_y: NDArray[np.int64]
    classes: tuple[str, ...]
    note: str = ""
    given: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)


def idx(blob: bytes, name: str) -> NDArray[np.uint8]:
    """An idx file of bytes: two zeros, type 8, the number of axes, their lengths, the data.

    >>> idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]), "labels").tolist()
    [7, 2, 1]
    """
    axes = blob[3] if len(blob) > 3 and blob[:3] == b"\0\0\x08" else 0
    if axes == 0 or len(blob) < 4 + 4 * axes:
        raise InputError(
            f"{name} is not an idx file of bytes; it begins {blob[:4].hex() or '(empty)'}"
        )
    shape = tuple(np.frombuffer(blob, dtype=">u4", count=axes, offset=4).tolist())
    data = np.frombuffer(blob, dtype=np.uint8, offset=4 + 4 * axes)
    if data.size != int(np.prod(shape)):
        raise InputError(f"{name} says {shape} but holds {data.size} bytes; fetch it again")
    return data.reshape(shape).copy()


def idx_splits(parts: dict[str, bytes], classes: tuple[str, ...]) -> Splits:
    """MNIST's four files as splits; images gain their one channel."""
    arrays = {name: idx(blob, name) for name, blob in parts.items()}
    return Splits(
        train_x=arrays["train-images-idx3-ubyte"][:, None],
        train_y=arrays["train-labels-idx1-ubyte"].astype(np.int64),
        test_x=arrays["t10k-images-idx3-ubyte"][:, None],
        test_y=arrays["t10k-labels-idx1-ubyte"].astype(np.int64),
        classes=classes,
    )


def cifar(blob: bytes, name: str, labels: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """A CIFAR batch, `labels` label bytes and 3,072 pixel bytes a row: (N, 3, 32, 32), (N, labels).

    >>> x, y = cifar(bytes([6]) + bytes(3072), "data_batch_1.bin", labels=1)
    >>> x.shape, y.tolist()
    ((1, 3, 32, 32), [[6]])
    """
    width = labels + 3072
    if len(blob) == 0 or len(blob) % width:
        raise InputError(f"{name} must hold rows of {width} bytes, got {len(blob)} bytes")
    rows = np.frombuffer(blob, dtype=np.uint8).reshape(-1, width)
    return rows[:, labels:].reshape(-1, 3, 32, 32), rows[:, :labels].astype(np.int64)


def cifar_splits(
    parts: dict[str, bytes], classes: tuple[str, ...], *, labels: int, column: int
) -> Splits:
    """CIFAR's batches as splits, train in the order of `parts`; which label column is y."""
    batches = {name: cifar(blob, name, labels) for name, blob in parts.items()}
    train = [batch for name, batch in batches.items() if not name.startswith("test")]
    test = [batch for name, batch in batches.items() if name.startswith("test")]
    return Splits(
        train_x=np.concatenate([x for x, _ in train]),
        train_y=np.concatenate([y[:, column] for _, y in train]),
        test_x=np.concatenate([x for x, _ in test]),
        test_y=np.concatenate([y[:, column] for _, y in test]),
        classes=classes,
    )
