"""Rank variance of more examples than fit: one task per shard and pass, the same bytes each time.

    count    each shard's losses into histograms, one per proxy; they add up
    refine   the heavy cells again into finer ones, as long as there are any
    look up  the rank of each loss in the merged histograms, the variance over proxies, written

What a pass leaves is in files under OUT/.dris-rank, so that a killed run goes on where it
was; finished shards go from there to OUT together. With `exact` the look-up becomes a sort on disk
(`disk_sort`); with `keep` last passes find the cut by counting, and write the highest scores.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dris.core.errors import InputError
from dris.core.files import make_folder, remove_left, temporary_place
from dris.core.large.histograms import (
    Counter,
    Grid,
    Histogram,
    key_at,
    mean_error,
    merge_histograms,
)
from dris.core.large.mapped import Keys, ordered_keys, values_of
from dris.core.sanitize import from_json
from dris.core.scores.ranks import variance_of_ranks
from dris.core.streams import check_seed, hashed_order
from dris.core.validate import count_of
from dris.data.files import PathLike, expanded, reading
from dris.data.tables.shards import Shard, open_shards, read_pieces, write_shard
from dris.data.writer import OWN, Writer, digest_of
from dris.learn.engines.processes import Progress, Ticker
from dris.learn.engines.tasks import Engine, as_engine
from dris.learn.ranking.disk_sort import collect_ranks, sort_on_disk
from dris.learn.ranking.passes import FORMAT, Passes, count_levels, look_up, rank_tables
from dris.learn.store.locks import empty_scratch, scratch

PLAN, SCRATCH, DONE = "plan.json", ".dris-rank", "ranked.json"
SCORE = "rank_variance"
_BITS = 22  # cells of a histogram when a cut is sought
_MEAN = "mean_rank"
_RESULT = ("examples", "proxies", "exact", "rank_errors", "variance_error", "passes")


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept of a score."""

    count: int  # ⌊αN⌋, the examples that were kept
    cut: float  # the lowest score that was kept
    tied: int  # how many of the kept have exactly this score and were preferred over equals
    files: tuple[Path, ...]  # the shards with the ids of the kept examples and their scores


