"""Large arrays in files without a name: their memory is handed back, their values stay."""

import mmap
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dris.core.large import mapped
from dris.core.large.mapped import allocate, release

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
