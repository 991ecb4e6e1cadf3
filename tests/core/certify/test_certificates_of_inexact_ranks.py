"""A certificate gives way by what an error of the ranks can do, and by no less."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dris.core.certify.separation import Certificate, certify
from dris.core.errors import InputError
from dris.core.large.histograms import variance_error

SETTING: dict[str, Any] = {
    "n": 50_000,
    "k": 5_000,
    "tau": 0.1,
    "gamma": 0.01,
    "tau_bdry": 0.4,
    "boundary": 12_500,
    "keep": 0.25,
    "epsilon": 0.25,
    "alpha_trim": 0.1,
    "v_tail": 0.005,
}


def certified(**changes: Any) -> Certificate:
    return certify(**{**SETTING, **changes})


def test_no_error_changes_nothing():
    assert certified(rank_error=0) == certified()
    assert "off" not in str(certified())


def test_both_sides_give_way_by_the_stated_amount():
    exact, wide = certified(), certified(rank_error=0.01)
    for a, b in ((exact.paper, wide.paper), (exact.tight, wide.tight)):
        raised = variance_error([a.threshold], [0.01])[0]
        assert b.threshold == pytest.approx(a.threshold + raised)
        assert math.sqrt(b.threshold) == pytest.approx(math.sqrt(a.threshold) + 0.01)
        assert math.sqrt(b.boundary_floor) == pytest.approx(math.sqrt(a.boundary_floor) - 0.01)
        assert b.radius == a.radius
        assert b.gap == a.gap
    assert wide.rank_error == 0.01
    assert "off by e = 0.01" in str(wide)


def test_a_floor_below_the_error_is_vacuous():
    wide = certified(k=1000, tau_bdry=0.3, rank_error=0.2).tight
    assert 0 < certified(k=1000, tau_bdry=0.3).tight.boundary_floor < 0.2**2
    assert wide.boundary_floor == 0
    assert wide.floor_vacuous


def test_what_no_longer_separates_says_why_and_which_k_would():
    exact = certified().tight
    assert exact.separates
    apart = math.sqrt(exact.boundary_floor) - math.sqrt(exact.threshold)
    held = certified(rank_error=round(apart / 2 * 0.99, 6)).tight
    lost = certified(rank_error=round(apart / 2 * 1.01, 6)).tight
    assert held.separates
    assert held.contamination == exact.contamination
    assert not lost.separates
    assert lost.contamination is None
    assert "twice the rank error" in (lost.why_not or "")
    assert lost.smallest_k is not None
    assert lost.smallest_k > SETTING["k"]
    error = round(apart / 2 * 1.01, 6)
    enough = certified(k=lost.smallest_k, rank_error=error).tight
    assert enough.separates
    assert enough.why_not is None
    assert certified(k=exact.smallest_k).tight.why_not is None
    assert not certified(k=lost.smallest_k - 1, rank_error=error).tight.separates


def test_an_error_too_large_for_any_k_is_said_to_be():
    # √0.16 − √0.0125 = 0.288: from e = 0.144 on no K helps.
    assert certified(rank_error=0.144).tight.smallest_k is not None
    lost = certified(rank_error=0.1442).tight
    assert lost.smallest_k is None
    assert "too large for any K" in (lost.why_not or "")


@settings(max_examples=15, deadline=None)
@given(st.floats(0.001, 0.2), st.integers(2, 20_000), st.booleans(), st.booleans())
def test_a_larger_error_never_certifies_more(error, k, identical, tight):
    less, more = (
        certified(k=k, identical=identical, rank_error=e) for e in (round(error / 2, 6), error)
    )
    a, b = (less.tight, more.tight) if tight else (less.paper, more.paper)
    assert a.threshold <= b.threshold
    assert a.boundary_floor >= b.boundary_floor
    assert a.separates or not b.separates
    assert a.smallest_k_best_case <= b.smallest_k_best_case


def test_scores_of_inexact_ranks_keep_the_promise_that_exact_ones_do():
    """Ranks moved by up to e_k: what lay below θ* stays below the raised one, and so above."""
    rng = np.random.default_rng(0)
    errors = np.array([0.01, 0.03, 0.0, 0.02])
    ranks = rng.random((4, 5000))
    moved = ranks + errors[:, None] * rng.uniform(-1, 1, ranks.shape)
    true, result = ranks.var(axis=0), moved.var(axis=0)
    e = float(np.sqrt((errors**2).mean()))
    for cut in (0.01, 0.05, 0.1):
        raised, lowered = (math.sqrt(cut) + e) ** 2, (math.sqrt(cut) - e) ** 2
        assert (result[true <= cut] <= raised).all()
        assert (result[true >= cut] >= lowered).all()
        assert (result[true <= cut] > cut).any()  # the exact bounds would have been broken
        assert (result[true >= cut] < cut).any()


@pytest.mark.parametrize("wrong", [-0.01, 0.25, 1, float("nan")])
def test_an_error_that_cannot_be_is_refused(wrong):
    with pytest.raises(InputError, match="rank_error"):
        certified(rank_error=wrong)
