"""What a person needs to see of an example to judge its label: its picture's path, and its row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.data.formats import BY_NAME
from dris.data.labelled import LabelledData
from dris.data.tables.encoding import Rows

MOST_COLUMNS = 8
_LONGEST = 80


def looks(
    data: LabelledData,
    positions: NDArray[np.int64],
    *,
    most: int | None = MOST_COLUMNS,
    longest: int | None = _LONGEST,
) -> dict[str, list[str]]:
    """The columns of the rows at these positions as text, learned from or not; paths of images.

    Numbers are as the file has them. Label and id are left out. `most` limits the columns and
    `longest` the characters of a cell, None neither. Of more columns than `most`, text comes
    first: it says most. Arrays without columns of their own show what is learned from.

    >>> data = LabelledData.of(np.array([[1.5, 2], [3, 4]]), [0, 1], classes=("a", "b"))
    >>> looks(data, np.array([1, 0]))
    {'x[0]': ['3', '1.5'], 'x[1]': ['4', '2']}
    """
    pictures = {} if data.paths is None else {"path": data.paths[positions].tolist()}
    rows = rows_of(data)
    if rows is None:
        if pictures or not data.x.shape[1]:
            return pictures
        flat = data.x.reshape(len(data), -1)[positions, :most]
        names = data.feature_names[:most]
        columns = {n: [as_text(v) for v in flat[:, i].tolist()] for i, n in enumerate(names)}
        return {**pictures, **columns}
    shown = _shown(rows, data, most)
    found: dict[str, list[str]] = {name: [""] * len(positions) for name in shown}
    order = np.argsort(positions, kind="stable")
    begin = 0
    for batch in rows.batches(shown) if shown else ():
        inside = slice(*np.searchsorted(positions[order], (begin, begin + len(batch))))
        for place in order[inside].tolist():
            for name, column in zip(shown, batch.columns, strict=True):
                value = column[int(positions[place]) - begin].as_py()
                found[name][place] = as_text(value, longest)
        begin += len(batch)
    return {**pictures, **found}


def rows_of(data: LabelledData) -> Rows | None:
    """The table that the data came from, opened again; None where it has no columns to show."""
    if data.shown is not None:
        shown: Rows = data.shown
        return shown
    entry = BY_NAME.get(data.origin.format)
    return None if entry is None else entry.rows(data)


def _shown(rows: Rows, data: LabelledData, most: int | None) -> list[str]:
    """The columns to show: in the order of the file, and when they are too many text first."""
    special = (data.origin.label, data.origin.id)
    hidden = {f.column for f in data.features if f.how == "image"}
    names = [n for n in rows.schema.names if n not in special and n not in hidden]
    if most is None or len(names) <= most:
        return names
    written = {f.column for f in data.features if f.how in ("text", "sentence")}
    return sorted(names, key=lambda n: n not in written)[:most]


def as_text(value: Any, longest: int | None = _LONGEST) -> str:
    """A value as a person reads it: whole numbers whole, decimals with the digits that they need.

    >>> as_text(123456789.0), as_text(0.1), as_text([1.0, 2.0, 3.0, 4.0]), as_text(None)
    ('123456789', '0.1', '[1, 2, 3, …] (4 values)', '')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.9g}"
    if isinstance(value, list):
        first = ", ".join(as_text(v) for v in value[:3])
        return f"[{first}, …] ({len(value)} values)" if len(value) > 3 else f"[{first}]"
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    text = str(value)
    return text if longest is None or len(text) <= longest else text[: longest - 1] + "…"
