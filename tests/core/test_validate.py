"""The checks at the public door that no other test meets, and ids looked up in one place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dris.core.errors import InputError
from dris.core.validate import Positions, alignment, check_labels


def test_labels_that_are_ids_are_sent_back_before_they_become_a_billion_classes():
    with pytest.raises(InputError, match=r"labels go up to 1000000000 with 2 examples.*np\.unique"):
        check_labels([0, 10**9])


@pytest.mark.parametrize("labels", [[0, 1, np.nan], [0, None, 1], None])
def test_missing_labels_are_called_missing(labels):
    with pytest.raises(InputError, match=r"missing|None"):
        check_labels(labels)


@given(st.permutations(list(range(12))), st.booleans())
def test_alignment_brings_one_order_into_another(order, text):
    wanted = np.array([f"r{i}" for i in range(12)]) if text else np.arange(12) * 3
    own = wanted[order]
    at = alignment(own, wanted)
    assert own[at].tolist() == wanted.tolist()


def test_other_ids_fewer_ids_or_ids_of_another_kind_are_not_aligned():
    own = np.array(["a", "b", "c"])
    assert alignment(own, np.array(["a", "b", "d"])) is None
    assert alignment(own, np.array(["a", "b"])) is None
    assert alignment(own, np.array(["a", "b", "b"])) is None  # one of ours would be left over
    assert alignment(own, np.array([0, 1, 2])) is None


def test_ids_that_count_up_are_their_own_positions():
    assert Positions(np.arange(4)).of(np.array([3, 0, 3])).tolist() == [3, 0, 3]
    assert Positions(np.array([5, 2, 9])).of(np.array([9, 5])).tolist() == [2, 0]
    assert Positions(np.arange(4)).of(np.array([], dtype=int)).tolist() == []


def test_text_that_is_longer_than_any_known_is_not_cut_into_a_known_one():
    known = Positions(np.array(["ab", "cd"]))
    with pytest.raises(InputError, match="unknown id abc"):
        known.of(np.array(["abc"]))
    assert known.of(np.array(["cd", "ab"], dtype=object)).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("ids", "asked", "says"),
    [
        (np.arange(3), np.array([3, -1]), "unknown id 3 and 1 more; known are 0 to 2"),
        (np.array([7, 5]), np.array([6]), "unknown id 6; known are the 2 ids given before"),
        (np.array([7, 5]), np.array(["7"]), "the ids here are whole numbers"),
        (np.array(["7"]), np.array([7]), "the ids here are text"),
    ],
)
def test_what_is_not_known_is_named(ids, asked, says):
    with pytest.raises(InputError, match=says):
        Positions(ids).of(asked)
