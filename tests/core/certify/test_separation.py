import itertools
import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracles_certificates as oracle
from dris.core.certify.separation import (
    Bound,
    Certificate,
    _check_number,
    _largest_variance,
    _proxies,
    _smallest_variance,
    certify,
)
from dris.core.errors import InputError
from dris.core.validate import exact

PAPER: dict[str, Any] = {
    "n": 50_000,
    "k": 3,
    "delta": 0.05,
    "tau": 0.1,
    "gamma": 0.01,
    "tau_bdry": 0.2,
    "boundary": 7_500,  # 20 % of the clean
    "keep": 0.25,
    "epsilon": 0.25,
    "alpha_trim": 0.1,
    "v_tail": 0.02,
}


def certified(**changes: Any) -> Certificate:
    return certify(**{**PAPER, **changes})


def test_four_proxies_and_one_example_by_hand() -> None:
    # log(2N/δ) = log 8, log(N/δ) = log 4; bulk 0.04/4 + 0.01 = 0.02; boundary 0.25.
    c = certified(n=1, k=4, delta=0.25, tau=0.2, tau_bdry=0.5, boundary=1, keep=1, epsilon=0)
    assert c.paper.radius == pytest.approx(math.sqrt(math.log(8) / 8))
    assert c.tight.radius == pytest.approx(0.75 * math.sqrt(math.log(4) / 8))
    assert c.paper.threshold == pytest.approx(0.015 + c.paper.radius)
    assert c.paper.boundary_floor == pytest.approx(0.1875 - c.paper.radius)
    assert c.paper.gap == c.tight.gap == pytest.approx(0.1725)


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        # 0.1 · 0.25 / 0.25 = 0.1 of the subset is tail; v_tail = 0.005 against 0.0125 leaves 0.4.
        ({"boundary": 12_500, "v_tail": 0.005}, 0.04),
        # ⌊0.25 · 7⌋ = 1, and 0.5 · 0.4 · 7 = 1.4 corrupted in a subset of one is capped.
        ({"n": 7, "boundary": 1, "epsilon": 0.4, "alpha_trim": 0.5, "v_tail": 0.25}, 1.0),
        # What is really kept counts: with α = 0.25 this would read 0.4.
        ({"n": 7, "boundary": 1, "epsilon": 0.4, "alpha_trim": 0.25, "v_tail": 0.25}, 0.7),
    ],
)
def test_equation_six_by_hand(changes: dict[str, Any], share: float) -> None:
    c = certified(k=10**6, **changes)
    assert c.paper.contamination == c.tight.contamination == pytest.approx(share)
    assert c.paper.why_not is None


@pytest.mark.parametrize(
    ("changes", "threshold", "floor"),
    [({"gamma": 0.2, "tau_bdry": 0.5}, True, False), ({}, False, True)],
)
def test_a_certificate_is_vacuous_where_both_sides_are(
    changes: dict[str, Any], threshold: bool, floor: bool
) -> None:
    c = certified(k=200, boundary=0, **changes)
    assert (c.tight.threshold_vacuous, c.tight.floor_vacuous) == (threshold, floor)
    assert not c.vacuous


def test_the_best_imaginable_case_needs_467_proxies_with_the_papers_radius() -> None:
    c = certified()
    assert (c.paper.smallest_k_best_case, c.tight.smallest_k_best_case) == (467, 443)
    best = {"tau": 0, "gamma": 0, "tau_bdry": 0.5, "boundary": 20_000}
    assert not certified(k=466, **best).paper.separates
    assert certified(k=467, **best).paper.separates
    assert not certified(k=442, **best).tight.separates
    assert certified(k=443, **best).tight.separates


def test_two_proxies_are_the_fewest_that_are_ever_asked_for() -> None:
    # log(1/0.999) = 0.001: with so little asked, any K would do, and K = 1 is no ensemble.
    c = certified(n=1, delta=0.999, tau_bdry=0.5, boundary=0, keep=1)
    assert c.tight.smallest_k_best_case == c.tight.smallest_k == 2


