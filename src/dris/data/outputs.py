"""What people take away: the data with fewer rows, more columns or other labels, or just ids."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.data.files import PathLike, expanded, listed, one_line
from dris.data.formats import BY_NAME
from dris.data.labelled import Change, LabelledData, refuse_changed
from dris.data.tables.csvfile import write_lines
from dris.data.tables.rows import Rows
from dris.data.writer import Writer

FORMAT = 1
NOTE = b"dris"  # the key of the note in the metadata


def write_data(
    data: LabelledData,
    path: PathLike,
    *,
    positions: ArrayLike | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    replaced: Mapping[str, ArrayLike] | None = None,
    labels: ArrayLike | None = None,
    unlabelled: bool | None = None,
    force: bool = False,
    writer: Writer | None = None,
) -> Path:
    """Write the data again, from its own files: same columns, same types, same order.

    Kept lines of CSV have the same bytes, Parquet the same schema and metadata; NPY gives NPZ, a
    saved Hugging Face data set Parquet, a folder of images a CSV of paths, labels and ids.

    `positions` are the examples to keep. `columns` are values to add, `replaced` marks (yes or no)
    in place of columns, `labels` other labels, 0..C-1: one for each example of the whole data. Rows
    without a label stay where no `positions` are given or `unlabelled` says so. `writer` decides in
    place of `force`, for a command that reads more.
    """
    target = expanded(path)
    if data.origin.format not in BY_NAME:
        raise InputError("the data was not read from a file; write its ids instead")
    entry = BY_NAME[data.origin.format]
    if target.suffix.lower() not in entry.written:
        usual = entry.written[0]
        raise InputError(f"{entry.name} data is written as {usual}, got {target}; name it so")
    if data.answers is not None:  # their consensus stands beside them, for no column held it
        final = data.labels if labels is None else np.asarray(labels)
        columns, labels = {data.origin.label: data.given(final), **(columns or {})}, None
    change = _change(data, positions, columns, labels, replaced)
    also = positions is None if unlabelled is None else unlabelled
    change = _over_all_rows(data, change, also)
    with (writer or Writer(force)).reading(*data.origin.files).file(target) as temporary:
        refuse_changed(data)
        entry.write(data, change, temporary)
        refuse_changed(data)
    return target


def write_ids(
    data: LabelledData,
    path: PathLike,
    *,
    positions: ArrayLike | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    force: bool = False,
    writer: Writer | None = None,
) -> Path:
    """Write the ids of the kept examples as CSV, one a line, with further columns if given."""
    name = data.origin.id or "row"
    change = _change(data, positions, columns, None, beside=(name,))
    header = [name, *change.columns]
    with (writer or Writer(force)).reading(*data.origin.files).file(path) as temporary:
        cells = [data.ids, *change.columns.values()]
        write_lines(temporary, header, cells, change.keep, guard=True)
    return expanded(path)


def _change(
    data: LabelledData,
    positions: ArrayLike | None,
    columns: Mapping[str, ArrayLike] | None,
    labels: ArrayLike | None,
    replaced: Mapping[str, ArrayLike] | None = None,
    beside: Sequence[str] | None = None,
) -> Change:
    """The change; added columns stand beside the data's own unless told."""
    keep = np.ones(len(data), dtype=np.bool_)
    if positions is not None:
        if not np.size(positions):
            raise InputError("no row would be left, so nothing is written; keep one at least")
        keep = np.isin(np.arange(len(data)), positions)
    added = {name: np.asarray(values) for name, values in (columns or {}).items()}
    taken = sorted(set(added) & set(data.origin.columns if beside is None else beside))
    if taken:
        raise InputError(f"the data has columns named {listed(taken)} already; choose other names")
    marks = {name: np.asarray(values) for name, values in (replaced or {}).items()}
    new = None if labels is None else data.given(np.asarray(labels))
    return Change(keep, added, new, marks, data.given(), data.ids)


def _over_all_rows(data: LabelledData, change: Change, also: bool) -> Change:
    """The change with an entry for every row of the file, those without a label as well."""
    aside = data.unlabelled
    if aside is None:
        return change

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        return data.of_all_rows(values, np.zeros(len(aside), values.dtype))

    return Change(
        data.of_all_rows(change.keep, np.full(len(aside), also)),
        {name: spread(values) for name, values in change.columns.items()},
        None if change.labels is None else spread(change.labels),
        {name: spread(values) for name, values in change.marks.items()},
        spread(change.given),
        data.of_all_rows(data.ids, aside.ids),
        ~spread(np.ones(len(data), np.bool_)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFile:
    """Scores of N examples by name, larger kept first, with flags, texts and a note as JSON."""

    ids: NDArray[Any]
    scores: Mapping[str, NDArray[np.float64]]
    flags: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, NDArray[np.str_]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)


def write_scores(scores: ScoreFile, path: PathLike, *, writer: Writer) -> Path:
    """Write one Parquet file, whole or not at all; the same scores give the same bytes."""
    columns = {"id": scores.ids, **scores.scores, **scores.flags, **scores.texts}
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    metadata = {NOTE: note_bytes(scores.note)}
    with writer.file(path) as temporary:
        pq.write_table(table.replace_schema_metadata(metadata), temporary, compression="zstd")
    return expanded(path)


def note_bytes(note: Mapping[str, Any]) -> bytes:
    """A note as it stands in the metadata."""
    return json.dumps({**note, "format": FORMAT}, sort_keys=True, allow_nan=False).encode()


# -- what a person is shown of an example ----------------------------------------------------------


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
    shown, entry = columns_to_show(data), BY_NAME.get(data.origin.format)
    rows: Rows | None = entry.rows(data) if entry else data.shown
    if rows is None:
        at = {name: i for i, name in enumerate(shown) if names is None or name in names}
        return {**pictures, **{name: [as_text(v) for v in x[:, i]] for name, i in at.items()}}
    if names is not None:
        shown = [name for name in names if name in rows.schema.names]
    cells: dict[str, list[str]] = {name: [""] * len(positions) for name in shown}
    begin = 0
    for batch in rows.batches(shown) if shown else ():
        inside = np.flatnonzero((positions >= begin) & (positions < begin + len(batch)))
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
    entry = BY_NAME.get(data.origin.format)
    if data.shown is None and (entry is None or entry.open is None):
        return [] if data.paths is not None or data.x.ndim > 2 else list(data.feature_names)
    images = [f.column for f in data.features if f.how == "image"]
    hidden = {data.origin.label, data.origin.id, *images}
    return [name for name in data.origin.columns if name not in hidden]


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
