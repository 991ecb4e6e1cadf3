"""Systematic samples: the stated inclusion probabilities, the stated size, no example twice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dris.core.errors import InputError
from dris.core.select.systematic import draw_systematic, inclusion_probabilities
from oracles_drawing import TAIL, inclusion_by_loop

Q = np.array([0.4, 0.05, 0.0, 0.2, 0.15, 0.1, 0.1])


def test_the_largest_is_certain_and_the_others_share_the_rest():
    # 3·0.4 > 1, so the first is certain; 2 are left for a mass of 0.6.
    expected = [1, 0.05 / 0.3, 0, 0.2 / 0.3, 0.15 / 0.3, 0.1 / 0.3, 0.1 / 0.3]
    assert inclusion_probabilities(Q, 3) == pytest.approx(expected)


def test_all_that_can_be_drawn_are_certain_when_all_are_asked_for():
    assert inclusion_probabilities(Q, 6).tolist() == [1, 1, 0, 1, 1, 1, 1]
    assert inclusion_probabilities(np.full(7, 1 / 7), 7).tolist() == pytest.approx([1] * 7)


masses = st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.3, 1.0, 50.0]), min_size=1, max_size=30)


@given(masses.filter(any), st.data())
def test_inclusion_probabilities_equal_the_loop_and_sum_to_the_count(q, data):
    count = data.draw(st.integers(1, int(np.count_nonzero(q))))
    pi = inclusion_probabilities(q, count)
    assert pi.max() <= 1
    assert pi.sum() == pytest.approx(count)
    assert pi == pytest.approx(inclusion_by_loop(q, count))


@given(masses.filter(any), st.data())
def test_a_sample_has_the_stated_size_and_no_example_twice(q, data):
    count = data.draw(st.integers(1, int(np.count_nonzero(q))))
    pi = inclusion_probabilities(q, count)
    drawn = draw_systematic(pi, rng=np.random.default_rng(data.draw(st.integers(0, 2**32))))
    assert len(set(drawn.tolist())) == drawn.size == count
    assert (np.asarray(q)[drawn] > 0).all()
    assert np.isin(np.flatnonzero(pi == 1), drawn).all()


def places(goes: int) -> np.ndarray:
    """How often each example came at each place of samples of three."""
    pi, rng = inclusion_probabilities(Q, 3), np.random.default_rng(0)
    seen = np.zeros((3, Q.size))
    for _ in range(goes):
        seen[[0, 1, 2], draw_systematic(pi, rng=rng)] += 1
    return seen


def test_every_place_of_a_sample_follows_the_inclusion_probabilities():
    goes, pi = 8000, inclusion_probabilities(Q, 3)
    limit = norm.isf(TAIL / 2 / 21)  # 21 cells share the tail

    def worst(expected):
        spread = np.sqrt(np.maximum(expected * (1 - expected), 1e-3) / goes)
        return (np.abs(places(goes) / goes - expected) / spread).max()

    assert worst(pi / 3) < limit
    assert worst(Q) > limit  # the check sees that these are not q


@pytest.mark.parametrize(
    ("q", "count", "says"),
    [
        ([0.5, 0.5, 0.0], 3, "only 2 examples can be drawn, 3 without replacement are too many"),
        ([0.5, -0.5], 1, "0 or more and finite"),
        ([0.5, np.nan], 1, "0 or more and finite"),
        ([], 1, "one per example"),
        ([1.0], 0, "count must be at least 1, got 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(q, count, says):
    with pytest.raises(InputError) as caught:
        inclusion_probabilities(q, count)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
