"""Ranks from histograms stay within the error that is read off them, on data built to break it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dris.core.large.histograms import Counter, Grid, RankTable, mean_error
from dris.core.large.mapped import ordered_keys
from dris.core.scores.ranks import doubled_ranks, rank_variance, variance_of_ranks
from dris.core.select.selection import keep_top

N = 60_000
PIECE = 25_000


def variance_error(variance, rank_errors):
    """How far a rank variance may be from the true one: 2·σ̂·e + e²."""
    e = mean_error(rank_errors)
    return 2 * e * np.sqrt(np.asarray(variance)) + e * e


def table_of(row, bits: int = 22) -> RankTable:
    """Counted in pieces, refined as long as a cell is heavy."""
    keys = ordered_keys(row)
    grid: Grid | None = Grid.whole(keys.dtype, bits=bits)
    levels = []
    while grid is not None:
        counter = Counter(grid)
        for begin in range(0, keys.size, PIECE):
            counter.add(keys[begin : begin + PIECE])
        levels.append(counter.histogram())
        grid = levels[-1].refine(keys.size, bits)
    assert len(levels) <= 1 + -(-(8 * keys.itemsize - bits) // 8)
    return RankTable(levels, bits=bits)


def off_by(row, bits: int = 22) -> tuple[float, float]:
    """The largest error of a normalized rank, and the error that the table states."""
    table = table_of(row, bits)
    result = table.doubled_ranks(ordered_keys(row)).astype(np.int64)
    off = np.abs(result - doubled_ranks(row).astype(np.int64)).max() / (2 * row.size)
    return float(off), table.rank_error


UP = np.nextafter(np.float32(1), np.float32(2))
BUILT = {
    "exponential": lambda rng: rng.standard_exponential(N),
    # within a few hundred floats of 1, of either width: one cell of the first level
    "one cell": lambda rng: 1 + rng.integers(0, 400, N) * 2.0**-23,
    "one cell of doubles": lambda rng: 1 + rng.random(N) * 2.0**-30,
    "zeros and minus zeros": lambda rng: np.where(rng.random(N) < 0.5, 0.0, -0.0),
    "mostly zeros": lambda rng: np.where(
        rng.random(N) < 0.6, rng.choice([0.0, -0.0], N), rng.standard_exponential(N)
    ),
    "negative margins": lambda rng: rng.normal(-1, 3, N),
    "heavy ties": lambda rng: rng.integers(0, 7, N) / 8,
    "an ulp apart": lambda rng: np.where(rng.random(N) < 0.3, np.float32(1), UP),
    "denormal and huge": lambda rng: rng.choice([-1.0, 1.0], N) * 10.0 ** rng.uniform(-45, 38, N),
    # clusters in clusters: each level of cells leaves a heavy one
    "nested clusters": lambda rng: 1 + rng.random(N) * 2.0 ** -rng.integers(1, 45, N),
}


def made(name):
    return BUILT[name](np.random.default_rng(0))


@pytest.mark.parametrize("bits", [12, 16, 22])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", BUILT)
def test_no_rank_is_off_by_more_than_is_stated_nor_that_by_more_than_is_promised(name, kind, bits):
    row = made(name).astype(kind)
    off, stated = off_by(row, bits)
    assert off <= stated <= 2.0 ** (7 - bits)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["zeros and minus zeros", "heavy ties", "an ulp apart"])
def test_exact_ties_carry_no_error(name, kind):
    assert off_by(made(name).astype(kind)) == (0.0, 0.0)


def test_an_error_stated_ten_times_too_small_would_be_caught():
    off, stated = off_by(made("exponential").astype(np.float32), 12)
    assert off > stated / 10


def test_ranks_by_hand():
    # 1.0 and its neighbour share a cell of width 2^10 keys; 3.0 is alone, and there are two.
    row = np.array([1.0, np.nextafter(np.float32(1), 2), 3.0, 3.0], dtype=np.float32)
    counter = Counter(Grid.whole(np.dtype(np.uint32), bits=22))
    counter.add(ordered_keys(row))
    table = RankTable([counter.histogram()], bits=22)
    assert table.doubled_ranks(ordered_keys(row)).tolist() == [3, 3, 7, 7]  # true: 2, 4, 7, 7
    assert table.rank_error == 2 / (2 * 4)
    assert table_of(row).doubled_ranks(ordered_keys(row)).tolist() == [2, 4, 7, 7]


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_a_few_examples_are_ranked_exactly(values):
    assert off_by(np.array(values), bits=14) == (0.0, 0.0)  # two of 50 are more than 50/2^6


@settings(max_examples=50)
@given(st.lists(st.floats(-1, 1), min_size=20, max_size=80), st.sampled_from([9, 10, 11]))
def test_few_cells_keep_their_word_on_anything(values, bits):
    off, stated = off_by(np.array(values), bits)
    assert off <= stated <= 2.0 ** (7 - bits)


sixtieths = st.integers(-60, 60).map(lambda i: Fraction(i, 60))
errors = st.lists(sixtieths.map(lambda e: abs(e) / 3), min_size=2, max_size=6)


def variance(ranks):
    mean = sum(ranks) / Fraction(len(ranks))
    return sum((r - mean) ** 2 for r in ranks) / len(ranks)


@settings(max_examples=60)
@given(errors, st.data())
def test_ranks_off_by_e_k_move_a_variance_by_no_more_than_is_stated(e, data):
    true = [abs(data.draw(sixtieths)) for _ in e]
    moved = [r + data.draw(sixtieths) * most for r, most in zip(true, e, strict=True)]
    off = abs(variance(moved) - variance(true))
    for known in (variance(moved), variance(true)):  # either of them may be the one that is known
        stated = variance_error([float(known)], [float(most) for most in e])[0]
        assert float(off) <= stated + 1e-12


def test_the_bound_is_attained():
    # Ranks 0.2 and 0.8, moved apart by 0.1 each: σ from 0.3 to 0.4, 0.09 to 0.16.
    assert variance_error([0.09], [0.1, 0.1])[0] == pytest.approx(0.16 - 0.09)


def test_exponential_losses_at_22_bits_keep_the_same_examples():
    rng = np.random.default_rng(0)
    n = 300_000
    shared = rng.standard_exponential(n)
    losses = (shared * np.exp(rng.normal(size=(3, n)) / 2)).astype(np.float32)
    tables = [table_of(row) for row in losses]
    pairs = zip(tables, losses, strict=True)
    result = variance_of_ranks(np.stack([t.doubled_ranks(ordered_keys(r)) for t, r in pairs]), n)
    true = rank_variance(losses)
    off = np.abs(result - true)
    assert off.max() < 1e-5
    assert (off <= variance_error(result, [t.rank_error for t in tables])).all()
    kept = [set(keep_top(score, fraction=0.3).indices.tolist()) for score in (result, true)]
    assert len(kept[0] & kept[1]) >= 0.9999 * len(kept[0])


def test_known_ranks_give_the_variance_of_memory_bit_for_bit():
    losses = np.random.default_rng(0).integers(0, 50, (5, 1000)).astype(np.float32)
    doubled = np.stack([doubled_ranks(row) for row in losses])
    assert (variance_of_ranks(doubled, 1000) == rank_variance(losses)).all()
    assert (variance_of_ranks(doubled[::-1], 1000) == rank_variance(losses)).all()


@given(st.data())
def test_past_two_to_the_32_variances_are_right_to_the_last_digits(data):
    n = 10**10
    doubled = [[data.draw(st.integers(2, 2 * n))] for _ in range(3)]
    doubled.append(doubled[0])
    result = variance_of_ranks(np.array(doubled, dtype=np.uint64), n)[0]
    exact = variance([Fraction(r[0], 2 * n) for r in doubled])
    assert result == pytest.approx(float(exact), rel=1e-12, abs=1e-30)
    again = variance_of_ranks(np.array(doubled[::-1], dtype=np.uint64), n)[0]
    assert result == again
