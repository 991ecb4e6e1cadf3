"""One file per `Dynamics`: arrays and a note, checksummed; any safetensors reader opens it."""

import hashlib
import json
import mmap
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.columns import TRAJECTORIES, ClassProbabilities, Totals
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.files import write_atomically
from dris.core.sanitize import from_json

FORMAT = 1
_STORED = {np.dtype(code) for code in ("<f8", "<f4", "<i8", "<i4", "|b1", "|u1")}
_ANY_NAME = "surrogatepass"  # ids may be file names, which need not be valid text
_TOTALS = ("margin", "forgotten", "learned")
_PROBABILITIES = "probabilities."  # before the names of the class probabilities' arrays
_OUTSIDE = "out_of_fold."  # before the names of the out-of-fold arrays


def write_dynamics(dynamics: Dynamics, path: Path) -> Path:
    """Write atomically: a temporary file beside `path`, renamed when it is complete."""
    provenance = dict(dynamics.provenance)
    try:
        json.dumps(provenance, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"provenance must be plain JSON values: {error}") from None
    note = {"epochs": list(dynamics.epochs), "scored_epoch": dynamics.scored_epoch}
    note["totals_epochs"] = dynamics.totals_epochs if dynamics.is_summary else None
    note |= {"text_ids": dynamics.ids.dtype.kind == "U", "provenance": provenance}
    if dynamics.probabilities is not None:
        note["classes"] = dynamics.probabilities.classes
    return write_arrays(path, _arrays_of(dynamics), note, format=FORMAT)


def read_dynamics(path: Path) -> Dynamics:
    """Map the file and check every byte of it against its checksums."""
    arrays, about = read_arrays(path, kind="dynamics", format=FORMAT)
    ids = arrays["ids"]
    if about["text_ids"]:
        ends = arrays["ids.ends"].tolist()
        blob = ids.tobytes()
        ids = np.array(
            [blob[a:b].decode(errors=_ANY_NAME) for a, b in zip([0, *ends], ends, strict=False)]
        )
    held, outside = _named(arrays, _PROBABILITIES), _named(arrays, _OUTSIDE)
    dynamics = Dynamics(
        **_stored(arrays, about["totals_epochs"]),
        ids=ids,
        epochs=tuple(about["epochs"]),
        scored_epoch=about["scored_epoch"],
        labels=arrays.get("labels"),
        provenance=about["provenance"],
        probabilities=ClassProbabilities(**held, classes=about["classes"]) if held else None,
    )
    if not outside:
        return dynamics
    return replace(
        dynamics, out_of_fold=replace(dynamics, **_stored(outside, about["totals_epochs"]))
    )


def _arrays_of(dynamics: Dynamics) -> dict[str, NDArray[Any]]:
    arrays = _values_of(dynamics)
    if dynamics.out_of_fold is not None:
        arrays |= {f"{_OUTSIDE}{name}": a for name, a in _values_of(dynamics.out_of_fold).items()}
    if (p := dynamics.probabilities) is not None:
        held = {"values": p.values, "fold": p.fold, "kept": p.kept}
        arrays |= {f"{_PROBABILITIES}{name}": a for name, a in held.items() if a is not None}
    if dynamics.labels is not None:
        arrays["labels"] = dynamics.labels
    if dynamics.ids.dtype.kind == "U":
        words = [str(i).encode(errors=_ANY_NAME) for i in dynamics.ids]
        arrays["ids"] = np.frombuffer(b"".join(words), dtype=np.uint8)
        arrays["ids.ends"] = np.cumsum([len(w) for w in words], dtype=np.int64)
    else:
        arrays["ids"] = dynamics.ids
    return {name: _storable(a) for name, a in arrays.items()}


def _values_of(dynamics: Dynamics) -> dict[str, NDArray[Any]]:
    """Columns, and totals where they are stored."""
    arrays = {f"column.{name}": column for name, column in dynamics.columns.items()}
    totals = {name: getattr(dynamics.stored_totals, name, None) for name in _TOTALS}
    return arrays | {f"totals.{name}": a for name, a in totals.items() if a is not None}


def _storable(a: NDArray[Any]) -> NDArray[Any]:
    if a.dtype.newbyteorder("<") in _STORED:
        return a
    return a.astype("<f8" if a.dtype.kind == "f" else "<i8")