def test_the_papers_setting_certifies_nothing() -> None:
    c = certified()
    assert c.vacuous
    for bound in (c.paper, c.tight):
        assert bound.threshold_vacuous
        assert bound.floor_vacuous
        assert not bound.separates
        assert bound.contamination is None
    assert c.paper.radius == pytest.approx(1.555, abs=5e-4)


def test_a_tail_is_all_that_can_enter_and_a_still_one_cannot() -> None:
    still = {"tau": 0, "gamma": 0, "k": 10**6, "boundary": 20_000}
    assert certified(**still, v_tail=0).tight.contamination == 0
    assert certified(**still, v_tail=0.001).tight.contamination == pytest.approx(0.1)


def test_no_k_separates_when_the_boundary_varies_no_more_than_the_bulk() -> None:
    for tau, gamma in [(0.2, 0.25), (0.0, 0.25), (1 / 2, 0.1875), (0.0, 0.3)]:
        c = certified(tau=tau, gamma=gamma, tau_bdry=0.5)
        assert c.paper.smallest_k is None
        assert c.tight.smallest_k is None
        assert "no K separates" in str(c.tight.why_not)
        assert "no K" in str(c)


def test_a_decimal_tie_is_a_tie() -> None:
    # 0.3² = 0.09 in decimals; in binary 0.3 ** 2 falls short of 0.09 and 0.1 ** 2 exceeds 0.01.
    assert certified(tau=0, gamma=0.09, tau_bdry=0.3).tight.smallest_k is None
    assert certified(tau=0, gamma=0.01, tau_bdry=0.1).tight.smallest_k is None


def test_a_hair_of_a_gap_needs_an_exact_astronomical_k() -> None:
    c = certified(tau=0, gamma=0.0899999999999999, tau_bdry=0.3, boundary=20_000)
    for tight, bound in ((False, c.paper), (True, c.tight)):
        assert bound.smallest_k is not None
        assert bound.smallest_k > 10**33
        for k, separates in ((bound.smallest_k - 1, False), (bound.smallest_k, True)):
            at = certified(k=k, tau=0, gamma=0.0899999999999999, tau_bdry=0.3)
            assert (at.tight if tight else at.paper).separates is separates
    # With the tighter radius K > 2·log(10^6)/(10^-16)² = 12·log(10)·10^32, digits from a table.
    assert c.tight.smallest_k == 2763102111592854820821589745621237 + 1
    assert "2.76e+33" in str(c)


@pytest.mark.parametrize("identical", [True, False])
@pytest.mark.parametrize(
    ("n", "delta", "tau", "gamma", "tau_bdry"),
    [(50_000, 0.05, 0, 0, 0.5), (100, 0.1, 0.2, 0.05, 0.45), (7, 0.5, 0.3, 0.01, 0.3)],
)
def test_smallest_k_is_what_trying_every_k_finds(
    n: int, delta: float, tau: float, gamma: float, tau_bdry: float, identical: bool
) -> None:
    numbers = {"n": n, "delta": delta, "tau": tau, "gamma": gamma, "tau_bdry": tau_bdry}
    c = certified(**numbers, boundary=1, identical=identical)
    for tight, bound in ((False, c.paper), (True, c.tight)):
        assert bound.smallest_k == oracle.smallest_k(**numbers, identical=identical, tight=tight)


SETTINGS = st.fixed_dictionaries(
    {
        "n": st.integers(4, 10**7),
        "k": st.one_of(st.integers(2, 50), st.integers(2, 10**9)),
        "delta": st.floats(1e-6, 0.999),
        "tau": st.floats(0, 0.5),
        "gamma": st.floats(0, 0.2),
        "tau_bdry": st.floats(0.01, 0.5),
        "keep": st.floats(0.25, 1),
        "epsilon": st.floats(0, 0.49),
        "alpha_trim": st.floats(0, 0.99),
        "v_tail": st.floats(0, 0.25),
        "identical": st.booleans(),
    }
)


