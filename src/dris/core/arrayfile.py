"""Named arrays and a JSON note in one file: the safetensors layout, written whole or not at all.

Eight bytes of header length, a JSON header, then the arrays; any safetensors reader opens it.
The header's one metadata entry, "dris", is the note with the SHA-256 of each array and of itself.
The same arrays and note give the same bytes.
"""

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError

_DTYPES = {
    **{"F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "|b1"},
    **{"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1"},
    **{"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1"},
}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}


def write_atomically(path: Path, pieces: Iterable[bytes | memoryview]) -> Path:
    """Write to a temporary name beside `path`, rename when every byte is on the disk.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder, "note"), [b"a", b"b"]).read_bytes()
    b'ab'
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], note: Mapping[str, Any], *, format: int
) -> Path:
    """Write arrays and note atomically; the note must be plain JSON values.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_arrays(Path(folder, "f"), {"x": np.arange(3)}, {"epoch": 2}, format=1)
    ...     arrays, note = read_arrays(path, kind="toy", format=1)
    ...     arrays["x"].tolist(), note["epoch"]
    ([0, 1, 2], 2)
    """
    stored = {name: _storable(name, a) for name, a in arrays.items()}
    # Wide numbers first, so that every array starts at a multiple of its own width.
    stored = dict(sorted(stored.items(), key=lambda item: (-item[1].itemsize, item[0])))
    about: dict[str, Any] = {
        **note,
        "format": format,
        "sha256": {name: hashlib.sha256(_bytes(a)).hexdigest() for name, a in stored.items()},
    }
    about["sha256_of_this"] = _digest_of(about)
    header: dict[str, Any] = {"__metadata__": {"dris": _text_of(about)}}
    offset = 0
    for name, a in stored.items():
        place = [offset, offset + a.nbytes]
        header[name] = {"dtype": _NAMES[a.dtype], "shape": list(a.shape), "data_offsets": place}
        offset += a.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64)
    start = len(text).to_bytes(8, "little") + text
    return write_atomically(path, [start, *map(_bytes, stored.values())])


def read_arrays(
    path: Path, *, kind: str, format: int
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Map the file and check arrays and note against their checksums; the arrays are read-only."""
    if not path.is_file():
        raise InputError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < 16:
            raise InputError(f"{path}: not a {kind} file (too short); was it cut off?")
        data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
    header, start = _header_of(data, path, kind)
    about = _about(header, path, format)
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        try:
            begin, end = (start + int(o) for o in entry["data_offsets"])
            dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(map(int, entry["shape"]))
        except (KeyError, TypeError, ValueError):
            raise InputError(_damaged_header(path)) from None
        if end > data.size:
            raise InputError(f"{path}: cut off in {name}; restore it or compute it again")
        piece = data[begin:end]
        if hashlib.sha256(piece.data).hexdigest() != about["sha256"].get(name):
            raise InputError(
                f"{path}: {name} is damaged (checksum); restore it or compute it again"
            )
        try:
            arrays[name] = piece.view(dtype).reshape(shape)
        except ValueError:
            raise InputError(_damaged_header(path)) from None
    return arrays, about


def _storable(name: str, a: NDArray[Any]) -> NDArray[Any]:
    """The array in C order and little-endian, never of another kind or width."""
    dtype = a.dtype.newbyteorder("<")
    if dtype not in _NAMES:
        raise InputError(f"{name} has dtype {a.dtype}, which no file here holds; convert it first")
    return np.asarray(a, dtype=dtype, order="C")


def _header_of(data: NDArray[np.uint8], path: Path, kind: str) -> tuple[dict[str, Any], int]:
    length = int(data[:8].view("<u8")[0])
    foreign = f"{path}: not a {kind} file written by dris"
    if length > data.size - 8:
        raise InputError(f"{foreign}, or cut off in its header")
    try:
        header = json.loads(data[8 : 8 + length].tobytes())
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise InputError(f"{foreign}, or damaged in its header") from None
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or "dris" not in metadata:
        raise InputError(foreign)
    return header, 8 + length


def _about(header: dict[str, Any], path: Path, format: int) -> dict[str, Any]:
    """The checked note; the array entries that stay in `header` agree with it."""
    try:
        about: dict[str, Any] = json.loads(header.pop("__metadata__")["dris"])
        recorded = about.pop("sha256_of_this")
        intact = recorded == _digest_of(about) and set(header) == set(about["sha256"])
    except (json.JSONDecodeError, TypeError, KeyError, AttributeError):
        raise InputError(_damaged_header(path)) from None
    if not intact:
        raise InputError(_damaged_header(path))
    if about["format"] != format:
        raise InputError(
            f"{path}: written in format {about['format']}, this dris reads {format}; upgrade dris"
        )
    return about


def _damaged_header(path: Path) -> str:
    return f"{path}: its header is damaged (checksum); restore it or compute it again"


def _digest_of(about: dict[str, Any]) -> str:
    return hashlib.sha256(_text_of(about).encode()).hexdigest()


def _text_of(about: dict[str, Any]) -> str:
    return json.dumps(about, sort_keys=True, allow_nan=False)


def _bytes(a: NDArray[Any]) -> memoryview:
    return a.reshape(-1).view(np.uint8).data if a.size else memoryview(b"")
