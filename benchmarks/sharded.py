"""`dris rank` on K = 3 proxies and 10^5 to 10^8 examples in Parquet shards: time and memory.

Each way runs in processes of its own, on two workers: ranks from histograms, ranks from a sort
on disk, and the same in memory (read everything, `rank_variance`, write). Processor time stands
beside wall-clock, since a machine may be shared. `--record FILE` keeps the numbers; the page
docs/scale.md and its figure are made from them by `python tools/sharded_page.py`. The
default stops at 10^6; 10^8 takes some minutes, 3 GB of disk, and 5 GB more for the sort.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dris.core.large.histograms import Counter, Grid, merge_histograms
from dris.core.large.mapped import ordered_keys
from measure import finish, report, watch

K, KEEP, SHARD, CHUNK = 3, 0.3, 5_000_000, 500_000
COMMAND = "from dris.cli import main; main()"
IN_MEMORY = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from dris.core.scores.ranks import doubled_ranks, rank_variance
table = pq.read_table(sys.argv[1])
ids = table["id"]
losses = np.stack([table[f"loss_{k}"].to_numpy() for k in range(3)])
del table
variance = rank_variance(losses, workers=2)
total = sum(doubled_ranks(row).astype(np.float64) for row in losses)
mean = total / (2.0 * losses.size)
out = pa.table({"id": ids, "rank_variance": variance, "mean_rank": mean})
pq.write_table(out, sys.argv[2], compression="zstd", use_dictionary=False)
"""


def main() -> None:
    """Every size and way in turn; sizes are powers of ten. A record is added to, row by row."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--smallest", type=int, default=5, help="the smallest power of ten")
    parser.add_argument("--largest", type=int, default=6, help="the largest power of ten")
    parser.add_argument("--record", type=Path, help="a JSON file for the numbers")
    parser.add_argument("--folder", type=Path, help="where temporary files may lie")
    asked = parser.parse_args()
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    if asked.record is not None and asked.record.exists():
        rows = {
            (row["n"], row["way"]): row
            for row in json.loads(asked.record.read_text(encoding="utf-8"))["rows"]
        }
    for power in range(asked.smallest, asked.largest + 1):
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            for row in _measured(10**power, Path(folder)):
                rows[row["n"], row["way"]] = row
                if asked.record is not None:
                    kept = [rows[key] for key in sorted(rows)]
                    record = {"proxies": K, "cores": os.cpu_count(), "workers": 2, "rows": kept}
                    asked.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if asked.record is not None:
        record = json.loads(asked.record.read_text(encoding="utf-8")) | {"merge": _merging()}
        asked.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    worker = {n: row["worker_peaks"][-1] for (n, way), row in rows.items() if way == "histograms"}
    growth = worker[max(worker)] / worker[min(worker)]
    report("worker memory, largest N to smallest", growth, "×", 2, at_least=False)
    for n in worker:
        off = rows[n, "memory"]["off"] / rows[n, "histograms"]["variance_error"]
        report(f"variance error to its bound, N = {n:,}", off, "×", 1, at_least=False)
        report("top 30 % in common", rows[n, "memory"]["overlap"], "", 0.999, at_least=True)
        report("sort equals memory", rows[n, "sort"]["equals_memory"], "", 1, at_least=True)
    finish()


def _measured(n: int, folder: Path) -> Iterator[dict[str, Any]]:
    data = _write(n, folder / "losses")
    dris = [sys.executable, "-c", COMMAND, "rank", str(data), "--workers", "2"]
    ways = {
        "histograms": [*dris, "--out", str(folder / "fast")],
        "keep": [*dris, "--out", str(folder / "fast"), "--keep", str(KEEP)],
        "memory": [sys.executable, "-c", IN_MEMORY, str(data), str(folder / "memory.parquet")],
        "sort": [*dris, "--out", str(folder / "exact"), "--exact"],
    }
    size = sum(file.stat().st_size for file in data.iterdir()) / 1e6
    for way, words in ways.items():
        seen = watch(words)
        print(
            f"N = {n:,}, {way}: {seen.seconds:.1f} s, {seen.cpu_seconds:.1f} s of processor, peak "
            f"{seen.own_peak:.0f} MB, workers {[round(p) for p in seen.worker_peaks]}",
            flush=True,
        )
        yield {"n": n, "way": way, "data_mb": size, **asdict(seen), **_found(way, folder)}


def _found(way: str, folder: Path) -> dict[str, Any]:
    """What a way says of itself, and how far its scores are from those of another."""
    if way == "histograms":
        held = json.loads((folder / "fast" / "ranked.json").read_bytes())
        return {name: held[name] for name in ("passes", "rank_errors", "variance_error")}
    if way == "keep":
        return {}
    exact = pq.read_table(folder / "memory.parquet", columns=["rank_variance"])[0].to_numpy()
    other = folder / ("fast" if way == "memory" else "exact")
    files = sorted(other.glob("scores-*.parquet"))
    parts = [pq.read_table(file, columns=["rank_variance"])[0].to_numpy() for file in files]
    score = np.concatenate(parts)
    if way == "sort":
        return {"equals_memory": bool((score == exact).all())}
    count = int(KEEP * score.size)
    above = [values >= np.partition(values, -count)[-count] for values in (score, exact)]
    both = int(np.count_nonzero(above[0] & above[1]))
    return {"off": float(np.abs(score - exact).max()), "overlap": both / count}


def _merging() -> dict[str, Any]:
    """Two histograms of a shard of losses: how many cells, how many bytes, how long to merge."""
    found = []
    for seed in (0, 1):
        counter = Counter(Grid.whole(np.dtype(np.uint32), bits=22))
        losses = np.random.default_rng(seed).standard_exponential(SHARD, dtype=np.float32)
        counter.add(ordered_keys(losses))
        found.append(counter.histogram())
    begin = time.process_time()
    for _ in range(10):
        merge_histograms(*found)
    seconds = (time.process_time() - begin) / 10
    one = found[0]
    size = sum(part.nbytes for part in (one.cells, one.counts, one.low, one.high))
    return {"cells": one.cells.size, "bytes": size, "seconds": seconds}


def _write(n: int, folder: Path) -> Path:
    """Losses that the proxies share in part: an exponential times their own log-normal factors."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    kinds = {"id": pa.int64(), **{f"loss_{k}": pa.float32() for k in range(K)}}
    shard = min(SHARD, n // 2)
    for i, start in enumerate(range(0, n, shard)):
        path = folder / f"part-{i:03d}.parquet"
        with pq.ParquetWriter(path, pa.schema(kinds.items()), use_dictionary=False) as out:
            for begin in range(start, start + shard, CHUNK):
                count = min(CHUNK, start + shard - begin)
                shared = rng.standard_exponential(count, dtype=np.float32)
                own = np.exp(rng.standard_normal((K, count), dtype=np.float32) / 2)
                losses = {f"loss_{k}": shared * own[k] for k in range(K)}
                out.write_table(pa.table({"id": np.arange(begin, begin + count), **losses}))
    return folder


if __name__ == "__main__":
    main()
