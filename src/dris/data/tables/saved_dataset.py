"""A Hugging Face data set as `save_to_disk` leaves it: Arrow files, read without their library."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dris.core.errors import InputError
from dris.core.sanitize import from_json
from dris.data.files import listed, reading
from dris.data.labelled import LabelledData

STATE, INFO, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
_BATCH = 1 << 14


def is_saved_dataset(folder: Path) -> bool:
    """Whether a folder is a saved data set, or a saved dictionary of them."""
    return (folder / STATE).is_file() or (folder / SPLITS).is_file()


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """The rows of a saved data set, mapped from disk; `names` are those of its ClassLabels."""

    files: tuple[Path, ...]
    table: Any
    indices: Any
    names: dict[str, tuple[str, ...]]
    format: str = "huggingface"

    @property
    def schema(self) -> Any:
        """The Arrow schema of all columns."""
        return self.table.schema

    @property
    def count(self) -> int:
        """N, after a selection that the data set was saved with."""
        return len(self.table if self.indices is None else self.indices)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with the named columns, in order."""
        table = self.table.select(list(columns))
        for begin in range(0, self.count, _BATCH):
            if self.indices is None:
                part = table.slice(begin, _BATCH)
            else:
                part = table.take(self.indices[begin : begin + _BATCH])
            yield from part.combine_chunks().to_batches()

    def place(self, row: int) -> str:
        """The row in the data set; the first is row 0."""
        return f"row {row} (the first is 0) of {self.files[0].parent}"


def open_saved(folder: Path) -> ArrowRows:
    """Map the Arrow files that the data set's state names, in its order."""
    if not (folder / STATE).is_file():
        with reading(folder / SPLITS, "JSON file"):
            splits = from_json((folder / SPLITS).read_text(encoding="utf-8"))["splits"]
        raise InputError(
            f"{folder} holds the splits {listed(splits)}; name one of them, as {folder}/{splits[0]}"
        )
    with reading(folder, "data set that save_to_disk wrote"):
        state = from_json((folder / STATE).read_text(encoding="utf-8"))
        files = tuple(_inside(folder, entry) for entry in state["_data_files"])
        chosen = state.get("_indices_data_files") or []
        indices = [_arrow(_inside(folder, entry)).column(0) for entry in chosen]
        table = pa.concat_tables([_arrow(path) for path in files])
        picked = None
        if indices:
            picked = np.concatenate([column.to_numpy() for column in indices]).astype(np.int64)
            if picked.size and not 0 <= picked.min() <= picked.max() < len(table):
                raise InputError(f"{folder} selects rows that it does not hold; save it again")
        rows = ArrowRows(files, table, picked, _class_names(folder))
    if not rows.count:
        raise InputError(f"{folder} has no rows; at least two are needed")
    return rows


def _inside(folder: Path, entry: Any) -> Path:
    """A file that the state names, which must lie in the folder itself."""
    name = entry["filename"]
    if Path(name).name != name:
        raise InputError(
            f"{folder / STATE} names {name!r}, which is not in its folder; save it again"
        )
    return folder / str(name)


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


def with_names(data: LabelledData, names: Sequence[str]) -> LabelledData:
    """The data with its whole-number labels called by names, as Hugging Face's ClassLabel does."""
    if data.classes[0] == -1 and len(data.classes) > 2:  # Hugging Face's way to say: no label
        data = replace(data, labels=data.labels - 1, classes=data.classes[1:])
        data = replace(data, labels=np.maximum(data.labels, -1), names=())
    wrong = next((c for c in data.classes if not isinstance(c, int) or c >= len(names)), None)
    if wrong is not None or min(map(int, data.classes)) < 0:
        raise InputError(
            f"{data.origin.files[0]} has names for the labels 0..{len(names) - 1} and a label "
            f"{min(data.classes) if wrong is None else wrong}; remove unlabelled rows"
        )
    return replace(data, names=tuple(names[int(c)] for c in data.classes))
