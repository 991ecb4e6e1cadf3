"""What there is to see of an example: every column in full, its picture, and words to search."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.data.display import looks
from dris.data.labelled import LabelledData
from dris.report_page.details import picture_bytes

SIDES = (96, 320, 1280)  # pixels that a picture may be asked for in


class Faces:
    """The cards' columns, read once; pictures as they are asked for, from the data's folder only.

    >>> data = LabelledData.of(np.array([[1.5], [2.0]]), [0, 1], classes=("a", "b"), ids=["p", "q"])
    >>> faces = Faces(data, np.array([1]))
    >>> faces.fields([1]), faces.found("Q"), faces.found("1.5")
    ([[('x[0]', '2')]], [1], [])
    """

    def __init__(self, data: LabelledData, positions: NDArray[np.int64]) -> None:
        self._data, self._positions = data, positions
        self._columns = looks(data, positions)
        self._place = {at: k for k, at in enumerate(positions.tolist())}
        self._words: list[str] | None = None
        files = data.origin.files
        folders = {p.parent for p in files} | {p for p in files[:1] if p.is_dir()}
        self._roots = tuple(folder.resolve() for folder in folders)

    @property
    def pictured(self) -> bool:
        """Whether examples have pictures."""
        return self._data.x.ndim == 4

    def fields(self, positions: list[int]) -> list[list[tuple[str, str]]]:
        """Column and value of each, every column as it was written."""
        others = [at for at in positions if at not in self._place]
        more = looks(self._data, np.array(others)) if others else {}
        place = {at: k for k, at in enumerate(others)}
        found = []
        for at in positions:
            own = at in self._place
            columns, k = (self._columns, self._place[at]) if own else (more, place[at])
            found.append([(name, values[k]) for name, values in columns.items()])
        return found

    def found(self, words: str) -> list[int]:
        """Positions of the cards in which every one of the words occurs, in whatever column."""
        if self._words is None:
            lines = zip(*self._columns.values(), strict=True) if self._columns else ()
            texts = ["\n".join(line).casefold() for line in lines] or [""] * len(self._positions)
            ids = self._data.ids[self._positions].tolist()
            self._words = [f"{i}\n{t}".casefold() for i, t in zip(ids, texts, strict=True)]
        wanted = words.casefold().split()
        return [
            at
            for at, text in zip(self._positions.tolist(), self._words, strict=True)
            if all(word in text for word in wanted)
        ]

    def picture(self, at: int, side: int) -> bytes:
        """An example's picture, made anew as PNG or WebP: no byte of a file is passed on."""
        data = self._data
        if not self.pictured or not 0 <= at < len(data) or side not in SIDES:
            raise InputError(f"there is no picture of example {at} in {side} pixels")
        if data.paths is None:
            return picture_bytes(data.x[at], at, side=side)
        path = Path(str(data.paths[at])).resolve()
        if not any(path.is_relative_to(root) for root in self._roots):
            raise InputError("the picture lies outside the data's own folder and is not shown")
        return picture_bytes(path, at, side=side)
