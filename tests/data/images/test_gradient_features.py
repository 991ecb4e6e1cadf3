"""Edges and colours of pictures, worked by hand."""

import numpy as np
import pytest

from dris.data.images.gradient_features import CELLS, DIRECTIONS, gradient_features


def ramp(down: int, right: int, side: int = 14) -> np.ndarray:
    rows, columns = np.mgrid[:side, :side]
    return (100 + 5 * (down * rows + right * columns)).astype(np.uint8)[None, None]


@pytest.mark.parametrize(("down", "right", "direction"), [(0, 1, 0), (1, 1, 1), (1, 0, 2)])
def test_every_cell_of_a_ramp_has_one_direction(down, right, direction):
    found = gradient_features(ramp(down, right))[0, : CELLS * CELLS * DIRECTIONS]
    cells = found.reshape(CELLS * CELLS, DIRECTIONS)
    assert (cells.argmax(axis=1) == direction).all()
    assert np.delete(cells, direction, axis=1).max() < 0.05 * cells[:, direction].min()


def test_colours_are_means_of_blocks():
    picture = np.zeros((1, 3, 16, 16), dtype=np.uint8)
    picture[0, 1, :2, 2:4] = 255
    colours = gradient_features(picture)[0, -3 * 64 :].reshape(3, 8, 8)
    assert colours[1, 0, 1] == 1
    assert colours.sum() == 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (3, 2), (8, 8), (33, 47)])
def test_pictures_of_any_size_have_finite_features_one_row_each(shape):
    pictures = np.random.default_rng(0).integers(0, 255, (300, 3, *shape)).astype(np.uint8)
    found = gradient_features(pictures)
    assert found.shape[0] == 300
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert np.array_equal(found[260:], gradient_features(pictures[260:]))
