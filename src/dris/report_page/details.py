"""Which examples the page can show, and their pictures or rows, within a stated budget."""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import hashed_order
from dris.data.display import as_text, columns_to_show, show_rows
from dris.data.labelled import LabelledData

MAX_SHOWN = 2_000
MAX_DETAIL_BYTES = 3_000_000  # of base64 or text: with all else, 50,000 examples stay under 8 MB
MAX_COLUMNS = 1_000
SHORT_CELL = 80  # characters, where the budget gets short
THUMBNAIL_SIDE = 96
TINY_SIDE = 16  # pixels up to which every one counts
REGIONS = 24  # on either side of the plane

ColumnsAt = Callable[[NDArray[np.int64], Sequence[str]], Mapping[str, Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class Details:
    """Pictures as PNG or WebP bytes, and rows as text, by position.

    `columns` are those of the rows; `left_out` counts the columns past the first 1,000.
    """

    pictures: Mapping[int, bytes] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    left_out: int = 0

    @property
    def shown(self) -> Mapping[int, Any]:
        """The examples that have a picture, or a row where there are no pictures."""
        return self.pictures or self.rows


def details_of(data: LabelledData, positions: NDArray[np.int64]) -> Details:
    """Show images as pictures, and every column of the file beside them or alone.

    Pictures and rows share the budget. Columns of text come first: they say most.
    """
    text = {f.column for f in data.features if f.how in ("text", "sentence")}
    names = sorted(columns_to_show(data), key=lambda name: name not in text)
    images = data.x.ndim == 4
    budget = MAX_DETAIL_BYTES // 2 if images and names else MAX_DETAIL_BYTES
    pictures: Mapping[int, bytes] = {}
    if images:
        source = data.x if data.paths is None else data.paths
        pictures = pictures_of(source, positions, budget=budget)
    if not names:
        return Details(pictures)
    columns, rows = rows_of(
        names[:MAX_COLUMNS], lambda at, some: show_rows(data, at, some), positions, budget=budget
    )
    return Details(pictures, columns, rows, len(names[MAX_COLUMNS:]))


def shown_positions(
    asked: NDArray[np.int64],
    mean_rank: NDArray[np.float64],
    rank_variance: NDArray[np.float64],
    ids: NDArray[Any],
    *,
    most: int = MAX_SHOWN,
) -> NDArray[np.int64]:
    """What a person is asked about, then a sample spread over the plane: every region gets some.

    >>> x = np.array([0.1, 0.1, 0.9, 0.5])
    >>> shown_positions(np.array([2]), x, np.zeros(4), np.arange(4), most=3).tolist()
    [2, 1, 3]
    """
    region = _regions(mean_rank) * REGIONS + _regions(rank_variance)
    lots = hashed_order(ids, seed=0)
    order = np.lexsort((lots, region))
    starts = np.r_[0, np.flatnonzero(np.diff(region[order])) + 1]
    sizes = np.diff(np.r_[starts, len(region)])
    turn = np.empty(len(region), dtype=np.int64)
    turn[order] = np.arange(len(region)) - np.repeat(starts, sizes)
    spread = np.lexsort((lots, turn))
    rest = spread[~np.isin(spread, asked)]
    return np.concatenate([asked, rest])[:most]


def pictures_of(
    images: Any, positions: NDArray[np.int64], *, budget: int = MAX_DETAIL_BYTES
) -> dict[int, bytes]:
    r"""Thumbnails of `images[position]`, in order, as long as their base64 fits the budget.

    >>> pictures_of(np.zeros((3, 8, 8), dtype=np.uint8), np.array([2]))[2][:4]
    b'\x89PNG'
    """
    pictures, used = {}, 0
    for position in positions.tolist():
        data = picture_bytes(images[position], position)
        used += 4 * math.ceil(len(data) / 3)
        if used > budget:
            break
        pictures[position] = data
    return pictures


def rows_of(
    names: Sequence[str],
    columns_at: ColumnsAt,
    positions: NDArray[np.int64],
    *,
    budget: int = MAX_DETAIL_BYTES,
) -> tuple[tuple[str, ...], dict[int, tuple[str, ...]]]:
    """The columns' names and rows as text, in order, as long as they fit the budget.

    `columns_at` may add a column of its own. Text is whole; once half of the budget is used, cells
    are cut so that more rows fit.
    """
    columns = columns_at(positions, names)
    rows, used = {}, 0
    for place, position in enumerate(positions.tolist()):
        longest = None if used <= budget // 2 else SHORT_CELL
        row = tuple(as_text(cells[place], longest) for cells in columns.values())
        used += sum(len(cell.encode("utf-8", "surrogatepass")) + 3 for cell in row)
        if used > budget:
            break
        rows[position] = row
    return tuple(columns), rows


def _regions(values: NDArray[np.float64]) -> NDArray[np.int64]:
    low, high = float(values.min()), float(values.max())
    width = (high - low) or 1.0
    return np.minimum((values - low) / width * REGIONS, REGIONS - 1).astype(np.int64)


def picture_bytes(image: Any, position: int, *, side: int = THUMBNAIL_SIDE) -> bytes:
    """PNG for tiny images; WebP at most `side` pixels wide otherwise.

    The image is the path of a file or an array (H, W), (H, W, C) or (C, H, W) of uint8 or floats.
    """
    from PIL import Image, UnidentifiedImageError

    if isinstance(image, str | Path):
        try:
            with Image.open(image) as opened:
                picture = opened.convert("RGB")
        except (OSError, UnidentifiedImageError) as error:
            raise InputError(f"{image}: cannot be read as an image ({error})") from None
    else:
        picture = Image.fromarray(_as_bytes(np.asarray(image), position))
    out = io.BytesIO()
    if max(picture.size) <= TINY_SIDE:
        picture.save(out, "PNG", optimize=True)
    else:
        picture.thumbnail((side, side))
        picture.save(out, "WEBP", quality=75, method=4)
    return out.getvalue()


def _as_bytes(image: NDArray[Any], position: int) -> NDArray[np.uint8]:
    """The image as uint8 (H, W) or (H, W, 3); floats are read as [0, 1], or by their range."""
    if image.ndim == 3 and image.shape[0] in (1, 3) and image.shape[2] not in (1, 3):
        image = np.moveaxis(image, 0, 2)
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[:, :, 0]
    if image.dtype.kind not in "fiu" or not (
        image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3)
    ):
        raise InputError(
            f"the image at position {position} must be (H, W), (H, W, 3) or (3, H, W) numbers, "
            f"got {image.dtype} of shape {image.shape}"
        )
    if image.dtype == np.uint8:
        return np.ascontiguousarray(image)
    values = np.nan_to_num(image.astype(np.float64))
    if values.min() < 0 or values.max() > 1:
        values = (values - values.min()) / ((values.max() - values.min()) or 1.0)
    return np.ascontiguousarray(np.round(255 * values).astype(np.uint8))
