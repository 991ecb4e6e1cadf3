"""Exact ranks of more examples than fit: a sort on disk, bucket by bucket.

    sort     each piece of a shard by loss, per proxy; buckets of neighbouring losses become slices
    rank     all slices of one bucket together; ranks are written in the order of the slices
    collect  each piece again: its slices of ranks, put back into the order of its rows

The buckets come from the merged histograms, so each holds about `BUCKET` losses; a single value
with more than that has one rank, and nothing to sort. No position is ever written: sorting a piece
a second time gives the same order, ties apart, which share a rank.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics_file import read_arrays, write_arrays
from dris.core.files import write_atomically
from dris.core.large.histograms import RankTable
from dris.core.large.mapped import values_of
from dris.core.scores.ranks import doubled_ranks
from dris.data.tables.shards import Shard
from dris.learn.engines.processes import Ticker
from dris.learn.ranking.passes import FORMAT, Passes

BUCKET = 1 << 22  # losses sorted at once


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Ranges of neighbouring losses, in increasing order, those of the first proxy first."""

    proxy: NDArray[np.int64]  # whose losses they are
    low: NDArray[np.floating]  # the smallest loss of each
    below: NDArray[np.int64]  # how many losses of the proxy are smaller than any in the bucket
    counts: NDArray[np.int64]  # how many losses are in it
    tied: NDArray[np.bool_]  # whether they are all one value, of which there are too many to sort


def make_buckets(table: RankTable, proxy: int = 0, most: int = BUCKET) -> Buckets:
    """Gather cells into buckets of at most `most` losses and one cell, or of one value."""
    leaves = table.leaves()
    alone = ~leaves.mixed & (leaves.counts > most)
    group = np.cumsum(np.where(alone, 0, leaves.counts)) // most
    first = (np.diff(group, prepend=-1) != 0) | alone
    first[1:] |= alone[:-1]
    at = np.flatnonzero(first)
    counts = np.add.reduceat(leaves.counts, at)
    below = np.cumsum(counts) - counts
    return Buckets(np.full(at.size, proxy), values_of(leaves.low[at]), below, counts, alone[at])


def sort_on_disk(passes: Passes, tables: Sequence[RankTable]) -> None:
    """The first two of the three passes; `collect_ranks` is the third, shard by shard."""
    folder, count = passes.folder, len(passes.shards)
    each = [make_buckets(table, k) for k, table in enumerate(tables)]
    parts = {name: np.concatenate([getattr(b, name) for b in each]) for name in _PARTS}
    write_arrays(folder / "buckets", parts, {"examples": passes.examples}, format=FORMAT)
    passes.each_shard(_sort_shard, [_file(folder, "sizes", i) for i in range(count)])
    ends = np.cumsum([_sizes(folder, i).sum(axis=0) for i in range(count)], axis=0)
    starts = np.concatenate((np.zeros_like(ends[:1]), ends[:-1]))
    write_arrays(folder / "starts", {"starts": starts}, {}, format=FORMAT)
    files = [(g, _file(folder, "ranks", g)) for g in np.flatnonzero(~parts["tied"]).tolist()]
    todo = [(g, file, count) for g, file in files if not file.exists()]
    passes.run(_rank_bucket, todo, ticks=len(todo))


def collect_ranks(
    shard: Shard, number: int, folder: Path
) -> Iterator[tuple[Any, NDArray[np.uint64]]]:
    """The ids and the exact (K, n) doubled ranks of a shard, a piece at a time."""
    buckets, kind = _buckets(folder)
    sizes = _sizes(folder, number)
    starts = read_arrays(folder / "starts", kind="sort", format=FORMAT)[0]["starts"][number]
    begins = starts + np.cumsum(sizes, axis=0) - sizes
    same = 2 * buckets.below + buckets.counts + 1
    for begin, size, (ids, losses) in zip(begins, sizes, shard.named_losses(), strict=True):
        slices = [
            np.full(size[g], same[g], dtype=np.uint64)
            if buckets.tied[g]
            else _slice(_file(folder, "ranks", g), kind, begin[g], size[g])
            for g in range(size.size)
        ]
        doubled = np.empty(losses.shape, dtype=np.uint64)
        for k, row in enumerate(losses):
            own = [part for part, proxy in zip(slices, buckets.proxy, strict=True) if proxy == k]
            doubled[k, np.argsort(row)] = np.concatenate(own)
        yield ids, doubled


def _sort_shard(shard: Shard, file: Path, tick: Ticker) -> None:
    buckets, _ = _buckets(file.parent)
    lows = [buckets.low[buckets.proxy == k] for k in range(shard.proxies)]
    sizes = []

    def pieces() -> Iterator[memoryview]:
        for losses in shard.losses():
            cut = []
            for row, low in zip(losses, lows, strict=True):
                row.sort()
                inner = np.searchsorted(row, low[1:])
                cut.append(np.diff(inner, prepend=0, append=row.size))
                yield row.view(np.uint8).data
            sizes.append(np.concatenate(cut))
            tick()

    write_atomically(file.with_name(file.name.replace("sizes", "sorted")), pieces())
    table = np.array(sizes, dtype=np.int64).reshape(-1, buckets.low.size)
    write_arrays(file, {"sizes": table}, {}, format=FORMAT)


def _rank_bucket(bucket: int, file: Path, shards: int, tick: Ticker) -> None:
    buckets, kind = _buckets(file.parent)
    slices = []
    for i in range(shards):
        sizes = _sizes(file.parent, i)
        begins = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
        source = _file(file.parent, "sorted", i)
        slices += [
            _slice(source, buckets.low.dtype, begin, size)
            for begin, size in zip(begins[:, bucket], sizes[:, bucket], strict=True)
        ]
    ranks = doubled_ranks(np.concatenate(slices)).astype(np.uint64)
    ranks += np.uint64(2 * buckets.below[bucket])
    write_atomically(file, [ranks.astype(kind).view(np.uint8).data])
    tick()


def _slice(file: Path, kind: Any, begin: int, size: int) -> NDArray[Any]:
    return np.fromfile(file, kind, count=int(size), offset=int(begin) * np.dtype(kind).itemsize)


_PARTS = ("proxy", "low", "below", "counts", "tied")


def _buckets(folder: Path) -> tuple[Buckets, Any]:
    """The buckets, and the narrowest numbers that hold a doubled rank."""
    arrays, note = read_arrays(folder / "buckets", kind="sort", format=FORMAT)
    kind = np.uint32 if 2 * note["examples"] < 2**32 else np.uint64
    return Buckets(*(arrays[name] for name in _PARTS)), kind


def _sizes(folder: Path, number: int) -> NDArray[np.int64]:
    """How many losses each piece of a shard has in each bucket: (piece, bucket)."""
    return read_arrays(_file(folder, "sizes", number), kind="sort", format=FORMAT)[0]["sizes"]


def _file(folder: Path, what: str, number: int) -> Path:
    return folder / f"{what}-{number:05d}"
