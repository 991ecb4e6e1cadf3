"""Ranks and rank variance: by hand, against SciPy and loops, and at every awkward edge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import rankdata

import oracles
from dris.core.errors import InputError
from dris.core.scores import ranks
from dris.core.scores.ranks import doubled_ranks, normalized_ranks, rank_variance

FEW = st.integers(0, 3).map(float)
FINITE = st.floats(-1e6, 1e6, width=32)


def matrices(elements, dtype, most=50):
    shapes = st.tuples(st.integers(2, 5), st.integers(1, most))
    return shapes.flatmap(lambda s: hnp.arrays(dtype, s, elements=elements))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.uint8])
def test_ranks_worked_by_hand(dtype):
    # sorted: 1 (rank 1), 2 and 2 (ranks 2 and 3, mean 2.5), 9 (rank 4); divided by N = 4
    assert normalized_ranks(np.array([2, 9, 1, 2], dtype=dtype)).tolist() == [0.625, 1, 0.25, 0.625]


def test_the_variance_worked_by_hand():
    # normalized ranks of example 0: 1/3, 1, 1/3, mean 5/9, squares (4 + 16 + 4)/81, over K = 3
    out = rank_variance([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    assert out == pytest.approx([24 / 81 / 3, 0, 24 / 81 / 3], abs=1e-16)


@settings(max_examples=60, deadline=None)
@given(matrices(FEW, np.float32) | matrices(FINITE, np.float32) | matrices(FINITE, np.float64))
def test_ranks_and_variance_agree_with_scipy_numpy_and_the_oracle(losses):
    # Of float32, newer SciPy makes ranks in float32.
    expected = rankdata(losses, method="average", axis=1).astype(np.float64)
    for row, one in zip(losses, expected, strict=True):
        assert (doubled_ranks(row) == 2 * one).all()
        assert doubled_ranks(row).tolist() == oracles.doubled_ranks(row.tolist())
    assert np.array_equal(normalized_ranks(losses), expected / losses.shape[1])
    out = rank_variance(losses, workers=1)
    assert np.abs(out - (expected / losses.shape[1]).var(axis=0)).max() <= 1e-15
    assert out == pytest.approx(oracles.rank_variance(losses.tolist()), rel=1e-15, abs=0)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.float32, st.integers(1, 50), elements=FEW), st.integers(1, 9))
def test_runs_of_ties_may_cross_any_chunk_boundary(row, chunk):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "_CHUNK", chunk)
        assert (doubled_ranks(row) == 2 * rankdata(row, method="average")).all()
        variance = rank_variance(np.stack([row, row[::-1]]), workers=1)
    assert (variance == rank_variance(np.stack([row, row[::-1]]), workers=1)).all()


def test_the_chunk_property_notices_cut_runs():
    # Counterexample: ranking chunk by chunk without looking after runs gives other ranks.
    row = np.zeros(10, dtype=np.float32)
    cut = np.concatenate([2 * rankdata(p) + 2 * s for s, p in ((0, row[:4]), (4, row[4:]))])
    assert (cut != 2 * rankdata(row)).any()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_minus_zero_ties_with_zero(dtype):
    row = np.array([0.0, -0.0, 1.0, -0.0], dtype=dtype)
    assert normalized_ranks(row).tolist() == [0.5, 0.5, 1.0, 0.5]


def test_doubles_that_collide_in_single_precision_stay_apart():
    row = np.array([1 + 1e-12, 1.0, 1 + 2e-12])
    assert (
        len(set(row.astype(np.float32).tolist())) == 1
    )  # Counterexample: cast down they would tie
    assert (normalized_ranks(row) * 3).tolist() == [2, 1, 3]


def test_agreeing_proxies_have_exactly_zero_variance():
    row = np.random.default_rng(0).normal(size=1001)
    assert not rank_variance(np.stack([row, 2 * row, np.exp(row), row, row, row, row])).any()


@settings(max_examples=40, deadline=None)
@given(matrices(FINITE, np.float32))
def test_the_variance_is_never_negative_nor_above_a_quarter(losses):
    out = rank_variance(losses, workers=1)
    assert (out >= 0).all()
    assert (out <= 0.25).all()


TOP = 2 * (2**32 // 5)  # the largest doubled rank when K = 5 and N is just under 2^32 / 5


@pytest.mark.parametrize(
    "column",
    [
        [2, 2, TOP, TOP, 2],
        [TOP, TOP, TOP, TOP, TOP],
        [TOP, TOP, 2, 2, TOP],
        [TOP - 1, TOP, TOP, TOP - 7, TOP - 3],
        [2, 3, 2, 5, 2],
    ],
)
def test_sums_that_wrap_around_leave_an_exact_difference(column):
    wanted = 5 * sum(r * r for r in column) - sum(column) ** 2
    squares = np.array([sum(r * r for r in column) % 2**64], dtype=np.uint64)
    total = np.array([sum(column)], dtype=np.uint64)
    assert int(ranks._spread(squares, total, 5)[0]) == wanted < 2**64


def test_the_extreme_ranks_above_do_wrap():
    assert 5 * 5 * TOP**2 >= 2**64


@settings(max_examples=40, deadline=None)
@given(matrices(FINITE, np.float32), st.randoms())
def test_the_order_of_the_proxies_changes_no_bit(losses, random):
    order = list(range(len(losses)))
    random.shuffle(order)
    assert (rank_variance(losses[order], workers=1) == rank_variance(losses, workers=1)).all()


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(np.int64, (3, 20), elements=st.integers(-30, 30)),
    st.lists(st.floats(0.001, 1000), min_size=61, max_size=61),
)
def test_any_increasing_map_of_the_loss_changes_nothing(whole, steps):
    heights = np.cumsum(steps)  # a strictly increasing table: the map is its lookup
    mapped = heights[whole + 30]
    assert (rank_variance(mapped, workers=1) == rank_variance(whole, workers=1)).all()
    assert (normalized_ranks(mapped) == normalized_ranks(whole)).all()


def test_a_map_that_is_not_increasing_does_change_it():
    losses = np.array([[0.1, 0.2, 0.9], [0.3, 0.2, 0.9]])
    assert (rank_variance(losses) != rank_variance(np.abs(losses - 0.25))).any()


def test_one_worker_and_four_give_the_same_bits():
    losses = np.random.default_rng(0).normal(size=(7, 5000)).astype(np.float32).round(2)
    assert (rank_variance(losses, workers=1) == rank_variance(losses, workers=4)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_input_is_left_as_it_was_and_may_be_read_only_or_strided(dtype):
    whole = np.random.default_rng(1).normal(size=(60, 8)).astype(dtype)
    strided = whole[::2, ::2].T
    before = strided.copy()
    strided.flags.writeable = False
    expected = rank_variance(before)
    assert (rank_variance(strided) == expected).all()
    assert (normalized_ranks(strided) == normalized_ranks(before)).all()
    assert (strided == before).all()
    assert (rank_variance(before[:, ::-1])[::-1] == expected).all()


@pytest.mark.parametrize(
    ("losses", "says"),
    [
        ([[1.0, 2.0]], "at least 2 proxies, got 1"),
        ([1.0, 2.0], r"\(K, N\)"),
        (np.zeros((2, 0)), "empty"),
        ([[1.0, np.nan], [1.0, 2.0]], "got nan for proxy 0, example 1"),
        ([["a", "b"], ["c", "d"]], "must be numbers"),
    ],
)
def test_bad_losses_are_refused_in_one_sentence(losses, says):
    with pytest.raises(InputError, match=says) as caught:
        rank_variance(losses)
    assert "\n" not in str(caught.value)


def test_finite_losses_whose_sum_overflows_are_fine():
    losses = np.full((2, 4), np.finfo(np.float32).max, dtype=np.float32)
    assert not rank_variance(losses).any()


def test_more_than_can_be_summed_exactly_is_refused_before_it_is_read():
    huge = np.broadcast_to(np.float32(0), (2, 2**31))
    with pytest.raises(InputError, match=r"below 2\^32"):
        rank_variance(huge)


@pytest.mark.parametrize("workers", [0, -1, 1.5])
def test_workers_must_be_a_count(workers):
    with pytest.raises(InputError, match="workers"):
        rank_variance(np.eye(3), workers=workers)
