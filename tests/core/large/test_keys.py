"""Keys keep the order of floats, in both widths, and go back to the same floats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dris.core.errors import InputError
from dris.core.large.mapped import ordered_keys, values_of

WIDTHS = [(np.float32, 32), (np.float64, 64)]


def floats(width: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(allow_nan=False, width=width), min_size=1, max_size=30)  # type: ignore[arg-type]


def test_keys_by_hand():
    # 1.0 is 0x3F800000; its sign bit turned is 0xBF800000. −1.0, all bits turned, is 0x407FFFFF.
    keys = ordered_keys(np.array([1.0, -1.0, 0.0], dtype=np.float32))
    assert keys.tolist() == [0xBF800000, 0x407FFFFF, 0x80000000]
    assert keys.dtype == np.uint32
    assert ordered_keys(np.array([1.0])).tolist() == [0xBFF0000000000000]


@pytest.mark.parametrize(("kind", "_"), WIDTHS)
def test_minus_zero_ties_with_zero_and_lies_between_its_neighbours(kind, _):
    tiny = np.nextafter(kind(0), kind(1))
    keys = ordered_keys(np.array([-tiny, -0.0, 0.0, tiny], dtype=kind)).tolist()
    assert keys[1] == keys[2]
    assert keys[0] + 2 == keys[1] == keys[3] - 1  # the place that −0.0 left stays empty


@pytest.mark.parametrize(("kind", "width"), WIDTHS)
def test_the_order_of_keys_is_the_order_of_the_floats(kind, width):
    @given(floats(width))
    def holds(values):
        x = np.array(values, dtype=kind)
        keys = ordered_keys(x).astype(object)
        for a, key in zip(x, keys, strict=True):
            assert ((x < a) == (keys < key)).all()
            assert ((x == a) == (keys == key)).all()
        assert (values_of(ordered_keys(x)) == x).all()

    holds()


def test_the_bits_of_floats_themselves_are_not_in_their_order():
    x = np.array([-1.0, 1.0], dtype=np.float32)
    assert x.view(np.uint32)[0] > x.view(np.uint32)[1]  # what the keys mend
    assert ordered_keys(x)[0] < ordered_keys(x)[1]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_nan_is_refused_and_infinity_has_its_place(kind):
    with pytest.raises(InputError, match="NaN has no place"):
        ordered_keys(np.array([1.0, np.nan], dtype=kind))
    keys = ordered_keys(np.array([-np.inf, -1, 1, np.inf], dtype=kind))
    assert (np.diff(keys.astype(object)) > 0).all()


def test_other_numbers_are_refused():
    with pytest.raises(InputError, match="float16"):
        ordered_keys(np.zeros(2, dtype=np.float16))


def test_the_input_stays_as_it_is():
    x = np.array([-0.0, 2.0])
    before = x.tobytes()
    ordered_keys(x)
    assert x.tobytes() == before
