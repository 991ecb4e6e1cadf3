"""The highest scores of many shards: the cut found by counting, ties at it broken by the hash."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from dris.core.large.histograms import Counter, Grid, Histogram, key_at, merge_histograms
from dris.core.large.mapped import Keys, ordered_keys, values_of
from dris.core.streams import hashed_order
from dris.core.validate import count_of
from dris.data.tables.shards import Shard, read_pieces, write_shard
from dris.learn.engines.processes import Ticker
from dris.learn.ranking.passes import Passes

SCORE = "rank_variance"
_BITS = 22


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept of a score."""

    count: int  # ⌊αN⌋, the examples that were kept
    cut: float  # the lowest score that was kept
    tied: int  # how many of the kept have exactly this score and were preferred over equals
    files: tuple[Path, ...]  # the shards with the ids of the kept examples and their scores

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON can hold."""
        return {**asdict(self), "files": [str(file) for file in self.files]}


@dataclass(frozen=True, slots=True)
class _Cut:
    """Keep what lies above `score`, and of what equals it the hashes up to `hash`."""

    score: int
    hash: int
    seed: int


def keep_top_shards(
    passes: Passes, scores: list[Path], targets: list[Path], *, fraction: float, seed: int
) -> Kept:
    """Keep the ⌊αN⌋ highest rank variances: the very examples that `keep_top` keeps in memory.

    Each target becomes a shard of the ids kept from the shard of scores in its place.
    """
    n = passes.examples
    count = count_of(fraction, n)
    grid = Grid.whole(np.dtype(np.uint64), bits=_BITS)

    def count_all(grid: Grid, cut: _Cut | None) -> Histogram:
        tasks = [(file, grid, cut) for file in scores]
        ticks = sum(shard.pieces for shard in passes.shards)
        histograms: list[Histogram] = passes.run(_count, tasks, ticks=ticks)
        return reduce(merge_histograms, histograms)

    place = key_at(n - count, grid, partial(count_all, cut=None))
    wanted = count - (n - place.below - place.equal)
    cut = _Cut(place.key, np.iinfo(np.uint64).max, seed)
    if wanted < place.equal:
        last = key_at(wanted - 1, grid, partial(count_all, cut=cut))
        cut = _Cut(place.key, last.key, seed)
    cut_score = float(values_of(np.array([place.key], dtype=np.uint64))[0])
    note = {"keep": fraction, "seed": seed, "kept": count, "examples": n, "cut": cut_score}
    tasks = list(zip(passes.shards, scores, targets, strict=True))
    ticks = sum(shard.pieces for shard in passes.shards)
    passes.run(_keep, [(*task, cut, note) for task in tasks], ticks=ticks)
    return Kept(count, cut_score, wanted if wanted < place.equal else 0, tuple(targets))


def _count(file: Path, grid: Grid, cut: _Cut | None, tick: Ticker) -> Histogram:
    """Keys of the scores; with a cut the hashes of those that are equal to it."""
    counter = Counter(grid)
    for piece in read_pieces(file, [SCORE] if cut is None else ["id", SCORE]):
        keys = _keys(piece)
        counter.add(keys if cut is None else _hashes(piece, keys == cut.score, cut.seed))
        tick()
    return counter.histogram()


def _keep(
    shard: Shard, source: Path, target: Path, cut: _Cut, note: dict[str, Any], tick: Ticker
) -> None:
    def pieces() -> Iterator[dict[str, Any]]:
        for piece in read_pieces(source, ["id", SCORE]):
            keys = _keys(piece)
            keep, equal = keys > cut.score, keys == cut.score
            keep[equal] = _hashes(piece, equal, cut.seed) <= cut.hash
            yield {name: column.filter(keep) for name, column in piece.items()}
            tick()

    write_shard(target, pieces(), {"id": shard.id_type, SCORE: "float64"}, note)


def _keys(piece: dict[str, Any]) -> Keys:
    return ordered_keys(piece[SCORE].to_numpy())


def _hashes(piece: dict[str, Any], chosen: np.ndarray[Any, Any], seed: int) -> Keys:
    ids = piece["id"].filter(chosen)
    values = ids.to_numpy(zero_copy_only=False)
    return hashed_order(values.astype(np.str_) if values.dtype == object else values, seed)
