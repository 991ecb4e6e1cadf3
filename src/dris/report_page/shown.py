"""Which examples the page can show, and their pictures or rows, within a stated budget."""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import hashed_order
from dris.data.display import as_text
from dris.report_page.page_data import Pictures, Rows

MOST_SHOWN = 2_000
DETAIL_BYTES = 3_000_000  # of base64 or text: with all else, 50,000 examples stay under 8 MB
MOST_COLUMNS = 1_000
_CUT = 80  # characters of a cell, where the budget gets short
_SIDE = 96
_CELLS = 24


@dataclass(frozen=True, slots=True)
class Looked:
    """Columns of a table that are read when they are needed: their names, and cells by position.

    `at` is called with positions and names, and may add a column of its own.
    """

    names: Sequence[str]
    at: Callable[[NDArray[np.int64], Sequence[str]], Mapping[str, Sequence[Any]]]


Table = Mapping[str, Sequence[Any]] | Looked


def shown_positions(
    asked: NDArray[np.int64],
    mean_rank: NDArray[np.float64],
    rank_variance: NDArray[np.float64],
    ids: NDArray[Any],
    *,
    most: int = MOST_SHOWN,
) -> NDArray[np.int64]:
    """What a person is asked about, then a sample spread over the plane: every region gets some.

    >>> x = np.array([0.1, 0.1, 0.9, 0.5])
    >>> shown_positions(np.array([2]), x, np.zeros(4), np.arange(4), most=3).tolist()
    [2, 1, 3]
    """
    cell = _cells(mean_rank) * _CELLS + _cells(rank_variance)
    lots = hashed_order(ids, seed=0)
    order = np.lexsort((lots, cell))
    starts = np.r_[0, np.flatnonzero(np.diff(cell[order])) + 1]
    sizes = np.diff(np.r_[starts, len(cell)])
    turn = np.empty(len(cell), dtype=np.int64)
    turn[order] = np.arange(len(cell)) - np.repeat(starts, sizes)
    spread = np.lexsort((lots, turn))
    rest = spread[~np.isin(spread, asked)]
    return np.concatenate([asked, rest])[:most]


def by_class(
    positions: NDArray[np.int64], suspicion: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The most suspicious of every class, then the second of every class, and so on.

    >>> by_class(np.arange(4), np.array([0.9, 0.8, 0.7, 0.1]), np.array([0, 0, 1, 1])).tolist()
    [0, 2, 1, 3]
    """
    order = positions[np.argsort(-suspicion[positions], kind="stable")]
    turn = np.zeros(order.size, dtype=np.int64)
    for label in np.unique(labels[order]):
        own = labels[order] == label
        turn[own] = np.arange(own.sum())
    return order[np.lexsort((-suspicion[order], turn))]


def pictures(
    images: Any,
    positions: NDArray[np.int64],
    *,
    budget: int = DETAIL_BYTES,
    beside: Rows | None = None,
) -> Pictures:
    r"""Thumbnails of `images[position]`, in order, as long as their base64 fits the budget.

    Args:
        images: Anything indexed by position: arrays (H, W), (H, W, C) or (C, H, W) as uint8 or
            as floats, or paths of image files.
        positions: Most wanted first.
        budget: Bytes of base64.
        beside: What a table says of the same examples.

    >>> pictures(np.zeros((3, 8, 8), dtype=np.uint8), np.array([2])).images[2][:4]
    b'\x89PNG'
    """
    found, used = {}, 0
    for position in positions.tolist():
        data = picture_bytes(images[position], position)
        used += 4 * math.ceil(len(data) / 3)
        if used > budget:
            break
        found[position] = data
    return Pictures(found, beside)


def rows(
    columns: Table,
    positions: NDArray[np.int64],
    *,
    budget: int = DETAIL_BYTES,
) -> Rows:
    """Rows of a table as text, in order, as long as they fit the budget; 1,000 columns at most.

    Text is whole; where half of the budget is used, cells are cut so that more rows are there.

    >>> rows({"age": [31.0, 2.5], "job": ["cook", "none"]}, np.array([1])).values
    {1: ('2.5', 'none')}
    """
    if isinstance(columns, Mapping):
        given = columns
        columns = Looked(list(given), lambda p, names: {n: [given[n][i] for i in p] for n in names})
    names = columns.names[:MOST_COLUMNS]
    seen = columns.at(positions, names)
    found, used = {}, 0
    for place, position in enumerate(positions.tolist()):
        longest = None if used <= budget // 2 else _CUT
        row = tuple(as_text(cells[place], longest) for cells in seen.values())
        used += sum(len(cell.encode("utf-8", "surrogatepass")) + 3 for cell in row)
        if used > budget:
            break
        found[position] = row
    return Rows(tuple(seen), found, left_out=len(columns.names) - len(names))


def _cells(values: NDArray[np.float64]) -> NDArray[np.int64]:
    low, high = float(values.min()), float(values.max())
    width = (high - low) or 1.0
    return np.minimum((values - low) / width * _CELLS, _CELLS - 1).astype(np.int64)


def picture_bytes(image: Any, position: int, *, side: int = _SIDE) -> bytes:
    """PNG for tiny images, whose every pixel counts; WebP at most `side` pixels wide otherwise."""
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
    if max(picture.size) <= 16:
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
