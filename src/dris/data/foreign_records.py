"""Training dynamics from files: what `Dynamics.save` wrote, loss matrices, cartography's logs."""

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
from dris.core.sanitize import from_json
from dris.core.validate import check_ids
from dris.data.files import PathLike, files_of, in_order, listed, one_line, reading, refuse_endless
from dris.data.tables.label_columns import ids_of, typed_text
from dris.data.tables.numpy_files import stored_npy, stored_npz

_EPOCHS = "dynamics_epoch_*.jsonl"


def import_records(paths: PathLike | Sequence[PathLike]) -> Dynamics:
    """Read dynamics that were recorded elsewhere; several records are joined by their ids.

    A record is a file of `Dynamics.save`, a loss matrix (.npy, .npz with the array "loss" and maybe
    "ids", .csv) of K proxies, or a folder of `dynamics_epoch_*.jsonl` of one proxy.
    """
    parts = [_import_one(path) for path in files_of(paths)]
    return parts[0] if len(parts) == 1 else Dynamics.merge(parts)


def _import_one(path: Path) -> Dynamics:
    with reading(path, "record of training dynamics"):
        if path.is_dir():
            return _from_cartography(path)
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
        if _is_saved(path):
            return Dynamics.load(path)
    raise InputError(
        f"{path} is no record that can be imported; those are what Dynamics.save wrote, "
        f"a folder of {_EPOCHS}, and a loss matrix as .npy, .npz or .csv"
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
    first = lines[0][1]
    if _as_losses(first) is not None:
        return _from_losses(_losses_in(lines, len(first), path), None, path)
    rows = lines[1:]
    if "aum" in first:
        raise InputError(f"{path} holds AUM values, a score; dynamics are losses of every proxy")
    if "id" not in first:
        return _from_losses(_losses_in(rows, len(first), path).T, None, path)
    at = first.index("id")
    names = pa.array([cells[at] if at < len(cells) else None for _, cells in rows], pa.string())
    ids = ids_of(typed_text(names), "id", lambda row: f"line {rows[row][0]} of {path}")
    values = [(number, [*cells[:at], *cells[at + 1 :]]) for number, cells in rows]
    return _from_losses(_losses_in(values, len(first) - 1, path).T, ids, path)


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


def _from_cartography(folder: Path) -> Dynamics:
    """Logits of one proxy, an epoch per file; epoch i was recorded during pass i + 1."""
    inner = folder / "training_dynamics"
    files = in_order(list((inner if inner.is_dir() else folder).glob(_EPOCHS)))
    if not files:
        raise InputError(f"{folder} holds no {_EPOCHS}; name the folder that cartography filled")
    numbers = [int(file.stem.rpartition("_")[2]) for file in files]
    labels: dict[Any, int] = {}
    logits = []
    for file, epoch in zip(files, numbers, strict=True):
        records = _read_epoch(file, f"logits_epoch_{epoch}")
        here = {guid: label for guid, (_, label) in records.items()}
        labels = labels or here
        if here != labels:
            raise InputError(
                f"{file} has other examples or labels than {files[0]}; all epochs need the same"
            )
        logits.append([records[guid][0] for guid in labels])
    if len({len(values) for epoch in logits for values in epoch}) > 1:
        raise InputError(f"{folder} has other numbers of logits for some; record every class")
    return Dynamics.from_logits(
        np.array(logits)[None],
        np.array(list(labels.values())),
        ids=np.array(list(labels)),
        epochs=[epoch + 1 for epoch in numbers],
        provenance={"imported": "cartography"},
    )


def _read_epoch(file: Path, key: str) -> dict[Any, tuple[list[float], int]]:
    """The logits and the label of each guid in one file."""
    refuse_endless(file)
    records: dict[Any, tuple[list[float], int]] = {}
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = from_json(line)
                guid, label = record["guid"], record["gold"]
                values = [float(value) for value in record[key]]
                fine = isinstance(guid, int | str) and isinstance(label, int)
            except (ValueError, KeyError, TypeError):
                fine = False
            if not fine:
                raise InputError(
                    f"line {number} of {file} must be a record with guid, {key} and gold (a whole "
                    "number); write it with cartography's log_training_dynamics"
                )
            if guid in records:
                raise InputError(
                    f"line {number} of {file} repeats the guid {one_line(guid)}; remove it"
                )
            records[guid] = values, label
    if not records:
        raise InputError(f"{file} is empty; run cartography again")
    return records
