"""Large arrays in unnamed files keep their values; keys keep the order of floats."""

import mmap
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dris.core.errors import InputError
from dris.core.large import mapped
from dris.core.large.mapped import allocate, ordered_keys, release, values_of

needs_linux = pytest.mark.skipif(
    not (hasattr(os, "posix_fallocate") and Path("/proc/self/status").exists()), reason="Linux"
)


def held_of_files():
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("RssFile"))


def is_in_a_file(x):
    while isinstance(x, np.ndarray) and x.base is not None:
        x = x.base
    return isinstance(x.obj if isinstance(x, memoryview) else x, mmap.mmap)


def test_a_small_array_stays_in_memory():
    x = allocate((3, 2), np.int16)
    assert (x.shape, x.dtype) == ((3, 2), np.int16)
    assert not is_in_a_file(x)


@needs_linux
def test_the_memory_of_a_large_one_is_handed_back_and_its_values_are_read_again(monkeypatch):
    monkeypatch.setattr(mapped, "LARGE", 1 << 24)
    x = allocate((1 << 14, 1 << 9), np.float32)  # 32 MB
    x[:] = np.arange(1 << 9)
    full = held_of_files()
    release(x[5:].reshape(-1))  # any view will do
    assert full - held_of_files() > 25_000  # kB
    assert is_in_a_file(x)
    assert (x == np.arange(1 << 9)).all()


@needs_linux
def test_a_file_that_is_only_read_is_let_go_of_too(tmp_path):
    np.ones(1 << 23, dtype=np.uint8).tofile(tmp_path / "kept")
    kept = np.memmap(tmp_path / "kept", mode="r")
    assert kept.sum() == 1 << 23
    full = held_of_files()
    release(kept[3:])
    assert full - held_of_files() > 5_000  # kB
    assert kept.sum() == 1 << 23


@needs_linux
def test_nothing_happens_to_arrays_of_others(tmp_path):
    # The twin: pages of a private copy would be lost with all that was written to them.
    np.zeros(1 << 12).tofile(tmp_path / "theirs")
    theirs = np.memmap(tmp_path / "theirs", mode="c")
    theirs[:] = 7
    release(theirs)
    assert (theirs == 7).all()


@pytest.mark.parametrize("how", ["full", "refused", "unable"])
def test_without_room_on_the_disk_it_is_in_memory(monkeypatch, how):
    monkeypatch.setattr(mapped, "LARGE", 8)
    if how == "full":
        monkeypatch.setattr(mapped.shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    elif how == "unable":
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    else:

        def refused(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(mapped.tempfile, "TemporaryFile", refused)
    x = allocate((4, 4), np.float64)
    x[:] = 1
    assert not is_in_a_file(x)


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
    floats = np.array([-np.inf, -1, -0.0, 1, np.inf], dtype=kind)
    before = floats.tobytes()
    keys = ordered_keys(floats)
    assert floats.tobytes() == before
    assert (np.diff(keys.astype(object)) > 0).all()
