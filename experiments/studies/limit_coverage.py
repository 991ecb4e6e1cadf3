"""Do the limits on wrong labels hold where their condition does? Counted, not argued.

    OMP_NUM_THREADS=1 python -m experiments.studies.limit_coverage  # 100 decisions, minutes
    OMP_NUM_THREADS=1 python -m experiments.studies.limit_coverage --runs 10

Each run draws a table of Gaussian classes and the noise that its canaries stand for: uniform noise
under uniform canaries, every wrong label the next class under canaries of that very matrix. The
decision is the default one (`dris.clean`, no harm check); its limit for the rows that are kept is
violated when more of these are wrong. A limit may fail in one of twenty runs (δ = 0.05). Limits
that the decision itself calls not to be trusted are counted apart, as is printed.
"""

import argparse
from dataclasses import dataclass

import numpy as np

import dris
from experiments.dris_internals import widest

CLASSES, ROWS, WIDTH = 4, 600, 8
RATES = (0.05, 0.1, 0.2, 0.3)


@dataclass(frozen=True)
class Outcome:
    """A run: whether a limit was printed as one to rely on, what it said, what was true."""

    printed: bool
    share: float
    truth: float

    @property
    def violated(self) -> bool:
        """Whether more is wrong than the limit says."""
        return self.truth > self.share


def one(kind: str, seed: int) -> Outcome:
    """A decision on fresh data under a noise."""
    rng = np.random.default_rng((seed, 7))
    y = rng.integers(0, CLASSES, ROWS)
    spread = (1.0, 1.5, 2.0)[seed % 3]
    x = 3.0 * np.eye(CLASSES, WIDTH)[y] + spread * rng.normal(size=(ROWS, WIDTH))
    rate = RATES[seed % len(RATES)]
    matrix = np.eye(CLASSES) * (1 - rate) + np.roll(np.eye(CLASSES), 1, axis=1) * rate
    if kind == "uniform":
        given = np.array(dris.flip_labels(y, rate, seed=seed, classes=CLASSES).given)
        settings = dris.Settings(seed=seed)
    else:
        wrong = rng.permutation(ROWS)[: int(rate * ROWS)]
        given = y.copy()
        given[wrong] = (y[wrong] + 1) % CLASSES
        settings = dris.Settings(seed=seed, canaries=("matrix",), matrix=matrix)
    decision = dris.clean(dris.read_data(x, given), settings=settings, check_harm=False, workers=1)
    kept = decision.kept
    truth = float((given[kept] != y[kept]).mean())
    if not decision.limits:
        return Outcome(False, 1.0, truth)
    share = widest(decision.limits).share
    return Outcome(decision.limit_says != "not to be trusted", share, truth)


def main() -> None:
    """Print how many limits were printed and how many of them were violated."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=49)
    asked = parser.parse_args()
    for kind in ("uniform", "next class"):
        result = [one(kind, seed) for seed in range(asked.runs)]
        printed = [o for o in result if o.printed]
        useful = [o for o in printed if o.share < 0.5]
        told = (
            f"{kind}: {sum(o.violated for o in printed)} of {len(printed)} limits violated "
            f"({len(result)} runs, {len(result) - len(printed)} withdrawn, of which "
            f"{sum(o.violated for o in result if not o.printed)} would have failed; "
            f"{len(useful)} below a half)"
        )
        median = np.median([o.share for o in printed]) if printed else float("nan")
        print(
            f"{told}; median limit {median:.3f}, truth {np.median([o.truth for o in result]):.3f}"
        )


if __name__ == "__main__":
    main()
