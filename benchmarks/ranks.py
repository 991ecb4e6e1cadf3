"""Rank variance of K = 3 proxies on N = 10^7 examples, against scipy's rankdata and var."""

import argparse

import numpy as np

from dris.core.scores.ranks import rank_variance
from measure import finish, peak_mb, report, side_by_side


def main() -> None:
    """Measure memory first: scipy's own peak would hide ours."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=10_000_000)
    n = parser.parse_args().n
    rng = np.random.default_rng(0)
    losses = rng.standard_exponential((3, n), dtype=np.float32)
    for row in losses:
        row[rng.integers(0, n, n // 10)] = 0
    before = peak_mb()
    found = rank_variance(losses, workers=2)
    memory = peak_mb() - before

    from scipy.stats import rankdata

    def plain() -> np.ndarray:
        return (rankdata(losses, axis=1, method="average") / n).var(axis=0)

    difference = float(np.abs(found - plain()).max())
    ours, theirs = side_by_side(lambda: rank_variance(losses, workers=2), plain, rounds=2)
    print(f"N = {n:,}, K = 3, float32, 10 % zeros: {ours:.2f} s, scipy {theirs:.2f} s")
    report("rank variance, speed over scipy", theirs / ours, "x", 4, at_least=True)
    report("rank variance, memory above the input", memory, " MB", 40 * n / 1e6, at_least=False)
    report("largest difference from scipy", difference, "", 1e-12, at_least=False)
    finish()


if __name__ == "__main__":
    main()
