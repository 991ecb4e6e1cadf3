"""`dris rank` on K = 3 proxies and 10^5 to 10^8 examples in Parquet shards: time and memory.

Each way runs in processes of its own, on two workers: ranks from histograms, ranks from a sort
on disk, and the same in memory (read everything, `rank_variance`, write). Processor time stands
beside wall-clock, since a machine may be shared. `--record FILE` keeps the numbers; the page
docs/scale.md and its figure are made from them by `python -m dris.bench.sharded_page`. The
default stops at 10^6; 10^8 takes some minutes, 3 GB of disk, and 5 GB more for the sort.
"""

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from measure import finish, report, watch

K, SHARD, CHUNK = 3, 5_000_000, 500_000
COMMAND = "from dris.cli import main; main()"
IN_MEMORY = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from dris.core.ranks import doubled_ranks, rank_variance
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
    """Every size and way in turn; sizes are powers of ten."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=6, help="the largest power of ten")
    parser.add_argument("--record", type=Path, help="a JSON file for the numbers")
    parser.add_argument("--folder", type=Path, help="where temporary files may lie")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for power in range(5, asked.largest + 1):
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            rows += _measured(10**power, Path(folder))
        if asked.record is not None:
            record = {"proxies": K, "cores": os.cpu_count(), "workers": 2, "rows": rows}
            asked.record.write_text(json.dumps(record, indent=1) + "\n")
    worker = {row["n"]: row["worker_peaks"][-1] for row in rows if row["way"] == "histograms"}
    report(
        "worker memory, largest N to smallest",
        worker[max(worker)] / worker[10**5],
        "×",
        4,
        at_least=False,
    )
    off = max(row["off"] / row["variance_error"] for row in rows if row.get("variance_error"))
    report("variance error to its stated bound", off, "×", 1, at_least=False)
    finish()


def _measured(n: int, folder: Path) -> list[dict[str, Any]]:
    data = _write(n, folder / "losses")
    dris = [sys.executable, "-c", COMMAND, "rank", str(data), "--workers", "2"]
    ways = {
        "histograms": [*dris, "--out", str(folder / "fast")],
        "keep 30 %": [*dris, "--out", str(folder / "fast"), "--keep", "0.3"],
        "sort": [*dris, "--out", str(folder / "exact"), "--exact"],
        "memory": [sys.executable, "-c", IN_MEMORY, str(data), str(folder / "memory.parquet")],
    }
    rows = []
    size = sum(file.stat().st_size for file in data.iterdir()) / 1e6
    for way, words in ways.items():
        seen = watch(words)
        rows.append({"n": n, "way": way, "data_mb": size, **asdict(seen)})
        print(
            f"N = {n:,}, {way}: {seen.seconds:.1f} s, {seen.cpu_seconds:.1f} s of processor, peak "
            f"{seen.own_peak:.0f} MB, workers {[round(p) for p in seen.worker_peaks]}",
            flush=True,
        )
    rows[0] |= _compared(folder)
    return rows


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


def _compared(folder: Path) -> dict[str, Any]:
    """How far the histograms' scores are from the sorted ones, and what both would keep."""
    found = json.loads((folder / "fast" / "ranked.json").read_bytes())
    pairs = [
        [
            pq.read_table(folder / way / file.name)["rank_variance"].to_numpy()
            for way in ("fast", "exact")
        ]
        for file in sorted((folder / "fast").glob("scores-*.parquet"))
    ]
    off = max(float(np.abs(fast - exact).max()) for fast, exact in pairs)
    fast, exact = (np.concatenate(each) for each in zip(*pairs, strict=True))
    count = int(0.3 * fast.size)
    cuts = [np.partition(score, -count)[-count] for score in (fast, exact)]
    both = np.count_nonzero((fast >= cuts[0]) & (exact >= cuts[1]))
    memory = pq.read_table(folder / "memory.parquet", columns=["rank_variance"])
    same = bool((memory["rank_variance"].to_numpy() == exact).all())
    keys = ("rank_errors", "variance_error", "passes")
    return {"off": off, "overlap": both / count, "sort_equals_memory": same} | {
        key: found[key] for key in keys
    }


if __name__ == "__main__":
    main()
