"""Peak memory of three proxies on 50,000 CIFAR-sized images, 40 epochs, every epoch recorded.

The model is linear and the batches large, so that the run is short: what counts here is what
grows with N, K and E, the data, the records and their joining, not the network.
"""

import os
from pathlib import Path

import numpy as np

from dris.learn.proxies import train_proxies
from dris.learn.recipe import Recipe
from measure import finish, peak_mb, report

N, K, E = 50_000, 3, 40


def main() -> None:
    """Peaks above what the process holds before it starts (the imports and the data)."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (N, 3, 32, 32), dtype=np.uint8)
    y = rng.integers(0, 10, N)
    before = peak_mb()
    recipe = Recipe(E, 2048, 0.001, augment=False)
    dynamics = train_proxies(x, y, proxies=K, model="linear", recipe=recipe, workers=2)
    here = peak_mb() - before
    records = sum(c.nbytes for c in dynamics.columns.values()) / 1e6
    workers = [_peak_of(pid) for pid in _children()]
    print(f"data {x.nbytes / 1e6:.0f} MB, records {records:.0f} MB, N = {N:,}, K = {K}, E = {E}")
    report("this process, above data and imports", here, " MB", 500, at_least=False)
    report("largest worker, all of it", max(workers), " MB", 2000, at_least=False)
    finish()


def _children() -> list[int]:
    """The processes that this one started (Linux)."""
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return [int(pid) for path in listed for pid in path.read_text(encoding="utf-8").split()]


def _peak_of(pid: int) -> float:
    """The most memory that another process has held, in MB (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
