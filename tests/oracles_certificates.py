"""Theorem 1, 2 and 3 the slow way, and worlds of ranks whose assumptions are known exactly."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Ranks = NDArray[np.float64]  # (ensemble, proxy, example)
RARE = 1e-9  # tail probability from which every statistical threshold here is computed


def biased_variance(ranks: list[float]) -> float:
    mean = sum(ranks) / len(ranks)
    return sum((r - mean) ** 2 for r in ranks) / len(ranks)


def radius(n: int, k: int, delta: float, tight: bool) -> float:
    change = (k - 1) / k**2 if tight else 1 / k
    events = n if tight else 2 * n
    return math.sqrt(math.log(events / delta) / 2 * sum(change**2 for _ in range(k)))


def gap(k: int, tau: float, gamma: float, tau_bdry: float, identical: bool) -> float:
    if identical:
        return (1 - 1 / k) * (tau_bdry**2 - tau**2 / 4 - gamma)
    return (1 - 1 / k) * tau_bdry**2 - tau**2 / 4 - gamma


def smallest_k(
    n: int, delta: float, tau: float, gamma: float, tau_bdry: float, identical: bool, tight: bool
) -> int:
    """Try every K in turn."""
    k = 2
    while gap(k, tau, gamma, tau_bdry, identical) <= 2 * radius(n, k, delta, tight):
        k += 1
    return k


@dataclass(frozen=True)
class World:
    """Real ranks: a permutation per proxy, in which pairs of examples may trade places.

    Examples are named by their place (1..n) when nothing is traded. The `bulk`, the last places,
    is shuffled within itself. A pair (a, b, chance) trades with that chance, so both have rank
    variance chance · (1 - chance) · ((a - b)/n)² when neither is bulk.
    """

    n: int
    bulk: list[int]
    pairs: list[tuple[int, int, float]]

    def ensembles(self, count: int, k: int, rng: np.random.Generator) -> Ranks:
        places = np.tile(np.arange(1, self.n + 1), (count, k, 1))
        block = np.array(self.bulk) - 1
        places[..., block] = rng.permuted(places[..., block], axis=-1)
        for a, b, chance in self.pairs:
            trade = rng.random((count, k)) < chance
            left, right = places[..., a - 1].copy(), places[..., b - 1].copy()
            places[..., a - 1] = np.where(trade, right, left)
            places[..., b - 1] = np.where(trade, left, right)
        return places / self.n


def broken_promises(
    variance: NDArray[np.float64],
    bulk: list[int],
    boundary: list[int],
    threshold: float,
    floor: float,
) -> tuple[int, int]:
    """In how many ensembles some bulk example exceeds θ*, some boundary one undercuts its floor."""
    over = (variance[:, np.array(bulk) - 1] > threshold).any(axis=1)
    under = (variance[:, np.array(boundary) - 1] < floor).any(axis=1)
    return int(over.sum()), int(under.sum())


def as_rare_as_promised(violations: int, trials: int, delta: float) -> bool:
    """Fails a true promise with probability below RARE."""
    return violations <= int(binom.isf(RARE, trials, delta))
