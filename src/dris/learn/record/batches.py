"""What a recorder is filled with: batches, each checked once, and the buffers of its epochs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.columns import Column, labels_for, margins_of, rivals_of, trajectories_of
from dris.core.errors import InputError
from dris.core.validate import Positions, all_below, check_count, check_ids, read_only

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
# A quarter of the largest number: differences and sums of two still fit.
_WIDEST = {dtype: float(np.finfo(dtype).max) / 4 for dtype in (_SINGLE, _DOUBLE)}

# Logits wait until there are this many numbers: the arithmetic then costs per example, not per
# batch, and its one float64 copy, a megabyte, still fits a cache (measured: 2^17 or 2^18 is best
# at 10, 100 and 1,000 classes).
_WAITING = 1 << 17
_DTYPES: dict[str, Any] = {"correct": np.bool_, "rival": np.int32}


class Batch(NamedTuple):
    """A checked batch: where its examples stand, their labels, logits and the precision kept."""

    positions: NDArray[np.intp]
    labels: NDArray[np.int64]
    logits: NDArray[Any]
    dtype: np.dtype[Any]


class Batches:
    """Checks batches about N examples and remembers what must not change: labels and format."""

    def __init__(self, ids: int | ArrayLike, labels: ArrayLike | None) -> None:
        values = as_array(ids)
        if values.ndim == 0:
            values = np.arange(check_count(ids, "the number of examples", at_least=1))
        if values.size == 0:
            raise InputError("ids are empty; a recorder needs at least one example")
        known = check_ids(values, len(values))
        self.ids = read_only(known, known.dtype)
        self._positions = Positions(self.ids)
        self.labels: NDArray[np.int64] = np.full(len(self.ids), -1, dtype=np.int64)
        if labels is not None:
            self.labels = labels_for(as_array(labels), len(self.ids))
        self.labels_known = labels is not None
        self.classes: int | None = None
        self.dtype: np.dtype[Any] | None = None

    def check(self, ids: Any, logits: Any, targets: Any, epoch: int) -> Batch:
        """The batch, or an error that names what is wrong with it; nothing is remembered yet."""
        keys, z, y = as_array(ids), as_array(logits), as_array(targets)
        if z.ndim != 2 or keys.shape != z.shape[:1] or y.shape != keys.shape or z.shape[1] < 2:
            raise InputError(
                "a batch is ids (B,), logits (B, classes) with two classes or more, targets (B,); "
                f"got shapes {keys.shape}, {z.shape} and {y.shape}"
            )
        dtype = self._check_format(z)
        if len(z) == 0:
            return Batch(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64), z, dtype)
        at = self._positions.of(keys)
        self._refuse_not_finite(z, at, dtype, epoch)
        return Batch(at, self._check_targets(y, at, z.shape[1], epoch), z, dtype)

    def remember(self, batch: Batch) -> None:
        """Hold later batches to the labels and the format of this one."""
        self.dtype, self.classes = batch.dtype, batch.logits.shape[1]
        if not self.labels_known:
            self.labels[batch.positions] = batch.labels

    def absorb(self, other: "Batches", k: int) -> None:
        """Remember also what `other`, of recorder k, has seen; the two must not disagree."""
        mine, its = (self.dtype, self.classes), (other.dtype, other.classes)
        if None not in (self.classes, other.classes) and mine != its:
            raise InputError(
                f"recorder {k} cannot be merged: its logits are {its[0]} of {its[1]} classes, "
                f"here {mine[0]} of {mine[1]}"
            )
        self.resume(other.labels, self.classes or other.classes, self.dtype or other.dtype)

    def resume(self, labels: NDArray[np.int64], classes: int | None, dtype: Any) -> None:
        """Go on from what was remembered elsewhere, unless labels known here contradict it."""
        both = (self.labels >= 0) & (labels >= 0)
        differ = np.flatnonzero(both & (self.labels != labels))
        if differ.size:
            i = differ[0]
            raise InputError(
                f"the target of id {self.ids[i]!s} is {self.labels[i]} here and {labels[i]} there; "
                "labels must stay the same, use one recorder per labelling"
            )
        self.labels = np.maximum(self.labels, labels)
        self.classes, self.dtype = classes, None if dtype is None else np.dtype(dtype)
        self.notice_labels()

    def notice_labels(self) -> None:
        """Notice when every label is known: a comparison is then all that targets need."""
        self.labels_known = bool((self.labels >= 0).all())

    def _check_format(self, z: NDArray[Any]) -> np.dtype[Any]:
        if self.dtype is not None and z.dtype == self.dtype and z.shape[1] == self.classes:
            return self.dtype
        if z.dtype.kind not in "fiu":
            raise InputError(f"logits must be numbers, got {z.dtype}")
        dtype = _SINGLE if z.dtype.kind == "f" and z.dtype.itemsize <= 4 else _DOUBLE
        top, classes = self.labels.max(), z.shape[1]
        if self.classes is None and top >= classes:
            raise InputError(f"labels go up to {top}, but the logits have only {classes} classes")
        if self.classes is not None and (dtype, classes) != (self.dtype, self.classes):
            raise InputError(
                f"logits were {self.dtype} of {self.classes} classes before and are {dtype} "
                f"of {classes} now; one recorder follows one model in one precision"
            )
        return dtype

    def _refuse_not_finite(
        self, z: NDArray[Any], at: NDArray[np.intp], dtype: np.dtype[Any], epoch: int
    ) -> None:
        # A sum of squares that is small enough has no NaN, no infinity and nothing too wide to
        # keep in it; of a larger one (vdot overflows without a warning) two more passes decide.
        widest = _WIDEST[dtype]
        if float(np.vdot(z, z)) < widest or float(z.max()) - float(z.min()) < widest:
            return
        rows = np.flatnonzero(~np.isfinite(z).all(axis=1))
        what = f"logits must be less than {widest:.1e} apart"
        if rows.size:
            what = f"logits must be finite, those of id {self.ids[at[rows[0]]]!s} are not"
        raise InputError(f"{what} in epoch {epoch}; has the model diverged? lower its step size")

    def _check_targets(
        self, y: NDArray[Any], at: NDArray[np.intp], classes: int, epoch: int
    ) -> NDArray[np.int64]:
        before = self.labels[at]
        if y.dtype.kind in "iu":
            given = y.astype(np.int64, copy=False)
            if self.labels_known and before.tobytes() == given.tobytes():
                return before
            if before[before.argmax()] < 0 and all_below(given, classes):
                return given
        y = labels_for(y, len(at), classes)
        changed = np.flatnonzero((before >= 0) & (before != y))
        if changed.size:
            i = changed[0]
            raise InputError(
                f"the target of id {self.ids[at[i]]!s} was {before[i]} and is {y[i]} in epoch "
                f"{epoch}; labels must stay the same, use one recorder per labelling"
            )
        return y

    def lengths(self, features: Any, batch: Batch, epoch: int) -> NDArray[np.float64]:
        """‖(φ, 1)‖ of each row of features, the second factor of the last-layer gradient norm."""
        phi = as_array(features)
        if phi.ndim != 2 or len(phi) != len(batch.positions) or phi.dtype.kind not in "fiu":
            raise InputError(
                f"features must be numbers, one row for each of {len(batch.positions)} examples, "
                f"got {phi.dtype} of shape {phi.shape}"
            )
        lengths = np.sqrt(1 + (phi.astype(np.float64) ** 2).sum(axis=1))
        bad = np.flatnonzero(~(lengths < _WIDEST[_SINGLE]))
        if bad.size:
            raise InputError(
                "features must be finite, those of id "
                f"{self.ids[batch.positions[bad[0]]]!s} are not in epoch {epoch}"
            )
        return np.asarray(lengths)


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


def as_array(values: Any) -> NDArray[Any]:
    """Tensors of any device, lists and arrays as an array, maybe of shared memory."""
    if not hasattr(values, "detach"):
        return np.asarray(values)
    try:
        return np.asarray(values.numpy(force=True))
    except TypeError:  # torch's word for bfloat16, which float32 holds exactly
        return np.asarray(values.float().numpy(force=True))
