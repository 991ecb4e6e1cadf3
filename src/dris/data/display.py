"""What a person needs to see of an example to judge its label: its picture's path, and its row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.data.files import listed, one_line
from dris.data.formats import BY_NAME
from dris.data.labelled import LabelledData
from dris.data.tables.rows import Rows


def looks(
    data: LabelledData,
    positions: NDArray[np.int64],
    names: Sequence[str] | None = None,
    *,
    longest: int | None = None,
) -> dict[str, list[str]]:
    """The columns of the rows at these positions as text, learned from or not; paths of images.

    Numbers are as the file has them, text is whole. Label and id are left out. `names` are the
    columns to show, all of them when not given; `longest` limits the characters of a cell. Arrays
    without columns of their own show what is learned from; pixels are shown by no numbers.

    >>> data = LabelledData.of(np.array([[1.5, 2], [3, 4]]), [0, 1], classes=("a", "b"))
    >>> looks(data, np.array([1, 0]))
    {'x[0]': ['3', '1.5'], 'x[1]': ['4', '2']}
    >>> looks(data, np.array([1]), ["x[1]"])
    {'x[1]': ['4']}
    """
    paths = None if data.paths is None else data.paths[positions]
    return _looked(data, data.rows[positions], data.x[positions], paths, names, longest)


def unlabelled_looks(
    data: LabelledData, names: Sequence[str] | None = None, *, longest: int | None = None
) -> dict[str, list[str]]:
    """The same of the rows without a label.

    >>> unlabelled_looks(LabelledData.of(np.eye(2), [0, 1], classes=("a", "b")))
    {}
    """
    aside = data.unlabelled
    if aside is None:
        return {}
    return _looked(data, aside.rows, aside.x, aside.paths, names, longest)


def _looked(
    data: LabelledData,
    positions: NDArray[np.int64],
    x: NDArray[Any],
    paths: NDArray[np.str_] | None,
    names: Sequence[str] | None,
    longest: int | None,
) -> dict[str, list[str]]:
    """What stands in some rows of the source."""
    pictures = {} if paths is None else {"path": paths.tolist()}
    rows = rows_of(data)
    if rows is None:
        if pictures or data.x.ndim > 2:
            return pictures
        wanted = None if names is None else set(names)
        learned = enumerate(data.feature_names)
        chosen = [(i, name) for i, name in learned if wanted is None or name in wanted]
        return {name: [as_text(v) for v in x[:, i]] for i, name in chosen}
    shown = _names(rows, data) if names is None else [n for n in names if n in rows.schema.names]
    found: dict[str, list[str]] = {name: [""] * len(positions) for name in shown}
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
                found[name][place] = as_text(value, longest)
        begin += len(batch)
    return {**pictures, **found}


def columns_to_show(data: LabelledData) -> list[str]:
    """Every column that `looks` can show, in the order of the file.

    >>> columns_to_show(LabelledData.of(np.eye(2), [0, 1], classes=("a", "b")))
    ['x[0]', 'x[1]']
    """
    rows = rows_of(data)
    if rows is None:
        return [] if data.paths is not None or data.x.ndim > 2 else list(data.feature_names)
    return _names(rows, data)


def named_columns(data: LabelledData, names: Sequence[str]) -> list[str]:
    """The columns that are named, or with "all" every one; refused are those that are not there.

    >>> named_columns(LabelledData.of(np.eye(2), [0, 1], classes=("a", "b")), ["all"])
    ['x[0]', 'x[1]']
    """
    there = columns_to_show(data)
    if list(names) == ["all"] and "all" not in there:
        return there
    unknown = [name for name in names if name not in there]
    if unknown:
        raise InputError(
            f"there is no column {one_line(repr(unknown[0]))} to show; there are {listed(there)}"
        )
    return list(names)


def rows_of(data: LabelledData) -> Rows | None:
    """The table that the data came from, opened again; None where it has no columns to show."""
    if data.shown is not None:
        shown: Rows = data.shown
        return shown
    entry = BY_NAME.get(data.origin.format)
    return None if entry is None else entry.rows(data)


def _names(rows: Rows, data: LabelledData) -> list[str]:
    """All columns but label, id and pictures, in the order of the file."""
    special = (data.origin.label, data.origin.id)
    hidden = {f.column for f in data.features if f.how == "image"}
    return [n for n in rows.schema.names if n not in special and n not in hidden]


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
