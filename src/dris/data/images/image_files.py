"""Images with labels: a folder for each class, or a table with a column of paths or of images."""

import io
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError, Problems
from dris.core.validate import check_count
from dris.data.files import (
    fingerprint_of,
    in_order,
    listed,
    one_line,
    reading,
    refuse_larger_than_memory,
)
from dris.data.labelled import Change, Feature, LabelledData, Origin, ReadOptions
from dris.data.tables.csvfile import write_lines
from dris.data.tables.label_columns import labelled_rows, labels_in
from dris.data.tables.rows import Rows, bytes_field, is_image_name

# Opens the i-th image: a path or a file, and what to call it in a message.
_Images = Callable[[], Iterable[tuple[Any, str]]]
OWN_SIZE = 64  # images that are all square and alike up to this side are read as they are
USUAL_SIZE = 32  # the side that all others are brought to, that of CIFAR
_MAX_PIXELS = 50_000_000  # pixels of one image; a small file can claim to hold billions
_GREY = ("1", "L")
_UNREADABLE = (
    *(OSError, SyntaxError, ValueError, LookupError, TypeError, ArithmeticError, EOFError),
    MemoryError,
)


def read_image_folder(files: Sequence[Path], options: ReadOptions) -> LabelledData:
    """Images in a folder for each class; the id of an image is its path below the folder.

    Classes are sorted by name, images within them too. Files that are no images are left out
    with a note; a class without images is none.
    """
    (root,) = files
    if any((options.label, options.id, options.trusted, options.features)):
        raise InputError(
            f"{root} is a folder of images, where the folders are the labels and the paths the "
            "ids; for `label`, `id`, `trusted` or `features` pass a CSV of paths and labels"
        )
    with reading(root, "folder of images"):
        groups, other = _listed(root)
    classes = tuple(groups)
    if len(classes) < 2:
        raise InputError(
            f"{root} holds images of {len(classes)} classes; at least two are needed, as "
            f"{root.name}/<class>/<image>.png"
        )
    images = tuple(file for group in groups.values() for file in group)
    ids = [file.relative_to(root).as_posix() for file in images]
    for name in ids:
        if not name.isascii() and name.encode("utf-8", "replace").decode() != name:
            raise InputError(f"the file name {name!a} in {root} is not UTF-8; rename it")
    paths = [str(file) for file in images]
    columns = ("path", "label", "id")
    return LabelledData(
        labels=np.repeat(np.arange(len(classes)), [len(group) for group in groups.values()]),
        classes=classes,
        ids=np.array(ids, dtype=np.str_),
        trusted=np.zeros(len(images), dtype=np.bool_),
        origin=Origin("images", images, fingerprint_of(images), "label", "id", columns),
        paths=np.array(paths, dtype=np.str_),
        notes=(f"{other} files below {root} are no images and were left out",) if other else (),
        **decode_files(paths, root, options),
    )


def write_images(data: LabelledData, change: Change, path: Path) -> None:
    """Write a list of the kept images: path from the list's own folder, label, id, new columns."""
    files = [os.path.relpath(file, path.parent) for file in data.origin.files]
    labels = data.given() if change.labels is None else change.labels
    values = [np.array(files), labels, data.ids, *change.columns.values()]
    write_lines(path, ["path", "label", "id", *change.columns], values, change.keep)


def read_image_table(
    rows: Rows, label: str, chosen: Sequence[str], column: str, options: ReadOptions
) -> LabelledData:
    """Images from the column of a table; paths are relative to the folder of the file."""
    problems = Problems(rows.where)
    with reading(rows.where, f"{rows.format} file"):
        marks = labels_in(rows, label, options, problems)
        problems.refuse()
        if marks is None:  # which has been refused
            raise InputError(f"{rows.where} cannot be read; check it")
        paths = None
        if bytes_field(rows.schema.field(column).type) is None:
            names = _paths(rows, column, outside=options.allow_outside)
            paths = np.array(list(names), dtype=np.str_)
        decoded = _decode(
            lambda: _blobs(rows, column) if paths is None else _files(paths, rows),
            rows.count,
            rows.where,
            column,
            options,
        )
    beside = [name for name in chosen if name != column]
    notes = [f"learned from the images alone, not from {listed(beside)}"] if beside else []
    return labelled_rows(
        rows,
        label,
        options,
        marks,
        beside=[] if paths is None else [Path(p) for p in paths],
        paths=paths,
        notes=(*marks.notes, *notes),
        **decoded,
    )


def _listed(root: Path) -> tuple[dict[str, list[Path]], int]:
    """The images of each class folder, and how many other files there are."""
    groups: dict[str, list[Path]] = {}
    other = 0
    for folder in in_order(list(root.iterdir())):
        if folder.name.startswith("."):
            continue
        if not folder.is_dir():
            other += 1
            continue
        inside = in_order([p for p in folder.iterdir() if not p.name.startswith(".")])
        images = [file for file in inside if is_image_name(file.name) and file.is_file()]
        deeper = next((d for d in inside if d.is_dir() and not d.is_symlink() and _any(d)), None)
        if deeper is not None:
            raise InputError(
                f"{deeper} holds images two levels below {root}, where a folder for each class is "
                f"expected; name {folder} if its folders are the classes"
            )
        other += len(inside) - len(images)
        if images:
            groups[folder.name] = images
    return groups, other


