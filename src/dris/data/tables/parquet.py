"""Parquet files: streamed row group by row group, written again with the same schema."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dris.core.errors import InputError
from dris.data.files import reading
from dris.data.labelled import Change, LabelledData
from dris.data.tables.rows import Rows

_BATCH = 1 << 16  # rows at once, and of a row group that is written
_BUFFER = 1 << 18  # bytes of a column read ahead
_CODECS = {"uncompressed": "none", "lz4_raw": "lz4", "unknown": "none"}


def open_parquet(files: Sequence[Path], *, as_text: Sequence[str] = ()) -> Rows:
    """The rows of the files, of which all must have the columns and types of the first."""
    schemas, counts = [], []
    for path in files:
        with reading(path, "Parquet file"), parquet_file(path) as file:
            schemas.append(file.schema_arrow)
            counts.append(file.metadata.num_rows)
        if not schemas[-1].equals(schemas[0]):
            raise InputError(
                f"{path} has other columns or types than {files[0]}; files read together need "
                "the same schema"
            )

    def batches(columns: Sequence[str]) -> Iterator[Any]:
        for path in files:
            with reading(path, "Parquet file"), parquet_file(path) as file:
                for batch in file.iter_batches(_BATCH, columns=list(columns), use_threads=False):
                    yield batch.select(list(columns))

    return Rows(schemas[0], tuple(counts), batches, tuple(files), format="parquet")


def parquet_file(path: Path) -> Any:
    """An open file that reads a buffer at a time instead of whole column chunks."""
    return pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)


def write_parquet(data: LabelledData, change: Change, path: Path) -> None:
    """Write kept rows with the same schema, metadata and compression, in row groups of 65,536."""
    files = data.origin.files
    with parquet_file(files[0]) as file:
        group = file.metadata.row_group(0) if file.metadata.num_row_groups else None
        codec = group.column(0).compression.lower() if group else "snappy"
    write_rows(open_parquet(files), data, change, path, _CODECS.get(codec, codec))


def write_rows(rows: Rows, data: LabelledData, change: Change, path: Path, codec: str) -> None:
    """Write the kept rows of any table as Parquet."""
    added = {name: pa.array(values) for name, values in change.columns.items()}
    schema = rows.schema
    for name, values in added.items():
        schema = schema.append(pa.field(name, values.type))
    held: list[Any] = []
    with pq.ParquetWriter(path, schema, compression=codec) as writer:
        begin = 0
        for batch in rows.batches(rows.schema.names):
            here = slice(begin, begin + len(batch))
            new = {name: pa.array(values[here]) for name, values in change.marks.items()}
            if change.labels is not None:
                new[data.origin.label] = pa.array(change.labels[here].tolist())
            columns = list(batch.columns)
            for name, values in new.items():
                at = rows.schema.names.index(name)
                values = values.cast(rows.schema.field(name).type)
                if change.blank is not None and change.blank[here].any():
                    values = pc.if_else(pa.array(change.blank[here]), columns[at], values)
                columns[at] = values
            columns += [values[here] for values in added.values()]
            part = pa.record_batch(columns, schema=schema).filter(pa.array(change.keep[here]))
            held.append(part)
            if sum(map(len, held)) >= _BATCH:
                writer.write_table(pa.Table.from_batches(held, schema))
                held.clear()
            begin += len(batch)
        if held:
            writer.write_table(pa.Table.from_batches(held, schema))
