"""The one door: whatever people have, a path or something in memory, as `LabelledData`."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dris.core.errors import InputError
from dris.data.files import PathLike, files_of, in_order, listed, reading, refuse_endless
from dris.data.findings.label_findings import examined
from dris.data.formats import BY_NAME, GATHERED, TITLES, Format, format_of
from dris.data.images.image_files import holds_images
from dris.data.in_memory import read_source
from dris.data.labelled import LabelFinding, LabelledData, unlabelled_aside
from dris.data.options import Columns, Missing, TextHow
from dris.data.tables.saved_dataset import is_saved_dataset


def read_data(
    source: Any,
    labels: Any = None,
    *,
    label: str | None = None,
    id: str | None = None,
    trusted: str | None = None,
    features: Sequence[str] | None = None,
    without: Sequence[str] = (),
    missing: Missing = "mark",
    text: TextHow = "auto",
    merge_spellings: bool = False,
    no_label: Sequence[str] = (),
    image_size: int | None = None,
    allow_outside: bool = False,
) -> LabelledData:
    r"""Read examples and labels from a file, a folder, a frame, arrays or a data set.

    Rows stay in their order. What is left out, filled in or odd about the labels is said in the
    `notes`, and what was seen in the labels is in `findings`. Rows without a label are put aside,
    as `unlabelled`. Nothing is written or changed.

    Args:
        source: The path of a CSV, Parquet, JSON lines, Excel, NPZ or NPY file, several of them, a
            pattern such as "part-*.parquet", a folder, an address such as s3://bucket/a.csv; a
            pandas, polars or Arrow table; an array or a sparse matrix; a torch or Hugging Face
            data set; a list of texts or of paths of images.
        labels: The labels of arrays, matrices and lists: numbers or strings, one a row.
        label: The column (or array) of given labels; "label" when there is one.
        id: The column of ids, whole numbers or text; positions when not given.
        trusted: The column that says yes where the label is known to be right.
        features: The columns to learn from; every one that tells something when not given. None of
            them, [], is enough where probabilities of a model come from elsewhere.
        without: Columns to leave out, in place of `features`.
        missing: What to do with gaps in numbers and dates: fill in the median and "mark" them in
            a column of their own, fill in the "median" alone, or "refuse" them.
        text: Text becomes components of its "words", or an embedding of its "sentences" (extra
            `text`); "auto" is sentences where these are installed and the texts are not too many.
        merge_spellings: Take labels that differ in case, spaces or invisible marks for one class.
        no_label: Labels that mean that there is none, such as ["?"], beside empty ones.
        image_size: Side of the squares that images become; their own when they are alike and
            at most 64 pixels wide, else 32.
        allow_outside: Let a table name images that do not lie below its own folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = "age,job,y\n31,cook,no\n44,cook,yes\n25,nurse,no\n60,nurse,yes\n"
    ...     _ = Path(folder, "a.csv").write_text(text)
    ...     data = read_data(folder + "/a.csv", label="y")
    >>> data, data.feature_names
    (LabelledData(4 examples × 3, 2 classes, 0 trusted), ('age', 'job=cook', 'job=nurse'))
    >>> read_data([[0.5, 1.0], [0.1, 2.0], [0.4, 3.0]], ["cat", "dog", "cat"]).classes
    ('cat', 'dog')
    """
    columns = Columns(
        label=label,
        id=id,
        trusted=trusted,
        features=None if features is None else tuple(features),
        marks_only=features is not None and not len(features),
        without=tuple(without),
        missing=missing,
        text=text,
        merge_spellings=merge_spellings,
        no_label=_words(no_label),
        allow_outside=allow_outside,
    )
    if isinstance(source, LabelledData):
        return source
    if _are_paths(source, labels):
        return _read_files(source, columns, image_size)
    return examined(unlabelled_aside(read_source(source, labels, columns, image_size)))


def read_marks(
    paths: PathLike | Sequence[PathLike],
    *,
    label: str | None = None,
    id: str | None = None,
    trusted: str | None = None,
    merge_spellings: bool = False,
    no_label: Sequence[str] = (),
    allow_outside: bool = False,
) -> LabelledData:
    """Labels, ids and trust of the examples in files, without what is learned from.

    Enough to draw examples, to correct labels and to write rows; x has no columns.
    """
    columns = Columns(
        label=label,
        id=id,
        trusted=trusted,
        merge_spellings=merge_spellings,
        no_label=_words(no_label),
        marks_only=True,
        allow_outside=allow_outside,
    )
    return _read_files(paths, columns, None)


def _words(values: Sequence[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(map(str, values))


def _are_paths(source: Any, labels: Any) -> bool:
    """Whether the source names files: a path, or a list of paths that came without labels."""
    if isinstance(source, str | os.PathLike):
        return True
    if labels is not None or not isinstance(source, list | tuple):
        return False
    return all(isinstance(one, str | os.PathLike) for one in source)


def _read_files(
    paths: PathLike | Sequence[PathLike], columns: Columns, image_size: int | None
) -> LabelledData:
    found = files_of(paths)
    if len(found) == 1 and found[0].is_dir():
        entry, found = _inside(found[0], columns)
    else:
        entry = _kind_of(found)
    for path in found:
        refuse_endless(path)
    data = unlabelled_aside(entry.examples(found, columns, image_size))
    pa.default_memory_pool().release_unused()  # what decoding took; the proxies need it more
    if columns.marks_only:
        return data
    return examined(data, _same_files(found))


def _kind_of(files: Sequence[Path]) -> Format:
    """The format of the files, by how their names end."""
    folder = next((file for file in files if file.is_dir()), None)
    if folder is not None:
        raise InputError(f"{folder} is a folder; name it alone, or files only")
    kinds = {entry.name for entry in map(format_of, files)}
    if len(kinds) > 1:
        raise InputError(f"files read together must be of one kind, got {listed(files)}")
    if not kinds:
        raise InputError(f"no data was named; read are {TITLES}")
    return BY_NAME[kinds.pop()]


def _inside(folder: Path, columns: Columns) -> tuple[Format, tuple[Path, ...]]:
    """What a folder is: a saved data set, files of the first format it has any of, or images.

    Images in class folders with a table beside them are read by the table where it has the label.
    """
    if is_saved_dataset(folder):
        return BY_NAME["huggingface"], (folder,)
    with reading(folder, "folder"):
        inside = [p for p in folder.iterdir() if not p.name.startswith((".", "_"))]
        for suffixes in GATHERED:
            parts = [p for p in inside if p.name.lower().endswith(suffixes) and not p.is_dir()]
            if parts:
                entry = format_of(parts[0])
                if columns.label is None and entry.open is not None and holds_images(folder):
                    names = entry.open(in_order(parts)).schema.names
                    if "label" not in names:
                        break  # the folders are the labels
                return entry, tuple(in_order(parts))
    return BY_NAME["images"], (folder,)


def _same_files(files: Sequence[Path]) -> list[LabelFinding]:
    """Files that hold the same bytes: the same rows, twice."""
    seen: dict[bytes, Path] = {}
    found = []
    for path in files if 1 < len(files) <= 10_000 else ():
        with reading(path, "file"), path.open("rb") as file:
            key = hashlib.file_digest(file, "sha256").digest()
        if key in seen:
            text = f"{path} holds the same bytes as {seen[key]}: its rows are there twice"
            found.append(LabelFinding("same file", 1, text))
        seen.setdefault(key, path)
    return found