def _any(folder: Path) -> bool:
    return any(is_image_name(name) for name in os.listdir(folder))


def decode_files(files: Sequence[str], where: Path | str, options: ReadOptions) -> dict[str, Any]:
    """The images in these files as attributes of labelled data."""
    return _decode(lambda: ((file, file) for file in files), len(files), where, "image", options)


def _decode(
    images: _Images, count: int, where: Path | str, column: str, options: ReadOptions
) -> dict[str, Any]:
    """All images as (N, C, S, S) bytes; one channel when every image is grey."""
    if options.labels_only:
        return {"x": np.zeros((count, 0), dtype=np.float32), "features": ()}
    side = options.image_size
    if side is not None:
        side = check_count(side, "image_size", at_least=1)
    sizes, grey = set(), True
    for file, name in images():
        shape, is_grey = outline(file, name)
        sizes.add(shape)
        grey = grey and is_grey
    if side is None:
        (width, height), *others = sizes
        alike = not others and width == height <= OWN_SIZE
        side = width if alike else USUAL_SIZE
    channels = 1 if grey else 3
    refuse_larger_than_memory(where, count * channels * side * side)
    x = np.empty((count, channels, side, side), dtype=np.uint8)
    for row, (file, name) in zip(x, images(), strict=True):
        row[:] = decode_image(file, name, side, channels)
    x.flags.writeable = False
    features = (Feature(column, "image", channels * side * side),)
    small = options.image_size is None and side == USUAL_SIZE
    return {"x": x, "features": features, "made_small": small}


def _cells(rows: Rows, column: str) -> Iterator[tuple[int, Any]]:
    inner = bytes_field(rows.schema.field(column).type)
    row = 0
    for batch in rows.batches([column]):
        cells = batch.column(0)
        for cell in cells.field(inner) if inner else cells:
            value = cell.as_py()
            if not value:
                raise InputError(
                    f"the image in column {one_line(column)!r} is missing in {rows.place(row)}; "
                    "fill it in or remove the row"
                )
            yield row, value
            row += 1


def _blobs(rows: Rows, column: str) -> Iterator[tuple[Any, str]]:
    for row, blob in _cells(rows, column):
        yield io.BytesIO(blob), f"the image in {rows.place(row)}"


def _paths(rows: Rows, column: str, *, outside: bool) -> Iterator[str]:
    """The path of each image; a table has no business with files that lie elsewhere."""
    home = os.path.realpath(rows.files[0].parent) if rows.files else ""
    for row, cell in _cells(rows, column):
        path = rows.files[0].parent / cell if rows.files else Path(cell)
        if home and not outside and not _lies_below(path, home):
            raise InputError(
                f"{rows.place(row)} names the image {one_line(cell)}, which does not lie below "
                f"{one_line(home)}, the folder of the table; if you trust the table, allow it "
                "with `allow_outside`"
            )
        yield str(path)


def _lies_below(path: Path, home: str) -> bool:
    """Whether a file is in a folder or one inside it, wherever links lead."""
    try:
        return os.path.commonpath([os.path.realpath(path), home]) == home
    except ValueError:  # on another drive, or no name of a file
        return False


def _files(paths: Sequence[str] | NDArray[np.str_], rows: Rows) -> Iterator[tuple[str, str]]:
    for row, path in enumerate(paths):
        if "\0" in path or not os.path.isfile(path):
            raise InputError(
                f"{rows.place(row)} names the image {one_line(path)}, which is not there; paths "
                "are relative to the folder of the table"
            )
        yield str(path), str(path)


def has_image_folders(root: Path) -> bool:
    """Whether a folder has folders with images right inside them."""
    with reading(root, "folder"):
        return any(folder.is_dir() and _any(folder) for folder in root.iterdir())


def decode_image(file: Any, name: str, size: int, channels: int) -> NDArray[np.uint8]:
    """One image as (channels, size, size): shorter side to `size`, then the middle square.

    `file` is a path or an open file; 1 channel is grey, 3 are red, green and blue.
    """
    from PIL import Image, ImageOps

    with _opened(file, name) as image:
        plain = image.convert("L" if channels == 1 else "RGB")
        square = ImageOps.fit(plain, (size, size), Image.Resampling.BILINEAR)
    pixels = np.asarray(square, dtype=np.uint8)
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


def outline(file: Any, name: str) -> tuple[tuple[int, int], bool]:
    """Width and height of an image, and whether it is grey, from its first bytes."""
    with _opened(file, name) as image:
        return image.size, image.mode in _GREY


@contextmanager
def _opened(file: Any, name: str) -> Iterator[Any]:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large images and of odd tags
            with Image.open(file) as image:
                if image.size[0] * image.size[1] > _MAX_PIXELS:
                    raise ValueError(f"{image.size[0]} × {image.size[1]} pixels are too many")
                yield image
    except (*_UNREADABLE, Image.DecompressionBombError) as error:
        raise InputError(
            f"{name} cannot be decoded ({one_line(error) or type(error).__name__}); replace it, "
            "or delete it to go on without"
        ) from None