@dataclass(frozen=True, slots=True)
class Ranked:
    """What `rank_shards` computed and wrote."""

    examples: int  # N
    proxies: int  # K
    exact: bool  # ranks come from a sort; those of histograms are exact where the error is 0
    rank_errors: tuple[float, ...]  # no normalized rank of proxy k is off by more than the k-th
    variance_error: float  # never exceeded by the error of a rank variance
    passes: int  # how often the losses were read
    scores: tuple[Path, ...]  # with id, rank_variance and mean_rank, one for each shard
    kept: Kept | None = None

    @property
    def rank_error(self) -> float:
        """e, the root mean square of the proxies' errors: what `certify` takes."""
        return mean_error(self.rank_errors)

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON can hold."""
        plain = from_json(json.dumps(asdict(self), default=str))
        return {**plain, "rank_error": self.rank_error}


def rank_shards(
    paths: PathLike | Sequence[PathLike],
    out: PathLike,
    *,
    id: str | None = None,
    losses: Sequence[str] = (),
    exact: bool = False,
    bits: int = 22,
    keep: float | None = None,
    seed: int = 0,
    force: bool = False,
    workers: int | None = None,
    engine: Engine | str = "local",
    progress: Progress | None = None,
) -> Ranked:
    """Rank variance and mean rank of losses in Parquet shards, in memory independent of N.

    Ranks come from histograms, and how far they may be off is written into every shard; with
    `exact` they come from a sort on disk, equal bit for bit to `rank_variance` in memory. Called
    again after a kill it goes on where it was, and ends in the same bytes.

    Args:
        paths: Parquet files, a pattern, or a folder of them.
        out: A folder for scores-00000.parquet, ..., and with `keep` kept-00000.parquet, ...
        id: Column of ids; "id" when there is one, else rows are numbered through all shards.
        losses: Columns of losses, or one of vectors; loss_0, loss_1, ... or "losses" by default.
        exact: Sort on disk; for the time being it takes twice the size of the losses there.
        bits: 2^bits cells a histogram; on any data no rank is off by more than 2^(7 − bits).
        keep: Also write the ids of the ⌊keep·N⌋ highest rank variances.
        seed: Breaks ties at the cut.
        force: Begin anew, and replace what another call wrote in `out`; nothing else ever is.
        workers: Processes; all cores by default.
        engine: "local", or "ray", on nodes that all see the shards and `out` by the same paths.
        progress: Called with what is done and all there is to do, anew in each pass.
    """
    shards = open_shards(paths, id=id, losses=losses)
    plan = _plan(shards, exact=exact, bits=bits)
    if keep is not None:
        count_of(keep, sum(shard.rows for shard in shards), "keep")
    check_seed(seed)
    folder = make_folder(expanded(out))
    if as_engine(engine).name == "ray":  # other nodes stand in other folders
        folder = folder.absolute()
        shards = tuple(replace(shard, path=shard.path.absolute()) for shard in shards)
    passes = Passes(shards, folder / SCRATCH, workers, progress, engine)
    writer = OWN.reading(*(shard.path for shard in shards))
    writer.refuse(folder / PLAN, folder / DONE, *_results(folder))
    if _results(folder) and not force and not _is_known(folder, plan):
        raise InputError(
            f"{folder} holds scores of other shards or options; pass `force=True` to "
            "replace them, or name another folder"
        )
    # The place is not used: entering it removes what killed workers left, also at the last step.
    with scratch(passes.folder, wait=False), temporary_place():
        remove_left(folder)
        if force or not _is_known(folder, plan):
            empty_scratch(passes.folder)
            for file in [*_results(folder), folder / DONE]:
                writer.remove(file)
            writer.write(folder / PLAN, [plan])
        done = folder / DONE
        scores = _name_shards(folder, "scores", len(shards))
        if not all(path.exists() for path in (done, *scores)):
            result = _rank(passes, scores, exact=exact, bits=bits)
            _publish(passes, scores, writer)
            writer.write(done, [json.dumps(result, sort_keys=True, indent=1).encode()])
        with reading(done, "file of dris rank"):
            read = from_json(done.read_bytes())
            read["rank_errors"] = tuple(map(float, read["rank_errors"]))
            result = {name: read[name] for name in _RESULT}
        kept = None
        if keep is not None:
            targets = _name_shards(folder, "kept", len(shards))
            fresh = [passes.folder / target.name for target in targets]
            kept = keep_top_shards(passes, scores, fresh, fraction=keep, seed=seed)
            _publish(passes, targets, writer)
            kept = replace(kept, files=tuple(targets))
    return Ranked(**result, scores=tuple(scores), kept=kept)


def _rank(passes: Passes, scores: list[Path], *, exact: bool, bits: int) -> dict[str, Any]:
    """Count, look up or sort, and leave every shard of scores that is not in place already."""
    proxies = passes.shards[0].proxies
    levels = count_levels(passes, bits=bits)
    tables = rank_tables(passes.folder, proxies=proxies, levels=levels, bits=bits)
    errors = [0.0 if exact else table.rank_error for table in tables]
    e = mean_error(errors)
    result = {
        "examples": passes.examples,
        "proxies": proxies,
        "exact": exact,
        "rank_errors": errors,
        "variance_error": e + e * e,  # no variance of ranks is above 1/4
    }
    if exact:
        sort_on_disk(passes, tables)
    tables.clear()
    # Killed while they were given their names, some are in place; they are of this plan.
    targets = [path if path.exists() else passes.folder / path.name for path in scores]
    passes.each_shard(_score_shard, targets, passes.folder, result, levels, bits)
    return {**result, "passes": levels + (2 if exact else 1)}


def _score_shard(
    shard: Shard,
    file: Path,
    folder: Path,
    result: dict[str, Any],
    levels: int,
    bits: int,
    tick: Ticker,
) -> None:
    n, k = result["examples"], shard.proxies
    if result["exact"]:
        ranked = collect_ranks(shard, int(file.stem.rpartition("-")[2]), folder)
    else:
        ranked = look_up(shard, rank_tables(folder, proxies=k, levels=levels, bits=bits))

    def pieces() -> Iterator[dict[str, Any]]:
        for ids, doubled in ranked:
            mean = doubled.sum(axis=0).astype(np.float64) / (2.0 * k * n)  # whole, so exact
            yield {"id": ids, SCORE: variance_of_ranks(doubled, n), _MEAN: mean}
            tick()

    types = {"id": shard.id_type, SCORE: pa.float64(), _MEAN: pa.float64()}
    write_shard(file, pieces(), types, {**result, "source": shard.path.name})


def _plan(shards: Sequence[Shard], *, exact: bool, bits: int) -> bytes:
    Grid.whole(np.dtype(np.uint32), bits=bits)  # refuses a number of bits that cannot be
    states = [(shard, shard.path.stat()) for shard in shards]
    files = [[s.path.name, s.rows, state.st_size, state.st_mtime_ns] for s, state in states]
    one = shards[0]
    plan = {"format": FORMAT, "shards": files, "id": one.id, "losses": one.columns}
    return json.dumps({**plan, "exact": exact, "bits": bits}, sort_keys=True, indent=1).encode()


def _is_known(folder: Path, plan: bytes) -> bool:
    held = folder / PLAN
    return held.is_file() and held.read_bytes() == plan


def _results(folder: Path) -> list[Path]:
    """Every shard in the folder that has the name of a result, whoever wrote it."""
    return sorted(path for what in ("scores", "kept") for path in folder.glob(f"{what}-*.parquet"))


def _publish(passes: Passes, targets: Sequence[Path], writer: Writer) -> None:
    fresh = {old: target for target in targets if (old := passes.folder / target.name).exists()}
    quiet = replace(passes, progress=None)
    sums = quiet.run(_digest, [(path,) for path in fresh], ticks=len(fresh))
    writer.publish(fresh, digests=dict(zip(fresh, sums, strict=True)))


def _digest(path: Path, tick: Ticker) -> str:
    result = digest_of(path)
    tick()
    return result


def _name_shards(folder: Path, what: str, count: int) -> list[Path]:
    return [folder / f"{what}-{i:05d}.parquet" for i in range(count)]


@dataclass(frozen=True, slots=True)
class _Cut:
    """Keep what lies above `score`, and of what equals it the hashes up to `hash`."""

    score: int
    hash: int
    seed: int


def keep_top_shards(
    passes: Passes, scores: list[Path], targets: list[Path], *, fraction: float, seed: int
) -> Kept:
    """Keep the ⌊αN⌋ highest rank variances: the very examples that `keep_top` keeps in memory."""
    n = passes.examples
    ticks = sum(shard.pieces for shard in passes.shards)
    count = count_of(fraction, n)
    grid = Grid.whole(np.dtype(np.uint64), bits=_BITS)

    def count_all(grid: Grid, cut: _Cut | None) -> Histogram:
        tasks = [(file, grid, cut) for file in scores]
        merged: Histogram = reduce(merge_histograms, passes.run(_count, tasks, ticks=ticks))
        return merged

    place = key_at(n - count, grid, partial(count_all, cut=None))
    wanted = count - (n - place.below - place.equal)
    cut = _Cut(place.key, np.iinfo(np.uint64).max, seed)
    if wanted < place.equal:
        last = key_at(wanted - 1, grid, partial(count_all, cut=cut))
        cut = _Cut(place.key, last.key, seed)
    cut_score = float(values_of(np.array([place.key], dtype=np.uint64))[0])
    note = {"keep": fraction, "seed": seed, "kept": count, "examples": n, "cut": cut_score}
    files = zip(passes.shards, scores, targets, strict=True)
    passes.run(_keep, [(*each, cut, note) for each in files], ticks=ticks)
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
