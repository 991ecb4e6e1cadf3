import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dris import InputError
from experiments.datasets.official_formats import cifar, cifar_splits, idx, idx_splits
from experiments.tests.datasets.made_archives import IDX_PARTS, cifar_rows, idx_bytes


def test_an_idx_header_gives_the_shape_and_the_rest_the_bytes():
    blob = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6])
    assert idx(blob, "x").tolist() == [[1, 2, 3], [4, 5, 6]]


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3)))
def test_idx_reads_back_what_was_written(array):
    read = idx(idx_bytes(array), "x")
    assert read.shape == array.shape
    assert (read == array).all()
    assert read.flags.writeable


@pytest.mark.parametrize(
    "blob",
    [b"", b"\0\0\x08", b"\0\0\x08\0", b"\0\0\x0d\x01\0\0\0\x01\0", b"\0\0\x08\x02\0\0\0\x01"],
)
def test_what_is_not_idx_is_refused_by_name(blob):
    with pytest.raises(InputError, match="train-labels is not an idx file of bytes"):
        idx(blob, "train-labels")


def test_an_idx_file_with_too_few_bytes_is_refused():
    with pytest.raises(InputError, match=r"says \(2, 3\) but holds 5 bytes"):
        idx(idx_bytes(np.zeros((2, 3)))[:-1], "x")


def test_idx_splits_add_the_one_channel():
    splits = idx_splits(IDX_PARTS, ("a", "b", "c"))
    assert splits.train_x.shape == (3, 1, 2, 2)
    assert splits.train_x[1, 0].tolist() == [[4, 5], [6, 7]]
    assert splits.train_y.tolist() == [2, 0, 1]
    assert splits.test_y.dtype == np.int64


def test_a_cifar_row_is_a_label_then_red_green_and_blue_planes():
    pixels = np.repeat([10, 20, 30], 1024).astype(np.uint8)
    x, y = cifar(bytes([7]) + pixels.tobytes(), "b", labels=1)
    assert y.tolist() == [[7]]
    assert x[0, :, 5, 9].tolist() == [10, 20, 30]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(0, 99))
def test_cifar_reads_back_every_label_and_pixel(labels, seed):
    blob = cifar_rows(labels, seed)
    x, y = cifar(blob, "b", labels=1)
    again = b"".join(
        bytes([label]) + image.tobytes() for image, label in zip(x, y[:, 0], strict=True)
    )
    assert again == blob


@pytest.mark.parametrize("size", [0, 1, 3072, 3074, 6145])
def test_a_cifar_batch_of_broken_rows_is_refused_by_name(size):
    with pytest.raises(InputError, match=f"b1.bin must hold rows of 3073 bytes, got {size} bytes"):
        cifar(bytes(size), "b1.bin", labels=1)


def test_cifar100_has_coarse_then_fine_labels():
    row = bytes([3, 42]) + bytes(3072)
    for column, label in ((0, 3), (1, 42)):
        splits = cifar_splits({"train.bin": row, "test.bin": row}, (), labels=2, column=column)
        assert splits.train_y.tolist() == splits.test_y.tolist() == [label]
