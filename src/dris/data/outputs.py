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
from dris.data.files import PathLike, expanded, listed
from dris.data.formats import BY_NAME
from dris.data.labelled import Change, LabelledData, refuse_changed
from dris.data.tables.csvfile import write_lines
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

    def spread(values: NDArray[Any], beside: Any = None) -> NDArray[Any]:
        nothing = np.zeros(len(aside), values.dtype)
        return data.of_all_rows(values, nothing if beside is None else nothing + beside)

    blank = np.ones(len(aside), np.bool_)
    return Change(
        spread(change.keep, blank & also),
        {name: spread(values) for name, values in change.columns.items()},
        None if change.labels is None else spread(change.labels),
        {name: spread(values) for name, values in change.marks.items()},
        spread(change.given),
        data.of_all_rows(data.ids, aside.ids),
        spread(np.zeros(len(data), np.bool_), blank),
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
