"""Images with labels: a folder for each class, or a table with a column of paths or of images."""

import hashlib
import io
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError, Problems
from dris.core.validate import check_count
from dris.data.files import (
    UNREADABLE,
    digests_of,
    fingerprint_of,
    in_order,
    listed,
    one_line,
    reading,
    refuse_endless,
    refuse_larger_than_memory,
)
from dris.data.labelled import Change, Feature, LabelledData, Origin, ReadOptions
from dris.data.tables.csvfile import write_lines
from dris.data.tables.label_columns import labels_in
from dris.data.tables.rows import Rows, bytes_field, is_image_name

# Opens the i-th image: a path or a file, and what to call it in a message.
_Images = Callable[[], Iterable[tuple[Any, str]]]
OWN_SIZE = 64  # images that are all square and alike up to this side are read as they are
USUAL_SIZE = 32  # the side that all others are brought to, that of CIFAR
_MAX_PIXELS = 50_000_000  # pixels of one image; a small file can claim to hold billions
_GREY = ("1", "L", "LA")
_DEEP = ("I", "F")  # 16 and 32 bits, and decimal numbers
_BEHIND = (128, 128, 128, 255)  # on which black and white shapes are seen
_ORIENTATION = 0x0112  # where EXIF says how the camera was held


def read_image_folder(files: Sequence[Path], options: ReadOptions) -> LabelledData:
    """Images in a folder for each class, sorted; an image's id is its path below the folder."""
    (root,) = files
    if any((options.label, options.id, options.trusted, options.features)):
        raise InputError(
            f"{root} is a folder of images, where the folders are the labels and the paths the "
            "ids; for `label`, `id`, `trusted` or `features` pass a CSV of paths and labels"
        )
    with reading(root, "folder of images"):
        groups, other = _listed(root)
        every = [file for group in groups.values() for file in group]
        large = {file for file in every if outline(file, str(file)).too_large}
        groups = {name: [f for f in group if f not in large] for name, group in groups.items()}
    classes = tuple(name for name, group in groups.items() if group)
    if len(classes) < 2:
        raise InputError(
            f"{root} holds images of {len(classes)} classes; at least two are needed, as "
            f"{root.name}/<class>/<image>.png"
        )
    images = tuple(file for group in groups.values() for file in group)
    ids = [file.relative_to(root).as_posix() for file in images]
    for name in ids:
        if name.encode("utf-8", "replace").decode() != name:
            raise InputError(f"the file name {name!a} in {root} is not UTF-8; rename it")
    paths = [str(file) for file in images]
    columns = ("path", "label", "id")
    notes = [f"{other} files below {root} are no images and were left out"] if other else []
    notes += _too_large_note(list(map(str, large)))
    origin = Origin("images", images, fingerprint_of(images), "label", "id", columns)
    decoded = decode_files(paths, root, options)
    labels = np.repeat(np.arange(len(classes)), [len(groups[name]) for name in classes])
    decoded["notes"] = (*notes, *decoded["notes"])
    return LabelledData.of(decoded["x"], labels, classes=classes, ids=ids).with_features(
        **decoded, origin=origin, paths=np.array(paths, dtype=np.str_)
    )


def write_images(data: LabelledData, change: Change, path: Path) -> None:
    """Write a list of the kept images: path from the list's own folder, label, id, new columns."""
    files = [os.path.relpath(file, path.parent) for file in data.origin.files]
    labels = change.given if change.labels is None else change.labels
    values = [np.array(files), labels, change.ids, *change.columns.values()]
    write_lines(path, ["path", "label", "id", *change.columns], values, change.keep)


def read_image_table(
    rows: Rows, label: str, chosen: Sequence[str], column: str, options: ReadOptions
) -> LabelledData:
    """Images from the column of a table; paths are relative to the folder of the file."""
    problems = Problems(rows.where)
    with reading(rows.where, f"{rows.format} file"):
        marks, _ = labels_in(rows, label, options, problems)
        problems.refuse()
        paths, digests, images = None, rows.digests, partial(_blobs, rows, column)
        if bytes_field(rows.schema.field(column).type) is None:
            names = list(_paths(rows, column, outside=options.allow_outside))
            paths, images = np.array(names, dtype=np.str_), partial(zip, names, names)
            digests += digests_of(list(map(Path, names)))
        decoded = _decode(images, rows.count, rows.where, column, options)
    others = [name for name in chosen if name != column]
    notes = [f"learned from the images alone, not from {listed(others)}"] if others else []
    large = decoded.pop("too_large", [])
    labels = marks.labels.copy()
    labels[large] = -1  # put aside
    notes += _too_large_note([rows.place(row) for row in large])
    decoded["notes"] = (*notes, *decoded["notes"])
    origin = replace(marks.origin, fingerprint=hashlib.sha256(b"".join(digests)).hexdigest())
    return marks.with_features(**decoded, labels=labels, origin=origin, paths=paths)


