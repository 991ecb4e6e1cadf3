"""What a known corruption mask lets us measure: the paper's τ̂², the gap, and detection."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.ranks import doubled_ranks, normalized_ranks, rank_variance
from dris.core.streams import hashed_order, rng_for
from dris.core.validate import check_count, check_mask, check_score, count_of, part_of

Outcome = Literal["holds", "fails", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was asked, the answer of three, the number behind it and why.

    >>> print(Check("spread", "fails", 0.0, 0.01, "all scores are equal"))
    spread: fails (0 against 0.01): all scores are equal
    """

    name: str
    outcome: Outcome
    number: float
    threshold: float
    reason: str

    def __str__(self) -> str:
        compared = (
            "" if math.isnan(self.number) else f" ({self.number:.3g} against {self.threshold:.3g})"
        )
        return f"{self.name}: {self.outcome}{compared}: {self.reason}"


@dataclass(frozen=True, slots=True)
class BoundaryDisagreement:
    """Median rank variance of the boundary set, with a bootstrap interval, and its size."""

    median: float
    low: float
    high: float
    examples: int


@dataclass(frozen=True, slots=True)
class Gap:
    """The empirical gap for nested ensembles of growing K, beside Theorem 1's radius.

    `corrected` multiplies by K/(K − 1): that factor alone makes the raw gap grow with K.
    """

    proxies: NDArray[np.int64]
    raw: NDArray[np.float64]
    corrected: NDArray[np.float64]
    radius: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AssumptionEstimate:
    """Estimates (not bounds) of τ, γ and v_tail at a fixed trim, or "cannot tell"."""

    outcome: Literal["estimated", "cannot tell"]
    reason: str
    tau: float
    gamma: float
    v_tail: float
    trim: float


def spread(score: ArrayLike) -> Check:
    """Whether a score tells examples apart at all; "cannot tell" when every value is equal.

    >>> spread(np.zeros(5)).outcome, spread([0.0, 0.1]).outcome
    ('cannot tell', 'holds')
    """
    s = check_score(score)
    distinct = len(np.unique(s))
    if distinct == 1:
        reason = f"all {len(s)} scores are {s[0]:g}; train longer, or use proxies that differ"
        return Check("spread of the score", "cannot tell", 1, 2, reason)
    return Check("spread of the score", "holds", distinct, 2, f"{distinct} distinct values")


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
    >>> found = boundary_disagreement(d, np.arange(50) < 10)
    >>> found.examples, found.low <= found.median <= found.high
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


def empirical_gap(dynamics: Dynamics, corrupted: ArrayLike, *, delta: float = 0.05) -> Gap:
    """Mean rank variance of clean less corrupted for the first 1, 2, …, K proxies (paper, fig. 1).

    K = 1 has no variance: its gap is drawn as zero.

    >>> d = Dynamics.from_losses([[0.1, 0.2, 0.9], [0.2, 0.1, 0.9]])
    >>> empirical_gap(d, [False, False, True]).raw.round(4).tolist()
    [0.0, 0.0278]
    """
    bad = check_mask(corrupted, dynamics.examples)
    if not 0 < delta < 1:
        raise InputError(f"delta must be in (0, 1), got {delta}")
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


def contamination(indices: ArrayLike, corrupted: ArrayLike) -> float:
    """The fraction of a subset's positions that are corrupted.

    >>> contamination([0, 1, 2, 3], [True, False, False, False, True])
    0.25
    """
    chosen, bad = np.asarray(indices), np.asarray(corrupted)
    if bad.dtype != np.bool_ or bad.ndim != 1:
        raise InputError(f"corrupted must be a boolean mask, got {bad.dtype} of shape {bad.shape}")
    if chosen.size == 0:
        raise InputError("the subset is empty; its contamination is not defined")
    if chosen.dtype.kind not in "iu" or chosen.ndim != 1:
        raise InputError(
            f"indices must be positions, got {chosen.dtype} of shape {chosen.shape}; "
            "for a mask use np.flatnonzero"
        )
    if chosen.min() < 0 or chosen.max() >= bad.size:
        raise InputError(
            f"indices must be in 0..{bad.size - 1}, got {chosen.min()} to {chosen.max()}"
        )
    return float(bad[chosen].mean())


def auroc(score: ArrayLike, marked: ArrayLike) -> float:
    """The chance that a marked example has a larger score than an unmarked one, ties half.

    To see how well a score keeps clean examples, mark the clean ones.

    >>> auroc([0.9, 0.8, 0.1], [True, False, False])
    1.0
    """
    s = check_score(score)
    mark = check_mask(marked, len(s), "marked")
    inside = int(mark.sum())
    doubled = int(doubled_ranks(s)[mark].sum(dtype=np.uint64))
    return (doubled / 2 - inside * (inside + 1) / 2) / (inside * (len(s) - inside))


def average_precision(score: ArrayLike, marked: ArrayLike) -> float:
    """Precision averaged over recall as the cut falls through the distinct scores.

    >>> round(average_precision([0.9, 0.8, 0.1], [True, False, True]), 4)
    0.8333
    """
    s = check_score(score)
    mark = check_mask(marked, len(s), "marked")
    order = np.argsort(-s, kind="stable")
    fallen = s[order]
    last_of_value = np.append(np.flatnonzero(fallen[1:] != fallen[:-1]), len(s) - 1)
    hits = np.cumsum(mark[order])[last_of_value]
    gained = np.diff(hits, prepend=0) / mark.sum()
    return float((gained * hits / (last_of_value + 1)).sum())