@given(SETTINGS, st.floats(0, 1))
def test_every_certificate_is_consistent(numbers: dict[str, Any], share: float) -> None:
    clean = numbers["n"] - math.ceil(numbers["epsilon"] * numbers["n"])
    c = certify(**numbers, boundary=int(share * clean))
    assert c.tight.radius < c.paper.radius
    assert c.tight.threshold <= c.paper.threshold
    assert c.tight.boundary_floor >= c.paper.boundary_floor
    assert c.tight.smallest_k_best_case <= c.paper.smallest_k_best_case
    for tight, bound in ((False, c.paper), (True, c.tight)):
        assert bound.radius == pytest.approx(oracle_radius(c, tight), rel=1e-9)
        assert bound.gap == pytest.approx(
            oracle.gap(c.k, c.tau, c.gamma, c.tau_bdry, c.identical), abs=1e-12
        )
        check_consistency(c, bound)


def oracle_radius(c: Certificate, tight: bool) -> float:
    if c.k > 10_000:  # the oracle adds K terms one by one
        side = (c.k - 1) / c.k if tight else 1
        return side * math.sqrt(math.log((1 if tight else 2) * c.n / c.delta) / (2 * c.k))
    return oracle.radius(c.n, c.k, c.delta, tight)


def check_consistency(c: Certificate, bound: Bound) -> None:
    assert bound.threshold_vacuous is (bound.threshold >= 0.25)
    assert bound.floor_vacuous is (bound.boundary_floor <= 0)
    assert bound.separates is (bound.smallest_k is not None and c.k >= bound.smallest_k)
    assert (bound.contamination is None) is (bound.why_not is not None)
    assert (bound.contamination is not None) is (bound.separates and c.boundary >= c.kept)
    if bound.smallest_k is not None:
        assert bound.smallest_k >= bound.smallest_k_best_case
    if bound.separates:
        assert bound.boundary_floor >= bound.threshold
        assert not bound.threshold_vacuous
        assert not bound.floor_vacuous
    if bound.contamination is not None:
        assert 0 <= bound.contamination <= min(1, c.alpha_trim * c.epsilon * c.n / c.kept + 1e-12)


@given(SETTINGS)
def test_a_mixed_ensemble_never_gets_the_better_certificate(numbers: dict[str, Any]) -> None:
    same = certify(**{**numbers, "identical": True}, boundary=0)
    mixed = certify(**{**numbers, "identical": False}, boundary=0)
    for a, b in ((same.paper, mixed.paper), (same.tight, mixed.tight)):
        assert b.threshold >= a.threshold
        assert b.boundary_floor == a.boundary_floor
        assert b.gap <= a.gap
        assert (a.smallest_k is None) is (b.smallest_k is None)
        assert (b.smallest_k or 0) >= (a.smallest_k or 0)


@given(SETTINGS)
@settings(max_examples=50)
def test_one_proxy_fewer_than_the_smallest_k_does_not_separate(numbers: dict[str, Any]) -> None:
    c = certify(**numbers, boundary=0)
    assume(c.paper.smallest_k is not None)
    for name in ("paper", "tight"):
        k = getattr(c, name).smallest_k
        assert getattr(certify(**{**numbers, "k": k}, boundary=0), name).separates
        if k > 2:
            assert not getattr(certify(**{**numbers, "k": k - 1}, boundary=0), name).separates


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_one_proxy_moves_the_variance_by_at_most_k_minus_one_over_k_squared(k: int) -> None:
    grid = [0, 0.5, 1] if k > 4 else [0, 0.25, 0.5, 0.75, 1]
    largest = max(
        abs(oracle.biased_variance([old, *others]) - oracle.biased_variance([new, *others]))
        for others in itertools.combinations_with_replacement(grid, k - 1)
        for old, new in itertools.combinations(grid, 2)
    )
    assert largest == pytest.approx((k - 1) / k**2, abs=1e-12)
    assert largest < 1 / k - 1e-3


# Corrupted 56..60 trade places with 1..5 (γ = 0.1), boundary 6..15 with 46..55.
BULK, BOUNDARY = list(range(56, 61)), list(range(6, 16))
TRADES = [(i, i + 55, 0.1) for i in range(1, 6)] + [(j, j + 40, 0.2) for j in BOUNDARY]
WORLD = oracle.World(60, BULK, TRADES)
WORLD_CERTIFICATE = certify(
    n=60,
    k=40,
    tau=4 / 60,
    gamma=0.1,
    tau_bdry=0.4 * 40 / 60,
    boundary=10,
    keep=0.1,
    epsilon=5 / 60,
    alpha_trim=0,
    v_tail=0,
)
TRIALS = 2000


