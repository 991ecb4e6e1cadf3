"""What a person needs to see of an example to judge its label: its picture's path, or its row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.data.labelled import LabelledData
from dris.data.tables.csvfile import open_csv
from dris.data.tables.encoding import Rows
from dris.data.tables.saved_dataset import open_saved
from dris.data.tables.stream import open_parquet

MOST_COLUMNS = 8
_LONGEST = 80


def looks(
    data: LabelledData, positions: NDArray[np.int64], *, most: int = MOST_COLUMNS
) -> dict[str, list[str]]:
    """The first columns of the rows at these positions, as text; the paths of images.

    Label and id are left out. Arrays without columns of their own show what is learned from.

    >>> data = LabelledData.of(np.array([[1.5, 2], [3, 4]]), [0, 1], classes=("a", "b"))
    >>> looks(data, np.array([1, 0]))
    {'x[0]': ['3', '1.5'], 'x[1]': ['4', '2']}
    """
    if data.paths is not None:
        return {"path": data.paths[positions].tolist()}
    rows = _rows(data)
    if rows is None:
        flat = data.x.reshape(len(data), -1)[positions, :most]
        names = data.feature_names[:most]
        return {name: [_text(v) for v in flat[:, i].tolist()] for i, name in enumerate(names)}
    special = (data.origin.label, data.origin.id)
    shown = [name for name in rows.schema.names if name not in special][:most]
    found: dict[str, list[str]] = {name: [""] * len(positions) for name in shown}
    order = np.argsort(positions, kind="stable")
    begin = 0
    for batch in rows.batches(shown) if shown else ():
        inside = slice(*np.searchsorted(positions[order], (begin, begin + len(batch))))
        for place in order[inside].tolist():
            for name, column in zip(shown, batch.columns, strict=True):
                found[name][place] = _text(column[int(positions[place]) - begin].as_py())
        begin += len(batch)
    return found


def _rows(data: LabelledData) -> Rows | None:
    files = data.origin.files
    if data.origin.format == "csv":
        return open_csv(files, as_text=data.origin.columns)
    if data.origin.format == "parquet":
        return open_parquet(files)
    return open_saved(files[0].parent) if data.origin.format == "huggingface" else None


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        first = ", ".join(_text(v) for v in value[:3])
        return f"[{first}{', …' if len(value) > 3 else ''}]"
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
