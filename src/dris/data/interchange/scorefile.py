"""Score files: Parquet with the user's ids, every score as float64, marks and labels."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.core.frozen import read_only
from dris.core.ids import alignment
from dris.core.sanitize import from_json
from dris.core.validate import check_ids, check_score
from dris.data.files import PathLike, listed, one_line, reading
from dris.data.tables.label_columns import ids_of
from dris.data.writer import Writer

FORMAT = 1
NOTE = b"dris"  # the key of the note in the metadata


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFile:
    """Scores of N examples by name, larger kept first, and flags such as "canary" or "trusted".

    `texts` are words about each example, such as the label that the proxies suggest.
    `note` is whatever else belongs to them, as values that JSON can hold: the fingerprint of the
    data, the seed, the recipe.

    >>> scores = ScoreFile(["a", "b"], {"aum": [0.5, -1.0]}, {"trusted": [True, False]})
    >>> scores.aligned(["b", "a"]).scores["aum"].tolist()
    [-1.0, 0.5]
    """

    ids: ArrayLike
    scores: Mapping[str, ArrayLike]
    flags: Mapping[str, ArrayLike] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, ArrayLike] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(np.asarray(self.ids))
        ids = check_ids(self.ids, n)
        scores = {name: check_score(values) for name, values in self.scores.items()}
        flags = {name: np.asarray(values) for name, values in self.flags.items()}
        texts = {name: np.asarray(values) for name, values in self.texts.items()}
        names = ["id", *scores, *flags, *texts]
        if not scores or len(set(names)) < len(names):
            raise InputError(
                f"a score file needs scores and names that differ, got {listed(names)}"
            )
        for name, values in {**scores, **flags, **texts}.items():
            if values.shape != (n,):
                raise InputError(f"{one_line(name)} must have {n} values, got {values.shape}")
        wrong = next((name for name, v in flags.items() if v.dtype != np.bool_), None)
        if wrong is not None:
            raise InputError(f"the flag {wrong} must be booleans, got {flags[wrong].dtype}")
        wrong = next((name for name, v in texts.items() if v.dtype.kind != "U"), None)
        if wrong is not None:
            raise InputError(f"{wrong} must be texts, got {texts[wrong].dtype}")
        object.__setattr__(self, "ids", read_only(ids, ids.dtype))
        object.__setattr__(self, "texts", {n: read_only(v, v.dtype) for n, v in texts.items()})
        frozen = {name: read_only(v, np.float64) for name, v in scores.items()}
        object.__setattr__(self, "scores", frozen)
        object.__setattr__(self, "flags", {n: read_only(v, np.bool_) for n, v in flags.items()})
        object.__setattr__(self, "note", dict(self.note))

    def __len__(self) -> int:
        return len(np.asarray(self.ids))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScoreFile) and _table(self).equals(_table(other), True)

    def score(self, name: str) -> NDArray[np.float64]:
        """A score by name, or an error that names those that are there."""
        if name not in self.scores:
            raise InputError(f"no score {one_line(name)!r}; there are {listed(list(self.scores))}")
        return np.asarray(self.scores[name])

    def aligned(self, ids: ArrayLike) -> "ScoreFile":
        """The same scores for examples in another order; each id must be here, and no other."""
        wanted, own = np.asarray(ids), np.asarray(self.ids)
        order = alignment(own, wanted)
        if np.array_equal(own, wanted):
            return self
        if order is None:
            lacking = np.setdiff1d(wanted.astype(np.str_), own.astype(np.str_))
            example = f", such as {one_line(lacking[0])}" if lacking.size else ""
            raise InputError(
                f"the scores are of {len(own)} examples and the data has {len(wanted)}, of which "
                f"{lacking.size} have no score{example}; score this data, with the same `id`"
            )
        return ScoreFile(
            own[order],
            {name: np.asarray(v)[order] for name, v in self.scores.items()},
            {name: np.asarray(v)[order] for name, v in self.flags.items()},
            self.note,
            {name: np.asarray(v)[order] for name, v in self.texts.items()},
        )


def write_scores(
    scores: ScoreFile, path: PathLike, *, force: bool = False, writer: Writer | None = None
) -> Path:
    """Write one Parquet file, whole or not at all; the same scores give the same bytes.

    With `force` a file that dris wrote is replaced; a `writer` knows that and more.
    """
    with (writer or Writer(force)).file(path) as temporary:
        pq.write_table(_table(scores), temporary, compression="zstd")
    return Path(path).expanduser()


def read_scores(path: PathLike) -> ScoreFile:
    """Read a score file; any Parquet file with an id column and numbers will do.

    Whole or decimal numbers are scores, booleans are flags, texts are kept; others are refused.
    """
    source = Path(path).expanduser()
    with reading(source, "score file (Parquet)"):
        if not source.is_file():
            raise InputError(f"{source} is no file; write one with dris score")
        table = pq.read_table(source)
        if "id" not in table.schema.names:
            raise InputError(
                f"{source} has no column 'id', so it is no score file; "
                f"its columns are {listed(table.schema.names)}"
            )
        note = from_json((table.schema.metadata or {}).get(NOTE, b"{}"))
        if note.pop("format", FORMAT) != FORMAT:
            raise InputError(f"{source} is of another format than {FORMAT}; upgrade dris")
        ids = ids_of(table.column("id"), "id", lambda row: f"row {row} of {source}")
        scores, flags, texts = {}, {}, {}
        for name, column in zip(table.schema.names, table.columns, strict=True):
            if pa.types.is_boolean(column.type):
                flags[name] = column.to_numpy()
            elif pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
                scores[name] = column.cast(pa.float64()).to_numpy()
            elif name != "id" and pa.types.is_string(column.type) and not column.null_count:
                texts[name] = column.to_numpy().astype(np.str_)
            elif name != "id":
                raise InputError(
                    f"column {one_line(name)!r} of {source} holds {one_line(column.type)}, which "
                    "is neither a score nor a flag nor text without gaps; remove it"
                )
        scores.pop("id", None)
        return ScoreFile(ids, scores, flags, note, texts)


def _table(scores: ScoreFile) -> Any:
    columns = {"id": scores.ids, **scores.scores, **scores.flags, **scores.texts}
    try:
        note = json.dumps({**scores.note, "format": FORMAT}, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"the note must be plain JSON values: {one_line(error)}") from None
    return pa.table(
        {name: pa.array(np.asarray(values)) for name, values in columns.items()}
    ).replace_schema_metadata({NOTE: note.encode()})
