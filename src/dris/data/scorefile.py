"""Score files: Parquet with the user's ids, every score as float64, flags and texts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dris.data.files import PathLike
from dris.data.writer import Writer

FORMAT = 1
NOTE = b"dris"  # the key of the note in the metadata


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFile:
    """Scores of N examples by name, larger kept first, with flags such as "canary", and texts.

    `note` is whatever else belongs to them, as JSON values: the fingerprint of the data, the seed.
    """

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
    return Path(path).expanduser()


def note_bytes(note: Mapping[str, Any]) -> bytes:
    """A note as it stands in the metadata.

    >>> note_bytes({"seed": 3})
    b'{"format": 1, "seed": 3}'
    """
    return json.dumps({**note, "format": FORMAT}, sort_keys=True, allow_nan=False).encode()
