"""100,000 sparse columns: the memory of stacked proxies is that of their weights, not of the data.

Run `python benchmarks/columns.py` (a minute). 1,000 rows with 30 of 100,000 columns each; filled
in, they would be 400 MB, and ten times as many rows 4 GB. Three proxies × four folds with a hidden
layer of 64 hold 77 million weights, 307 MB; training needs them four times (weights, momentum,
slopes and a spare), whatever the number of rows. Each kind of model runs in a process of its own.
"""

import subprocess
import sys

from measure import finish, report

CODE = """
import sys, time
import numpy as np
from scipy.sparse import csr_array
from dris.learn.proxies import train_proxies
from measure import peak_mb
rows, model = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
y = rng.integers(4, size=rows)
at = rng.integers(100_000, size=(rows, 30))
at[:, 0] = y
x = csr_array((np.ones(at.size, np.float32), at.ravel(), 30 * np.arange(rows + 1)),
              shape=(rows, 100_000))
train_proxies(np.eye(8), np.arange(8) % 2, epochs=1)  # the first call loads libraries
before, begin = peak_mb(), time.process_time()
train_proxies(x, y, model=model, cross_fit=4, epochs=1, workers=1)
print(peak_mb() - before, time.process_time() - begin)
"""


def main() -> None:
    """Print peak memory beyond the data, beside the weights of the models."""
    for model, rows, weights in (("mlp", 1_000, 64 * 100_000), ("linear_head", 10_000, 400_000)):
        line = [sys.executable, "-c", CODE, str(rows), model]
        here = {"cwd": __file__.rpartition("/")[0] or "."}
        peak, seconds = map(float, subprocess.check_output(line, text=True, **here).split())
        own = 12 * weights * 4 / 1e6
        dense = rows * 100_000 * 4 / 1e6
        print(f"{model}, {rows:,} × 100,000 sparse: {peak:.0f} MB, {seconds:.1f} s an epoch")
        print(f"  its weights are {own:.0f} MB, the rows filled in would be {dense:.0f} MB")
        report(f"{model}, memory to that of its weights", peak / own, "×", 6, at_least=False)
    finish()


if __name__ == "__main__":
    main()
