"""One check's answer, and what a known corruption mask lets us measure: detection and the gap."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.ranks import doubled_ranks
from dris.core.validate import check_mask, check_score

Outcome = Literal["holds", "fails", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was asked, the answer of three, the number behind it and why."""

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
    """The fraction of a subset's positions that are corrupted."""
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
    """
    s = check_score(score)
    mark = check_mask(marked, len(s), "marked")
    inside = int(mark.sum())
    doubled = int(doubled_ranks(s)[mark].sum(dtype=np.uint64))
    return (doubled / 2 - inside * (inside + 1) / 2) / (inside * (len(s) - inside))
