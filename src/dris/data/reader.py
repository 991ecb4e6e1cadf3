"""The one door for people's own data: whatever the path leads to, as `LabelledData`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa

from dris.core.errors import InputError
from dris.data.files import PathLike, files_of, in_order, listed, reading
from dris.data.images.image_files import image_column, read_image_folder, read_image_table
from dris.data.labelled import LabelledData
from dris.data.tables.csvfile import open_csv
from dris.data.tables.encoding import Rows
from dris.data.tables.numpy_files import read_npy, read_npz
from dris.data.tables.saved_dataset import is_saved_dataset, open_saved, with_names
from dris.data.tables.stream import Columns, labelled_table, open_parquet

_CSV, _PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
_READ = "CSV, Parquet, NPZ, NPY, a folder of images or of such files, or a saved data set"


def read_data(
    paths: PathLike | Sequence[PathLike],
    *,
    label: str | None = None,
    id: str | None = None,
    trusted: str | None = None,
    features: Sequence[str] | None = None,
    without: Sequence[str] = (),
    missing: Literal["refuse", "median"] = "refuse",
    image_size: int | None = None,
) -> LabelledData:
    r"""Read examples and labels from a file, a folder or several files, in their order.

    Args:
        paths: A CSV, Parquet, NPZ or NPY file; several CSV or Parquet files, a pattern such as
            "part-*.parquet" or a folder of them; a folder of images by class; a data set that
            Hugging Face's `save_to_disk` wrote.
        label: The column (or array) of given labels; "label" when there is one.
        id: The column of ids, whole numbers or text; positions when not given.
        trusted: The column that says yes where the label is known to be right.
        features: The columns to learn from; every one that can be encoded when not given.
        without: Columns to leave out, in place of `features`.
        missing: "refuse" missing numbers, or fill in the "median" of the column.
        image_size: Side of the squares that images become; their own when they are alike and
            at most 64 pixels wide, else 32.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = "age,job,y\n31,cook,no\n44,cook,yes\n25,nurse,no\n60,nurse,yes\n"
    ...     _ = Path(folder, "a.csv").write_text(text)
    ...     data = read_data(folder + "/a.csv", label="y")
    >>> data, data.feature_names
    (LabelledData(4 examples × 3, 2 classes, 0 trusted), ('age', 'job=cook', 'job=nurse'))
    """
    columns = Columns(
        label=label,
        id=id,
        trusted=trusted,
        features=None if features is None else tuple(features),
        without=tuple(without),
        missing=missing,
    )
    found = files_of(paths)
    if len(found) == 1 and found[0].is_dir():
        folder = found[0]
        if is_saved_dataset(folder):
            rows = open_saved(folder)
            data = _table(rows, columns, image_size)
            names = rows.names.get(data.origin.label)
            return data if names is None else with_names(data, names)
        found = _parts(folder)
        if not found:
            return read_image_folder(folder, columns, image_size)
    data = _kind_of(found)(found, columns, image_size)
    pa.default_memory_pool().release_unused()  # what decoding took; the proxies need it more
    return data


def _csv(files: Sequence[Path], columns: Columns, size: int | None) -> LabelledData:
    special = [name for name in (columns.label or "label", columns.id, columns.trusted) if name]
    return _table(open_csv(files, as_text=special), columns, size)


def _parquet(files: Sequence[Path], columns: Columns, size: int | None) -> LabelledData:
    return _table(open_parquet(files), columns, size)


def _table(rows: Rows, columns: Columns, size: int | None) -> LabelledData:
    column = image_column(rows, columns)
    if column is None:
        return labelled_table(rows, columns)
    return read_image_table(rows, columns, column, size)


def _npz(files: Sequence[Path], columns: Columns, _: int | None) -> LabelledData:
    return read_npz(_single(files), columns)


def _npy(files: Sequence[Path], columns: Columns, _: int | None) -> LabelledData:
    return read_npy(_single(files), columns)


def _single(files: Sequence[Path]) -> Path:
    if len(files) > 1:
        raise InputError(
            f"several files are read together only as CSV or Parquet, got {listed(files)}; name one"
        )
    return files[0]


_Reader = Callable[[Sequence[Path], Columns, int | None], LabelledData]
_READERS: dict[str, _Reader] = {
    **dict.fromkeys(_CSV, _csv),
    **dict.fromkeys(_PARQUET, _parquet),
    ".npz": _npz,
    ".npy": _npy,
}


def _kind_of(files: Sequence[Path]) -> _Reader:
    """The reader for the files, by how their names end."""
    readers = {_READERS.get(file.suffix.lower()) for file in files if not file.is_dir()}
    folder = next((file for file in files if file.is_dir()), None)
    if folder is not None:
        raise InputError(f"{folder} is a folder; name it alone, or files only")
    if None in readers:
        other = next(file for file in files if file.suffix.lower() not in _READERS)
        raise InputError(f"{other} is of no kind that is read; read are {_READ}")
    if len(readers) > 1:
        raise InputError(f"files read together must be of one kind, got {listed(files)}")
    (reader,) = readers
    if reader is None:
        raise InputError(f"no data was named; read are {_READ}")
    return reader


def _parts(folder: Path) -> tuple[Path, ...]:
    """The Parquet files of a folder, else its CSV files, else its NPZ file."""
    with reading(folder, "folder"):
        inside = in_order([p for p in folder.iterdir() if not p.name.startswith((".", "_"))])
        for suffixes in (_PARQUET, _CSV[:2], (".npz",)):
            parts = [p for p in inside if p.suffix.lower() in suffixes and not p.is_dir()]
            if parts:
                return tuple(parts)
    return ()
