"""A Hugging Face data set as `save_to_disk` leaves it: Arrow files, read without their library."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dris.core.errors import InputError
from dris.core.sanitize import from_json
from dris.data.files import listed, reading
from dris.data.labelled import Change, LabelledData
from dris.data.tables.parquet import write_rows
from dris.data.tables.rows import Rows

STATE, INFO, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
_BATCH = 1 << 14
_KIND = "data set that save_to_disk wrote"


def is_saved_dataset(folder: Path) -> bool:
    """True if a folder is a saved data set, or a saved dictionary of them."""
    return (folder / STATE).is_file() or (folder / SPLITS).is_file()


def saved_files(folder: Path) -> tuple[Path, ...]:
    """The Arrow files of a saved data set, and those that say which of their rows it has."""
    if not (folder / STATE).is_file():
        with reading(folder / SPLITS, "JSON file"):
            splits = from_json((folder / SPLITS).read_text(encoding="utf-8"))["splits"]
        raise InputError(
            f"{folder} holds the splits {listed(splits)}; name one of them, as {folder}/{splits[0]}"
        )
    with reading(folder, _KIND):
        state = from_json((folder / STATE).read_text(encoding="utf-8"))
        held = [*state["_data_files"], *(state.get("_indices_data_files") or [])]
        names = [str(entry["filename"]) for entry in held]
    if odd := [name for name in names if Path(name).name != name]:
        raise InputError(
            f"{folder / STATE} names {odd[0]!r}, which is not in its folder; save it again"
        )
    return tuple(folder / name for name in names)


def open_saved(files: Sequence[Path], *, as_text: Sequence[str] = ()) -> Rows:
    """The rows, or a selection of them, of the Arrow files of a state, mapped from disk."""
    folder = files[0].parent
    with reading(folder, _KIND):
        state = from_json((folder / STATE).read_text(encoding="utf-8"))
        parts = len(state["_data_files"])
        table = pa.concat_tables([_arrow(path) for path in files[:parts]])
        picked = None
        if files[parts:]:
            columns = [_arrow(path).column(0).to_numpy() for path in files[parts:]]
            picked = np.concatenate(columns).astype(np.int64)
            if picked.size and not 0 <= picked.min() <= picked.max() < len(table):
                raise InputError(f"{folder} selects rows that it does not hold; save it again")
        names = _class_names(folder)
    count = len(table if picked is None else picked)

    def batches(columns: Sequence[str]) -> Iterator[Any]:
        some = table.select(list(columns))
        for begin in range(0, count, _BATCH):
            part = some.slice(begin, _BATCH)
            if picked is not None:
                part = some.take(picked[begin : begin + _BATCH])
            yield from part.combine_chunks().to_batches()

    return Rows(
        table.schema,
        (count,),
        batches,
        tuple(files),
        format="huggingface",
        class_names=names,
        locate=lambda _, row: f"row {row} (the first is 0) of {folder}",
    )


def write_saved(data: LabelledData, change: Change, path: Path) -> None:
    """Write kept rows as one Parquet file, which `load_dataset` reads."""
    write_rows(open_saved(data.origin.files), data, change, path, "snappy")


def _arrow(path: Path) -> Any:
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_stream(source).read_all()
    # Arrow believes what a file says of where its words begin and end, and dies of what is wrong.
    table.validate(full=True)
    return table


def _class_names(folder: Path) -> dict[str, tuple[str, ...]]:
    info = folder / INFO
    if not info.is_file():
        return {}
    features = from_json(info.read_text(encoding="utf-8")).get("features") or {}
    return {
        column: tuple(map(str, about["names"]))
        for column, about in features.items()
        if isinstance(about, dict) and about.get("_type") == "ClassLabel" and about.get("names")
    }


def name_classes(data: LabelledData, names: Sequence[str]) -> LabelledData:
    """The data with its whole-number labels called by names, as Hugging Face's ClassLabel does."""
    if data.classes[0] == -1 and len(data.classes) > 2:  # Hugging Face's way to say: no label
        labels = np.maximum(data.labels - 1, -1)
        data = replace(data, labels=labels, classes=data.classes[1:], names=())
    wrong = next((c for c in data.classes if not isinstance(c, int) or c >= len(names)), None)
    if wrong is not None or min(map(int, data.classes)) < 0:
        raise InputError(
            f"{data.origin.files[0]} has names for the labels 0..{len(names) - 1} and a label "
            f"{min(data.classes) if wrong is None else wrong}; remove unlabelled rows"
        )
    return replace(data, names=tuple(names[int(c)] for c in data.classes))
