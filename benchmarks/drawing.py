"""One epoch of N draws from q against `torch.multinomial` on the same weights; memory at 10^8.

Run `python benchmarks/drawing.py` (needs torch; about a minute). torch refuses more than 2^24
examples, so the run with N = 10^8 (`--largest`) has no peer and measures memory and the fit to q.
Measured on a busy two-core machine: 8.8×; at 10^8 12 s and 1.8 GB above the input.
Memory is taken first and in a process of its own: a process starts with the peak of its parent.
"""

import argparse
import subprocess
import sys
import time

import numpy as np

from dris.core.select.importance import draw
from measure import finish, peak_mb, report, side_by_side


def made(n: int) -> np.ndarray:
    """Skewed probabilities over a uniform floor, as smoothing makes them."""
    q = np.random.default_rng(0).standard_exponential(n)
    q += 0.1
    q /= q.sum()
    return q


def against_torch(n: int) -> None:
    """Speed and fit, side by side on one thread: neither uses more."""
    import torch

    torch.set_num_threads(1)
    q = made(n)
    weights, generator = torch.from_numpy(q), torch.Generator().manual_seed(0)
    ours, theirs = side_by_side(
        lambda: draw(q, n, rng=np.random.default_rng(0)),
        lambda: torch.multinomial(weights, n, replacement=True, generator=generator),
        rounds=2,
    )
    print(f"N = {n:,}, float64: {ours:.2f} s, torch.multinomial {theirs:.2f} s")
    report("drawing, speed over torch.multinomial", theirs / ours, "x", 5, at_least=True)


def alone(n: int) -> None:
    """Memory above the input, and how far counts lie from q in a thousand pools."""
    q = made(n)
    before, begin = peak_mb(), time.perf_counter()
    drawn = draw(q, n, rng=np.random.default_rng(0))
    seconds, memory = time.perf_counter() - begin, peak_mb() - before
    edges = np.arange(0, n, n // 1000)
    counts = np.add.reduceat(np.bincount(drawn, minlength=n), edges)
    expected = n * np.add.reduceat(q, edges)
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    print(f"N = {n:,}: {seconds:.1f} s, {memory / 1000:.2f} GB above the input of {8 * n / 1e9} GB")
    report("drawing, memory above the input", memory, " MB", 40 * n / 1e6, at_least=False)
    # Mean 999 and deviation 45 when the draws follow q: 1240 is a tail of 3·10^-7.
    report("drawing, chi-square of 1000 pools", chi_square, "", 1240, at_least=False)


def main() -> None:
    """Memory, then speed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=10_000_000)
    parser.add_argument("--largest", action="store_true", help="memory at N = 10^8 (4 GB)")
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        alone(args.alone)
        finish()
    largest = 10**8 if args.largest else args.n
    done = subprocess.run([sys.executable, __file__, "--alone", str(largest)], check=False)
    against_torch(args.n)
    if done.returncode:
        sys.exit(1)
    finish()


if __name__ == "__main__":
    main()
