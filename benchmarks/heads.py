"""Heads on frozen features: all at once beside one network after the other and in processes.

Run `python benchmarks/heads.py` (needs torch; about a minute and a half on two cores). Two epochs
over 50,000 × 512 features with the paper's batches of 4,096, every epoch recorded, ten classes.
Each way gives the same losses but for rounding, which is checked. The time in processes includes
starting them once, as a first call does; a call that finds them running is timed too.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dris.core.dynamics import Dynamics
from dris.learn.heads import train_heads
from dris.learn.proxies import train_proxies
from dris.learn.recipe import PAPER_FOOD_PROBE
from measure import finish, peak_mb, report

N, WIDTH, CLASSES = 50_000, 512, 10
RECIPE = replace(PAPER_FOOD_PROBE, epochs=2, scored_epoch=2)


def timed(work: Callable[[], Dynamics]) -> tuple[float, Dynamics]:
    """Seconds, and what came out."""
    begin = time.perf_counter()
    found = work()
    return time.perf_counter() - begin, found


def main() -> None:
    """Print the ratios for each number of heads."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, WIDTH)).astype(np.float32)
    y = (x[:, :CLASSES] + rng.normal(size=(N, CLASSES))).argmax(axis=1)
    train_heads(x[:5000], y[:5000], recipe=RECIPE)  # first calls load libraries
    before = peak_mb()
    for heads in (3, 8, 32):
        times = {}
        times["at once"], ours = timed(lambda k=heads: train_heads(x, y, heads=k, recipe=RECIPE))
        if heads == 32:
            grown = peak_mb() - before

        def apart(workers: int, k: int = heads) -> Dynamics:
            how = {"model": "linear", "recipe": RECIPE, "workers": workers}
            return train_proxies(x, y, proxies=k, **how)

        times["in processes"], theirs = timed(lambda: apart(2))
        if heads < 32:
            times["one after the other"], theirs = timed(lambda: apart(1))
        print(f"{heads} heads: " + ", ".join(f"{way} {s:.2f} s" for way, s in times.items()))
        if not np.allclose(ours.loss, theirs.loss, atol=1e-4):
            raise SystemExit("the two do not agree")
        for way, seconds in list(times.items())[1:]:
            report(
                f"{heads} heads, {way} / at once", seconds / times["at once"], "×", 1, at_least=True
            )
    report("32 heads, memory beyond the data", grown, " MB", 900, at_least=False)
    finish()


if __name__ == "__main__":
    main()
