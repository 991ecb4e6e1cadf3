"""Memory and time to read 1,000,000 × 64 float32 from Parquet, and as many rows with a text.

Each read runs in a process of its own, so that its peak is its own. The ratio is that peak, less
what the imports take, to the array that comes out (256 MB). `python benchmarks/reading.py text`
reads a CSV file of 1,000,000 rows with a text column instead, and 44 MB of numbers.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from measure import finish, report

N, D, GROUP = 1_000_000, 64, 125_000

READ = """
import sys, time
import resource
from dris.data.reader import read_data
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
before, begin = peak(), time.perf_counter()
data = read_data(sys.argv[1], label="y", id="id")
seconds, cpu = time.perf_counter() - begin, time.process_time()
assert data.x.shape == (int(sys.argv[2]), int(sys.argv[3]) or data.x.shape[1]), data.x.shape
print(peak() - before, seconds, data.x.nbytes / 1e6, cpu)
"""


def written(path: Path, *, vectors: bool, group: int) -> Path:
    """The file, made a row group at a time."""
    rng = np.random.default_rng(0)
    writer = None
    for begin in range(0, N, GROUP):
        values = rng.random((GROUP, D), dtype=np.float32)
        marks = {"id": np.arange(begin, begin + GROUP), "y": rng.integers(0, 10, GROUP)}
        if vectors:
            flat = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), D)
            table = pa.table({**marks, "embedding": flat})
        else:
            columns = {f"f{i}": np.ascontiguousarray(values[:, i]) for i in range(D)}
            table = pa.table({**marks, **columns})
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=group)
    if writer is not None:
        writer.close()
    return path


def texts(path: Path, rows: int) -> Path:
    """A CSV file with an id, a text of some hundred characters, a number and a label."""
    rng = np.random.default_rng(0)
    words = np.array(["".join(rng.choice(list("abcdefghijklmnop"), 6)) for _ in range(20_000)])
    common = 1 / np.arange(1, len(words) + 1)
    with path.open("w", encoding="utf-8") as out:
        out.write("id,text,amount,y\n")
        for begin in range(0, rows, 10_000):
            drawn = rng.choice(words, (10_000, 15), p=common / common.sum())
            for i, row in enumerate(drawn):
                out.write(f"{begin + i},{' '.join(row)},{i / 7:.3f},{(begin + i) % 4}\n")
    return path


def numbers(path: Path) -> Path:
    """44 MB of decimals, as CSV."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as out:
        out.write(",".join(f"f{i}" for i in range(60)) + ",id,y\n")
        for i in range(80_000):
            row = ",".join(f"{v:.6f}" for v in rng.normal(size=60))
            out.write(f"{row},{i},{i % 3}\n")
    return path


def main_text() -> None:
    """Time and peak memory of CSV files."""
    with tempfile.TemporaryDirectory() as folder:
        made = [(numbers(Path(folder, "numbers.csv")), 80_000, 60)]
        made += [(texts(Path(folder, f"text{n}.csv"), n), n, 0) for n in (100_000, N)]
        for path, rows, width in made:
            command = [sys.executable, "-c", READ, str(path), str(rows), str(width)]
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, encoding="utf-8"
            )
            peak, seconds, size, cpu = map(float, done.stdout.split())
            print(
                f"{path.name}: {path.stat().st_size / 1e6:.0f} MB, {seconds:.1f} s ({cpu:.1f} s of "
                f"one core, imports included), peak "
                f"{peak:,.0f} MB above the imports, of which the array {size:,.0f} MB"
            )


def main() -> None:
    """Peak of the process that reads, above its imports, over the array."""
    if sys.argv[1:] == ["text"]:
        main_text()
        return
    with tempfile.TemporaryDirectory() as folder:
        for what, vectors in (("columns", False), ("embeddings", True)):
            path = written(Path(folder, f"{what}.parquet"), vectors=vectors, group=GROUP)
            command = [sys.executable, "-c", READ, str(path), str(N), str(D)]
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, encoding="utf-8"
            )
            peak, seconds, size, _ = map(float, done.stdout.split())
            print(f"{what}: file {path.stat().st_size / 1e6:.0f} MB, {seconds:.1f} s")
            report(f"{what}, peak memory over the array", peak / size, "×", 1.5, at_least=False)
            path.unlink()
    finish()


if __name__ == "__main__":
    main()
