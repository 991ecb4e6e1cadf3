"""One file per `Dynamics`: the safetensors layout, with a checksum for every byte.

Eight bytes of header length, a JSON header, then the arrays; any safetensors reader opens it.
The header's one metadata entry, "dris", carries format version, epochs, provenance, the SHA-256
of each array and of itself. The same dynamics give the same bytes.
"""

import hashlib
import json
import mmap
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.trajectories import Totals

FORMAT = 1
_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "BOOL": "|b1", "U8": "|u1"}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}
_TOTALS = ("margin", "forgotten", "learned")


def write_dynamics(dynamics: Dynamics, path: Path) -> Path:
    """Write atomically: a temporary file beside `path`, renamed when it is complete."""
    arrays = _arrays_of(dynamics)
    about: dict[str, Any] = {
        "format": FORMAT,
        "epochs": list(dynamics.epochs),
        "scored_epoch": dynamics.scored_epoch,
        "totals_epochs": dynamics.totals_epochs if dynamics.is_summary else None,
        "text_ids": dynamics.ids.dtype.kind == "U",
        "provenance": dict(dynamics.provenance),
        "sha256": {name: hashlib.sha256(_bytes(a)).hexdigest() for name, a in arrays.items()},
    }
    try:
        about["sha256_of_this"] = _digest_of(about)
        note = json.dumps(about, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"provenance must be plain JSON values: {error}") from None
    header: dict[str, Any] = {"__metadata__": {"dris": note}}
    offset = 0
    for name, a in arrays.items():
        place = [offset, offset + a.nbytes]
        header[name] = {"dtype": _NAMES[a.dtype], "shape": list(a.shape), "data_offsets": place}
        offset += a.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for a in arrays.values():
                file.write(_bytes(a))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def read_dynamics(path: Path) -> Dynamics:
    """Map the file and check every byte of it against its checksums."""
    if not path.is_file():
        raise InputError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < 16:
            raise InputError(f"{path}: not a dynamics file (too short); was it cut off?")
        data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
    header, start = _header_of(data, path)
    about = _about(header, path)
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        begin, end = (start + int(o) for o in entry["data_offsets"])
        if end > data.size:
            raise InputError(f"{path}: cut off in {name}; restore it or compute it again")
        piece = data[begin:end]
        if hashlib.sha256(piece.data).hexdigest() != about["sha256"].get(name):
            raise InputError(
                f"{path}: {name} is damaged (checksum); restore it or compute it again"
            )
        arrays[name] = piece.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return _dynamics_of(arrays, about)


def _arrays_of(dynamics: Dynamics) -> dict[str, NDArray[Any]]:
    arrays = {f"column.{name}": column for name, column in dynamics.columns.items()}
    if dynamics.labels is not None:
        arrays["labels"] = dynamics.labels
    if dynamics.stored_totals is not None:
        for name in _TOTALS:
            value = getattr(dynamics.stored_totals, name)
            if value is not None:
                arrays[f"totals.{name}"] = value
    if dynamics.ids.dtype.kind == "U":
        words = [str(i).encode() for i in dynamics.ids]
        arrays["ids"] = np.frombuffer(b"".join(words), dtype=np.uint8)
        arrays["ids.ends"] = np.cumsum([len(w) for w in words], dtype=np.int64)
    else:
        arrays["ids"] = dynamics.ids
    stored = {name: _storable(a) for name, a in arrays.items()}
    # Wide numbers first, so that every array starts at a multiple of its own width.
    return dict(sorted(stored.items(), key=lambda item: (-item[1].itemsize, item[0])))


def _storable(a: NDArray[Any]) -> NDArray[Any]:
    wanted = a.dtype.newbyteorder("<")
    if wanted not in _NAMES:
        wanted = np.dtype("<f8" if a.dtype.kind == "f" else "<i8")
    return np.ascontiguousarray(a, dtype=wanted)


def _dynamics_of(arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> Dynamics:
    ids = arrays["ids"]
    if about["text_ids"]:
        ends = arrays["ids.ends"].tolist()
        blob = ids.tobytes()
        ids = np.array([blob[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)])
    totals = None
    if about["totals_epochs"] is not None:
        totals = Totals(about["totals_epochs"], *(arrays.get(f"totals.{n}") for n in _TOTALS))
    prefix = "column."
    return Dynamics(
        columns={n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)},
        ids=ids,
        epochs=tuple(about["epochs"]),
        scored_epoch=about["scored_epoch"],
        labels=arrays.get("labels"),
        provenance=about["provenance"],
        stored_totals=totals,
    )


def _header_of(data: NDArray[np.uint8], path: Path) -> tuple[dict[str, Any], int]:
    length = int(data[:8].view("<u8")[0])
    foreign = f"{path}: not a dynamics file written by dris"
    if length > data.size - 8:
        raise InputError(f"{foreign}, or cut off in its header")
    try:
        header = json.loads(data[8 : 8 + length].tobytes())
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise InputError(f"{foreign}, or damaged in its header") from None
    if not isinstance(header, dict) or "dris" not in header.get("__metadata__", {}):
        raise InputError(foreign)
    return header, 8 + length


def _about(header: dict[str, Any], path: Path) -> dict[str, Any]:
    """The checked metadata; the array entries that stay in `header` agree with it."""
    damaged = f"{path}: its header is damaged (checksum); restore it or compute it again"
    try:
        about: dict[str, Any] = json.loads(header.pop("__metadata__")["dris"])
        recorded = about.pop("sha256_of_this")
        intact = recorded == _digest_of(about) and set(header) == set(about["sha256"])
    except (json.JSONDecodeError, TypeError, KeyError, AttributeError):
        raise InputError(damaged) from None
    if not intact:
        raise InputError(damaged)
    if about["format"] != FORMAT:
        raise InputError(
            f"{path}: written in format {about['format']}, this dris reads {FORMAT}; upgrade dris"
        )
    return about


def _digest_of(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _bytes(a: NDArray[Any]) -> memoryview:
    return a.reshape(-1).view(np.uint8).data if a.size else memoryview(b"")
