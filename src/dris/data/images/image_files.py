"""Images with labels: a folder for each class, or a table with a column of paths or of images."""

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.validate import check_count
from dris.data.files import fingerprint_of, in_order, listed, one_line, reading
from dris.data.files import refuse_larger_than_memory as refuse_too_large
from dris.data.images.pixels import OWN_SIZE, USUAL_SIZE, decoded, is_image, outline
from dris.data.labelled import Feature, LabelledData, Origin
from dris.data.options import ReadOptions
from dris.data.tables.label_columns import is_text
from dris.data.tables.labelled_table import marks_of, origin_of
from dris.data.tables.numbers.encoding import Rows, where_of

# Opens the i-th image: a path or a file, and what to call it in a message.
_Images = Callable[[], Iterable[tuple[Any, str]]]


def read_image_folder(root: Path, options: ReadOptions) -> LabelledData:
    """Images in a folder for each class; the id of an image is its path below `root`.

    Classes are sorted by name, images within them too. Files that are no images are left out
    with a note; a class without images is none.
    """
    if any((options.label, options.id, options.trusted, options.features)):
        raise InputError(
            f"{root} is a folder of images, where the folders are the labels and the paths the "
            "ids; for `label`, `id`, `trusted` or `features` pass a CSV of paths and labels"
        )
    with reading(root, "folder of images"):
        found, other = _listed(root)
    classes = tuple(found)
    if len(classes) < 2:
        raise InputError(
            f"{root} holds images of {len(classes)} classes; at least two are needed, as "
            f"{root.name}/<class>/<image>.png"
        )
    files = [file for group in found.values() for file in group]
    ids = [file.relative_to(root).as_posix() for file in files]
    for name in ids:
        if not name.isascii() and name.encode("utf-8", "replace").decode() != name:
            raise InputError(f"the file name {name!a} in {root} is not UTF-8; rename it")
    x, width = nothing(len(files)), 0
    if not options.labels_only:
        x, width = pixels_of([str(file) for file in files], root, options.image_size)
    return LabelledData(
        x=x,
        labels=np.repeat(np.arange(len(classes)), [len(group) for group in found.values()]),
        classes=classes,
        ids=np.array(ids, dtype=np.str_),
        trusted=np.zeros(len(files), dtype=np.bool_),
        features=(Feature("image", "image", width),) if width else (),
        origin=Origin(
            "images", tuple(files), fingerprint_of(files), "label", "id", ("path", "label", "id")
        ),
        paths=np.array([str(file) for file in files], dtype=np.str_),
        notes=(f"{other} files below {root} are no images and were left out",) if other else (),
        made_small=_is_usual(x, options.image_size),
    )


def image_column(rows: Rows, options: ReadOptions) -> str | None:
    """The column that holds images or their paths, None when the table has none.

    Encoded images are binary, or a struct with bytes as Hugging Face keeps them; paths are text
    whose first cell ends as an image file does.
    """
    _, chosen = options.resolve(rows.schema.names, where_of(rows))
    kinds = dict(zip(rows.schema.names, rows.schema.types, strict=True))
    for name in chosen:
        kind = kinds[name]
        if _bytes_in(kind) is not None or (is_text(kind) and is_image(_first(rows, name))):
            if options.features and len(chosen) > 1:
                raise InputError(
                    f"column {one_line(name)!r} of {where_of(rows)} holds images, which are "
                    "learned from alone; name it alone, or not at all, in `features`"
                )
            return name
    return None


def read_image_table(rows: Rows, options: ReadOptions, column: str) -> LabelledData:
    """Images from the column of a table; paths are relative to the folder of the file."""
    label, chosen = options.resolve(rows.schema.names, where_of(rows))
    inside = _bytes_in(rows.schema.field(column).type) is not None
    with reading(where_of(rows), f"{rows.format} file"):
        marks = marks_of(rows, label, options)
        paths = None
        if not inside:
            found = list(_paths(rows, column, outside=options.allow_outside))
            paths = np.array(found, dtype=np.str_)
        x, width = nothing(rows.count), 0
        if not options.labels_only:
            x, width = _pixels(
                lambda: _encoded(rows, column) if paths is None else _files(paths, rows),
                rows.count,
                where_of(rows),
                options.image_size,
            )
    if marks is None:  # marks_of has refused them
        raise InputError(f"{where_of(rows)} cannot be read; check it")
    beside = [name for name in chosen if name != column]
    return LabelledData(
        x=x,
        labels=marks.labels,
        classes=marks.classes,
        ids=marks.ids,
        trusted=marks.trusted,
        features=(Feature(column, "image", width),) if width else (),
        origin=origin_of(
            rows, label, options, beside=[] if paths is None else [Path(p) for p in paths]
        ),
        paths=paths,
        shown=None if rows.files else rows,
        notes=(
            *marks.notes,
            *[f"learned from the images alone, not from {listed(beside)}"] * bool(beside),
        ),
        made_small=_is_usual(x, options.image_size),
    )


