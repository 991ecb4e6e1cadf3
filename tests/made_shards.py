"""Losses in Parquet shards, for tests."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def losses_of(n: int, k: int = 3, *, kind=np.float32, seed: int = 0):
    """Exponential losses with heavy ties, exact zeros of both signs and some below zero."""
    rng = np.random.default_rng(seed)
    losses = rng.standard_exponential((k, n)) * np.exp(rng.normal(size=(k, n)) / 3)
    losses[:, rng.random(n) < 0.2] = 0
    losses[rng.random((k, n)) < 0.05] = -0.0
    losses[rng.random((k, n)) < 0.1] = 0.5
    return np.where(rng.random((k, n)) < 0.1, -losses, losses).astype(kind)


def write_shards(folder: Path, losses, *, shards: int = 3, ids=None, groups: int = 700) -> Path:
    """Columns loss_0, ... and, where given, id; shards of unequal sizes, small row groups."""
    folder.mkdir(parents=True, exist_ok=True)
    n = losses.shape[1]
    ends = [n * (i + 1) * (i + 2) // (shards * (shards + 1)) for i in range(shards)]
    for i, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        columns = {} if ids is None else {"id": ids[begin:end]}
        columns |= {f"loss_{k}": row[begin:end] for k, row in enumerate(losses)}
        pq.write_table(pa.table(columns), folder / f"part-{i}.parquet", row_group_size=groups)
    return folder


def column_of(files, name: str = "rank_variance"):
    """A column of several shards, one after the other."""
    return np.concatenate([pq.read_table(file)[name].to_numpy() for file in files])
