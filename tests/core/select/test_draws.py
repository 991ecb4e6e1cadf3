"""Draws follow q, in random order, for any number of examples."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dris.core.errors import InputError
from dris.core.select.importance import draw, shuffle
from oracles_choosing import TAIL, follows


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_only_example_that_can_be_drawn_is_drawn_and_a_seed_decides_among_others():
    assert draw([0.0, 0.0, 5.0, 0.0], 4, rng=rng()).tolist() == [2, 2, 2, 2]
    one, two, other = (draw([1.0, 2.0, 3.0], 50, rng=rng(s)) for s in (0, 0, 1))
    assert one.dtype == np.int64
    assert one.tolist() == two.tolist() != other.tolist()


@pytest.mark.parametrize("n", [4095, 4096, 4097, 5 * 4096 + 3])
def test_draws_follow_q_across_the_edges_of_blocks(n):
    q = rng(1).exponential(size=n) ** 3
    q[4000:4096] *= 30  # a heavy end of the first block
    counts = np.bincount(draw(q, 200_000, rng=rng()), minlength=n)
    assert follows(counts, q)
    assert not follows(counts, np.roll(q, 1))  # the test sees a shift by one


def single_precision_draws(q, count, *, rng):
    """Wrong on purpose: a float32 cumulative sum, as the usual samplers have it."""
    reached = np.cumsum(q.astype(np.float32), dtype=np.float32)
    return reached.searchsorted(rng.random(count).astype(np.float32) * reached[-1], side="right")


def test_draws_follow_q_where_single_precision_does_not():
    n = 3 * 2**20
    q = np.full(n, 1 / n)
    counts = np.bincount(draw(q, n, rng=rng()), minlength=n)
    assert follows(counts, q)
    single = np.bincount(single_precision_draws(q, n, rng=rng()), minlength=n)[:n]
    assert not follows(single, q)


def test_positions_past_two_to_the_31_are_drawn():
    n = 2**31 + 2**28
    q = np.broadcast_to(np.float64(1 / n), (n,))
    drawn = draw(q, 30_000, rng=rng())
    counts = np.bincount(drawn >> 28, minlength=9)
    assert chisquare(counts).pvalue > TAIL
    assert 2**31 < drawn.max() < n
    assert drawn.min() >= 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([0.0, 0.0, 1e-300, 1e-20, 1e-9, 0.5, 1.0, 1e9]), min_size=1, max_size=40
    ).filter(any),
    st.integers(0, 5000),
    st.integers(0, 2**32),
)
def test_what_has_probability_zero_is_never_drawn(values, zeros, seed):
    # Zeros at both ends and in runs that fill whole blocks.
    gap = np.zeros(zeros)
    q = np.concatenate([gap, values, gap, values[::-1], gap])
    drawn = draw(q, 300, rng=rng(seed))
    assert drawn.size == 300
    assert (q[drawn] > 0).all()


def pairs_follow(drawn, q) -> bool:
    """Whether one draw says nothing of the next: chi-square of pairs, tail 10^-6."""
    pairs = np.bincount(drawn[0::2] * q.size + drawn[1::2], minlength=q.size**2)
    return bool(chisquare(pairs, drawn.size / 2 * np.outer(q, q).ravel()).pvalue > TAIL)


def test_draws_are_independent_of_the_draws_before():
    q = np.array([0.1, 0.2, 0.3, 0.4])
    drawn = draw(q, 40_000, rng=rng())
    assert pairs_follow(drawn, q)
    assert not pairs_follow(np.sort(drawn), q)  # the same counts without the permutation


def orders(put_in_order) -> dict[tuple[int, ...], int]:
    """How often each order of three values came up in 6000 goes."""
    seen = dict.fromkeys(itertools.permutations(range(3)), 0)
    generator = rng()
    for _ in range(6000):
        values = np.arange(3)
        put_in_order(values, generator)
        seen[tuple(values.tolist())] += 1
    return seen


def without_ties_broken(values, generator):
    """Wrong on purpose: equal keys stay in the order of their values, and one bit ties often."""
    words = values.view(np.uint64)
    words |= generator.integers(0, 2**64, 3, dtype=np.uint64) << np.uint64(63)
    words.sort()
    words &= np.uint64(2**63 - 1)


@pytest.mark.parametrize("below", [3, 2**62, 2**63])
def test_every_order_is_as_likely_also_when_keys_tie(below):
    seen = orders(lambda values, generator: shuffle(values, below=below, rng=generator))
    assert chisquare(list(seen.values())).pvalue > TAIL


def test_the_order_check_sees_ties_left_alone():
    assert chisquare(list(orders(without_ties_broken).values())).pvalue < TAIL


def test_drawing_leaves_its_input_and_the_global_generator_alone():
    q = np.array([0.25, 0.75])
    q.flags.writeable = False
    before = np.random.get_state()[1].copy()  # noqa: NPY002, to see that nobody used it
    draw(q, 100, rng=rng())
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize(
    ("q", "count", "says"),
    [
        ([], 1, "one per example, got shape (0,)"),
        ([0.5, -0.5], 1, "got a smallest of -0.5"),
        ([0.0, 0.0], 1, "not all 0"),
        ([0.5, np.nan], 1, "finite"),
        (["a"], 1, "probabilities must be numbers"),
        ([1.0], 0, "count must be at least 1, got 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(q, count, says):
    with pytest.raises(InputError) as caught:
        draw(q, count, rng=rng())
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
