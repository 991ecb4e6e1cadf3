"""The rows of any table as labelled data: labels, then features, without what holds the label."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.errors import InputError, Problems
from dris.data.files import fingerprint_of, reading
from dris.data.findings.leaks import leaks_in
from dris.data.labelled import LabelledData, Leak, Origin
from dris.data.options import INDEX_COLUMNS, ReadOptions
from dris.data.tables.encoding import Encoded, encode
from dris.data.tables.label_columns import Labels, Place, read_labels
from dris.data.tables.rows import Rows


def read_columns(
    rows: Rows, label: str, chosen: Sequence[str], options: ReadOptions
) -> LabelledData:
    """Labels and features of the rows; all that is wrong with them in one message."""
    problems = Problems(rows.where)
    with reading(rows.where, f"{rows.format} file"):
        marks = labels_in(rows, label, options, problems)
        encoded = None
        with problems.collected():
            if not options.labels_only:
                encoded = encode(rows, chosen, options)
        problems.refuse()
        if marks is None:  # which has been refused
            raise InputError(f"{rows.where} cannot be read; check it")
        if encoded is None:
            nothing = np.zeros((rows.count, 0), dtype=np.float32)
            return labelled_rows(rows, label, options, marks, x=nothing, notes=marks.notes)
        words = _telltale_words(rows, marks, encoded)
        left_out = True
        if words:
            try:
                encoded = encode(rows, chosen, options, without=words)
            except InputError:  # nothing else to learn from
                left_out = False
        data = _drop_leaks(rows, label, options, marks, encoded)
        leaks = (Leak(name, 1.0, left_out, words=tuple(own)) for name, own in words.items())
        return replace(data, leaks=(*data.leaks, *leaks))


def labels_in(rows: Rows, label: str, options: ReadOptions, problems: Problems) -> Labels | None:
    """Labels, ids and trust of every row; None if there are problems, which are collected."""
    special = options.special(label)
    whole = pa.Table.from_batches(list(rows.batches(special))).combine_chunks()

    def column(name: str) -> tuple[Any, Place]:
        return whole.column(special.index(name)), rows.place

    written = rows.format == "csv"
    return read_labels(column, label, rows.count, options, problems, written=written)


def labelled_rows(
    rows: Rows,
    label: str,
    options: ReadOptions,
    marks: Labels,
    *,
    beside: Sequence[Path] = (),
    **more: Any,
) -> LabelledData:
    """Labelled data of the rows; `beside` are files that were read too, `more` the features."""
    more["x"].flags.writeable = False
    return LabelledData(
        labels=marks.labels,
        classes=marks.classes,
        ids=marks.ids,
        trusted=marks.trusted,
        origin=Origin(
            format=rows.format,
            files=rows.files,
            fingerprint=fingerprint_of([*rows.files, *beside]),
            label=label,
            id=options.id,
            columns=tuple(rows.schema.names),
        ),
        shown=None if rows.files else rows,
        **{"features": (), **more},
    )


def _drop_leaks(
    rows: Rows, label: str, options: ReadOptions, marks: Labels, encoded: Encoded
) -> LabelledData:
    """Labels and features as one object, without columns that repeat the label."""
    x, features = encoded.x, encoded.features
    there = np.flatnonzero(marks.labels >= 0)
    some: Any = slice(None) if len(there) == len(x) else there
    codes = {name: values[some] for name, values in encoded.codes.items()}
    given = marks.labels[some]
    leaks = leaks_in(x[some], features, codes, given, len(marks.classes), encoded.keys[some])
    if options.features is not None:
        leaks = [replace(leak, left_out=False) for leak in leaks]
    gone = {leak.column for leak in leaks if leak.left_out}
    if gone == {f.column for f in features}:  # nothing else to learn from
        leaks = [replace(leak, left_out=False) for leak in leaks]
    elif gone:
        keep = np.repeat([f.column not in gone for f in features], [f.width for f in features])
        x = keep_columns(x, keep)
        features = tuple(f for f in features if f.column not in gone)
    aside = [n for n in rows.schema.names if options.features is None and n in INDEX_COLUMNS]
    index = [f"column {name!r}" if name else "a column without a name" for name in aside]
    notes = [f"{what} is taken for an index and left out" for what in index]
    _, groups = np.unique(encoded.keys, return_inverse=True)
    return labelled_rows(
        rows,
        label,
        options,
        marks,
        x=x,
        features=features,
        notes=(*marks.notes, *encoded.notes, *notes),
        leaks=tuple(leaks),
        groups=groups,
    )


def _telltale_words(rows: Rows, marks: Labels, encoded: Encoded) -> dict[str, list[str]]:
    """Columns of texts that say the given label, each with the words that do."""
    names = [f.column for f in encoded.features if f.how in ("text", "sentence")]
    if not names:
        return {}
    from dris.data.findings.telltale import telltale_words

    labels, classes = marks.labels, len(marks.classes)
    words = {n: telltale_words(rows.column(n), labels, classes, encoded.keys) for n in names}
    return {name: own for name, own in words.items() if own}


def keep_columns(x: NDArray[np.float32], keep: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The columns that stay, moved together in the memory that x has already.

    >>> keep_columns(np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array([True, False, True]))
    array([[1., 3.],
           [4., 6.]], dtype=float32)
    """
    n, width = len(x), int(keep.sum())
    flat = x.reshape(-1)
    step = max(1, (1 << 22) // max(1, x.shape[1]))
    for begin in range(0, n, step):
        part = x[begin : begin + step][:, keep]  # a copy: what it is written over may be its own
        flat[begin * width : begin * width + part.size] = part.reshape(-1)
    return flat[: n * width].reshape(n, width)
