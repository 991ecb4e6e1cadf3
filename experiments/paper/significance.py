"""DR-IS against Random, paired over seeds, clean and under attack (paper, table 5; item 6).

    python -m experiments significance --scale cpu

The targets of static pruning on the first data set, under more seeds: 7 at paper, 5 at cpu and
mid, 2 at smoke. Cost: at cpu 20 targets of half a minute and the proxies of the seeds that pruning
does not have, about 10 minutes of one core in all; at paper 28 targets of 25 GPU-minutes; seconds
at smoke.
Claims tested: DR-IS above Random under targeted 25 %, Random above DR-IS on clean data.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.paper.pruning import ATTACK, static
from experiments.records import Records
from experiments.results.claims import Claim, above
from experiments.results.figures import paired_points
from experiments.results.paper_values import PAIRED
from experiments.results.statistics import compare
from experiments.results.table import Table
from experiments.scales import Scale
from experiments.spec import CLEAN, Cell

NOISES = (CLEAN, ATTACK)


def cells(scale: Scale) -> list[Cell]:
    """Two rules under two noises, with the seeds of the headline."""
    return [
        static(scale.setups[0], noise, rule, seed)
        for seed in range(scale.headline)
        for noise in NOISES
        for rule in ("random", "rank_variance")
    ]


def differences(records: Records, noise: str) -> list[float]:
    """DR-IS less Random, seed by seed."""
    random = records.by_seed("accuracy", noise=noise, rule="random")
    ours = records.by_seed("accuracy", noise=noise, rule="rank_variance")
    return [ours[seed] - random[seed] for seed in sorted(set(ours) & set(random))]


def tables(records: Records) -> Sequence[Table]:
    """The mean difference with its paired deviation, then t and p of it."""
    gaps = {str(noise): differences(records, str(noise)) for noise in NOISES}
    tested = {name: compare(gap, [0.0] * len(gap)).p for name, gap in gaps.items()}
    tests = {name: p for name, p in tested.items() if p is not None}
    return [
        Table(
            "DR-IS less Random in points of test accuracy, with the paired deviation",
            list(gaps),
            ["difference"],
            {(name, "difference"): gap for name, gap in gaps.items()},
            {(name, "difference"): PAIRED[name][:2] for name in gaps},
            best=None,
        ),
        Table(
            "The same as a paired t test",
            list(gaps),
            ["t", "p (two-sided)"],
            {
                **{(n, "t"): [statistic(gaps[n])] for n in tests},
                **{(n, "p (two-sided)"): [2 * p] for n, p in tests.items()},
            },
            {
                (name, column): (PAIRED[name][at], None)
                for name in gaps
                for at, column in ((2, "t"), (3, "p (two-sided)"))
            },
            best=None,
            percent=False,
            digits=4,
            spread=False,
        ),
    ]


def statistic(gap: Sequence[float]) -> float:
    """Student's t of paired differences that are not all the same.

    >>> round(statistic([0.1, 0.2, 0.3]), 4)
    3.4641
    """
    return float(np.mean(gap) / (np.std(gap, ddof=1) / math.sqrt(len(gap))))


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Every seed's two accuracies, joined."""
    pairs = {
        str(noise): [
            records.values("accuracy", noise=noise, rule=rule)
            for rule in ("random", "rank_variance")
        ]
        for noise in NOISES
    }
    return [paired_points(pairs, ("Random", "DR-IS"), folder / "significance.png")]


def claims(records: Records) -> Sequence[Claim]:
    """Both rows of table 5."""

    def reached(rule: str, noise: object) -> dict[int, float]:
        return records.by_seed("accuracy", noise=noise, rule=rule)

    both = [
        above(
            f"{ATTACK}: DR-IS above Random (paper: +7.21 points, n = 7)",
            reached("rank_variance", ATTACK),
            reached("random", ATTACK),
        ),
        above(
            "clean: Random above DR-IS (paper: 0.64 points, n = 7)",
            reached("random", CLEAN),
            reached("rank_variance", CLEAN),
        ),
    ]
    # More seeds of what static pruning counts already.
    return [replace(claim, repeats="pruning") for claim in both]
