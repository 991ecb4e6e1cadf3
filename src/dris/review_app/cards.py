"""What a card shows of an example: every column in full, its picture, and words to search."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.data.display import show_rows
from dris.data.labelled import LabelledData
from dris.report_page.details import picture_bytes

PICTURE_SIDES = (96, 320, 1280)  # pixels


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
