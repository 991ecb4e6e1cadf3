"""The theorems' numbers on ensembles whose answer is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dris import Dynamics
from experiments.assumptions import boundary_set
from experiments.kinds.theorems_cell import (
    BOUNDARY,
    WIDE,
    aum_bound,
    flat,
    masses,
    one_ensemble,
    separation,
)
from experiments.workspace import Loaded

N, K = 400, 16
BAD = np.arange(N) < 100


def made(spread, seed=0):
    """K proxies: the corrupted always at the top, half of the clean disputed by `spread`."""
    rng = np.random.default_rng(seed)
    loss = np.tile(np.linspace(0, 1, N)[::-1], (K, 1))
    loss[:, 100:250] += spread * rng.normal(size=(K, 150))
    loss[:, BAD] = 10 + 0.001 * rng.normal(size=(K, 100))
    margin = np.where(BAD, -2.0, 1.0) - loss * 0.1
    return Dynamics.from_arrays(loss=loss[:, None], margin=margin[:, None], gradient_norm=1 + loss)


def test_where_the_corrupted_agree_and_the_boundary_does_not_the_gap_is_positive():
    result = one_ensemble(made(spread=3.0), BAD, 0.25, 0)
    assert result["tau"] <= 0.26
    assert result["gamma"] == 0
    assert result["delta_wide"] > 0
    assert result["contamination"] == 0
    assert result["rejected"] == 1
    assert (
        result["delta_wide"] < result["twice_tight"] < result["twice_radius"]
    )  # nothing certified
    # The twin: without dispute at the boundary the same corrupted leave no gap.
    assert one_ensemble(made(spread=0.0), BAD, 0.25, 0)["delta_wide"] <= 0


def test_the_papers_boundary_is_a_fifth_of_the_clean_and_cannot_fill_the_quarter():
    dynamics = made(spread=1.0)
    assert len(boundary_set(dynamics, BAD, share=BOUNDARY)) == 60 < N // 4
    assert len(boundary_set(dynamics, BAD, share=WIDE)) == 102 >= N // 4
    result = one_ensemble(dynamics, BAD, 0.25, 0)
    assert result["boundary"] != result["wide"]


def test_the_least_of_the_boundary_is_below_its_median_and_so_is_its_gap():
    result = one_ensemble(made(spread=1.0), BAD, 0.25, 0)
    assert result["boundary_least"] < result["boundary"]
    assert result["delta_boundary_least"] < result["delta_boundary"]


@given(seed=st.integers(0, 2**32 - 1), bad=st.integers(10, 190), hidden=st.floats(0, 3))
@settings(max_examples=30, deadline=None)
def test_no_ensemble_has_a_bulk_below_what_counting_allows(seed, bad, hidden):
    rng = np.random.default_rng(seed)
    mask = np.arange(N) < bad
    loss = rng.normal(size=(8, N)) + hidden * mask
    dynamics = Dynamics.from_arrays(loss=loss[:, None], margin=-loss[:, None])
    result = one_ensemble(dynamics, mask, 0.25, 0)
    assert result["bulk"] >= result["bulk_counted"] > 0


def test_corrupted_that_fill_the_top_ranks_attain_it():
    result = one_ensemble(made(spread=0.0), BAD, 0.25, 0)
    assert result["bulk_counted"] == pytest.approx((89 / N) ** 2 / 4)
    # The bulk of 90 shares the top 100 ranks with the tail.
    assert result["bulk"] <= (100 / N) ** 2 / 4 + 1e-12


def test_every_k_has_its_disjoint_ensembles_and_below_eight_the_bulk_cannot_be_told():
    result = separation(made(spread=1.0), BAD, 0.25, 0)
    counts = {k: len(v["tau"]) for k, v in result.items()}
    assert counts == {"2": 8, "3": 5, "4": 4, "8": 2, "16": 1}
    assert result["8"]["delta_boundary"][0] != result["8"]["delta_boundary"][1]
    assert result["4"]["tau"] == result["4"]["delta_boundary"] == result["4"]["eq6"] == [None] * 4
    assert None not in result["4"]["boundary"] + result["4"]["contamination"] + result["8"]["tau"]


def test_mass_and_auroc_lie_above_their_bounds():
    dynamics = made(spread=1.0)
    result = masses(dynamics.snapshot("gradient_norm").mean(axis=0), BAD)
    assert result["mass"] >= result["mass_floor"]
    assert result["ratio"] >= result["ratio_floor"]
    by_aum = aum_bound(dynamics, BAD, 0)
    assert by_aum["runs"] == K
    assert by_aum["auroc"] == 1 >= by_aum["guess"] >= by_aum["bound"] > 0
    # The twin: with the labels of the two groups exchanged there is no gap to speak of.
    assert aum_bound(dynamics, ~BAD, 0)["bound"] == 0


@pytest.mark.parametrize("shape", [(4, 1, 2, 2), (4, 3)])
def test_images_become_rows_and_tables_stay(shape):
    x = np.full(shape, 255, dtype=np.uint8 if len(shape) == 4 else np.float64)
    result = flat(Loaded(x, np.zeros(4, int), x[:2], np.zeros(2, int), 2))
    assert result.x.shape == (4, int(np.prod(shape[1:])))
    assert result.x.max() == (1 if len(shape) == 4 else 255)
