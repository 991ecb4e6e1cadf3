import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, norm

import oracles_certificates as oracle
from dris import InputError
from experiments.kinds.theorem_formulas import aum_auroc, magnitude_mass, paulin_trajectory

# Theorem 2


def test_mass_by_hand() -> None:
    # Corrupted 1 + 3 of 4 + 12; ε = 1/2, floor 1/2 · 1/8, ratio 4/12, floor 1 · 1/6.
    m = magnitude_mass([4, 1, 3, 8], [False, True, True, False])
    assert (m.epsilon, m.alignment) == (0.5, 0.125)
    assert (m.mass, m.mass_floor) == (0.25, 0.0625)
    assert m.ratio == pytest.approx(1 / 3)
    assert m.ratio_floor == pytest.approx(1 / 6)
    assert m.mass_holds
    assert m.ratio_holds


def test_perfectly_aligned_corruption_draws_at_least_its_share() -> None:
    m = magnitude_mass([0, 1, 5, 5], [False, False, True, True])
    assert m.alignment == 1
    assert m.mass_floor == m.epsilon == 0.5
    assert m.mass == pytest.approx(10 / 11)


def test_clean_examples_without_mass_make_the_ratio_infinite() -> None:
    m = magnitude_mass([0, 0, 1, 2], [False, False, True, True])
    assert (m.mass, m.ratio, m.ratio_floor) == (1.0, math.inf, math.inf)
    assert m.ratio_holds
    m = magnitude_mass([0, 0, 0, 2], [False, False, True, True])
    assert (m.ratio, m.ratio_floor) == (math.inf, 0.0)


def scored(largest: float) -> st.SearchStrategy[list[tuple[float, bool]]]:
    return st.lists(
        st.tuples(st.floats(0, largest), st.booleans()), min_size=2, max_size=30
    ).filter(lambda rows: len({c for _, c in rows}) == 2 and max(s for s, _ in rows) > 0)


@given(scored(1.7e308))
def test_both_inequalities_always_hold(rows: list[tuple[float, bool]]) -> None:
    m = magnitude_mass([s for s, _ in rows], [c for _, c in rows])
    assert m.mass_holds
    assert m.ratio_holds
    assert 0 <= m.mass_floor <= m.epsilon


def mass_and_ratio(score: list[float], corrupted: list[bool]) -> tuple[float, ...]:
    """(mass, its floor, ratio, its floor), summed one by one as the paper writes them."""
    bad = [s for s, c in zip(score, corrupted, strict=True) if c]
    good = [s for s, c in zip(score, corrupted, strict=True) if not c]
    epsilon = len(bad) / len(score)
    p = [s / sum(score) for s in score]
    p_bad = sum(q for q, c in zip(p, corrupted, strict=True) if c)
    p_good = sum(q for q, c in zip(p, corrupted, strict=True) if not c)
    return (
        p_bad,
        epsilon * min(bad) / max(score),
        p_bad / p_good,
        epsilon / (1 - epsilon) * min(bad) / (sum(good) / len(good)),
    )


@given(scored(100.0))
def test_mass_equals_the_sum_written_out(rows: list[tuple[float, bool]]) -> None:
    score, corrupted = [s for s, _ in rows], [c for _, c in rows]
    assume(min(s for s in score if s > 0) > 1e-9)
    assume(any(s > 0 and not c for s, c in rows))
    m = magnitude_mass(score, corrupted)
    result = (m.mass, m.mass_floor, m.ratio, m.ratio_floor)
    assert result == pytest.approx(mass_and_ratio(score, corrupted), rel=1e-9)


def with_the_largest_for_the_smallest(score: list[float], corrupted: list[bool]) -> bool:
    """A false theorem: s_min over the corrupted replaced by their maximum."""
    m = magnitude_mass(score, corrupted)
    largest = max(s for s, c in zip(score, corrupted, strict=True) if c)
    return m.mass >= m.epsilon * largest / max(score)


def test_the_theorem_needs_the_smallest_corrupted_score() -> None:
    assert not with_the_largest_for_the_smallest([1, 1, 0, 1], [False, False, True, True])
    assert with_the_largest_for_the_smallest([1, 1, 1, 1], [False, False, True, True])


@given(scored(100.0))
def test_even_the_mean_corrupted_score_would_do(rows: list[tuple[float, bool]]) -> None:
    # The mass is exactly ε · (mean corrupted) / (mean of all): the theorem gives that away.
    score, corrupted = np.array([s for s, _ in rows]), np.array([c for _, c in rows])
    assume(score.min() > 1e-9)
    m = magnitude_mass(score, corrupted)
    assert m.mass == pytest.approx(m.epsilon * score[corrupted].mean() / score.mean())


