"""NumPy files: an NPZ of features, labels and ids, or one NPY for each; never a pickle."""

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from dris.core.errors import InputError, Problems
from dris.core.validate import first_not_finite
from dris.data.files import fingerprint_of, listed, one_line, reading, refuse_larger_than_memory
from dris.data.findings import row_keys
from dris.data.labelled import Change, Feature, LabelledData, Origin, ReadOptions, center_of
from dris.data.tables.groups import may_name_groups
from dris.data.tables.label_columns import read_labels
from dris.data.tables.words import fill_with_median

_ODD = np.uint64(0x9E3779B97F4A7C15)
_PORTION = 8 << 20  # bytes at once
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


@dataclass(frozen=True, slots=True)
class Stored:
    """An array in a file that is not read yet: what it is called, its shape and kind."""

    name: str
    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_column: bool
    open: Callable[[], Any]

    def read_into(self, out: NDArray[np.float32], keys: NDArray[np.uint64]) -> None:
        """Put all rows into an array as `to_float32` does, by portions; add to their keys."""
        low, high = np.full(out.shape[1], np.inf), np.full(out.shape[1], -np.inf)
        if self.dtype.itemsize > 2 and self.dtype != np.float32:
            for _, block in self._blocks(out.shape[1]):
                fine = np.isfinite(block)
                low = np.minimum(low, np.where(fine, block, np.inf).min(axis=0))
                high = np.maximum(high, np.where(fine, block, -np.inf).max(axis=0))
        center = center_of(low, high)
        for here, block in self._blocks(out.shape[1]):
            with np.errstate(over="ignore", invalid="ignore"):
                out[here] = block - center
            keys[here] = keys[here] * _ODD + row_keys(block)

    def _blocks(self, width: int) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """The array in portions of whole rows (all at once when it is stored by column)."""
        if self.by_column:
            yield slice(None), self.whole().reshape(-1, width).astype(np.float64)
            return
        with self.open() as file:
            _header(file)
            step = max(1, _PORTION // (width * self.dtype.itemsize))
            for begin in range(0, self.shape[0], step):
                count = min(step, self.shape[0] - begin)
                part = np.frombuffer(file.read(count * width * self.dtype.itemsize), self.dtype)
                yield slice(begin, begin + count), part.reshape(count, width).astype(np.float64)

    def whole(self) -> NDArray[Any]:
        """All of it, in the machine's own byte order."""
        with self.open() as file:
            return np.asarray(npy.read_array(file), self.dtype.newbyteorder("="), order="C")

    @property
    def where(self) -> str:
        """What to call the array in a message."""
        return f"{self.name} in {self.path}"


def stored_npz(path: Path) -> dict[str, Stored]:
    """The arrays of an NPZ file by name, none of them read."""
    with reading(path, "NPZ file"), zipfile.ZipFile(path) as archive:
        return {
            (name := entry.filename.removesuffix(".npy")): _stored(
                name, path, entry.file_size, partial(_member, path, entry.filename)
            )
            for entry in archive.infolist()
            if entry.filename.endswith(".npy")
        }


def stored_npy(path: Path) -> Stored:
    """The array of an NPY file, not read."""
    with reading(path, "NPY file"):
        return _stored(path.stem, path, path.stat().st_size, lambda: path.open("rb"))


def read_npz(files: Sequence[Path], options: ReadOptions) -> LabelledData:
    """Examples from an NPZ file, by default of all arrays of numbers with a row a label."""
    (path,) = files
    fingerprint = fingerprint_of(files)
    arrays = stored_npz(path)
    with reading(path, "NPZ file"):
        label, chosen = options.resolve(list(arrays), path)
        if not options.features:
            n = arrays[label].shape[:1]
            fitting = {c for c, a in arrays.items() if a.shape[:1] == n and a.dtype.kind in "fiub"}
            chosen = [name for name in chosen if name in fitting]
        origin = Origin("npz", (path,), fingerprint, label, options.id, tuple(arrays))
        return _read_arrays(origin, arrays, chosen, options)


def read_npy(files: Sequence[Path], options: ReadOptions) -> LabelledData:
    """Examples from an NPY file of features; label, id, group and trusted name further files."""
    (path,) = files
    if options.label is None or options.features or options.without:
        raise InputError(f"{path} holds features only; name the NPY file of labels with `label`")
    beside = {name: Path(name) for name in options.special(options.label)}
    for name, file in beside.items():
        if not file.is_file():
            raise InputError(f"{one_line(name)} is no file; beside {path} name NPY files")
    every = (path, *beside.values())
    fingerprint = fingerprint_of(every)
    arrays = {name: stored_npy(file) for name, file in {**beside, path.stem: path}.items()}
    origin = Origin("npy", every, fingerprint, options.label, options.id, tuple(arrays))
    with reading(path, "NPY file"):
        return _read_arrays(origin, arrays, [path.stem], options)


def _read_arrays(
    origin: Origin, arrays: Mapping[str, Stored], chosen: list[str], options: ReadOptions
) -> LabelledData:
    files, label = origin.files, origin.label
    y = arrays[label]
    n = y.shape[0] if y.shape else 0
    if n < 1:
        raise InputError(f"{y.where} has no rows; at least two labels are needed")
    chosen = [] if options.labels_only else chosen
    used = [*chosen, *options.special(label)]
    for name in used:
        if arrays[name].shape[:1] != (n,):
            raise InputError(
                f"{arrays[name].where} has shape {arrays[name].shape} and {label} has {n} labels; "
                "all need one row for each example"
            )
    problems = Problems(files[0])
    named = may_name_groups([name for name, a in arrays.items() if a.shape == (n,)], options)

    def column(name: str) -> tuple[Any, Callable[[int], str]]:
        where = arrays[name].where
        return _column(arrays[name]), lambda row: f"row {row} (the first is 0) of {where}"

    marks, shared = read_labels(column, origin, n, options, problems, named)
    chosen, used = [name for name in chosen if name not in shared], [*used, *shared]
    if not chosen and not options.labels_only:
        names = listed(list(arrays))
        raise InputError(f"{files[0]} has no features of {n} rows; its arrays are {names}")
    x: NDArray[Any] = np.zeros((n, 0), dtype=np.float32)
    features: tuple[Feature, ...] = ()
    copies: NDArray[Any] | None = None
    notes: list[str] = []
    with problems.collected():
        if chosen:
            x, features, copies = _features([arrays[name] for name in chosen], n)
            if x.dtype == np.float32:
                notes += fill_gaps(x, options.missing, str(files[0]))
    problems.refuse()
    beside = [name for name in arrays if name not in used]
    if beside and chosen:
        notes.append(f"the arrays {listed(beside)} were left out")
    return marks.with_features(x, features, notes=notes, copies=copies)


def _features(
    chosen: list[Stored], n: int
) -> tuple[NDArray[Any], tuple[Feature, ...], NDArray[Any] | None]:
    """The arrays side by side as float32, or the only one as images of bytes; keys of numbers."""
    first = chosen[0]
    for array in chosen:
        if array.dtype.kind not in "fiub":
            raise InputError(
                f"{array.where} holds {array.dtype}, and features are numbers; name others with "
                "`features`"
            )
        images = array.dtype == np.uint8 and len(array.shape) in (3, 4)
        if (images and len(chosen) > 1) or (not images and len(array.shape) > 2):
            raise InputError(
                f"{array.where} has shape {array.shape}; features are (N, D) beside each other, or "
                "one array of images as bytes: flatten it, or name one array with `features`"
            )
    width = sum(int(np.prod(array.shape[1:])) for array in chosen)
    if not width:
        raise InputError(f"{first.where} has rows of no numbers; add features")
    if len(first.shape) > 2:
        refuse_larger_than_memory(first.path, n * width)
        return channels_first(first.whole()), (Feature(first.name, "image", width),), None
    refuse_larger_than_memory(first.path, n * width * 4)
    x = np.empty((n, width), dtype=np.float32)
    at, features, keys = 0, [], np.zeros(n, dtype=np.uint64)
    for array in chosen:
        wide = int(np.prod(array.shape[1:]))
        if wide:
            array.read_into(x[:, at : at + wide], keys)
        at += wide
        features.append(Feature(array.name, "number" if len(array.shape) == 1 else "vector", wide))
    return x, tuple(features), keys.view(np.int64)


def fill_gaps(x: NDArray[np.float32], missing: str, where: str) -> list[str]:
    """Put the column's median wherever a number is missing or not finite, and say so."""
    if first_not_finite(x) is None:
        return []
    gone = ~np.isfinite(x)
    columns, count = np.flatnonzero(gone.any(axis=0)), int(gone.sum())
    if missing == "refuse":
        row, column = (int(i) for i in np.argwhere(gone)[0])
        raise InputError(
            f"{count:,} numbers in {where} are missing or not finite, the first in row {row}, "
            f"column {column} (counted from 0); fill them in, or pass `missing='mark'`"
        )
    for column in columns.tolist():
        fill_with_median(x[:, column])
    numbers = "1 missing number" if count == 1 else f"{count:,} missing numbers"
    places = "1 column" if len(columns) == 1 else f"{len(columns):,} columns"
    return [f"{numbers} in {places} became the median"]


def channels_first(x: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Images (N, H, W) or (N, H, W, C) as (N, C, H, W)."""
    if x.ndim == 3:
        return x[:, None]
    if x.shape[1] not in (1, 3) and x.shape[3] in (1, 3):
        return np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    return x


def _column(array: Stored) -> Any:
    """One value for each row, as Arrow."""
    if array.dtype.kind not in "fiubUS" or int(np.prod(array.shape[1:])) != 1:
        raise InputError(
            f"{array.where} holds {array.dtype} of shape {array.shape}, and one whole number or "
            "text for each example is needed"
        )
    values = array.whole().reshape(-1)
    return pa.array(values.astype(np.str_) if values.dtype.kind == "S" else values)


@contextmanager
def _member(path: Path, name: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        yield file


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"NPY format {version}")
    shape, by_column, dtype = _HEADERS[version](file)
    return shape, by_column, dtype


def _stored(name: str, path: Path, size: int, opener: Callable[[], Any]) -> Stored:
    """Read the header, and compare what it says with the bytes that are there."""
    with opener() as file:
        (shape, by_column, dtype), begins = _header(file), file.tell()
    if dtype.hasobject:
        raise InputError(
            f"{name} in {path} holds Python objects, which are never unpickled; save it as an "
            "array of numbers or text"
        )
    claimed = int(np.prod([*map(int, shape), dtype.itemsize], dtype=object))
    if begins + claimed != size:
        raise InputError(
            f"{name} in {path} says {claimed} bytes and holds {size - begins}; it was cut off or "
            "damaged, so get it again"
        )
    refuse_larger_than_memory(path, claimed)
    return Stored(name, path, shape, dtype, by_column, opener)


def write_npz(data: LabelledData, change: Change, path: Path) -> None:
    """Write the arrays with a row for each example, filtered; all other arrays as they are."""
    files, keep, npz = data.origin.files, change.keep, data.origin.format == "npz"
    packed = False
    if npz:
        arrays = stored_npz(files[0])
        with zipfile.ZipFile(files[0]) as archive:
            packed = any(e.compress_type != zipfile.ZIP_STORED for e in archive.infolist())
    else:
        arrays = {file.stem: stored_npy(file) for file in files}
    held = {}
    for name, array in arrays.items():
        whole = array.whole()
        held[name] = whole[keep] if whole.shape[:1] == keep.shape else whole
    new = {name: values[keep] for name, values in change.marks.items()}
    if change.labels is not None:
        new[data.origin.label] = change.labels[keep]
    for name, values in new.items():
        own = name if npz else Path(name).stem
        old = held[own]
        if old.dtype.kind not in "US":
            values = values.astype(old.dtype)
        elif values.dtype == np.bool_:
            values = np.array([str(mark).lower() for mark in values])
        values = values.reshape(old.shape)
        if change.blank is not None:
            blank = change.blank[keep].reshape(-1, *(1,) * (values.ndim - 1))
            values = np.where(blank, old, values)
        held[own] = values
    held |= {name: values[keep] for name, values in change.columns.items()}
    save: Callable[..., None] = np.savez_compressed if packed else np.savez
    with path.open("xb") as out:
        save(out, **held)
