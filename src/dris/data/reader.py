"""The one door: whatever people have, a path or something in memory, as `LabelledData`."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from dris.core.errors import InputError
from dris.data.files import PathLike, files_of, in_order, listed, reading, refuse_endless
from dris.data.findings import add_findings
from dris.data.formats import BY_NAME, GATHERED, TITLES, Format, format_of
from dris.data.images.image_files import has_image_folders
from dris.data.in_memory import read_source
from dris.data.labelled import LabelFinding, LabelledData, set_unlabelled_aside
from dris.data.options import ReadKeywords, ReadOptions
from dris.data.tables.saved_dataset import is_saved_dataset


def read_data(data: Any, y: Any = None, **keywords: Unpack[ReadKeywords]) -> LabelledData:
    r"""Read examples and labels from a file, a folder, a frame, arrays or a data set.

    Rows stay in their order. What was left out, filled in or odd about the labels is in `notes`,
    what was seen in the labels in `findings`. Rows without a label are set aside as `unlabelled`.
    Nothing is written or changed.

    Args:
        data: The path of a CSV, Parquet, JSON lines, Excel, NPZ or NPY file, several of them, a
            pattern such as "part-*.parquet", a folder, an address such as s3://bucket/a.csv; a
            pandas, polars or Arrow table; an array or a sparse matrix; a torch or Hugging Face
            data set; a list of texts or of paths of images.
        y: The labels of arrays, matrices and lists: numbers or strings, one a row.
        label: The column (or array) of given labels; "label" by default.
        id: The column of ids, whole numbers or text; row numbers by default.
        trusted: The column that says yes where the label is known to be right.
        features: The columns to learn from; every informative one by default. With [] only labels,
            ids and trust are read, which is enough where a model's probabilities come from
            elsewhere.
        without: Columns to leave out, in place of `features`.
        missing: Gaps in numbers and dates: fill in the median and "mark" them in a column of their
            own, fill in the "median" alone, or "refuse" them.
        text: Text becomes components of its "words", or an embedding of its "sentences" (extra
            `text`); "auto" is sentences where these are installed and the texts are not too many.
        merge_spellings: Treat labels that differ in case, spaces or invisible marks as one class.
        no_label: Labels that mean there is none, such as ["?"], beside empty ones.
        image_size: Side of the squares that images become; their own if all are alike and at most
            64 pixels wide, else 32.
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
    return read_with(ReadOptions.of(**keywords), data, y)


def read_with(options: ReadOptions, data: Any, y: Any = None) -> LabelledData:
    """Read data with options that were put together elsewhere."""
    if isinstance(data, LabelledData):
        return data
    if _are_paths(data, y):
        examples = _read_files(data, options)
    else:
        examples = add_findings(set_unlabelled_aside(read_source(data, y, options)))
    return replace(examples, origin=replace(examples.origin, reading=asdict(options)))


def _are_paths(data: Any, y: Any) -> bool:
    """Whether the data are files: a path, or a list of paths that came without labels."""
    if isinstance(data, str | os.PathLike):
        return True
    if y is not None or not isinstance(data, list | tuple):
        return False
    return all(isinstance(one, str | os.PathLike) for one in data)


def _read_files(paths: PathLike | Sequence[PathLike], options: ReadOptions) -> LabelledData:
    files = files_of(paths)
    if len(files) == 1 and files[0].is_dir():
        entry, files = _inside(files[0], options)
    else:
        entry = _kind_of(files)
    for path in files:
        refuse_endless(path)
    data = set_unlabelled_aside(entry.examples(files, options))
    pa.default_memory_pool().release_unused()  # what decoding took; the proxies need it more
    if options.labels_only:
        return data
    return add_findings(data, _same_files(files))


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


def _inside(folder: Path, options: ReadOptions) -> tuple[Format, tuple[Path, ...]]:
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
                if options.label is None and entry.open is not None and has_image_folders(folder):
                    names = entry.open(in_order(parts)).schema.names
                    if "label" not in names:
                        break  # the folders are the labels
                return entry, tuple(in_order(parts))
    return BY_NAME["images"], (folder,)


def _same_files(files: Sequence[Path]) -> list[LabelFinding]:
    """Files that hold the same bytes: the same rows, twice."""
    seen: dict[bytes, Path] = {}
    findings = []
    for path in files if 1 < len(files) <= 10_000 else ():
        with reading(path, "file"), path.open("rb") as file:
            key = hashlib.file_digest(file, "sha256").digest()
        if key in seen:
            text = f"{path} holds the same bytes as {seen[key]}: its rows are there twice"
            findings.append(LabelFinding("same file", 1, text))
        seen.setdefault(key, path)
    return findings
