"""Training records: what `Dynamics.save` wrote, loss matrices, cartography, the aum package."""

import csv
from collections.abc import Iterator, Sequence
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
from dris.data.interchange.scorefile import ScoreFile
from dris.data.tables.csvfile import open_csv
from dris.data.tables.label_columns import ids_of, typed_text
from dris.data.tables.numpy_files import Stored, stored_npy, stored_npz
from dris.data.tables.rows import Rows

_EPOCHS = "dynamics_epoch_*.jsonl"
_AUM = ("sample_id", "aum")


def import_records(paths: PathLike | Sequence[PathLike]) -> Dynamics | ScoreFile:
    """Read dynamics that were recorded elsewhere, or the score where only that is kept.

    What `Dynamics.save` wrote comes back as it was. A loss matrix (.npy, .npz with the array "loss"
    and maybe "ids", .csv) gives `Dynamics` of K proxies; a folder of `dynamics_epoch_*.jsonl` gives
    those of one proxy, and several folders are joined by their ids; `aum_values.csv` gives a
    `ScoreFile` with the score "aum".
    """
    found = [_one(path) for path in files_of(paths)]
    if len(found) == 1:
        return found[0]
    parts = [one for one in found if isinstance(one, Dynamics)]
    if len(parts) < len(found):
        raise InputError("AUM values are a score already and cannot be joined; name one file")
    return Dynamics.merge(parts)


def _one(path: Path) -> Dynamics | ScoreFile:
    with reading(path, "record of training dynamics"):
        if path.is_dir():
            return _cartography(path)
        if path.suffix == ".npy":
            return _from_array(stored_npy(path), None)
        if path.suffix == ".npz":
            arrays = stored_npz(path)
            if "loss" not in arrays:
                raise InputError(
                    f"{path} has no array named loss; its arrays are {listed(list(arrays))}"
                )
            return _from_array(arrays["loss"], arrays.get("ids"))
        if path.suffix == ".csv":
            return _from_csv(path)
        if _is_saved(path):
            return Dynamics.load(path)
    raise InputError(
        f"{path} is no record that can be imported; those are what Dynamics.save wrote, "
        f"aum_values.csv, a folder of {_EPOCHS}, and a loss matrix as .npy, .npz or .csv"
    )


def _is_saved(path: Path) -> bool:
    """Whether a file begins like one of `Dynamics.save`, whatever its name: a size, then JSON."""
    with path.open("rb") as file:
        start = file.read(9)
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < path.stat().st_size


def _from_array(loss: Stored, ids: Stored | None) -> Dynamics:
    values = loss.whole()
    names = None if ids is None else ids.whole()
    return _dynamics(values, names, loss.path)


def _dynamics(loss: NDArray[Any], ids: Any, path: Path) -> Dynamics:
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


