"""One file per `Dynamics`: the safetensors layout, with a checksum for every byte.

Eight bytes of header length, a JSON header, then the arrays; any safetensors reader opens it.
The header's metadata has two entries: "sha256", the seal, is the SHA-256 of the whole header
written with zeros in its place; "dris" carries format version, epochs, provenance and the
SHA-256 of each array. The same dynamics give the same bytes.
"""

import hashlib
import json
import mmap
import os
import uuid
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
_SEAL = b'{"__metadata__":{"sha256":"'  # every header begins so; 64 hexadecimal digits follow
_UNSEALED = "0" * 64
_ANY_NAME = "surrogatepass"  # ids may be file names, which need not be valid text
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
        # Twice: keys that are numbers become text first, and are then sorted as text.
        note = json.dumps(json.loads(json.dumps(about, allow_nan=False)), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InputError(f"provenance must be plain JSON values: {error}") from None
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder; create it before saving into it")
    header: dict[str, Any] = {"__metadata__": {"sha256": _UNSEALED, "dris": note}}
    offset = 0
    for name, a in arrays.items():
        place = [offset, offset + a.nbytes]
        header[name] = {"dtype": _NAMES[a.dtype], "shape": list(a.shape), "data_offsets": place}
        offset += a.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64)
    text = text.replace(_UNSEALED.encode(), hashlib.sha256(text).hexdigest().encode(), 1)
    # Created as any other file would be, so that its permissions are the usual ones.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for a in arrays.values():
                file.write(_bytes(a))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
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
    size = start + max(entry["data_offsets"][1] for entry in header.values())
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
        words = [str(i).encode(errors=_ANY_NAME) for i in dynamics.ids]
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
        ids = np.array(
            [blob[a:b].decode(errors=_ANY_NAME) for a, b in zip([0, *ends], ends, strict=False)]
        )
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
    """The parsed header, checked byte by byte against its seal, and where the arrays begin."""
    length = int(data[:8].view("<u8")[0])
    text = data[8 : 8 + min(length, data.size)].tobytes()
    if not text.startswith(_SEAL):
        raise InputError(f"{path}: not a dynamics file written by dris")
    if len(text) < length:
        raise InputError(f"{path}: cut off or damaged in its header; compute it again")
    begin, end = len(_SEAL), len(_SEAL) + len(_UNSEALED)
    unsealed = text[:begin] + _UNSEALED.encode() + text[end:]
    if text[begin:end] != hashlib.sha256(unsealed).hexdigest().encode():
        raise InputError(
            f"{path}: its header is damaged (checksum); restore it or compute it again"
        )
    return json.loads(text), 8 + length


def _about(header: dict[str, Any], path: Path) -> dict[str, Any]:
    """The metadata, taken out of the header so that the arrays' entries remain."""
    about: dict[str, Any] = json.loads(header.pop("__metadata__")["dris"])
    if about["format"] != FORMAT:
        raise InputError(
            f"{path}: written in format {about['format']}, this dris reads {FORMAT}; upgrade dris"
        )
    return about


def _bytes(a: NDArray[Any]) -> memoryview:
    return a.reshape(-1).view(np.uint8).data if a.size else memoryview(b"")
