"""What a person is shown of an example to judge its label: its picture's path, and its row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.data.files import listed, one_line
from dris.data.formats import BY_NAME
from dris.data.labelled import LabelledData, refuse_changed
from dris.data.tables.rows import Rows


def show_rows(
    data: LabelledData, positions: NDArray[np.int64], names: Sequence[str] | None = None
) -> dict[str, list[str]]:
    """The columns of the examples at these positions as text, learned from or not; paths of images.

    Numbers are as the file has them. `names` are the columns to show, by default all but label and
    id. Arrays show what is learned from, but no pixels.

    >>> data = LabelledData.of(np.array([[1.5, 2], [3, 4]]), [0, 1], classes=("a", "b"))
    >>> show_rows(data, np.array([1, 0]))
    {'x[0]': ['3', '1.5'], 'x[1]': ['4', '2']}
    """
    paths = None if data.paths is None else data.paths[positions]
    return _show(data, data.rows[positions], data.x[positions], paths, names)


def show_unlabelled(data: LabelledData, names: Sequence[str] | None = None) -> dict[str, list[str]]:
    """The same of the rows without a label."""
    aside = data.unlabelled
    return {} if aside is None else _show(data, aside.rows, aside.x, aside.paths, names)


def _show(
    data: LabelledData,
    positions: NDArray[np.int64],
    x: NDArray[Any],
    paths: NDArray[np.str_] | None,
    names: Sequence[str] | None,
) -> dict[str, list[str]]:
    """What stands in some rows of the source."""
    pictures = {} if paths is None else {"path": paths.tolist()}
    rows = _table_of(data)
    shown = _columns(rows, data)
    if rows is None:
        at = {name: i for i, name in enumerate(shown) if names is None or name in names}
        return {**pictures, **{name: [as_text(v) for v in x[:, i]] for name, i in at.items()}}
    if names is not None:
        shown = [name for name in names if name in rows.schema.names]
    cells: dict[str, list[str]] = {name: [""] * len(positions) for name in shown}
    order = np.argsort(positions, kind="stable")
    begin = 0
    for batch in rows.batches(shown) if shown else ():
        inside = order[slice(*np.searchsorted(positions[order], (begin, begin + len(batch))))]
        for name, column in zip(shown, batch.columns, strict=True):
            narrow = pa.types.is_float32(column.type) or pa.types.is_float16(column.type)
            for place in inside.tolist():
                value = column[int(positions[place]) - begin].as_py()
                if narrow and value is not None:  # 0.1, not the 0.10000000149011612 behind it
                    value = np.float32(value)
                cells[name][place] = as_text(value)
        begin += len(batch)
    if data.shown is None and paths is None:
        refuse_changed(data)  # or the rows are those of another file
    return {**pictures, **cells}


def columns_to_show(data: LabelledData) -> list[str]:
    """Every column but label, id and pictures, in the order of the file."""
    return _columns(_table_of(data), data)


def _columns(rows: Rows | None, data: LabelledData) -> list[str]:
    if rows is None:
        return [] if data.paths is not None or data.x.ndim > 2 else list(data.feature_names)
    hidden = {data.origin.label, *(f.column for f in data.features if f.how == "image")}
    return [name for name in rows.schema.names if name not in hidden and name != data.origin.id]


def check_columns(data: LabelledData, names: Sequence[str]) -> list[str]:
    """The columns that are named, or with "all" every one; refuse those that are not there."""
    there = columns_to_show(data)
    if list(names) == ["all"] and "all" not in there:
        return there
    unknown = [name for name in names if name not in there]
    if unknown:
        raise InputError(
            f"there is no column {one_line(repr(unknown[0]))} to show; there are {listed(there)}"
        )
    return list(names)


def _table_of(data: LabelledData) -> Rows | None:
    """The table that the data came from, opened again; None where it has no columns to show."""
    entry = BY_NAME.get(data.origin.format)
    rows: Rows | None = entry.rows(data) if entry else data.shown
    return rows


def as_text(value: Any, longest: int | None = None) -> str:
    """A value as a person reads it: whole numbers whole, decimals with the digits that they need.

    >>> as_text(123456789.0), as_text(0.1), as_text([1.0, 2.0, 3.0, 4.0]), as_text(None)
    ('123456789', '0.1', '[1, 2, 3, …] (4 values)', '')
    """
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        whole = float(value).is_integer() and abs(float(value)) < 1e15
        return str(int(value)) if whole else str(value)
    if isinstance(value, list | tuple | np.ndarray):
        first = ", ".join(as_text(v) for v in value[:3])
        return f"[{first}, …] ({len(value):,} values)" if len(value) > 3 else f"[{first}]"
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    text = str(value)
    return text if longest is None or len(text) <= longest else text[: longest - 1] + "…"
