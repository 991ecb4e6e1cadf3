"""Score files read back, as any reader of Parquet would."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from dris.data.outputs import NOTE, ScoreFile


def read_scores(path) -> ScoreFile:
    table = pq.read_table(path)
    columns = {field.name: table[field.name].to_numpy() for field in table.schema}
    note = json.loads(table.schema.metadata[NOTE])
    assert note.pop("format") == 1
    kinds = {name: table.schema.field(name).type for name in columns if name != "id"}
    return ScoreFile(
        columns["id"],
        {name: columns[name] for name, kind in kinds.items() if pa.types.is_floating(kind)},
        {name: columns[name] for name, kind in kinds.items() if pa.types.is_boolean(kind)},
        note,
        {name: columns[name] for name, kind in kinds.items() if pa.types.is_string(kind)},
    )
