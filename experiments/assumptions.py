"""How far the paper's assumptions hold where the corrupted are known: τ̂², τ, γ and v_tail."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris import Dynamics, InputError, normalized_ranks, rank_variance
from experiments.dris_internals import (
    check_count,
    check_mask,
    count_of,
    doubled_ranks,
    hashed_order,
    part_of,
    rng_for,
)


def contamination(indices: ArrayLike, corrupted: ArrayLike) -> float:
    """The share of a subset's positions that are corrupted."""
    return float(np.asarray(corrupted)[np.asarray(indices)].mean())


@dataclass(frozen=True, slots=True)
class Gap:
    """The empirical gap for nested ensembles of growing K, beside Theorem 1's radius.

    `corrected` multiplies by K/(K − 1): that factor alone makes the raw gap grow with K.
    """

    proxies: NDArray[np.int64]
    raw: NDArray[np.float64]
    corrected: NDArray[np.float64]
    radius: NDArray[np.float64]


def empirical_gap(dynamics: Dynamics, corrupted: ArrayLike, *, delta: float = 0.05) -> Gap:
    """Mean rank variance of clean less corrupted for the first 1, 2, …, K proxies (paper, fig. 1).

    K = 1 has no variance: its gap is drawn as zero.
    """
    bad = check_mask(corrupted, dynamics.examples)
    n, k = dynamics.examples, dynamics.proxies
    total, squares = np.zeros(n), np.zeros(n)
    raw = np.zeros(k)
    for j, row in enumerate(dynamics.snapshot("loss")):
        r = doubled_ranks(row).astype(np.float64) / (2 * n)
        total += r
        squares += r * r
        variance = squares / (j + 1) - (total / (j + 1)) ** 2
        raw[j] = variance[~bad].mean() - variance[bad].mean() if j else 0.0
    sizes = np.arange(1, k + 1)
    factor = np.divide(sizes, sizes - 1, out=np.zeros(k), where=sizes > 1)
    return Gap(sizes, raw, raw * factor, np.sqrt(np.log(2 * n / delta) / (2 * sizes)))


@dataclass(frozen=True, slots=True)
class BoundaryDisagreement:
    """Median rank variance of the boundary set, with a bootstrap interval, and its size."""

    median: float
    low: float
    high: float
    examples: int


@dataclass(frozen=True, slots=True)
class AssumptionEstimate:
    """Estimates (not bounds) of τ, γ and v_tail at a fixed trim, or "cannot tell"."""

    outcome: Literal["estimated", "cannot tell"]
    reason: str
    tau: float
    gamma: float
    v_tail: float
    trim: float


def corrupted_disagreement(dynamics: Dynamics, corrupted: ArrayLike) -> float:
    """τ̂²_corr: the largest rank variance of a corrupted example (paper, proxy diversity).

    >>> d = Dynamics.from_losses([[0.1, 0.2, 0.9], [0.9, 0.2, 0.1]])
    >>> round(corrupted_disagreement(d, [True, True, False]), 4)
    0.1111
    """
    bad = check_mask(corrupted, dynamics.examples)
    return float(rank_variance(dynamics.snapshot("loss"))[bad].max())


def boundary_set(
    dynamics: Dynamics, corrupted: ArrayLike, *, share: float = 0.2
) -> NDArray[np.int64]:
    """The ⌊share⌋ of clean examples with the smallest ensemble-mean margin, as positions.

    >>> d = Dynamics.from_arrays(loss=np.ones((1, 1, 3)), margin=[[[0.5, -2.0, 0.1]]])
    >>> boundary_set(d, [False, True, False], share=0.5).tolist()
    [2]
    """
    bad = check_mask(corrupted, dynamics.examples)
    clean = np.flatnonzero(~bad)
    margin = dynamics.snapshot("margin").astype(np.float64).mean(axis=0)[clean]
    size = count_of(share, len(clean), "share")
    lots = hashed_order(dynamics.ids[clean], seed=0)  # ties are broken by id, not by position
    return np.sort(clean[np.lexsort((lots, margin))[:size]])


def boundary_disagreement(
    dynamics: Dynamics,
    corrupted: ArrayLike,
    *,
    share: float = 0.2,
    resamples: int = 1000,
    seed: int = 0,
) -> BoundaryDisagreement:
    """τ̂²_bdry: median rank variance of the boundary set, 95 % bootstrap interval (paper, ibid.).

    >>> rng = np.random.default_rng(0)
    >>> d = Dynamics.from_logits(rng.normal(size=(3, 50, 2)), rng.integers(0, 2, 50))
    >>> result = boundary_disagreement(d, np.arange(50) < 10)
    >>> result.examples, result.low <= result.median <= result.high
    (8, True)
    """
    check_count(resamples, "resamples", at_least=1)
    values = rank_variance(dynamics.snapshot("loss"))[
        boundary_set(dynamics, corrupted, share=share)
    ]
    rng = rng_for(seed, "bootstrap")
    medians = [np.median(rng.choice(values, size=len(values))) for _ in range(resamples)]
    low, high = np.quantile(medians, [0.025, 0.975])
    return BoundaryDisagreement(float(np.median(values)), float(low), float(high), len(values))


def estimate_assumptions(
    dynamics: Dynamics, corrupted: ArrayLike, *, trim: float = 0.1
) -> AssumptionEstimate:
    """Our estimates of τ, γ (Assumption 2) and v_tail (Assumption 4) at a fixed α_trim.

    The bulk, the 1 − α_trim least variant of the corrupted, is chosen on one half of the proxies
    and measured on the other, so that choosing does not flatter the measurement. Of all (τ, γ)
    that the other half is consistent with, the pair with the smallest τ²/4 + γ. Variances are
    unbiased, K/(K − 1)·σ̂². Below K = 8 a half has fewer than four proxies: "cannot tell".

    >>> estimate_assumptions(Dynamics.from_losses(np.eye(4)), np.eye(4, dtype=bool)[0]).outcome
    'cannot tell'
    """
    bad = check_mask(corrupted, dynamics.examples)
    if not 0 <= trim < 1:
        raise InputError(f"trim must be in [0, 1), got {trim}")
    k = dynamics.proxies
    if k < 8:
        reason = f"K = {k} leaves fewer than four proxies to measure on; train at least 8"
        nothing = float("nan")
        return AssumptionEstimate("cannot tell", reason, nothing, nothing, nothing, trim)
    ranks = normalized_ranks(dynamics.snapshot("loss"))[:, bad]
    choosing, measuring = ranks[: k // 2], ranks[k // 2 :]
    order = np.argsort(choosing.var(axis=0), kind="stable")
    bulk_size = bad.sum() - part_of(trim, int(bad.sum()), "trim")
    bulk, tail = order[:bulk_size], order[bulk_size:]
    m = len(measuring)
    # Allowing j of m proxies to rank an example low is γ = j/m; τ is what the others then need.
    lowest = np.sort(measuring[:, bulk], axis=0).min(axis=1)
    candidates = [(1 - float(lowest[j]), j / m) for j in range(m)]
    tau, gamma = min(candidates, key=lambda pair: pair[0] ** 2 / 4 + pair[1])
    v_tail = float(measuring[:, tail].var(axis=0, ddof=1).mean()) if tail.size else 0.0
    reason = f"bulk of {len(bulk)} chosen on {k // 2} proxies, measured on the other {m}"
    return AssumptionEstimate("estimated", reason, tau, gamma, v_tail, trim)