def _listed(root: Path) -> tuple[dict[str, list[Path]], int]:
    """The images of each class folder, and how many other files there are."""
    groups: dict[str, list[Path]] = {}
    other = 0
    for folder in _shown(root):
        if not folder.is_dir():
            other += 1
            continue
        inside = _shown(folder)
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


def _shown(folder: Path) -> list[Path]:
    return in_order([path for path in folder.iterdir() if not path.name.startswith(".")])


def _any(folder: Path) -> bool:
    return any(is_image_name(name) for name in os.listdir(folder))


def decode_files(files: Sequence[str], where: Path | str, options: ReadOptions) -> dict[str, Any]:
    """The images in these files as attributes of labelled data."""
    return _decode(lambda: ((file, file) for file in files), len(files), where, "image", options)


def _decode(
    images: _Images, count: int, where: Path | str, column: str, options: ReadOptions
) -> dict[str, Any]:
    """All images as (N, C, S, S) bytes, grey if all are; those `too_large` for memory are black."""
    if options.labels_only:
        return {"x": np.zeros((count, 0), dtype=np.float32), "features": (), "notes": ()}
    side = options.image_size
    if side is not None:
        side = check_count(side, "image_size", at_least=1)
    seen = [outline(file, name) for file, name in images()]
    read = [one for one in seen if not one.too_large]
    if not read:
        raise InputError(
            f"all pictures of {where} have more than {_MAX_PIXELS:,} pixels; scale them"
        )
    deep = [one.span for one in read if one.span is not None]
    span = (min(low for low, _ in deep), max(high for _, high in deep)) if deep else None
    if side is None:
        (width, height), *others = {one.size for one in read}
        side = width if not others and width == height <= OWN_SIZE else USUAL_SIZE
    channels = 1 if all(one.grey for one in read) else 3
    refuse_larger_than_memory(where, count * channels * side * side)
    x = np.zeros((count, channels, side, side), dtype=np.uint8)
    for row, one, (file, name) in zip(x, seen, images(), strict=True):
        if not one.too_large:
            row[:] = decode_image(file, name, side, channels, span)
    x.flags.writeable = False
    features = (Feature(column, "image", channels * side * side),)
    small = options.image_size is None and side == USUAL_SIZE
    done = {
        "hold more than 8 bits and were scaled from the range of all of them": len(deep),
        "are transparent in places, which became grey": sum(one.clear for one in read),
        "were turned as their cameras say": sum(one.turned for one in read),
    }
    notes = tuple(f"{n:,} of {len(read):,} pictures {what}" for what, n in done.items() if n)
    large = [row for row, one in enumerate(seen) if one.too_large]
    more = {"too_large": large} if large else {}
    return {"x": x, "features": features, "made_small": small, "notes": notes, **more}


def _too_large_note(names: Sequence[str]) -> list[str]:
    what = "1 picture of" if len(names) == 1 else f"{len(names):,} pictures of"
    rest = f"more than {_MAX_PIXELS:,} pixels left out: {listed(sorted(names), 6)}"
    return [f"{what} {rest}"] if names else []


def _cells(rows: Rows, column: str) -> Iterator[tuple[int, Any]]:
    inner = bytes_field(rows.schema.field(column).type)
    parts = (batch.column(0) for batch in rows.batches([column]))
    cells = (cell for part in parts for cell in (part.field(inner) if inner else part))
    for row, cell in enumerate(cells):
        value = cell.as_py()
        if not value:
            raise InputError(
                f"the image in column {one_line(column)!r} is missing in {rows.place(row)}; fill "
                "it in or remove the row"
            )
        yield row, value


def _blobs(rows: Rows, column: str) -> Iterator[tuple[Any, str]]:
    for row, blob in _cells(rows, column):
        yield io.BytesIO(blob), f"the image in {rows.place(row)}"


