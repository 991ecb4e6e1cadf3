"""Theorems 2 and 3: magnitude scores feed the corrupted, and how well AUM tells them apart."""

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from dris import InputError
from experiments.dris_internals import check_count, check_mask, check_score, exact

_ROUNDING = 1e-12  # relative; a pairwise sum of 10^8 numbers errs by less than 1e-14


@dataclass(frozen=True, slots=True)
class MagnitudeMass:
    """Theorem 2 on one score: how much of the sampling goes to corrupted examples, at least.

    Attributes:
        epsilon: Corrupted fraction of the data.
        alignment: Smallest corrupted score over the largest of all: the largest α for which the
            corruption is "loss-aligned"; 1 means that nothing outscores the corrupted.
        mass: Probability of drawing a corrupted example.
        mass_floor: ε · alignment, the theorem's lower bound (and its loss-aligned floor αε).
        ratio: Corrupted mass over clean mass; infinite when the clean have none.
        ratio_floor: ε/(1 - ε) · (smallest corrupted score) / (mean clean score).
    """

    epsilon: float
    alignment: float
    mass: float
    mass_floor: float
    ratio: float
    ratio_floor: float

    @property
    def mass_holds(self) -> bool:
        """Whether the mass reaches its floor, up to rounding; a theorem, so it always does."""
        return _reaches(self.mass, self.mass_floor)

    @property
    def ratio_holds(self) -> bool:
        """Whether the ratio reaches its floor, up to rounding; a theorem, so it always does."""
        return _reaches(self.ratio, self.ratio_floor)


def magnitude_mass(score: ArrayLike, corrupted: ArrayLike) -> MagnitudeMass:
    """Evaluate Theorem 2 for sampling in proportion to a score that is nowhere negative.

    >>> m = magnitude_mass([1.0, 1.0, 2.0, 4.0], [False, False, True, True])
    >>> m.mass, m.mass_floor, m.ratio, m.ratio_floor
    (0.75, 0.25, 3.0, 2.0)
    """
    s = check_score(score)
    mask = check_mask(corrupted, s.size)
    if s.min() < 0:
        raise InputError(f"score must be nowhere negative to sample by it, got {s.min()}")
    if s.max() == 0:
        raise InputError("score is zero everywhere, so it gives no sampling distribution")
    s = s / s.max()  # all of it is free of scale, and sums of scaled scores cannot overflow
    count = int(mask.sum())
    epsilon = count / s.size
    least, bad, clean = float(s[mask].min()), float(s[mask].sum()), float(s[~mask].sum())
    return MagnitudeMass(
        epsilon=epsilon,
        alignment=least,
        mass=bad / (bad + clean),
        mass_floor=epsilon * least,
        ratio=_over(bad, clean),
        # ε/(1 - ε) over the clean mean is the corrupted count over the clean sum.
        ratio_floor=_over(count * least, clean) if least else 0.0,
    )


def aum_auroc(
    gap: float, spread: float, trajectory: float, *, marginal_only: bool = False
) -> float:
    """Lower bound on AUM's AUROC, clean against corrupted (paper, Theorem 3); larger is better.

    Args:
        gap: Δ0, by how much the mean AUM of clean examples exceeds that of corrupted ones.
        spread: σ, sub-Gaussian scale of the AUM within either group; 0 when all are alike.
        trajectory: ν(T), sub-Gaussian scale of training noise in a pair's difference.
        marginal_only: ν(T) is known for each example only, not for differences: 8ν² for 2ν².

    >>> round(aum_auroc(2.0, 0.5, 0.5), 4), round(aum_auroc(2.0, 0.5, 0.5, marginal_only=True), 4)
    (0.9305, 0.7364)
    """
    gap = _positive(gap, "gap")
    spread, trajectory = _scale(spread, "spread"), _scale(trajectory, "trajectory")
    noise = math.hypot(2 * spread, math.sqrt(8 if marginal_only else 2) * trajectory)
    if noise == 0:
        return 1.0
    z = gap / noise
    return -math.expm1(-z * z)


def paulin_trajectory(margin_bound: float, mixing_time: float, steps: int) -> float:
    """ν(T) = 2B·sqrt(2·τ_mix/T), the paper's trajectory noise; smaller is better.

    The paper does not say which mixing time. With the usual one (total variation below 1/4) the
    constant is too small: slowly mixing chains of two states have a larger variance than this.

    >>> paulin_trajectory(margin_bound=1.0, mixing_time=2.0, steps=100)
    0.4
    """
    bound, mixing = _positive(margin_bound, "margin_bound"), _positive(mixing_time, "mixing_time")
    return 2 * bound * math.sqrt(2 * mixing / check_count(steps, "steps", at_least=1))


def _over(part: float, whole: float) -> float:
    return part / whole if whole else math.inf


def _reaches(value: float, floor: float) -> bool:
    return value >= floor * (1 - _ROUNDING)


def _scale(value: float, name: str) -> float:
    number = exact(value, name)
    if number < 0:
        raise InputError(f"{name} must be zero or more, got {value}")
    return float(number)


def _positive(value: float, name: str) -> float:
    number = exact(value, name)
    if number <= 0:
        raise InputError(f"{name} must be above zero, got {value}")
    return float(number)
