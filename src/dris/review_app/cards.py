"""What a card shows of an example: columns, picture, words to search, and similar examples."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.data.display import show_rows
from dris.data.labelled import LabelledData
from dris.report_page.content import picture_bytes

PICTURE_SIDES = (96, 320, 1280)  # pixels
POOLED_SIDE = 8  # images are compared as 8 × 8 means a channel
ROWS_AT_ONCE = 4096


class CardContents:
    """The cards' columns, read once; pictures on request, from the data's own folder only.

    >>> data = LabelledData.of(np.array([[1.5], [2.0]]), [0, 1], classes=("a", "b"), ids=["p", "q"])
    >>> cards = CardContents(data, np.array([1]))
    >>> cards.fields([1]), cards.search("Q"), cards.search("1.5")
    ([[('x[0]', '2')]], [1], [])
    """

    def __init__(self, data: LabelledData, positions: NDArray[np.int64]) -> None:
        self._data, self._positions = data, positions
        self._columns = show_rows(data, positions)
        self._place = {at: k for k, at in enumerate(positions.tolist())}
        self._texts: list[str] | None = None
        files = data.origin.files
        folders = {p.parent for p in files} | {p for p in files[:1] if p.is_dir()}
        self._roots = tuple(folder.resolve() for folder in folders)

    @property
    def pictured(self) -> bool:
        """True if examples have pictures."""
        return self._data.x.ndim == 4

    def fields(self, positions: list[int]) -> list[list[tuple[str, str]]]:
        """Column and value of each example, as they are written."""
        others = [at for at in positions if at not in self._place]
        more = show_rows(self._data, np.array(others)) if others else {}
        other_place = {at: k for k, at in enumerate(others)}
        rows = []
        for at in positions:
            own = at in self._place
            columns, k = (self._columns, self._place[at]) if own else (more, other_place[at])
            rows.append([(name, values[k]) for name, values in columns.items()])
        return rows

    def search(self, words: str) -> list[int]:
        """Positions of the cards in which each of the words occurs, in any column or the id."""
        if self._texts is None:
            ids = self._data.ids[self._positions].astype(str).tolist()
            lines = zip(ids, *self._columns.values(), strict=True)
            self._texts = ["\n".join(line).casefold() for line in lines]
        wanted = words.casefold().split()
        return [
            at
            for at, text in zip(self._positions.tolist(), self._texts, strict=True)
            if all(word in text for word in wanted)
        ]

    def picture(self, at: int, side: int) -> bytes:
        """An example's picture, encoded anew as PNG or WebP: no byte of a file is passed on."""
        data = self._data
        if not self.pictured or not 0 <= at < len(data) or side not in PICTURE_SIDES:
            raise InputError(f"there is no picture of example {at} in {side} pixels")
        if data.paths is None:
            return picture_bytes(data.x[at], at, side=side)
        path = Path(str(data.paths[at])).resolve()
        if not any(path.is_relative_to(root) for root in self._roots):
            raise InputError("the picture lies outside the data's own folder and is not shown")
        return picture_bytes(path, at, side=side)


class Neighbours:
    """Distances between examples in standardized features, computed on first use.

    >>> alike = Neighbours(np.array([[0.0, 1], [0, 1], [5, 1], [0, 9]]))
    >>> alike.nearest(0, 2)
    [(1, 0.0), (2, 2.309)]
    """

    def __init__(self, x: Any) -> None:
        self._raw = x
        self._x: NDArray[np.float32] | None = None

    def nearest(self, at: int, count: int) -> list[tuple[int, float]]:
        """The nearest examples with their distances; 0 is a copy, ties keep the data's order."""
        x = self._features()
        far = np.empty(len(x))
        for start in range(0, len(x), ROWS_AT_ONCE):
            part = x[start : start + ROWS_AT_ONCE] - x[at]
            far[start : start + ROWS_AT_ONCE] = np.einsum("nd,nd->n", part, part)
        far[at] = np.inf
        count = min(count, len(x) - 1)
        first = np.argpartition(far, count - 1)[:count] if count else np.array([], dtype=np.int64)
        order = first[np.lexsort((first, far[first]))]
        return [(int(i), round(float(np.sqrt(far[i])), 3)) for i in order]

    def _features(self) -> NDArray[np.float32]:
        if self._x is None:
            x = self._raw
            x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
            flat = (_pool(x) if x.ndim == 4 else x.reshape(len(x), -1)).astype(np.float32)
            flat = flat - flat.mean(axis=0)
            spread = flat.std(axis=0)
            flat /= np.where(spread > 0, spread, 1)
            self._x = flat
        return self._x


def _pool(images: NDArray[Any]) -> NDArray[np.float32]:
    """Images (N, C, H, W) as the means of at most 8 × 8 squares a channel."""
    n, channels, high, wide = images.shape
    rows, columns = min(POOLED_SIDE, high), min(POOLED_SIDE, wide)
    means = np.empty((n, channels, rows, columns), dtype=np.float32)
    for r, top in enumerate(np.array_split(np.arange(high), rows)):
        for c, left in enumerate(np.array_split(np.arange(wide), columns)):
            square = images[:, :, top[0] : top[-1] + 1, left[0] : left[-1] + 1]
            means[:, :, r, c] = square.mean(axis=(2, 3), dtype=np.float32)
    return means.reshape(n, -1)
