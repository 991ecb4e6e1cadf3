"""Passes over shards: tasks that run anywhere and leave a file each; histograms, merged."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics_file import read_arrays, write_arrays
from dris.core.large.histograms import Counter, Grid, Histogram, RankTable, merge_histograms
from dris.core.large.mapped import ordered_keys
from dris.data.tables.shards import Shard
from dris.learn.engines.processes import Progress, Ticker
from dris.learn.engines.tasks import Engine, run_all

FORMAT = 1
Histograms = dict[int, Histogram]  # by proxy


@dataclass(frozen=True, slots=True)
class Passes:
    """Where tasks leave their files, through which alone they hand results over; how they run."""

    shards: tuple[Shard, ...]
    folder: Path
    workers: int | None = None
    progress: Progress | None = None
    engine: Engine | str = "local"

    @property
    def examples(self) -> int:
        """N, over all shards."""
        return sum(shard.rows for shard in self.shards)

    def run(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], *, ticks: int
    ) -> list[Any]:
        """One pass: `function(*task, tick)` for each task; all together tick so many times."""
        if not tasks:
            return []
        how: dict[str, Any] = {"workers": self.workers, "progress": self.progress, "total": ticks}
        return run_all(function, tasks, engine=self.engine, folder=self.folder, **how)

    def each_shard(
        self, function: Callable[..., Any], files: Sequence[Path], *arguments: Any
    ) -> None:
        """`function(shard, file, *arguments, tick)` for each shard whose file is not there yet."""
        pairs = zip(self.shards, files, strict=True)
        todo = [(shard, file) for shard, file in pairs if not file.exists()]
        ticks = sum(shard.pieces for shard, _ in todo)
        self.run(function, [(*pair, *arguments) for pair in todo], ticks=ticks)


def count_levels(passes: Passes, *, bits: int) -> int:
    """Count all losses, then refine the heavy cells until none is left; how many levels it took."""
    shards = passes.shards
    key = np.dtype(f"u{np.dtype(shards[0].kind).itemsize}")
    grids = dict.fromkeys(range(shards[0].proxies), Grid.whole(key, bits=bits))
    depth = 0
    while grids:
        level = passes.folder / f"level-{depth}"
        if not level.exists():
            files = [passes.folder / f"count-{depth}-{i:05d}" for i in range(len(shards))]
            passes.each_shard(_count_shard, files, grids)
            _write(level, reduce(_add, map(_read, files)))
        merged = _read(level)
        finer = {k: h.refine(passes.examples, bits) for k, h in merged.items()}
        grids = {k: grid for k, grid in finer.items() if grid is not None}
        depth += 1
    return depth


def rank_tables(folder: Path, *, proxies: int, levels: int, bits: int) -> list[RankTable]:
    """The ranks of each proxy, from the merged histograms that `count_levels` left."""
    merged = [_read(folder / f"level-{depth}") for depth in range(levels)]
    each = [[level[k] for level in merged if k in level] for k in range(proxies)]
    return [RankTable(histograms, bits=bits) for histograms in each]


def look_up(shard: Shard, tables: Sequence[RankTable]) -> Iterator[tuple[Any, NDArray[np.uint64]]]:
    """The ids and the (K, n) doubled ranks of a shard, a piece at a time."""
    for ids, losses in shard.named_losses():
        pairs = zip(tables, losses, strict=True)
        yield ids, np.stack([table.doubled_ranks(ordered_keys(row)) for table, row in pairs])


def _count_shard(shard: Shard, file: Path, grids: dict[int, Grid], tick: Ticker) -> None:
    counters = {k: Counter(grid) for k, grid in grids.items()}
    for losses in shard.losses():
        for k, counter in counters.items():
            counter.add(ordered_keys(losses[k]))
        tick()
    _write(file, {k: counter.histogram() for k, counter in counters.items()})


def _add(one: Histograms, other: Histograms) -> Histograms:
    return {k: merge_histograms(histogram, other[k]) for k, histogram in one.items()}


_PARTS = ("cells", "counts", "low", "high")


def _write(file: Path, histograms: Histograms) -> None:
    arrays = {f"{part}_{k}": getattr(h, part) for k, h in histograms.items() for part in _PARTS}
    write_arrays(file, arrays, {"proxies": list(histograms)}, format=FORMAT)


def _read(file: Path) -> Histograms:
    arrays, note = read_arrays(file, kind="histogram", format=FORMAT)
    return {k: Histogram(*(arrays[f"{part}_{k}"] for part in _PARTS)) for k in note["proxies"]}