def _listed(root: Path) -> tuple[dict[str, list[Path]], int]:
    """The images of each class folder, and how many other files there are."""
    found: dict[str, list[Path]] = {}
    other = 0
    for folder in in_order(list(root.iterdir())):
        if folder.name.startswith("."):
            continue
        if not folder.is_dir():
            other += 1
            continue
        inside = in_order([p for p in folder.iterdir() if not p.name.startswith(".")])
        images = [file for file in inside if is_image(file.name) and file.is_file()]
        deeper = next((d for d in inside if d.is_dir() and not d.is_symlink() and _any(d)), None)
        if deeper is not None:
            raise InputError(
                f"{deeper} holds images two levels below {root}, where a folder for each class is "
                f"expected; name {folder} if its folders are the classes"
            )
        other += len(inside) - len(images)
        if images:
            found[folder.name] = images
    return found, other


def _any(folder: Path) -> bool:
    return any(is_image(name) for name in os.listdir(folder))


def pixels_of(
    files: Sequence[str], where: Path | str, size: int | None
) -> tuple[NDArray[np.uint8], int]:
    """The images in these files as one array, and how many numbers each takes."""
    return _pixels(lambda: ((file, file) for file in files), len(files), where, size)


def _is_usual(x: NDArray[Any], size: int | None) -> bool:
    """Whether images have the side that those are brought to for which nobody named one."""
    return size is None and x.ndim == 4 and x.shape[-1] == USUAL_SIZE


def nothing(n: int) -> NDArray[Any]:
    """Rows of no numbers, where only labels are asked for."""
    return np.zeros((n, 0), dtype=np.float32)


def _pixels(
    images: _Images, count: int, path: Path | str, size: int | None
) -> tuple[NDArray[np.uint8], int]:
    """All images as (N, C, S, S) bytes, and C·S·S; one channel when every image is grey."""
    side = None if size is None else check_count(size, "image_size", at_least=1)
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
    refuse_too_large(path, count * channels * side * side)
    x = np.empty((count, channels, side, side), dtype=np.uint8)
    for row, (file, name) in zip(x, images(), strict=True):
        row[:] = decoded(file, name, side, channels)
    x.flags.writeable = False
    return x, channels * side * side


def _bytes_in(kind: Any) -> str | None:
    """The name of the field of a struct that holds encoded images, "" for a binary column."""
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return ""
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        if "bytes" in names and pa.types.is_binary(kind.field(names.index("bytes")).type):
            return "bytes"
    return None


def _first(rows: Rows, column: str) -> str:
    for batch in rows.batches([column]):
        return str(batch.column(0)[0].as_py()) if len(batch) else ""
    return ""


def _paths(rows: Rows, column: str, *, outside: bool) -> Iterator[str]:
    """The path of each image; a table has no business with files that lie elsewhere."""
    row = 0
    home = os.path.realpath(rows.files[0].parent) if rows.files else ""
    for batch in rows.batches([column]):
        for cell in batch.column(0).to_pylist():
            if not cell:
                raise InputError(
                    f"the image in column {one_line(column)!r} is missing in {rows.place(row)}; "
                    "fill it in or remove the row"
                )
            path = rows.files[0].parent / cell if rows.files else Path(cell)
            if home and not outside and not _lies_below(path, home):
                raise InputError(
                    f"{rows.place(row)} names the image {one_line(cell)}, which does not lie below "
                    f"{one_line(home)}, the folder of the table; if you trust the table, allow it "
                    "with `allow_outside`"
                )
            yield str(path)
            row += 1


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


def _encoded(rows: Rows, column: str) -> Iterator[tuple[Any, str]]:
    inner = _bytes_in(rows.schema.field(column).type)
    row = 0
    for batch in rows.batches([column]):
        cells = batch.column(0)
        for cell in cells.field(inner) if inner else cells:
            blob = cell.as_py()
            if not blob:
                raise InputError(
                    f"the image in column {one_line(column)!r} is missing in {rows.place(row)}; "
                    "fill it in or remove the row"
                )
            yield io.BytesIO(blob), f"the image in {rows.place(row)}"
            row += 1


def holds_images(root: Path) -> bool:
    """Whether a folder has folders with images right inside them."""
    with reading(root, "folder"):
        return any(folder.is_dir() and _any(folder) for folder in root.iterdir())
