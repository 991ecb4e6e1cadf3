"""Training dynamics from files: what `Dynamics.save` wrote, and loss matrices."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.validate import check_ids
from dris.data.files import PathLike, files_of, listed, reading
from dris.data.tables.label_columns import ids_of, typed_text
from dris.data.tables.numpy_files import stored_npy, stored_npz


def import_records(paths: PathLike | Sequence[PathLike]) -> Dynamics:
    """Read dynamics that were recorded elsewhere; several records are joined by their ids.

    A record is a file of `Dynamics.save`, or the losses of K proxies (.npy, .npz, .csv).
    """
    parts = [_import_one(path) for path in files_of(paths)]
    return parts[0] if len(parts) == 1 else Dynamics.merge(parts)


def _import_one(path: Path) -> Dynamics:
    with reading(path, "record of training dynamics"):
        if path.suffix == ".npy":
            return _from_losses(stored_npy(path).whole(), None, path)
        if path.suffix == ".npz":
            arrays = stored_npz(path)
            if "loss" not in arrays:
                raise InputError(
                    f"{path} has no array named loss; its arrays are {listed(list(arrays))}"
                )
            ids = arrays["ids"].whole() if "ids" in arrays else None
            return _from_losses(arrays["loss"].whole(), ids, path)
        if path.suffix == ".csv":
            return _from_csv(path)
        if path.is_file() and _is_saved(path):
            return Dynamics.load(path)
    raise InputError(
        f"{path} is no record that can be imported; those are what Dynamics.save wrote, and a "
        "loss matrix as .npy, .npz or .csv"
    )


def _is_saved(path: Path) -> bool:
    """Whether a file begins like one of `Dynamics.save`, whatever its name: a size, then JSON."""
    with path.open("rb") as file:
        start = file.read(9)
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < path.stat().st_size


def _from_losses(loss: NDArray[Any], ids: Any, path: Path) -> Dynamics:
    if loss.ndim not in (2, 3) or loss.shape[0] > loss.shape[-1]:
        raise InputError(
            f"the losses in {path} have shape {loss.shape}, and (proxy, example) or (proxy, epoch, "
            "example) is needed; transpose them"
        )
    return Dynamics.from_arrays(
        loss=loss,
        ids=None if ids is None else check_ids(ids, loss.shape[-1]),
        provenance={"imported": "loss matrix"},
    )


def _from_csv(path: Path) -> Dynamics:
    """Bare numbers, a line per proxy; or with a header a line per example, "id" optional."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = [(number, cells) for number, cells in enumerate(csv.reader(file), 1) if cells]
    if not lines:
        raise InputError(f"{path} is empty; write losses, a line per proxy")
    first, ids = lines[0][1], None
    if _as_losses(first) is not None:
        return _from_losses(_losses_in(lines, len(first), path), None, path)
    if "aum" in first:
        raise InputError(f"{path} holds AUM values, a score; dynamics are losses of every proxy")
    rows, width = lines[1:], len(first)
    if "id" in first:
        at = first.index("id")
        names = pa.array([cells[at] if at < len(cells) else None for _, cells in rows], pa.string())
        ids = ids_of(typed_text(names), "id", lambda row: f"line {lines[row + 1][0]} of {path}")
        rows = [(number, [*cells[:at], *cells[at + 1 :]]) for number, cells in rows]
        width -= 1
    return _from_losses(_losses_in(rows, width, path).T, ids, path)


def _losses_in(
    lines: Sequence[tuple[int, list[str]]], width: int, path: Path
) -> NDArray[np.float64]:
    rows = []
    for number, cells in lines:
        values = _as_losses(cells)
        if values is None or len(values) != width:
            raise InputError(f"line {number} of {path} must be {width} finite numbers besides id")
        rows.append(values)
    return np.array(rows)


def _as_losses(cells: Sequence[str]) -> list[float] | None:
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        return None
    return values if all(map(math.isfinite, values)) else None
