"""One pass over the examples, filled batch by batch in any order."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.columns import Column, margins_of, rivals_of, trajectories_of

# Logits wait until there are this many numbers: the arithmetic then costs per example, not per
# batch, and its one float64 copy, a megabyte, still fits a cache (measured: 2^17 or 2^18 is best
# at 10, 100 and 1,000 classes).
_WAITING = 1 << 17
_DTYPES: dict[str, Any] = {"correct": np.bool_, "rival": np.int32}


class EpochBuffer:
    """The (N,) columns of one pass, and which examples it has seen."""

    def __init__(self, examples: int, classes: int, names: Sequence[str], dtype: Any) -> None:
        self._columns = {n: np.zeros(examples, dtype=_DTYPES.get(n, dtype)) for n in names}
        self._turn = np.zeros(examples, dtype=np.int32)  # 0 where nothing was seen yet
        self.count = 0
        self._shape, self._dtype = (max(1, _WAITING // classes), classes), dtype
        self._queue: tuple[NDArray[Any], ...] = ()  # positions, labels, logits, lengths that wait
        self._waiting = 0

    @property
    def complete(self) -> bool:
        """True if every example was seen."""
        return self.count == len(self._turn)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which examples were seen."""
        return self._turn > 0

    def missing(self) -> NDArray[np.intp]:
        """The positions not seen yet."""
        return np.flatnonzero(self._turn == 0)

    def claim(self, positions: NDArray[np.intp]) -> int | None:
        """Mark a batch as seen; a position that comes twice is returned and nothing is marked."""
        before = self._turn[positions]
        if np.count_nonzero(before):
            return int(positions[before > 0][0])
        turn = np.arange(1, len(positions) + 1, dtype=np.int32)
        self._turn[positions] = turn
        kept = self._turn[positions]  # a later copy overwrites the earlier one's turn
        if kept.tobytes() != turn.tobytes():
            self._turn[positions] = 0
            return int(positions[kept != turn][0])
        self.count += len(positions)
        return None

    def add(
        self,
        positions: NDArray[np.intp],
        labels: NDArray[np.int64],
        logits: NDArray[Any],
        lengths: NDArray[np.float64] | None,
    ) -> None:
        """Take in a claimed batch; `lengths` are the ‖(φ, 1)‖ of its features, if recorded."""
        room = self._shape[0]
        if not self._queue:
            whole, kinds = np.empty(self._shape, dtype=self._dtype), (np.intp, np.int64)
            self._queue = (*(np.empty(room, dtype=kind) for kind in kinds), whole, np.empty(room))
        batch = [positions, labels, logits] + ([] if lengths is None else [lengths])
        for start in range(0, len(positions), room):
            rows = slice(start, start + room)
            size = len(positions[rows])
            if self._waiting + size > room:
                self._compute()
            to = slice(self._waiting, self._waiting + size)
            for held, given in zip(self._queue, batch, strict=False):
                held[to] = given[rows]
            self._waiting += size

    def columns(self) -> dict[str, Column]:
        """The columns so far; what was not seen holds zeros."""
        if self._queue:
            self._compute()
            self._queue = ()
        return self._columns

    def _compute(self) -> None:
        at, labels, logits, lengths = (held[: self._waiting] for held in self._queue)
        made = (trajectories_of if "loss" in self._columns else margins_of)(logits, labels)
        if "gradient_norm" in self._columns:
            made["gradient_norm"] = made["error_norm"] * lengths
        if "rival" in self._columns:
            made["rival"] = rivals_of(logits, labels)
        for name, column in self._columns.items():
            column[at] = made[name]
        self._waiting = 0

    def clash(self, other: "EpochBuffer") -> int | None:
        """The first position that both have seen with different values, None when there is none."""
        mine, theirs = self.columns(), other.columns()
        differ = np.zeros(len(self._turn), dtype=bool)
        for name in mine:
            differ |= mine[name] != theirs[name]
        at = np.flatnonzero(differ & self.seen & other.seen)
        return int(at[0]) if at.size else None

    def fill(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over from the arrays of another buffer what this one has not seen."""
        new = state["seen"] & ~self.seen
        for name, column in self.columns().items():
            column[new] = state[name][new]
        self._turn[new] = 1
        self.count += int(new.sum())

    def state(self) -> dict[str, NDArray[Any]]:
        """All of it, as (N,) arrays of its own."""
        return {"seen": self.seen, **{n: c.copy() for n, c in self.columns().items()}}
