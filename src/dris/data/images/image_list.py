"""The list of images that stays of a folder of them: path, label and id."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dris.core.sanitize import guarded
from dris.data.tables.copies import Change, record_bytes

if TYPE_CHECKING:
    from dris.data.labelled import LabelledData


def write_images(data: "LabelledData", change: Change, path: Path) -> None:
    """A list of the kept images: path from the list's own folder, label, id, added columns."""
    files = [os.path.relpath(file, path.parent) for file in data.origin.files]
    labels = data.given() if change.labels is None else change.labels
    values = [np.array(files), labels, data.ids, *change.columns.values()]
    write_lines(path, ["path", "label", "id", *change.columns], values, change.keep)


def write_lines(
    path: Path,
    header: list[str],
    values: list[NDArray[Any]],
    keep: NDArray[np.bool_],
    *,
    guard: bool = False,
) -> None:
    """A CSV file of the rows that stay; with `guard` no cell is a formula to a spreadsheet."""

    def told(cells: list[Any]) -> list[Any]:
        return [guarded(c) if guard and isinstance(c, str) else c for c in cells]

    with path.open("xb") as out:
        out.write(record_bytes(told(header), ",") + b"\n")
        for row in np.flatnonzero(keep).tolist():
            cells = told([column[row].item() for column in values])
            out.write(record_bytes(cells, ",") + b"\n")
