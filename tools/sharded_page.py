"""The measured part of docs/scale.md and its figure, from what benchmarks/sharded.py recorded.

python benchmarks/sharded.py --largest 8 --record results/records/sharded.json
python tools/sharded_page.py .
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.results.figures import PALETTE, save_figure

RECORD, PAGE, FIGURE = "results/records/sharded.json", "docs/scale.md", "docs/images/sharded.png"
WAYS = {
    "histograms": "histograms (`dris rank`)",
    "sort": "sort on disk (`--exact`)",
    "memory": "everything in memory",
    "keep": "then the highest 30 % (`--keep 0.3`)",
}
_GOAL, _MACHINES, _CORES, _SHARD = 10**10, 8, 8, 5 * 10**6
BEGIN = "<!-- measured: written by python tools/sharded_page.py . -->\n"
END = "<!-- end of what is written -->\n"
Row = Mapping[str, Any]


def write(root: Path) -> None:
    """Read the record, write its part of the page and draw the figure."""
    record = json.loads((root / RECORD).read_text(encoding="utf-8"))
    before, rest = (root / PAGE).read_text(encoding="utf-8").split(BEGIN)
    (root / PAGE).write_text(
        before + BEGIN + measured(record) + END + rest.split(END)[1], encoding="utf-8"
    )
    rows = rows_of(record)
    sizes = {
        way: [n for n, other in sorted(rows) if other == way]
        for way in ("histograms", "sort", "memory")
    }
    growth_figure(
        {
            WAYS[way]: [(n, cpu(rows[n, way]), peak(rows[n, way])) for n in ns]
            for way, ns in sizes.items()
        },
        root / FIGURE,
    )


def growth_figure(ways: Mapping[str, Sequence[tuple[int, float, float]]], path: Path) -> Path:
    """Processor seconds and memory in MB against N, a line for each way, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained", dpi=110)
    left, right = figure.subplots(1, 2)
    for colour, (name, points) in zip(PALETTE, ways.items(), strict=False):
        n, seconds, megabytes = zip(*points, strict=True)
        left.plot(n, seconds, "o-", color=colour, label=name.replace("`", ""))
        right.plot(n, megabytes, "o-", color=colour)
    left.set(ylabel="processor time, s", title="Time grows with N")
    right.set(ylabel="peaks of all processes, MB", title="Memory does not, out of core")
    for axes in (left, right):
        axes.set(xlabel="N, examples (K = 3)", xscale="log", yscale="log")
        axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=len(ways), frameon=False)
    return save_figure(figure, path)


def rows_of(record: Mapping[str, Any]) -> dict[tuple[int, str], Row]:
    """The rows by size and way."""
    return {(row["n"], row["way"]): row for row in record["rows"]}


def cpu(row: Row) -> float:
    """Seconds of processor time, over all processes."""
    return float(row["cpu_seconds"])


def peak(row: Row) -> float:
    """The peaks of all processes added up, in MB: more than was ever held at once."""
    return float(row["own_peak"] + sum(row["worker_peaks"]))


def measured(record: Mapping[str, Any]) -> str:
    """All that is said about numbers, each taken from the record."""
    rows = rows_of(record)
    largest = max(n for n, way in rows if way == "histograms")
    sizes = sorted({n for n, _ in rows})
    heads = ("N", "way", "processor, s", "wall-clock, s", "memory, MB", "largest worker, MB")
    parts = [
        "## Measured",
        f"K = {record['proxies']} proxies, float32, exponential losses times log-normal factors, "
        f"shards of up to {_SHARD:,} rows, {record['workers']} workers on {record['cores']} cores "
        "(`benchmarks/sharded.py`, [the record](../results/records/sharded.json)). The machine was "
        "shared and very busy, so processor time is the number to read; wall-clock says how long "
        "it took in that company. Memory is the sum of the peaks of all processes, which is more "
        "than was ever held at once, and some 100 MB of each are imports.",
        _table(
            (*heads, "processor to memory's"), [_cells(rows, n, w) for n in sizes for w in WAYS]
        ),
        "![Processor time and memory against N](images/sharded.png)",
        "\n".join(_growth(rows, largest)),
        _quality(rows),
        "\n".join(_on_paper(record, rows, largest)),
    ]
    return "\n\n".join(parts) + "\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *(row for row in rows if row)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(rows: Mapping[tuple[int, str], Row], n: int, way: str) -> list[str]:
    row = rows.get((n, way))
    if row is None:
        return []
    worker = f"{row['worker_peaks'][-1]:,.0f}" if row["worker_peaks"] else ""
    ratio = ""
    if way in ("histograms", "sort") and (n, "memory") in rows:
        ratio = f"{cpu(row) / cpu(rows[n, 'memory']):.1f}×"
    times = [f"{cpu(row):.1f}", f"{row['seconds']:.0f}"]
    return [f"{n:,}", WAYS[way], *times, f"{peak(row):,.0f}", worker, ratio]


