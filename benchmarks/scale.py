"""`dris clean --scores` on 1,000,000 × 64 float32 from Parquet: time and memory.

    python benchmarks/scale.py [wide] [--rows 1000000]

Three networks with a hidden layer × two folds, four epochs, the harm check included. The command
runs in a process of its own; its peak and that of its largest worker are read while it runs, less
what the imports take, and the most that all of them held together, with what they share counted
once. The aim is under three times the data (256 MB). Before the stacked proxies it took 50 s and
held 2.5 times the data.

`wide` does the same with 2 GB of embeddings, 1,000,000 × 512 in one column of vectors, for two
epochs of `dris prune`: proxies, verdict, report and the kept rows. It takes minutes and 6 GB of
disk, so `make bench` leaves it out; fewer `--rows`, but more than 200,000, show the same ratio.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from measure import finish, in_mb, report, watch

PART = 50_000
COMMAND = "from dris.cli import main; main()"
IMPORTS = "import dris.cli, dris.pipeline.ensemble, dris.report_page.page"


def main() -> None:
    """Write the data, run the command, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("how", nargs="?", choices=["wide"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    wide, rows = asked.how == "wide", asked.rows
    d, command, epochs = (512, "prune", 2) if wide else (64, "clean", 4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.parquet")
        _write(path, rows, d, vectors=wide)
        words = [str(path), "--label", "y", "--id", "id"]
        words += ["--keep", "0.5"] if wide else ["--scores", "--no-report"]
        words += ["--epochs", str(epochs), "--out", str(Path(folder, "out"))]
        seen = watch([sys.executable, "-c", COMMAND, command, *words])
    data, imports = rows * d * 4 / 1e6, _imports()
    own, peaks = seen.own_peak, seen.worker_peaks
    print(f"{command} on {rows:,} × {d} ({data:.0f} MB), {epochs} epochs")
    print(f"{seen.cpu_seconds:.0f} s of processor time, {seen.seconds:.0f} s by the clock")
    print(f"command {own:.0f} MB, workers {', '.join(f'{p:.0f} MB' for p in peaks)}")
    print(f"all together at most {seen.together:.0f} MB; imports take {imports:.0f} MB in each")
    report("the command's peak to the data", (own - imports) / data, "×", 3, at_least=False)
    if peaks:
        worker = peaks[-1] - imports
        report("the largest worker's peak to the data", worker / data, "×", 3, at_least=False)
    if wide:
        report("all processes together", seen.together / 1e3, "GB", 10, at_least=False)
    finish()


def _write(path: Path, rows: int, d: int, *, vectors: bool) -> None:
    """Four classes, every tenth label wrong; the features as columns or as one of vectors."""
    rng = np.random.default_rng(0)
    names = [f"f{j:02d}" for j in range(d)]
    kinds = dict.fromkeys(names, pa.float32())
    if vectors:
        kinds = {"embedding": pa.list_(pa.float32(), d)}
    with pq.ParquetWriter(path, pa.schema({"id": pa.int64(), "y": pa.int64(), **kinds})) as out:
        for start in range(0, rows, PART):
            y = rng.integers(0, 4, PART)
            x = rng.normal(size=(PART, d)).astype(np.float32)
            x[np.arange(PART), y] += 3
            wrong = rng.random(PART) < 0.1
            columns = {"id": np.arange(start, start + PART), "y": np.where(wrong, 3 - y, y)}
            if vectors:
                columns["embedding"] = pa.FixedSizeListArray.from_arrays(x.ravel(), d)
            else:
                columns |= {name: x[:, j] for j, name in enumerate(names)}
            out.write_table(pa.table(columns))


def _imports() -> float:
    # Not getrusage: what this process held when it forked would count as the child's.
    code = IMPORTS + "; print(open('/proc/self/status').read())"
    return in_mb(
        subprocess.check_output([sys.executable, "-c", code], text=True, encoding="utf-8"), "VmHWM"
    )


if __name__ == "__main__":
    main()
