"""Losses of more examples than fit into memory: Parquet shards, read and written a piece at a time.

A shard holds ids (else rows are numbered through all shards) and the losses of K proxies: columns
loss_0, loss_1, ..., or one column of vectors with K elements.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.files import temporary_for
from dris.core.validate import first_not_finite
from dris.data.files import PathLike, files_of, in_order, listed, one_line, reading, writing
from dris.data.outputs import NOTE, note_bytes
from dris.data.tables.parquet import open_parquet, parquet_file
from dris.data.tables.rows import bad_column, is_text_id, is_vector, plain, whole_ids

ROWS = 1 << 19  # at once
VECTORS = "losses"  # a column of vectors is called so unless said otherwise


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a set."""

    path: Path
    rows: int
    first: int  # the position of its first example among those of all shards
    id: str | None  # the column of ids; None when examples are called by their positions
    columns: tuple[str, ...]  # the loss of each proxy, or one column of vectors
    proxies: int
    kind: str  # "float32" or "float64", what the losses are ranked as
    words: bool  # whether ids are text

    @property
    def pieces(self) -> int:
        """In how many pieces it is read."""
        return -(-self.rows // ROWS)

    @property
    def id_type(self) -> Any:
        """How Arrow keeps the ids."""
        return pa.large_string() if self.words else pa.int64()

    def losses(self) -> Iterator[NDArray[np.floating]]:
        """The losses alone, (K, n) at a time."""
        for _, losses in self._batches(self.columns):
            yield losses

    def named_losses(self) -> Iterator[tuple[Any, NDArray[np.floating]]]:
        """The ids, as an Arrow array, and the losses, (K, n) at a time."""
        names = self.columns if self.id is None else (self.id, *self.columns)
        yield from self._batches(names)

    def _batches(self, names: Sequence[str]) -> Iterator[tuple[Any, NDArray[np.floating]]]:
        begin = 0
        with reading(self.path, "Parquet file"), parquet_file(self.path) as file:
            for batch in file.iter_batches(ROWS, columns=list(names), use_threads=False):
                if self.id is not None and self.id in names:
                    ids = _ids(batch.column(self.id), self.id, self.path, begin)
                else:
                    ids = pa.array(self.first + begin + np.arange(len(batch)))
                yield ids, self._losses_of(batch, begin)
                begin += len(batch)

    def _losses_of(self, batch: Any, begin: int) -> NDArray[np.floating]:
        if len(self.columns) < self.proxies:
            rows = _vectors(batch.column(self.columns[0]), self.proxies, self.path, begin)
            losses = np.array(rows.T, dtype=self.kind, order="C")
        else:
            losses = np.empty((self.proxies, len(batch)), dtype=self.kind)
            for row, name in zip(losses, self.columns, strict=True):
                row[:] = _numbers(batch.column(name), name, self.path, begin)
        for k, row in enumerate(losses):
            bad = first_not_finite(row)
            if bad is not None:
                raise InputError(
                    f"losses must be finite, got {row[bad]} for proxy {k} in "
                    f"{_place(self.path, begin + bad)}; drop that proxy or mend its training"
                )
        return losses


def open_shards(
    paths: PathLike | Sequence[PathLike], *, id: str | None = None, losses: Sequence[str] = ()
) -> tuple[Shard, ...]:
    """Open the shards, of one schema: files, patterns such as "part-*.parquet", or a folder.

    `id` is the column "id" by default; `losses` are loss_0, loss_1, ... or the vectors "losses".
    """
    files = files_of(paths)
    if len(files) == 1 and files[0].is_dir():
        files = tuple(in_order([*files[0].glob("*.parquet"), *files[0].glob("*.pq")]))
        if not files:
            raise InputError(f"{paths} holds no Parquet files; name the shards")
    table = open_parquet(files)
    names = table.schema.names
    columns = tuple(losses) or _loss_columns(names, files[0])
    for name in (*columns, *([] if id is None else [id])):
        if name not in names:
            raise InputError(
                f"{files[0]} has no column {one_line(name)!r}; its columns are {listed(names)}"
            )
    types = [table.schema.field(name).type for name in columns]
    proxies = len(columns)
    if len(columns) == 1 and is_vector(types[0]):
        proxies, types = _width(files, columns[0]), [types[0].value_type]
    for name, kind in zip(columns, types, strict=False):
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise bad_column(name, f"holds {one_line(kind)}, not losses")
    if proxies < 2:
        raise InputError(
            f"rank variance needs at least 2 proxies, got {listed(columns)}: with one proxy it is "
            "zero everywhere; name the others with `losses`"
        )
    single = all(pa.types.is_float32(kind) or pa.types.is_float16(kind) for kind in types)
    firsts = np.cumsum([0, *table.counts]).tolist()
    name_of = id or ("id" if "id" in names else None)
    words = name_of is not None and is_text_id(table.schema.field(name_of).type, name_of)
    kind = "float32" if single else "float64"
    return tuple(
        Shard(path, rows, first, name_of, columns, proxies, kind, words)
        for path, rows, first in zip(table.files, table.counts, firsts, strict=False)
    )


def write_shard(
    path: Path,
    pieces: Iterable[Mapping[str, Any]],
    types: Mapping[str, Any],
    note: Mapping[str, Any],
) -> Path:
    """Write one shard of scores piece by piece into scratch space, whole or not at all."""
    schema = pa.schema(dict(types), metadata={NOTE: note_bytes(note)})
    temporary = temporary_for(path)
    with writing(path):
        try:
            with pq.ParquetWriter(
                temporary, schema, compression="zstd", use_dictionary=False
            ) as out:
                for piece in pieces:
                    out.write_table(pa.table(dict(piece), schema=schema))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    return path


def read_pieces(path: Path, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Columns of a shard as Arrow arrays, piece by piece."""
    with reading(path, "Parquet file"), parquet_file(path) as file:
        for batch in file.iter_batches(ROWS, columns=list(names), use_threads=False):
            yield {name: batch.column(name) for name in names}


def _loss_columns(names: Sequence[str], where: Path) -> tuple[str, ...]:
    count = next(k for k in itertools.count() if f"loss_{k}" not in names)
    if count:
        return tuple(f"loss_{k}" for k in range(count))
    if VECTORS in names:
        return (VECTORS,)
    raise InputError(
        f"{where} has neither loss_0, loss_1, ... nor a column {VECTORS!r}; name the losses with "
        f"`losses`, its columns are {listed(names)}"
    )


def _width(files: Sequence[Path], name: str) -> int:
    """The length of the first vector; the others are checked against it as they are read."""
    cells = (cell for path in files for piece in read_pieces(path, [name]) for cell in piece[name])
    return len(next(cells, pa.scalar(None)).as_py() or ())


def _vectors(column: Any, width: int, path: Path, begin: int) -> NDArray[Any]:
    lengths = column.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(lengths != width)
    if wrong.size:
        raise InputError(
            f"the losses in {_place(path, begin + int(wrong[0]))} are not {width}, as in the first "
            "row; every example needs a loss from every proxy"
        )
    return _numbers(column.flatten(), "of losses", path, begin, width).reshape(-1, width)


def _numbers(column: Any, name: str, path: Path, begin: int, width: int = 1) -> NDArray[Any]:
    if column.null_count:
        row = begin + pc.index(column.is_null(), True).as_py() // width
        rule = "every example needs a loss from every proxy"
        raise bad_column(name, f"is empty in {_place(path, row)}; {rule}")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _ids(column: Any, name: str, path: Path, begin: int) -> Any:
    array = plain(column)
    if array.null_count:
        row = begin + pc.index(array.is_null(), True).as_py()
        raise InputError(f"the id is missing in {_place(path, row)}; fill it in")
    return whole_ids(array, name)


def _place(path: Path, row: int) -> str:
    return f"row {row} (the first is 0) of {path}"
