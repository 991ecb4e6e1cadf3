"""Run a backbone once over the data and keep what it makes of each example."""

# ruff: noqa: E402  # The sentence about a missing torch must come before the first import of it.
import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.validate import check_count
from dris.learn.extras import require

require("torch", "torch")

import torch
from torch import Tensor, nn

from dris.learn.engines.processes import Progress
from dris.learn.engines.tasks import devices_of
from dris.learn.record.batches import as_array
from dris.learn.store.run_store import Store, fingerprint
from dris.learn.trainers.job import check_inputs
from dris.learn.trainers.networks.sources import DatasetSource, as_floats

Features = NDArray[np.float32]
# Pictures at once on a CPU. The maps of more are larger than what memory is reused for: the system
# takes them back and hands them out again at every layer, which took half of the time.
AT_ONCE = 8
_AHEAD = 8  # batches that a GPU may be in front of the host's copies

Made = TypeVar("Made")


def extract_features(
    backbone: nn.Module,
    x: Any,
    *,
    batch_size: int = 256,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
    mark: str | None = None,
) -> Features:
    """Features (N, F) of every example, from one pass in eval mode and without gradients.

    Inputs are taken as they are, as float32: put the normalisation into the data or the network.

    Args:
        backbone: A network without its last layer, to features (B, F) or (B, F, 1, 1).
        x: Tables (N, D), images (N, C, H, W), or a map-style Dataset without random transforms.
        batch_size: Examples at once; on a CPU at most eight pictures.
        device: "cpu", "cuda" (the first GPU, in bfloat16 where torch holds it safe) or "cuda:1".
        store: Folder that keeps the features, under a hash of the data, the network's layers and
            weights, and the kind of device; an edited `forward` is not noticed.
        progress: Called with (examples done, examples in all).
        mark: A hash of the data for the store, where there is one already.
    """
    check_count(batch_size, "batch_size", at_least=1)
    data = check_inputs(x)
    place = torch.device(devices_of(device)[0])
    if store is None:
        return _compute(backbone, data, batch_size, place, progress)
    kept = Store(store) if isinstance(store, str | Path) else store
    marked = _hash_data(data, batch_size) if mark is None else mark
    key = {"features": marked, "backbone": _hash_network(backbone), "device": place.type}
    make = partial(_compute, backbone, data, batch_size, place, progress)
    features: Features = kept.run(key).array("features", make)
    if progress is not None:  # also where they were there
        progress(len(data), len(data))
    return features


def _compute(
    backbone: nn.Module, data: Any, batch_size: int, device: torch.device, progress: Progress | None
) -> Features:
    features: Features = np.empty((0, 0), dtype=np.float32)
    n, done = len(data), 0
    autocast = torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")
    if device.type == "cpu" and isinstance(data, np.ndarray) and data.ndim == 4:
        batch_size = min(batch_size, AT_ONCE)
    with _at_rest(backbone, device), torch.inference_mode(), autocast:
        made = ((backbone(batch), len(batch)) for batch in _batches(data, batch_size, device))
        for out, count in _ahead(made, _AHEAD if device.type == "cuda" else 0):
            rows = _check_rows(out, count, done)
            if done == 0:
                features = np.empty((n, rows.shape[1]), dtype=np.float32)
            if rows.shape[1] != features.shape[1]:
                raise InputError(
                    f"the backbone gave {features.shape[1]} features at first and {rows.shape[1]} "
                    f"at example {done}; pool what depends on the size of the input"
                )
            features[done : done + len(rows)] = rows
            done += len(rows)
            if progress is not None:
                progress(done, n)
    return features


def _ahead(made: Iterable[Made], many: int) -> Iterator[Made]:
    """The same, each handed on when `many` more are made: a GPU works while the host copies."""
    waiting: deque[Made] = deque()
    for one in made:
        waiting.append(one)
        if len(waiting) > many:
            yield waiting.popleft()
    yield from waiting


def _check_rows(out: Any, count: int, first: int) -> NDArray[Any]:
    rows = as_array(out)
    if rows.ndim > 2 and set(rows.shape[2:]) == {1}:
        rows = rows.reshape(rows.shape[:2])
    if rows.ndim != 2 or len(rows) != count or rows.dtype.kind not in "fiu":
        raise InputError(
            f"a backbone must give numbers (example, feature) for {count} examples, got "
            f"{rows.dtype} of shape {rows.shape}; pool maps, e.g. "
            "nn.Sequential(body, nn.AdaptiveAvgPool2d(1))"
        )
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise InputError(
            f"the features of example {first + int(bad[0])} are not finite; "
            "is the input scaled as the backbone expects?"
        )
    return rows


def _batches(data: Any, batch_size: int, device: torch.device) -> Iterator[Tensor]:
    pieces = [np.arange(len(data))[a : a + batch_size] for a in range(0, len(data), batch_size)]
    if not isinstance(data, np.ndarray):
        yield from DatasetSource(data, device).batches(pieces)
        return
    for at in pieces:
        rows = data[at[0] : at[-1] + 1]
        # Bytes are moved as bytes, a quarter of the floats that they become on the device.
        moved = np.array(rows) if rows.dtype == np.uint8 else rows.astype(np.float32)
        yield as_floats(torch.from_numpy(moved).to(device))


@contextmanager
def _at_rest(backbone: nn.Module, device: torch.device) -> Iterator[None]:
    """A network in eval mode on the device, torch's random state set aside; all put back."""
    cuda = [device.index or 0] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):  # a DataLoader draws from it even unshuffled
        home = next((t.device for t in (*backbone.parameters(), *backbone.buffers())), device)
        modes = [(module, module.training) for module in backbone.modules()]
        backbone.eval()
        try:
            if home != device:
                backbone.to(device)
            yield
        finally:
            if home != device:
                backbone.to(home)
            for module, mode in modes:
                module.training = mode


def _hash_data(data: Any, batch_size: int) -> str:
    """A fingerprint of every input; a Dataset is read once for it, far cheaper than a network."""
    if isinstance(data, np.ndarray):
        return fingerprint(data)
    digest = hashlib.sha256()
    with torch.random.fork_rng(devices=[]):
        for batch in _batches(data, batch_size, torch.device("cpu")):
            for row in as_array(batch):  # by example: the batch size is no part of the data
                digest.update(fingerprint(row).encode())
    return digest.hexdigest()


def _hash_network(backbone: nn.Module) -> str:
    kind = type(backbone)
    digest = hashlib.sha256(f"{kind.__module__}:{kind.__qualname__}\n{backbone!r}\n".encode())
    for name, tensor in backbone.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {fingerprint(as_array(tensor))}\n".encode())
    return digest.hexdigest()