def _from_csv(path: Path) -> Dynamics | ScoreFile:
    """AUM values, losses with a header and a line per example, or bare losses, a line per proxy."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = next(csv.reader(file), [])
    if all(map(_is_number, first)) and first:
        return _dynamics(np.array(list(_bare(path, len(first)))), None, path)
    if tuple(first) == _AUM:
        ids, values = _by_example(path, "sample_id")
        return ScoreFile(ids, {"aum": values["aum"]}, note={"imported": "aum_values"})
    ids, values = _by_example(path, "id" if "id" in first else None)
    return _dynamics(np.stack(list(values.values())), ids, path)


def _by_example(path: Path, id: str | None) -> tuple[Any, dict[str, NDArray[np.float64]]]:
    rows = open_csv([path], as_text=[] if id is None else [id])
    proxies = [name for name in rows.schema.names if name != id]
    words = [name for name in proxies if not pa.types.is_floating(rows.schema.field(name).type)]
    if words or not proxies:
        where = f" ({rows.place(_first_word(rows, words[0]))})" if words else ""
        raise InputError(
            f"{path} must hold numbers besides its id column{where}; its columns are "
            f"{listed(rows.schema.names)}"
        )
    whole: dict[str, NDArray[np.float64]] = {}
    for name in proxies:
        parts = [batch.column(0) for batch in rows.batches([name])]
        whole[name] = np.concatenate([part.to_numpy(zero_copy_only=False) for part in parts])
        bad_rows = np.flatnonzero(~np.isfinite(whole[name]))
        if bad_rows.size:
            raise InputError(
                f"column {one_line(name)!r} has no finite number in {rows.place(int(bad_rows[0]))};"
                " correct it or remove the row"
            )
    if id is None:
        return None, whole
    return ids_of(typed_text(rows.column(id)), id, rows.place), whole


def _first_word(rows: Rows, name: str) -> int:
    """The first row of a column that is no number."""
    cells = rows.column(name).to_pylist()
    return next((i for i, cell in enumerate(cells) if not _is_number(str(cell))), 0)


def _bare(path: Path, width: int) -> Iterator[NDArray[np.float64]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, cells in enumerate(csv.reader(file), start=1):
            if cells and (len(cells) != width or not all(map(_is_number, cells))):
                raise InputError(
                    f"line {number} of {path} must be {width} numbers as the first line is"
                )
            if cells:
                yield np.array(cells, dtype=np.float64)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _cartography(folder: Path) -> Dynamics:
    """Logits of one proxy, an epoch per file; epoch i was recorded during pass i + 1."""
    inner = folder / "training_dynamics"
    files = in_order(list((inner if inner.is_dir() else folder).glob(_EPOCHS)))
    if not files:
        raise InputError(f"{folder} holds no {_EPOCHS}; name the folder that cartography filled")
    epochs = [int(file.stem.rpartition("_")[2]) for file in files]
    ids: list[Any] = []
    gold: list[int] = []
    logits: NDArray[np.float64] | None = None
    for e, (file, epoch) in enumerate(zip(files, epochs, strict=True)):
        here: dict[Any, tuple[list[float], int]] = {}
        for number, guid, values, label in _epoch(file, f"logits_epoch_{epoch}"):
            if guid in here:
                raise InputError(
                    f"line {number} of {file} repeats the guid {one_line(guid)}; remove it"
                )
            here[guid] = values, label
        if logits is None:
            ids = list(here)
            gold = [here[guid][1] for guid in ids]
            width = max((len(values) for values, _ in here.values()), default=0)
            logits = np.empty((1, len(files), len(ids), width))
        if here.keys() != set(ids) or any(here[g][1] != y for g, y in zip(ids, gold, strict=True)):
            raise InputError(
                f"{file} has other examples or labels than {files[0]}; all epochs need the same"
            )
        for i, guid in enumerate(ids):
            values = here[guid][0]
            if len(values) != logits.shape[-1]:
                raise InputError(
                    f"{file} gives {len(values)} logits for {one_line(guid)}, others have "
                    f"{logits.shape[-1]}; record every class"
                )
            logits[0, e, i] = values
    if logits is None or not ids:
        raise InputError(f"{files[0]} is empty; run cartography again")
    return Dynamics.from_logits(
        logits,
        np.array(gold),
        ids=np.array(ids),
        epochs=[epoch + 1 for epoch in epochs],
        provenance={"imported": "cartography"},
    )


def _epoch(file: Path, key: str) -> Iterator[tuple[int, Any, list[float], int]]:
    refuse_endless(file)
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = from_json(line)
                guid, values, label = record["guid"], record[key], record["gold"]
                fine = isinstance(guid, int | str) and isinstance(label, int)
                numbers = [float(v) for v in values]
            except (ValueError, KeyError, TypeError):
                fine = False
            if not fine:
                raise InputError(
                    f"line {number} of {file} must be a record with guid, {key} and gold (a whole "
                    "number); write it with cartography's log_training_dynamics"
                )
            yield number, guid, numbers, label