def violations(bound: Bound, shrink: float = 1) -> tuple[int, int]:
    ranks = WORLD.ensembles(TRIALS, 40, np.random.default_rng(0))
    lost = bound.radius * (1 - 1 / shrink)
    return oracle.broken_promises(
        ranks.var(axis=1), BULK, BOUNDARY, bound.threshold - lost, bound.boundary_floor + lost
    )


@pytest.mark.parametrize("name", ["paper", "tight"])
def test_parts_one_and_two_hold_as_often_as_promised(name: str) -> None:
    over, under = violations(getattr(WORLD_CERTIFICATE, name))
    assert oracle.as_rare_as_promised(over, TRIALS, 0.05)
    assert oracle.as_rare_as_promised(under, TRIALS, 0.05)


@pytest.mark.parametrize("name", ["paper", "tight"])
def test_a_radius_twenty_times_too_small_is_caught(name: str) -> None:
    over, under = violations(getattr(WORLD_CERTIFICATE, name), shrink=20)
    assert not oracle.as_rare_as_promised(over, TRIALS, 0.05)
    assert not oracle.as_rare_as_promised(under, TRIALS, 0.05)


# Bulk 39, 40; a tail of two (1, 2) that disputes more than the boundary (3..12 and 27..36).
RICH = oracle.World(
    40, [39, 40], [(1, 37, 0.5), (2, 38, 0.5), *((j, j + 24, 0.5) for j in range(3, 13))]
)
RICH_NUMBERS: dict[str, Any] = {
    "n": 40,
    "k": 1_700,
    "tau": 1 / 40,
    "gamma": 0,
    "tau_bdry": 0.3,
    "boundary": 20,
    "epsilon": 0.1,
    "alpha_trim": 0.5,
    "v_tail": 0.2025,
}


def contamination(kept: int) -> np.ndarray[Any, Any]:
    variance = RICH.ensembles(150, 1_700, np.random.default_rng(2)).var(axis=1)
    top = np.argsort(-variance, axis=1)[:, :kept] + 1
    return np.isin(top, [1, 2, 39, 40]).mean(axis=1)


def test_part_three_holds_and_is_attained() -> None:
    c = certify(**RICH_NUMBERS, keep=0.5)
    assert c.tight.contamination == pytest.approx(0.1)
    broken = contamination(kept=20) > c.tight.contamination + 1e-12
    assert oracle.as_rare_as_promised(int(broken.sum()), 150, 0.05)
    assert contamination(kept=20).max() == pytest.approx(0.1)


def test_part_three_fails_without_enough_boundary_and_so_gives_no_bound() -> None:
    c = certify(**RICH_NUMBERS, keep=0.9)
    assert c.tight.separates
    assert c.tight.contamination is None
    equation_six = 0.5 * 0.1 / 0.9
    broken = contamination(kept=36) > equation_six + 1e-12
    assert not oracle.as_rare_as_promised(int(broken.sum()), 150, 0.05)


