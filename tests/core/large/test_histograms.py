"""Histograms of keys: counted in any pieces, merged in any order, refined where they are heavy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dris.core.errors import InputError
from dris.core.large.histograms import PIECES, Counter, Grid, Histogram, key_at, merge_histograms

BITS = 10  # cells of 2^22 keys of 32 bits: mixed cells abound
WHOLE = Grid.whole(np.dtype(np.uint32), bits=BITS)

# Keys that crowd into few cells, at both ends too.
crowded = st.lists(
    st.one_of(st.integers(0, 2**32 - 1), st.integers(5_000_000, 5_000_300), st.just(2**32 - 1)),
    max_size=60,
)


def counted(keys, grid: Grid = WHOLE) -> Histogram:
    counter = Counter(grid)
    counter.add(np.array(keys, dtype=grid.low.dtype))
    return counter.histogram()


def test_counting_by_hand():
    grid = Grid.over(np.uint32([0]), np.uint32([11]), bits=2)  # cells of four keys
    one, two = counted([3, 5, 5, 9], grid), counted([9, 9, 10], grid)
    assert one.cells.tolist() == [0, 1, 2]
    assert one.counts.tolist() == [1, 2, 1]
    assert not one.mixed.any()
    both = merge_histograms(one, two)
    assert both.counts.tolist() == [1, 2, 4]
    assert (both.low.tolist(), both.high.tolist()) == ([3, 5, 9], [3, 5, 10])
    assert both.mixed.tolist() == [False, False, True]
    assert both.total == 7


@given(crowded)
def test_a_histogram_is_what_looking_at_every_key_gives(keys):
    result = counted(keys)
    cells = sorted({key >> (32 - BITS) for key in keys})
    inside = [[key for key in keys if key >> (32 - BITS) == cell] for cell in cells]
    assert result.cells.tolist() == cells
    assert result.counts.tolist() == [len(held) for held in inside]
    assert result.low.tolist() == [min(held) for held in inside]
    assert result.high.tolist() == [max(held) for held in inside]


@settings(max_examples=50)
@given(crowded, crowded, crowded)
def test_merging_is_counting_together_in_any_order_and_grouping(a, b, c):
    one, two, three = counted(a), counted(b), counted(c)
    whole = counted([*a, *b, *c])
    assert merge_histograms(one, two, three) == whole
    assert merge_histograms(counted([]), whole) == whole != counted([*a, *b, *c, 7])
    assert merge_histograms(three, one, two) == whole
    assert (
        merge_histograms(merge_histograms(one, two), three)
        == merge_histograms(one, merge_histograms(two, three))
        == whole
    )


@given(crowded.filter(lambda keys: len(keys) > 1))
def test_a_refined_grid_counts_exactly_what_lies_in_heavy_cells_and_no_larger(keys):
    result = counted(keys)
    heavy = result.heavy(len(keys), BITS)
    grid = result.refine(len(keys), BITS)
    assert (grid is None) == (not heavy.any())
    if grid is not None:
        finer = counted(keys, grid)
        assert finer.total == result.counts[heavy].sum()
        assert grid.low.size < 2 ** (BITS - PIECES)
        assert (grid.shifts <= 32 - BITS - PIECES).all()
        cells = np.flatnonzero(heavy)
        for i, cell in enumerate(cells):
            mine = finer.cells >> grid.bits == i
            assert finer.counts[mine].sum() == result.counts[cell]
            assert finer.low[mine].min() == result.low[cell]
            assert finer.high[mine].max() == result.high[cell]


def test_a_heavy_pure_cell_is_left_alone():
    result = counted([7] * 1000)
    assert result.refine(1000, BITS) is None
    assert counted([7] * 1000 + [8]).refine(1001, BITS) is not None


@settings(max_examples=30)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=40), st.data())
def test_the_key_at_a_place_is_the_one_a_sort_puts_there(keys, data):
    keys += keys[: len(keys) // 2]
    place = data.draw(st.integers(0, len(keys) - 1))
    looks = []

    def count(grid: Grid) -> Histogram:
        looks.append(grid)
        return counted(keys, grid)

    result = key_at(place, Grid.whole(np.dtype(np.uint64), bits=16), count)
    wanted = sorted(keys)[place]
    assert result.key == wanted
    assert result.below == sum(key < wanted for key in keys)
    assert result.equal == keys.count(wanted)
    assert len(looks) <= 4


@pytest.mark.parametrize("bits", [PIECES, 0, 29, -1])
def test_a_grid_with_too_few_or_too_many_cells_is_refused(bits):
    with pytest.raises(InputError, match="bits must be"):
        Grid.whole(np.dtype(np.uint32), bits=bits)
