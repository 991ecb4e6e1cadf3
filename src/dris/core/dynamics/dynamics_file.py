"""One file per `Dynamics`: its arrays, and a note with epochs and provenance, checksummed.

The layout is `array_file`'s, so any safetensors reader opens it. The same dynamics give the same
bytes.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.array_file import read_arrays, write_arrays
from dris.core.dynamics.columns import PER_EXAMPLE, TRAJECTORIES
from dris.core.dynamics.dynamics import Dynamics
from dris.core.dynamics.trajectories import Totals
from dris.core.errors import InputError

FORMAT = 1
_STORED = {np.dtype(code) for code in ("<f8", "<f4", "<i8", "<i4", "|b1", "|u1")}
_ANY_NAME = "surrogatepass"  # ids may be file names, which need not be valid text
_TOTALS = ("margin", "forgotten", "learned")
_OUTSIDE = "out_of_fold."  # before the names of the out-of-fold arrays


def write_dynamics(dynamics: Dynamics, path: Path) -> Path:
    """Write atomically: a temporary file beside `path`, renamed when it is complete."""
    provenance = dict(dynamics.provenance)
    try:
        json.dumps(provenance, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"provenance must be plain JSON values: {error}") from None
    note = {
        "epochs": list(dynamics.epochs),
        "scored_epoch": dynamics.scored_epoch,
        "totals_epochs": dynamics.totals_epochs if dynamics.is_summary else None,
        "text_ids": dynamics.ids.dtype.kind == "U",
        "provenance": provenance,
    }
    return write_arrays(path, _arrays_of(dynamics), note, format=FORMAT)


def read_dynamics(path: Path) -> Dynamics:
    """Map the file and check every byte of it against its checksums."""
    arrays, about = read_arrays(path, kind="dynamics", format=FORMAT)
    return _dynamics_of(arrays, about)


def _arrays_of(dynamics: Dynamics) -> dict[str, NDArray[Any]]:
    arrays = _values_of(dynamics)
    if dynamics.out_of_fold is not None:
        arrays |= {f"{_OUTSIDE}{name}": a for name, a in _values_of(dynamics.out_of_fold).items()}
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
    if dynamics.stored_totals is not None:
        for name in _TOTALS:
            value = getattr(dynamics.stored_totals, name)
            if value is not None:
                arrays[f"totals.{name}"] = value
    return arrays


def _storable(a: NDArray[Any]) -> NDArray[Any]:
    if a.dtype.newbyteorder("<") in _STORED:
        return a
    return a.astype("<f8" if a.dtype.kind == "f" else "<i8")


def _dynamics_of(arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> Dynamics:
    ids = arrays["ids"]
    if about["text_ids"]:
        ends = arrays["ids.ends"].tolist()
        blob = ids.tobytes()
        ids = np.array(
            [blob[a:b].decode(errors=_ANY_NAME) for a, b in zip([0, *ends], ends, strict=False)]
        )
    dynamics = Dynamics(
        **_stored(arrays, about["totals_epochs"]),
        ids=ids,
        epochs=tuple(about["epochs"]),
        scored_epoch=about["scored_epoch"],
        labels=arrays.get("labels"),
        provenance=about["provenance"],
    )
    outside = {n.removeprefix(_OUTSIDE): a for n, a in arrays.items() if n.startswith(_OUTSIDE)}
    if not outside:
        return dynamics
    return replace(
        dynamics, out_of_fold=replace(dynamics, **_stored(outside, about["totals_epochs"]))
    )


def _stored(arrays: dict[str, NDArray[Any]], totals_epochs: int | None) -> dict[str, Any]:
    """The inverse of `_values_of`."""
    totals = None
    if totals_epochs is not None:
        totals = Totals(totals_epochs, *(arrays.get(f"totals.{n}") for n in _TOTALS))
    columns = {name: arrays.get(f"column.{name}") for name in TRAJECTORIES + PER_EXAMPLE}
    return {
        "columns": {name: a for name, a in columns.items() if a is not None},
        "stored_totals": totals,
    }
