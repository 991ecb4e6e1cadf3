"""Array files: the same in gives the same bytes, no damage comes out as data or as a crash."""

import errno
import os

import numpy as np
import pytest

from dris.core.dynamics.dynamics_file import is_sealed, read_arrays, write_arrays
from dris.core.errors import InputError
from dris.core.files import make_folder, plain_bytes, write_atomically

ARRAYS = {
    "flags": np.array([True, False, True]),
    "wide": np.arange(6.0).reshape(2, 3),
    "scalar": np.array(7),
    "empty": np.zeros((0, 4), dtype=np.float16),
    "large": np.array([2**64 - 1], dtype=np.uint64),
}


@pytest.fixture
def path(tmp_path):
    return write_arrays(tmp_path / "file", ARRAYS, {"epoch": 3}, format=1)


def test_arrays_come_back_with_kind_and_shape_and_cannot_be_changed(path):
    arrays, note = read_arrays(path, kind="toy", format=1)
    assert note["epoch"] == 3
    assert set(arrays) == set(ARRAYS)
    for name, a in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (a.dtype, a.shape)
        assert np.array_equal(arrays[name], a)
        assert not arrays[name].flags.writeable


def test_the_order_and_memory_of_arrays_do_not_change_the_bytes(path, tmp_path):
    other = {n: np.asfortranarray(ARRAYS[n]) for n in reversed(ARRAYS)}
    other["wide"] = other["wide"].astype(">f8")
    other["scalar"] = other["scalar"].reshape(())
    again = write_arrays(tmp_path / "again", other, {"epoch": 3}, format=1)
    assert again.read_bytes() == path.read_bytes()


def test_damage_anywhere_is_refused_in_a_sentence(path):
    whole = path.read_bytes()
    bits = 1 << np.random.default_rng(0).integers(8, size=len(whole))
    at = range(0, len(whole), 3)
    changed = (whole[:i] + bytes([whole[i] ^ int(bits[i])]) + whole[i + 1 :] for i in at)
    cut = (whole[:end] for end in at)
    for damaged in (*changed, *cut, whole + b"\0"):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"damaged|cut off|longer|not a toy file"):
            read_arrays(path, kind="toy", format=1)


def test_files_of_another_format_or_origin_are_refused(path, tmp_path):
    with pytest.raises(InputError, match="upgrade dris"):
        read_arrays(path, kind="toy", format=2)
    with pytest.raises(InputError, match="no such file"):
        read_arrays(tmp_path / "absent", kind="toy", format=1)
    with pytest.raises(InputError, match="is not a file"):
        read_arrays(tmp_path, kind="toy", format=1)
    for header in (b"[]", b"{}", b'{"__metadata__":5}', b'{"__metadata__":{"a":"b"}}'):
        path.write_bytes(len(header).to_bytes(8, "little") + header + b" " * 8)
        with pytest.raises(InputError, match="not a toy file written by dris"):
            read_arrays(path, kind="toy", format=1)


@pytest.mark.parametrize("bad", [np.array([1j]), np.array(["a"]), np.array([None])])
def test_what_the_file_cannot_hold_is_refused_and_nothing_is_written(bad, tmp_path):
    with pytest.raises(InputError, match=r"x has dtype .* convert it first"):
        write_arrays(tmp_path / "file", {"x": bad}, {}, format=1)
    with pytest.raises(TypeError):
        write_arrays(tmp_path / "file", {}, {"a": {1}}, format=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "disk full"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_and_no_rest(call, error, path, monkeypatch):
    def fail(*_):
        raise error

    whole = path.read_bytes()
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)):
        write_atomically(path, [b"new"])
    assert path.read_bytes() == whole
    assert [p.name for p in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["taken", "taken/below"])
def test_a_folder_that_cannot_be_is_refused_in_one_sentence(tmp_path, name):
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"name a folder|name another folder"):
        make_folder(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_in_the_place_of_a_file_is_absent_and_nobody_waits_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        plain_bytes(tmp_path / "pipe")
    assert not is_sealed(tmp_path / "pipe")
    assert plain_bytes(write_atomically(tmp_path / "file", [b"a"])) == b"a"
