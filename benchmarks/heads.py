"""Heads on frozen features: all at once beside one network after the other and in processes.

Run `python benchmarks/heads.py` (needs torch; two minutes on free cores). 50,000 × 512 features of
ten classes, every epoch recorded. All ways must give the same losses but for rounding. Where other
work keeps the second core busy, two processes look worse than they are; beside one after the
other only the computation counts. Expected: 1.1× to 3×, in batches of 128 near 3×.
"""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from dris.core.dynamics.history import Dynamics
from dris.learn.proxies import train_proxies
from dris.learn.recipe import PAPER_FOOD_PROBE, Recipe
from dris.learn.stacked.heads import train_heads
from measure import finish, peak_mb, report, side_by_side

N, WIDTH, CLASSES = 50_000, 512, 10
SHORT = replace(PAPER_FOOD_PROBE, epochs=2, scored_epoch=2)


class Ways:
    """The three ways to train K heads on the same table."""

    def __init__(self, heads: int, recipe: Recipe) -> None:
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(N, WIDTH)).astype(np.float32)
        self.y = (self.x[:, :CLASSES] + rng.normal(size=(N, CLASSES))).argmax(axis=1)
        self.heads, self.recipe = heads, recipe

    def at_once(self) -> Dynamics:
        """One stack in this process."""
        return train_heads(self.x, self.y, heads=self.heads, recipe=self.recipe)

    def apart(self, workers: int = 1) -> Dynamics:
        """One network each, in that many processes."""
        how = {"proxies": self.heads, "recipe": self.recipe, "workers": workers}
        return train_proxies(self.x, self.y, model="linear", **how)


def main() -> None:
    """Print the ratios for each number of heads."""
    many = Ways(32, SHORT)
    train_heads(many.x[:5000], many.y[:5000], recipe=SHORT)  # the first call loads libraries
    before = peak_mb()
    many.at_once()
    grown = peak_mb() - before
    begin = time.perf_counter()
    Ways(3, SHORT).apart(workers=2)
    starting = time.perf_counter() - begin
    print(f"3 heads in two new processes, started for them: {starting:.1f} s")
    for heads, recipe, rounds in (
        (3, PAPER_FOOD_PROBE, 2),
        (3, replace(SHORT, batch_size=128), 1),
        (8, SHORT, 2),
        (32, SHORT, 1),
    ):
        ways = Ways(heads, recipe)
        works = [ways.at_once, partial(ways.apart, workers=2), ways.apart]
        once, *others = side_by_side(*works[: 2 if heads == 32 else 3], rounds=rounds)
        what = f"{heads} heads, {recipe.epochs} epochs, batches of {recipe.batch_size}"
        print(f"{what}: {once:.2f} s at once")
        for way, seconds in zip(("two processes", "one after the other"), others, strict=False):
            report(
                f"{what}, {way} / at once",
                seconds / once,
                "×",
                1.0 if "two" in way else 1.2,
                at_least=True,
            )
    same = Ways(3, SHORT)
    worst = float(np.abs(same.at_once().loss - same.apart().loss).max())
    report("largest difference between losses", worst, "", 1e-4, at_least=False)
    report("32 heads, memory beyond the features", grown, " MB", 600, at_least=False)
    finish()


if __name__ == "__main__":
    main()