def _named(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def _stored(arrays: dict[str, NDArray[Any]], totals_epochs: int | None) -> dict[str, Any]:
    """The inverse of `_values_of`."""
    columns = {n: arrays[f"column.{n}"] for n in TRAJECTORIES if f"column.{n}" in arrays}
    if totals_epochs is None:
        return {"columns": columns}
    totals = Totals(totals_epochs, *(arrays.get(f"totals.{n}") for n in _TOTALS))
    return {"columns": columns, "stored_totals": totals}


_DTYPES = {
    **{"F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "|b1"},
    **{"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1"},
    **{"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1"},
}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}
_SEAL = b'{"__metadata__":{"sha256":"'  # every header begins so; 64 hexadecimal digits follow
_UNSEALED = b"0" * 64


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], note: Mapping[str, Any], *, format: int
) -> Path:
    """Write arrays and note atomically; the note must be plain JSON values."""
    stored = {name: _plain_array(name, a) for name, a in arrays.items()}
    # Wide numbers first, so that every array starts at a multiple of its own width.
    stored = dict(sorted(stored.items(), key=lambda item: (-item[1].itemsize, item[0])))
    about: dict[str, Any] = {
        **note,
        "format": format,
        "sha256": {name: hashlib.sha256(_bytes(a)).hexdigest() for name, a in stored.items()},
    }
    # Twice: keys that are numbers become text first, and are then sorted as text.
    text_of = json.dumps(from_json(json.dumps(about, allow_nan=False)), sort_keys=True)
    header: dict[str, Any] = {"__metadata__": {"sha256": _UNSEALED.decode(), "dris": text_of}}
    offset = 0
    for name, a in stored.items():
        place = [offset, offset + a.nbytes]
        header[name] = {"dtype": _NAMES[a.dtype], "shape": list(a.shape), "data_offsets": place}
        offset += a.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64)
    text = text.replace(_UNSEALED, hashlib.sha256(text).hexdigest().encode(), 1)
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
    about: dict[str, Any] = from_json(header.pop("__metadata__")["dris"])
    if about["format"] != format:
        raise InputError(
            f"{path}: written in format {about['format']}, this dris reads {format}; upgrade dris"
        )
    size = start + max((entry["data_offsets"][1] for entry in header.values()), default=0)
    if size != data.size:
        what = "cut off" if data.size < size else "longer than it was written"
        raise InputError(f"{path}: {what} ({data.size} bytes, not {size}); compute it again")
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        begin, end = (start + offset for offset in entry["data_offsets"])
        piece = data[begin:end]
        if hashlib.sha256(piece.data).hexdigest() != about["sha256"][name]:
            raise InputError(
                f"{path}: {name} is damaged (checksum); restore it or compute it again"
            )
        arrays[name] = piece.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays, about


def is_sealed(path: Path) -> bool:
    """True if a file begins like one of `write_arrays`; it may still be damaged."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(8 + len(_SEAL))[8:] == _SEAL
    except OSError:
        return False


def _plain_array(name: str, a: NDArray[Any]) -> NDArray[Any]:
    """The array in C order and little-endian, never of another kind or width."""
    dtype = a.dtype.newbyteorder("<")
    if dtype not in _NAMES:
        raise InputError(f"{name} has dtype {a.dtype}, which no file here holds; convert it first")
    return np.asarray(a, dtype=dtype, order="C")


def _header_of(data: NDArray[np.uint8], path: Path, kind: str) -> tuple[dict[str, Any], int]:
    """The parsed header, checked byte by byte against its seal, and where the arrays begin."""
    length = int(data[:8].view("<u8")[0])
    text = data[8 : 8 + min(length, data.size)].tobytes()
    if not text.startswith(_SEAL):
        raise InputError(f"{path}: not a {kind} file written by dris")
    if len(text) < length:
        raise InputError(f"{path}: cut off or damaged in its header; compute it again")
    begin, end = len(_SEAL), len(_SEAL) + len(_UNSEALED)
    unsealed = text[:begin] + _UNSEALED + text[end:]
    if text[begin:end] != hashlib.sha256(unsealed).hexdigest().encode():
        raise InputError(
            f"{path}: its header is damaged (checksum); restore it or compute it again"
        )
    return from_json(text), 8 + length


def _bytes(a: NDArray[Any]) -> memoryview:
    return a.reshape(-1).view(np.uint8).data if a.size else memoryview(b"")