@pytest.mark.parametrize(
    ("score", "corrupted", "message"),
    [
        ([0.0, 0.0], [True, False], "score is zero everywhere"),
        ([-1.0, 1.0], [True, False], "score must be nowhere negative to sample by it, got -1.0"),
        ([math.nan, 1.0], [True, False], "score must be finite, got nan at position 0"),
        ([1.0, 1.0], [True, True], "corrupted must mark some examples and leave some"),
        ([1.0, 1.0], [1, 0], "corrupted must be a boolean mask"),
        ([1.0, 1.0], [True], "corrupted must be a boolean mask of 2 examples"),
        ([], [], "score is empty"),
    ],
)
def test_bad_scores_are_named(score: Any, corrupted: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        magnitude_mass(score, corrupted)


def test_the_score_is_left_as_it_was() -> None:
    score = np.array([1.0, 2.0])
    magnitude_mass(score, np.array([True, False]))
    assert score.tolist() == [1.0, 2.0]


# Theorem 3


def test_auroc_by_hand() -> None:
    assert aum_auroc(2, 1, 0) == pytest.approx(1 - math.exp(-1))
    assert aum_auroc(2, 0, 1) == pytest.approx(1 - math.exp(-2))
    assert aum_auroc(2, 0, 1, marginal_only=True) == pytest.approx(1 - math.exp(-0.5))
    assert aum_auroc(6, 2, 1) == pytest.approx(1 - math.exp(-2))


def test_without_any_noise_auroc_is_one() -> None:
    assert aum_auroc(1e-9, 0, 0) == aum_auroc(1e-9, 0, 0, marginal_only=True) == 1.0


def test_extreme_scales_neither_overflow_nor_lose_digits() -> None:
    assert aum_auroc(1e300, 1e-300, 0) == 1.0
    assert aum_auroc(1e200, 1e200, 0) == pytest.approx(1 - math.exp(-0.25))
    assert aum_auroc(1e-9, 1, 0) == pytest.approx(2.5e-19)


def wins(gap: float, spread: float, marginal: float, anticorrelated: bool, draws: int) -> int:
    """How often a clean Gaussian AUM beats a corrupted one."""
    rng = np.random.default_rng(5)
    clean, corrupted = rng.normal(0, spread, (2, draws))
    noise = rng.normal(0, marginal, draws)
    other = -noise if anticorrelated else rng.normal(0, marginal, draws)
    return int((gap + clean + noise > corrupted + other).sum())


DRAWS = 40_000


def at_least(count: int, auroc: float) -> bool:
    """Fails a true lower bound with probability below 1e-9."""
    return count >= int(binom.ppf(oracle.RARE, DRAWS, auroc))


@pytest.mark.parametrize(
    ("gap", "spread", "marginal"), [(0.1, 1, 1), (1, 1, 0), (1, 0, 1), (2, 1, 0.5), (3, 0.5, 1)]
)
def test_gaussian_margins_respect_the_bound(gap: float, spread: float, marginal: float) -> None:
    difference = math.sqrt(2) * marginal  # of two independent residuals
    count = wins(gap, spread, marginal, False, DRAWS)
    assert at_least(count, aum_auroc(gap, spread, difference))
    assert at_least(
        wins(gap, spread, marginal, True, DRAWS),
        aum_auroc(gap, spread, marginal, marginal_only=True),
    )


def test_the_check_rejects_a_bound_with_four_times_the_exponent() -> None:
    assert not at_least(wins(math.sqrt(2), 1, 0, False, DRAWS), aum_auroc(2 * math.sqrt(2), 1, 0))


def test_residuals_that_move_against_each_other_need_the_fallback() -> None:
    count = wins(2, 0, 1, True, DRAWS)
    assert not at_least(count, aum_auroc(2, 0, 1))
    assert at_least(count, aum_auroc(2, 0, 1, marginal_only=True))


@given(st.floats(1e-3, 10), st.floats(0.01, 5), st.floats(0, 5))
def test_the_bound_never_exceeds_the_gaussian_auroc(gap: float, spread: float, nu: float) -> None:
    exact = norm.cdf(gap / math.sqrt(2 * spread**2 + nu**2))
    bound = aum_auroc(gap, spread, nu)
    assert aum_auroc(gap, spread, nu, marginal_only=True) <= bound <= exact + 1e-12


def test_paulins_noise_by_hand() -> None:
    assert paulin_trajectory(3, 8, 100) == pytest.approx(2.4)
    assert paulin_trajectory(3, 8, 400) == pytest.approx(1.2)


def test_paulins_noise_covers_independent_steps() -> None:
    # A difference of margins is ±2B; its mean over T independent steps has deviation 2B/sqrt(T).
    assert paulin_trajectory(1, 1, 100) >= 2 / math.sqrt(100)


def test_the_papers_constant_is_too_small_for_a_slow_chain_of_two_states() -> None:
    # The chain flips with chance p; after t steps it is λ^t/2 from its law, λ = 1 - 2p. A
    # sub-Gaussian scale is never below the standard deviation, and this one is.
    p, steps = 0.01, 100_000
    mixing = next(t for t in range(1, 1000) if (1 - 2 * p) ** t / 2 <= 1 / 4)
    lag = np.arange(1, steps)
    variance = 4 / steps * (1 + 2 * ((1 - lag / steps) * (1 - 2 * p) ** lag).sum())
    assert paulin_trajectory(1, mixing, steps) < math.sqrt(variance)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0, 1, 1), "gap must be above zero, got 0"),
        ((-1, 1, 1), "gap must be above zero, got -1"),
        ((math.nan, 1, 1), "gap must be a finite number, got nan"),
        ((1, -1, 1), "spread must be zero or more, got -1"),
        ((1, math.inf, 1), "spread must be a finite number, got inf"),
        ((1, 1, -0.5), "trajectory must be zero or more, got -0.5"),
        ((1, 1, True), "trajectory must be a finite number, got True"),
    ],
)
def test_bad_scales_are_named(numbers: tuple[float, float, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        aum_auroc(*numbers)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0, 1, 1), "margin_bound must be above zero, got 0"),
        ((1, 0, 1), "mixing_time must be above zero, got 0"),
        ((1, 1, 0), "steps must be at least 1, got 0"),
        ((1, 1, 2.5), "steps must be a whole number, got 2.5"),
    ],
)
def test_bad_trajectories_are_named(numbers: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        paulin_trajectory(*numbers)
