"""`dris score` on 1,000,000 × 64 float32 from Parquet with three linear proxies: time and memory.

The command runs in a process of its own; its peak and that of its largest worker are read while
it runs, less what the imports take. The aim is under three times the data (256 MB) in each.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from measure import finish, report, watch

N, D, EPOCHS = 1_000_000, 64, 4
COMMAND = "from dris.cli import main; main()"
IMPORTS = "import resource, dris.cli, dris.learn.scoring, dris.report.scored, sklearn.linear_model"


def main() -> None:
    """Write the data, score it, report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.parquet")
        _write(path)
        words = [str(path), "--label", "y", "--id", "id", "--proxies", "3", "--model", "sgd_log"]
        words += ["--epochs", str(EPOCHS), "--out", str(Path(folder, "out"))]
        seen = watch([sys.executable, "-c", COMMAND, "score", *words])
    data, imports = N * D * 4 / 1e6, _imports()
    own, peaks = seen.own_peak, seen.worker_peaks
    print(
        f"{N:,} × {D}, {EPOCHS} epochs: {seen.seconds:.0f} s, peak {own:.0f} MB, "
        f"imports {imports:.0f}"
    )
    print(f"workers: {', '.join(f'{p:.0f} MB' for p in peaks[-3:])}")
    report("the command's peak to the data", (own - imports) / data, "×", 3, at_least=False)
    if peaks:
        worker = peaks[-1] - imports
        report("the largest worker's peak to the data", worker / data, "×", 3, at_least=False)
    finish()


def _write(path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"f{j:02d}" for j in range(D)]
    kinds = {"id": pa.int64(), "y": pa.int64(), **dict.fromkeys(names, pa.float32())}
    with pq.ParquetWriter(path, pa.schema(kinds.items())) as out:
        for start in range(0, N, 100_000):
            y = rng.integers(0, 4, 100_000)
            x = rng.normal(size=(100_000, D)).astype(np.float32) + np.eye(4, D)[y] * 3
            wrong = rng.random(100_000) < 0.1
            columns = {"id": np.arange(start, start + 100_000), "y": np.where(wrong, 3 - y, y)}
            columns |= {name: x[:, j].astype(np.float32) for j, name in enumerate(names)}
            out.write_table(pa.table(columns))


def _imports() -> float:
    code = IMPORTS + "; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024e-3)"
    return float(subprocess.check_output([sys.executable, "-c", code]))


if __name__ == "__main__":
    main()
