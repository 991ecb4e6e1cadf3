"""Labels that several people gave: a column for each of them, or a file of id, annotator, label."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.noise.annotators import Answers
from dris.data.files import listed, one_line
from dris.data.labelled import Value
from dris.data.tables.csvfile import open_csv
from dris.data.tables.parquet import open_parquet
from dris.data.tables.rows import is_number, plain

Place = Callable[[int], str]  # where a row stands, in words: "line 7 of a.csv"
# From cells, what to call them and where they stand: codes, -1 where there is none, and classes.
Read = Callable[[Any, str, Place], tuple[NDArray[np.int64], tuple[Value, ...]]]


def answers_in_columns(
    columns: Mapping[str, Any], place: Place, read: Read
) -> tuple[Answers, tuple[Value, ...]]:
    """The answers of people who have a column each, and the classes; an empty cell is none."""
    cells = [plain(column) for column in columns.values()]
    kinds = {column.type for column in cells if column.null_count < len(column)}
    if len(kinds) > 1:  # pandas makes decimal numbers of whole ones with gaps
        kinds = {pa.float64() if all(map(is_number, kinds)) else pa.large_string()}
    kind = kinds.pop() if kinds else pa.large_string()
    n, names = len(cells[0]), tuple(columns)
    whole = pa.concat_arrays([column.cast(kind) for column in cells])
    codes, classes = read(whole, listed(list(names), 4), lambda at: place(at % n))
    return Answers.of_table(codes.reshape(len(names), n).T, names), classes


def answers_in_file(path: Path, ids: NDArray[Any], read: Read) -> tuple[Answers, tuple[Value, ...]]:
    """The answers in a file, joined to the rows by their ids; those on other rows are refused."""
    opened = open_parquet if path.suffix.lower() in (".parquet", ".pq") else open_csv
    rows = opened([path])
    names = rows.schema.names
    if len(names) != 3:
        raise InputError(
            f"{path} has the columns {listed(names)}; a file of `annotators` has three: the id of "
            "the row, who answered, the label"
        )
    of, who, label = (rows.column(name) for name in names)
    known = pa.array([str(one) for one in ids.tolist()])
    row = pc.index_in(of.cast(pa.string()), value_set=known)
    stray = pc.index(row.is_null(), True).as_py()
    if stray >= 0:
        raise InputError(
            f"{rows.place(stray)} answers for id {one_line(str(of[stray]))!r}, which the data does "
            "not have; name the data's column of the same ids with `id`"
        )
    codes, classes = read(label, names[2], rows.place)
    people = pc.dictionary_encode(pc.fill_null(who.cast(pa.string()), "(nobody)"))
    at, annotator = row.to_numpy(), people.indices.to_numpy()
    order = np.lexsort((annotator, at))
    order = order[codes[order] >= 0]
    held = (at[order].astype(np.int64), annotator[order].astype(np.int64), codes[order])
    return Answers(*held, tuple(people.dictionary.to_pylist()), len(ids)), classes