def mixed_variance(trials: int, k: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """(trial, example): 20 bulk examples (τ = 0.4, γ = 0.05), then 20 on the boundary (0.2)."""
    centre = np.where(np.arange(k) % 2 == 0, 0.6, 1.0)[:, None]
    bulk = np.where(rng.random((trials, k, 20)) < 0.05, 0.01, centre)
    coin = np.where(rng.random((trials, k, 20)) < 0.5, -0.2, 0.2)
    return np.concatenate([bulk, 0.5 + 0.5 * (centre - 0.8) + coin], axis=2).var(axis=1)


def test_the_weaker_form_covers_proxies_of_different_kinds() -> None:
    numbers = {"n": 40, "k": 30, "tau": 0.4, "gamma": 0.05, "tau_bdry": 0.2, "boundary": 20}
    c = certified(**numbers, identical=False)
    variance = mixed_variance(TRIALS, 30, np.random.default_rng(3))
    bulk, boundary = list(range(1, 21)), list(range(21, 41))
    for bound in (c.paper, c.tight):
        for count in oracle.broken_promises(
            variance, bulk, boundary, bound.threshold, bound.boundary_floor
        ):
            assert oracle.as_rare_as_promised(count, TRIALS, 0.05)
    over, _ = oracle.broken_promises(
        variance, bulk, boundary, c.tight.threshold - 0.95 * c.tight.radius, 0
    )
    assert not oracle.as_rare_as_promised(over, TRIALS, 0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 1}, "k must be at least 2"),
        ({"k": 0}, "k must be at least 1"),
        ({"k": True}, "k must be a whole number"),
        ({"n": 0}, "n must be at least 1"),
        ({"boundary": -1}, "boundary must be at least 0"),
        ({"boundary": 37_501}, "boundary must be at most the 37500 clean examples"),
        ({"epsilon": 0.5}, "Huber's breakdown point"),
        ({"tau": math.inf}, "tau must be a finite number"),
        ({"keep": 0}, r"keep must be in \(0, 1\]"),
        ({"keep": 1.5}, r"keep must be in \(0, 1\]"),
        ({"keep": 1e-6}, "is none"),
        ({"identical": 1}, "identical must be True or False"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        certified(**changes)


@pytest.mark.parametrize(
    ("name", "edges", "beyond"),
    [
        ("delta", (1e-9, 1 - 1e-9), (0, 1)),
        ("tau", (0, 1 - 1e-9), (-1e-9, 1)),
        ("gamma", (0, 1 - 1e-9), (-1e-9, 1)),
        ("tau_bdry", (1e-4, 0.5), (0, 0.5 + 1e-9)),
        ("epsilon", (0, 0.5 - 1e-9), (-1e-9, 0.5)),
        ("alpha_trim", (0, 1 - 1e-9), (-1e-9, 1)),
        ("v_tail", (0, 0.25), (-1e-9, 0.25 + 1e-9)),
        ("rank_error", (0, 0.25 - 1e-9), (-1e-9, 0.25)),
    ],
)
def test_every_number_is_taken_up_to_its_edge_and_not_beyond(
    name: str, edges: tuple[float, float], beyond: tuple[float, float]
) -> None:
    for value in edges:
        assert _check_number(value, name) == exact(value, name)
    for value in beyond:
        with pytest.raises(InputError, match=f"{name} must be"):
            _check_number(value, name)


def test_a_rank_error_of_half_the_distance_of_the_roots_is_too_large_for_any_k() -> None:
    # √0.25 - √0.01 = 0.4, exactly twice 0.2.
    apart = {"tau": 0.2, "gamma": 0, "tau_bdry": 0.5, "boundary": 12_500}
    at = certified(**apart, rank_error=0.2).tight
    assert at.smallest_k is None
    assert "rank error of 0.2 is too large" in str(at.why_not)
    assert certified(**apart, rank_error=0.19).tight.smallest_k is not None


def test_why_there_is_no_bound_is_said_in_numbers() -> None:
    # 0.04 - 0.01/4 - 0.05 = -0.0125.
    assert "= -0.0125 is" in str(certified(gamma=0.05).tight.why_not)
    # Δ' = 2/3 · (0.04 - 0.0125) = 0.0183; the tighter radius is 2/3 · √(log(10^6)/6) = 1.01.
    assert "Δ' = 0.0183" in str(certified().tight.why_not)
    assert "the radius, 2.02" in str(certified().tight.why_not)
    assert "7,500 is smaller than the ⌊αN⌋ = 12,500" in str(certified().tight.why_not)
    # So far apart that K separates, were the ranks exact.
    wide = {"k": 5_000, "tau_bdry": 0.4, "boundary": 12_500}
    assert certified(**wide).tight.why_not is None
    assert "rank error, 0.24" in str(certified(**wide, rank_error=0.12).tight.why_not)


def test_numpy_numbers_are_numbers() -> None:
    c = certified(n=np.int64(50_000), k=np.int32(3), tau=np.float32(0.1), keep=np.float64(0.25))
    assert c == certified()
    json.dumps(c.to_dict())


SETTING: dict[str, Any] = {"k": 5_000, "tau_bdry": 0.4, "boundary": 12_500, "v_tail": 0.005}


def inexact(**changes: Any) -> Certificate:
    return certified(**{**SETTING, **changes})


def test_no_error_changes_nothing():
    assert inexact(rank_error=0) == inexact()
    assert "off" not in str(inexact())


def test_both_sides_give_way_by_the_stated_amount():
    exact, wide = inexact(), inexact(rank_error=0.01)
    for a, b in ((exact.paper, wide.paper), (exact.tight, wide.tight)):
        raised = 2 * 0.01 * math.sqrt(a.threshold) + 0.01**2
        assert b.threshold == pytest.approx(a.threshold + raised)
        assert math.sqrt(b.threshold) == pytest.approx(math.sqrt(a.threshold) + 0.01)
        assert math.sqrt(b.boundary_floor) == pytest.approx(math.sqrt(a.boundary_floor) - 0.01)
        assert b.radius == a.radius
        assert b.gap == a.gap
    assert wide.rank_error == 0.01
    assert "off by e = 0.01" in str(wide)


def test_a_floor_below_the_error_is_vacuous():
    wide = inexact(k=1000, tau_bdry=0.3, rank_error=0.2).tight
    assert 0 < inexact(k=1000, tau_bdry=0.3).tight.boundary_floor < 0.2**2
    assert wide.boundary_floor == 0
    assert wide.floor_vacuous


def test_what_no_longer_separates_says_why_and_which_k_would():
    exact = inexact().tight
    assert exact.separates
    apart = math.sqrt(exact.boundary_floor) - math.sqrt(exact.threshold)
    held = inexact(rank_error=round(apart / 2 * 0.99, 6)).tight
    lost = inexact(rank_error=round(apart / 2 * 1.01, 6)).tight
    assert held.separates
    assert held.contamination == exact.contamination
    assert not lost.separates
    assert lost.contamination is None
    assert "twice the rank error" in (lost.why_not or "")
    assert lost.smallest_k is not None
    assert lost.smallest_k > SETTING["k"]
    error = round(apart / 2 * 1.01, 6)
    enough = inexact(k=lost.smallest_k, rank_error=error).tight
    assert enough.separates
    assert enough.why_not is None
    assert inexact(k=exact.smallest_k).tight.why_not is None
    assert not inexact(k=lost.smallest_k - 1, rank_error=error).tight.separates


@settings(max_examples=15, deadline=None)
@given(st.floats(0.001, 0.2), st.integers(2, 20_000), st.booleans(), st.booleans())
def test_a_larger_error_never_certifies_more(error, k, identical, tight):
    less, more = (
        inexact(k=k, identical=identical, rank_error=e) for e in (round(error / 2, 6), error)
    )
    a, b = (less.tight, more.tight) if tight else (less.paper, more.paper)
    assert a.threshold <= b.threshold
    assert a.boundary_floor >= b.boundary_floor
    assert a.separates or not b.separates
    assert a.smallest_k_best_case <= b.smallest_k_best_case


def test_the_text_gives_the_verdict_and_both_radii() -> None:
    text = str(certified())
    assert "certifies nothing" in text
    assert re.search(r"K that separates +38,373 +36,537", text)
    assert re.search(r"best imaginable case +467 +443", text)
    assert "weaker form" not in text
    assert "weaker form" in str(certified(identical=False))
    held = str(certified(k=10**6, boundary=12_500))
    assert "at most 10.00%" in held
    assert "nothing" not in held
    assert "not the contamination" in str(certified(k=10**6))


def test_inexact_ranks_move_a_variance_by_twice_its_root_times_the_error_by_hand() -> None:
    # (0.2 + 0.1)² = 0.09 and (0.2 - 0.1)² = 0.01; an error above the root leaves nothing.
    assert _largest_variance(0.04, 0.1) == pytest.approx(0.09)
    assert _smallest_variance(0.04, 0.1) == pytest.approx(0.01)
    assert _smallest_variance(0.04, 0.2) == _smallest_variance(0.04, 0.3) == 0.0
    assert _smallest_variance(-0.5, 0.1) == -0.5
    assert _smallest_variance(0.0, 0.1) == 0.0


def test_the_fewest_proxies_are_written_out_up_to_a_thousand_million() -> None:
    assert _proxies(None) == "no K"
    assert _proxies(10**9 - 1) == "999,999,999"
    assert _proxies(10**9) == "1.00e+9"
