"""How often the range of wrong labels holds the truth, on the data that chose it.

    DRIS_DATA=data OMP_NUM_THREADS=1 python benchmarks/ranges.py [--seeds 4]

Digits, Fashion-MNIST (benchmarks/clean_sets.py) and seven made sets: normal classes that overlap,
ordinal ones, mixtures, a rare class, few rows; six kinds of noise (benchmarks/clean_noise.py).
Beside it a simpler lower end: other labels among the surest 15 %, less two standard errors. What
data that did not choose it say is in docs/results/clean.md. About ten minutes of one core.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clean_noise import NOISES, corrupted
from clean_sets import SETS, Table, split
from dris.core.judge.wrong_share import wrong_share
from dris.data.labelled import LabelledData
from dris.decide.scored import score_data
from dris.decide.settings import Settings

ROWS = 1_500
Rng = np.random.Generator


def main() -> None:
    """Print a line for each lower end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    seeds = range(parser.parse_args().seeds)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("digits", "fashion-mnist", *MADE):
            for seed in seeds:
                if name in MADE:
                    x, y = MADE[name](np.random.default_rng((list(MADE).index(name), seed)))
                else:
                    x, y = split(SETS[name], seed, Path(folder))[0]
                found += [(noise, *ends(x, y, noise, seed)) for noise in NOISES]
            print(f"{name} done", flush=True)
    for place, what in enumerate(("dris", "surest 15 %")):
        even = [(f[3 + place], f[1], f[2]) for f in found if f[0].startswith("uniform")]
        inside = np.mean([low <= true <= high for low, true, high in even])
        near = np.mean([abs(low - true) <= 0.05 for low, true, _ in even])
        none = np.mean([f[3 + place] for f in found if f[0] == "none"])
        print(
            f"{what}: holds the truth of uniform noise in {inside:.0%} of {len(even)}, lower end "
            f"within 5 points in {near:.0%}; where nothing is wrong it is {none:.1%} on average"
        )


def ends(
    x: NDArray[np.float32], y: NDArray[np.int64], noise: str, seed: int
) -> tuple[float, float, float, float]:
    """The true share, the upper end, our lower end and the simpler one."""
    given = corrupted(noise, x, y, seed)
    data = LabelledData.of(x, given, classes=tuple(range(int(y.max()) + 1)))
    scored = score_data(data, Settings(seed=seed), workers=1, only_judged=True)
    own, p = ~scored.planted(), scored.unseen()
    if p is None:
        raise RuntimeError("these proxies have no folds")
    share = wrong_share(p[own], given[own])
    return float((given != y).mean()), share.high, share.low, simple(p[own], given[own])


def simple(p: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Other labels among the surest 15 %, less two standard errors."""
    count = max(30, int(np.ceil(0.15 * len(labels))))
    sure = np.argsort(-p.max(axis=1), kind="stable")[:count]
    share = float((p.argmax(axis=1) != labels)[sure].mean())
    return max(0.0, share - 2 * float(np.sqrt(share * (1 - share) / count)))


def _two(rng: Rng, apart: float, rows: int = ROWS, rare: float = 0.5) -> Table:
    y = (rng.random(rows) < rare).astype(np.int64)
    x = rng.normal(size=(rows, 10))
    x[:, 0] += apart * y
    return x.astype(np.float32), y


def _ordinal(rng: Rng, signal: float, noise: float, cuts: list[float]) -> Table:
    x, w = rng.normal(size=(ROWS, 12)), rng.normal(size=12)
    seen = signal * x @ (w / np.linalg.norm(w)) + noise * rng.normal(size=ROWS)
    return x.astype(np.float32), np.digitize(seen, cuts).astype(np.int64)


def _mixtures(rng: Rng) -> Table:
    y, part = rng.integers(0, 4, ROWS), rng.integers(0, 3, ROWS)
    middle = 1.1 * rng.normal(size=(4, 3, 8))
    return (middle[y, part] + rng.normal(size=(ROWS, 8))).astype(np.float32), y


MADE: dict[str, Callable[[Rng], Table]] = {
    "overlap of 10 %": lambda rng: _two(rng, 2.56),
    "overlap of 25 %": lambda rng: _two(rng, 1.35),
    "ordinal": lambda rng: _ordinal(rng, 1.0, 0.6, [-1.0, -0.35, 0.35, 1.0]),
    "ordinal, hardly seen": lambda rng: _ordinal(rng, 0.6, 0.8, [-0.9, -0.3, 0.3, 0.9]),
    "mixtures": _mixtures,
    "rare": lambda rng: _two(rng, 1.84, rare=0.12),
    "few rows": lambda rng: _two(rng, 4.0, rows=400),
}


if __name__ == "__main__":
    main()