def _paths(rows: Rows, column: str, *, outside: bool) -> Iterator[str]:
    """The path of each image; a table has no business with files that lie elsewhere."""
    home = os.path.realpath(rows.files[0].parent) if rows.files else ""
    for row, cell in _cells(rows, column):
        path = str(rows.files[0].parent / cell if rows.files else Path(cell))
        named = f"{rows.place(row)} names the image"
        if home and not outside and not _lies_below(path, home):
            raise InputError(
                f"{named} {one_line(cell)}, which does not lie below {one_line(home)}, the folder "
                "of the table; if you trust the table, allow it with `allow_outside`"
            )
        if "\0" in path or not os.path.isfile(path):
            raise InputError(
                f"{named} {one_line(path)}, which is not there; paths are relative to the folder "
                "of the table"
            )
        yield path


def _lies_below(path: str, home: str) -> bool:
    """Whether a file is in a folder or one inside it, wherever links lead."""
    try:
        return os.path.commonpath([os.path.realpath(path), home]) == home
    except ValueError:  # on another drive, or no name of a file
        return False


def has_image_folders(root: Path) -> bool:
    """Whether a folder has folders with images right inside them."""
    with reading(root, "folder"):
        return any(folder.is_dir() and _any(folder) for folder in root.iterdir())


def decode_image(
    file: Any, name: str, size: int, channels: int, span: tuple[float, float] | None = None
) -> NDArray[np.uint8]:
    """One image as (channels, size, size): shorter side to `size`, then the middle square.

    Numbers of more than 8 bits are scaled from `span`, by default from their own range.
    """
    from PIL import Image, ImageOps

    with _opened(file, name) as image:
        if image.mode.startswith(_DEEP):
            values = np.asarray(image, dtype=np.float64)
            low, high = span or (values.min(), values.max())
            scaled = (values - low) * (255 / max(high - low, 1e-30))
            plain = Image.fromarray(np.clip(np.nan_to_num(scaled), 0, 255).astype(np.uint8))
            plain.info["exif"] = image.getexif().tobytes()
        elif image.has_transparency_data:
            shape = image.convert("RGBA")
            plain = Image.alpha_composite(Image.new("RGBA", image.size, _BEHIND), shape)
        else:
            plain = image
        plain = ImageOps.exif_transpose(plain).convert("L" if channels == 1 else "RGB")
        square = ImageOps.fit(plain, (size, size), Image.Resampling.BILINEAR)
    pixels = np.asarray(square, dtype=np.uint8)
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


@dataclass(frozen=True, slots=True)
class Outline:
    """What an image is, as far as its first bytes tell."""

    size: tuple[int, int]
    grey: bool
    clear: bool
    turned: bool
    span: tuple[float, float] | None  # where it has more than 8 bits
    too_large: bool


class _TooLargeError(InputError):
    """An image so large that Pillow does not open it."""


def outline(file: Any, name: str) -> Outline:
    """Look at an image before it is decoded."""
    try:
        return _outline(file, name)
    except _TooLargeError:
        return Outline((0, 0), grey=True, clear=False, turned=False, span=None, too_large=True)


def _outline(file: Any, name: str) -> Outline:
    with _opened(file, name, any_size=True) as image:
        (width, height), deep = image.size, image.mode.startswith(_DEEP)
        too_large = width * height > _MAX_PIXELS
        turn = image.getexif().get(_ORIENTATION, 1)
        span = None
        if deep and not too_large:
            values = np.asarray(image, dtype=np.float64)
            fine = values[np.isfinite(values)]
            span = (float(fine.min()), float(fine.max())) if fine.size else (0.0, 0.0)
        return Outline(
            size=(height, width) if 5 <= turn <= 8 else (width, height),
            grey=deep or image.mode in _GREY,
            clear=image.has_transparency_data,
            turned=1 < turn <= 8,
            span=span,
            too_large=too_large,
        )


@contextmanager
def _opened(file: Any, name: str, *, any_size: bool = False) -> Iterator[Any]:
    from PIL import Image

    if isinstance(file, str | os.PathLike):
        refuse_endless(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large images and of odd tags
            with Image.open(file) as image:
                if image.size[0] * image.size[1] > _MAX_PIXELS and not any_size:
                    raise ValueError(f"{image.size[0]} × {image.size[1]} pixels are too many")
                yield image
    except (*UNREADABLE, Image.DecompressionBombError) as error:
        kind = _TooLargeError if isinstance(error, Image.DecompressionBombError) else InputError
        raise kind(
            f"{name} cannot be decoded ({one_line(error) or type(error).__name__}); replace it, "
            "or delete it to go on without"
        ) from None