def _growth(rows: Mapping[tuple[int, str], Row], n: int) -> list[str]:
    before, first, last = (rows[size, "histograms"] for size in (n // 100, n // 10, n))
    said = [
        f"- One example more costs {_slope(before, first):.2f} µs of processor time between N = "
        f"{n // 100:,} and {n // 10:,}, and {_slope(first, last):.2f} µs up to {n:,}: the cost is "
        "linear. What is left at small N is the start of the processes.",
        f"- The largest worker holds {last['worker_peaks'][-1]:,.0f} MB at N = {n:,} and "
        f"{first['worker_peaks'][-1]:,.0f} MB at {n // 10:,}: memory is constant.",
    ]
    if (n, "memory") in rows:
        held = rows[n, "memory"]
        said.append(
            f"- In memory, N = {n:,} takes {peak(held):,.0f} MB, {peak(held) / peak(last):.1f} "
            "times what histograms take."
        )
    return said


def _slope(first: Row, last: Row) -> float:
    """Microseconds of processor time for each further example."""
    return 1e6 * (cpu(last) - cpu(first)) / float(last["n"] - first["n"])


def _quality(rows: Mapping[tuple[int, str], Row]) -> str:
    heads = ("N", "rank error e", "variance error, stated", "measured", "top 30 % in common")
    lines = []
    for (n, way), row in sorted(rows.items()):
        if way == "histograms" and (n, "memory") in rows:
            exact = rows[n, "memory"]
            errors = max(row["rank_errors"]), row["variance_error"], exact["off"]
            shared = f"{100 * exact['overlap']:.3f} %"
            lines.append([f"{n:,}", *(f"{error:.2g}" for error in errors), shared])
    sorts = {n: row["equals_memory"] for (n, way), row in sorted(rows.items()) if way == "sort"}
    verdict = "equal" if all(sorts.values()) else "do NOT all equal"
    sizes = ", ".join(f"{n:,}" for n in sorts)
    said = f"The sort's scores {verdict} those of memory bit for bit (N = {sizes})."
    return f"{_table(heads, lines)}\n\n{said}"


def _on_paper(record: Mapping[str, Any], rows: Mapping[tuple[int, str], Row], n: int) -> list[str]:
    last, first = rows[n, "histograms"], rows[n // 10, "histograms"]
    each = _slope(first, last)
    total = each * _GOAL / 1e6
    gigabytes = last["data_mb"] / n * _GOAL / 1e3
    shards = _GOAL // _SHARD
    merge = record["merge"]
    files = shards * record["proxies"]
    serial = files * merge["seconds"]
    moved = (last["passes"] + 1) * gigabytes
    return [
        "## 10^10 examples on a cluster, on paper",
        "",
        f"Nobody has run this. What follows takes the measured slope, {each:.2f} µs of processor "
        f"time per example (between N = {n // 10:,} and {n:,}), and multiplies.",
        "",
        f"- Work: {total:,.0f} s of processor time, so {total / 60:.0f} minutes of one core and "
        f"{total / _MACHINES / _CORES:.0f} s of {_MACHINES} machines with {_CORES} cores each; "
        f"{shards:,} shards of {_SHARD:,} rows are {shards / _MACHINES / _CORES:.0f} for each "
        "core, so that they even out.",
        f"- Data: {gigabytes:,.0f} GB of Parquet, read {last['passes']} times, and about as much "
        f"written: {moved:,.0f} GB, {moved / _MACHINES:,.0f} s if each machine moves 1 GB/s. A "
        "cluster is for the disks and the network more than for the processors.",
        f"- Memory: {last['worker_peaks'][-1]:,.0f} MB a worker, as measured; N does not enter.",
        f"- Histograms: {merge['cells']:,} cells a proxy in a shard of exponential losses, "
        f"{merge['bytes'] / 1e6:.1f} MB, so {files * merge['bytes'] / 1e9:,.0f} GB from {shards:,} "
        f"shards ({2**22 * 24 / 1e6:,.0f} MB a proxy at most, if every cell is used). The caller "
        f"merges them one after the other, {merge['seconds']:.3f} s each: {serial:,.0f} s, and the "
        "time to read them, in which the cluster waits. Since merging is associative, each machine "
        f"could merge its own first, and the wait would be about {serial / _MACHINES:,.0f} s; that "
        "is not built.",
        "- Error: e is read off again. It does not grow with N: it is half the share of the data "
        "in the fullest cell. At 22 bits it cannot exceed 2^-15 = 3.1e-05, on any data.",
        "- Sums: K·N passes 2^32, so variances are computed in float64 from the smallest of the K "
        "ranks: zero where proxies agree, the last digits rounded.",
        f"- Exact ranks would need {12 * record['proxies'] * _GOAL / 1e9:,.0f} GB of disk that "
        "every machine sees, a rank being 8 bytes there. Histograms are what a cluster is for.",
        "",
        "Tasks hand over through files: on several machines the shards and the output folder must "
        "lie where all of them see them.",
    ]


if __name__ == "__main__":
    write(Path(sys.argv[1]))
