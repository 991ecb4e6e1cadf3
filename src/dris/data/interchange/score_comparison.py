"""Two score files of the same examples: found, aligned by id, and compared score by score."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.sanitize import unguarded
from dris.core.scores.resemblance import ScoresCompared, compare_scores
from dris.data.files import files_of, listed, one_line, reading
from dris.data.interchange.scorefile import ScoreFile, read_scores
from dris.data.tables.csvfile import open_csv
from dris.data.tables.label_columns import ids_of, trusted_of, typed_text
from dris.data.tables.labelled_table import open_parquet

_CANARY, _FLIPPED = "canary", "flipped"


@dataclass(frozen=True, slots=True)
class FilesCompared:
    """Every score that both files have, how many examples, and the share of wrong labels."""

    examples: int
    keep: float
    wrong: float | None
    scores: dict[str, ScoresCompared]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON."""
        return {
            "examples": self.examples,
            "keep": self.keep,
            "wrong": self.wrong,
            "scores": {name: found.to_dict() for name, found in self.scores.items()},
            "notes": list(self.notes),
        }


def compare_files(
    first: Path, second: Path, *, keep: float, truth: str | None = None, id: str | None = None
) -> FilesCompared:
    """Compare two score files, or the folders that hold them, over the examples of both.

    Args:
        first: A score file or a folder with scores.parquet in it.
        second: Another one.
        keep: α, of the common examples without canaries.
        truth: FILE:COLUMN of yes or no: is the label wrong?
        id: That file's column of ids; else id or row when there is one, else row numbers.
    """
    a, b = _scores(first), _scores(second)
    ids, in_a, in_b = _common(a, b, first, second)
    names = [name for name in a.scores if name in b.scores]
    if not names:
        raise InputError(
            f"the two files have no score in common: {listed(list(a.scores))} and "
            f"{listed(list(b.scores))}"
        )
    planted = _flag(a, _CANARY)[in_a] | _flag(b, _CANARY)[in_b]
    notes = []
    if planted.any():
        notes.append(f"{int(planted.sum()):,} canaries are left out")
    only = (len(a) - len(ids), len(b) - len(ids))
    if any(only):
        notes.append(f"{only[0]:,} examples are in {first} only, {only[1]:,} in {second} only")
    wrong = None
    if truth is not None:
        wrong = _truth(truth, id, ids)
    elif _FLIPPED in a.flags or _FLIPPED in b.flags:
        wrong = _flag(a, _FLIPPED)[in_a] if _FLIPPED in a.flags else _flag(b, _FLIPPED)[in_b]
    rest = ~planted
    if not rest.any():
        raise InputError("every example of both files is a canary in one of them; score again")
    known = None if wrong is None else wrong[rest]
    found = {
        name: compare_scores(
            a.score(name)[in_a][rest],
            b.score(name)[in_b][rest],
            fraction=keep,
            wrong=known,
            ids=ids[rest],
        )
        for name in names
    }
    share = None if known is None else float(known.mean())
    return FilesCompared(int(rest.sum()), keep, share, found, tuple(notes))


def _scores(path: Path) -> ScoreFile:
    return read_scores(path / "scores.parquet" if path.is_dir() else path)


def _common(
    a: ScoreFile, b: ScoreFile, first: Path, second: Path
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """The ids of both, and where they are in each."""
    own, other = np.asarray(a.ids), np.asarray(b.ids)
    if own.dtype.kind != other.dtype.kind:
        raise InputError(
            f"{first} names examples as {one_line(repr(own[0].item()))} and {second} as "
            f"{one_line(repr(other[0].item()))}; score both with the same --id"
        )
    ids, in_a, in_b = np.intersect1d(own, other, assume_unique=True, return_indices=True)
    if ids.size == 0:
        raise InputError(f"{first} and {second} have no id in common; score the same data")
    return ids, in_a, in_b


def _flag(scores: ScoreFile, name: str) -> NDArray[np.bool_]:
    if name in scores.flags:
        return np.asarray(scores.flags[name], dtype=np.bool_)
    return np.zeros(len(scores), dtype=np.bool_)


def _truth(source: str, id: str | None, ids: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of the ids have a wrong label, by a column of a CSV or Parquet file."""
    name, separator, column = source.rpartition(":")
    if not separator or not name or not column:
        raise InputError(f"--truth must be FILE:COLUMN, such as truth.csv:flipped, got {source!r}")
    files = files_of(name)
    text = files[0].suffix.lower() in (".csv", ".tsv", ".txt")
    with reading(name, "CSV or Parquet file"):
        rows = open_csv(files, as_text=(column,)) if text else open_parquet(files)
        names = list(rows.schema.names)
        key = id if id is not None else next((n for n in ("id", "row") if n in names), None)
        for wanted in (column, key):
            if wanted is not None and wanted not in names:
                raise InputError(
                    f"{name} has no column {one_line(wanted)!r}; there are {listed(names)}"
                )
        if text and key is not None:
            rows = open_csv(files, as_text=(column, key))
        marks, keys = _column(rows, column), None if key is None else _column(rows, key)
        wrong = trusted_of(marks, column, rows.place)
        own: NDArray[Any] = np.arange(len(wrong))
        if keys is not None:
            own = ids_of(typed_text(keys) if text else keys, str(key), rows.place)
    at = {value: place for place, value in enumerate(own.tolist())}
    if own.dtype.kind == "U":  # as dris corrupt writes them, safe for a spreadsheet
        at = {**{unguarded(value): place for value, place in at.items()}, **at}
    missing = [value for value in ids.tolist() if value not in at]
    if missing:
        raise InputError(
            f"{name} says nothing about {len(missing)} of the {ids.size} examples, such as "
            f"{one_line(missing[0])}; name its column of ids with --id"
        )
    return wrong[[at[value] for value in ids.tolist()]]


def _column(rows: Any, name: str) -> Any:
    import pyarrow as pa

    return pa.chunked_array([batch.column(0) for batch in rows.batches([name])]).combine_chunks()
