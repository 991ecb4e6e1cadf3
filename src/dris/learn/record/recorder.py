"""Follows one model through training and hands back its `Dynamics`; for any training loop.

Call `update` on the training batches or, for cleaner numbers, in a pass in eval mode. To pay for
one such pass only, take record="scored" and call `snapshot` in that of the scored epoch.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.columns import ON_DEMAND, TRAJECTORIES, Column, TotalsAccumulator
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.validate import check_count
from dris.learn.record.batches import Batches, EpochBuffer

FORMAT = 1
_RECORDS = ("all", "scored")
_BUFFERS = ("open", "snapshot")


class Recorder:
    """Loss, margin, correctness and error norm of one model, batch by batch, epoch by epoch.

    Args:
        ids: The number of examples N (ids are then 0..N-1), or the ids, whole numbers or text.
        labels: The given labels in the order of `ids`; without them the first targets count.
        record: "all" keeps every epoch; "scored" the `snapshot` of the scored epoch, and of the
            `update`s only summed margins and forgetting: O(N), whatever the epochs.
        scored_epoch: The epoch, from 1, that scores read; the middle one with record="all".
        gradient_norm: Also record ‖p − e_y‖·‖(φ, 1)‖, the exact last-layer gradient norm; φ, what
            the last layer multiplies, is passed as `features`.
        rival: Also record the likeliest class besides the label, for `suggested_labels`.

    >>> recorder = Recorder(["a", "b"])
    >>> recorder.update(["b"], [[0.0, 1.0]], [0])
    >>> recorder.missing().tolist()
    ['a']
    >>> recorder.update(["a"], [[2.0, 0.0]], [0])
    >>> recorder.end_epoch()
    >>> recorder.dynamics().margin.tolist()
    [[[2.0, -1.0]]]
    """

    def __init__(
        self,
        ids: int | ArrayLike,
        *,
        labels: ArrayLike | None = None,
        record: Literal["all", "scored"] = "all",
        scored_epoch: int | None = None,
        gradient_norm: bool = False,
        rival: bool = False,
    ) -> None:
        if record not in _RECORDS:
            raise InputError(f"record must be one of {', '.join(_RECORDS)}, got {record!r}")
        if scored_epoch is not None:
            scored_epoch = check_count(scored_epoch, "scored_epoch", at_least=1)
        elif record == "scored":
            raise InputError('record="scored" needs scored_epoch=; half of the epochs is usual')
        self.record, self.scored_epoch = record, scored_epoch
        self.gradient_norm, self.rival = bool(gradient_norm), bool(rival)
        self._batches = Batches(ids, labels)
        self.ids = self._batches.ids  # in the order of the dynamics
        wanted = {"gradient_norm": gradient_norm, "rival": rival}
        every = tuple(c for c in TRAJECTORIES if c not in ON_DEMAND or wanted[c])
        followed = every if record == "all" else ("margin", "correct")
        self._columns = {"open": followed, "snapshot": every}
        self.epoch = 1  # that `update` writes to now
        self._buffers: dict[str, EpochBuffer] = {}  # of the open epoch, of the snapshot
        self._closed: list[EpochBuffer] = []  # record="scored": only those that still miss examples
        self._totals = TotalsAccumulator(1, len(self.ids))

    @property
    def _options(self) -> dict[str, Any]:
        names = ("record", "scored_epoch", "gradient_norm", "rival")
        return {name: getattr(self, name) for name in names}

    def update(self, ids: Any, logits: Any, targets: Any, features: Any = None) -> None:
        """Record a batch of any size, in any order: ids (B,), logits (B, C), targets (B,).

        Every id comes once per epoch, always with the same target. `features` (B, F) go with
        gradient_norm=True. An error leaves the recorder as it was.
        """
        self._take("open", ids, logits, targets, features)

    def snapshot(self, ids: Any, logits: Any, targets: Any, features: Any = None) -> None:
        """Record a batch of the scored epoch's eval-mode pass (record="scored" only)."""
        if self.record != "scored" or self.epoch != self.scored_epoch:
            raise InputError(
                f'snapshot belongs to epoch {self.scored_epoch} of record="scored"; '
                f'this is epoch {self.epoch} of record="{self.record}", use update'
            )
        self._take("snapshot", ids, logits, targets, features)

    def _take(self, name: str, ids: Any, logits: Any, targets: Any, features: Any) -> None:
        """Add a batch to a buffer; an error in the batch changes nothing."""
        batch = self._batches.check(ids, logits, targets, self.epoch)
        columns = self._columns[name]
        if ("gradient_norm" in columns) != (features is not None):
            call = "update" if name == "open" else name
            raise InputError(
                f"{call} {'needs features=' if features is None else 'records no features'} here: "
                'they go with gradient_norm=True, into update when record="all" and into '
                'snapshot when record="scored"'
            )
        some = None if features is None else self._batches.lengths(features, batch, self.epoch)
        buffer = self._buffers.get(name)
        if buffer is None:
            buffer = EpochBuffer(len(self.ids), batch.logits.shape[1], columns, batch.dtype)
        twice = buffer.claim(batch.positions)
        if twice is not None:
            raise InputError(
                f"id {self.ids[twice]!s} came twice in epoch {self.epoch}; "
                "close each epoch with end_epoch(), and sample without replacement"
            )
        self._batches.remember(batch)
        buffer.add(batch.positions, batch.labels, batch.logits, some)
        self._buffers[name] = buffer

    def missing(self) -> NDArray[Any]:
        """The ids that the open epoch has not seen, in the order of `ids`."""
        buffer = self._buffers.get("open")
        return self.ids if buffer is None else self.ids[buffer.missing()]

    def end_epoch(self, *, allow_missing: bool = False) -> None:
        """Close the epoch; one that missed examples is an error naming them, and stays open.

        `allow_missing` is for recorders that are merged later.
        """
        buffer = self._buffers.get("open")
        if buffer is None:
            raise InputError(f"epoch {self.epoch} has no update; end_epoch closes a recorded epoch")
        if not allow_missing:
            self._refuse_gaps(buffer, f"epoch {self.epoch}")
            if self.record == "scored" and self.epoch == self.scored_epoch:
                snapshot = self._buffers.get("snapshot")
                self._refuse_gaps(snapshot, f"the snapshot of epoch {self.epoch}")
        self._batches.notice_labels()
        buffer.columns()  # works out what still waits, and frees its room
        self._closed.append(self._buffers.pop("open"))
        self.epoch += 1
        self._add_up()

    def _add_up(self) -> None:
        """Fold whole epochs into the totals, in their order; record="scored" needs no more."""
        while self.record == "scored" and self._closed and self._closed[0].complete:
            columns = self._closed.pop(0).columns()
            self._totals.add(columns["margin"][None], columns["correct"][None])

    def _refuse_gaps(self, buffer: EpochBuffer | None, what: str) -> None:
        gaps = self.ids if buffer is None else self.ids[buffer.missing()]
        if len(gaps):
            more = ", …" if len(gaps) > 5 else ""
            raise InputError(
                f"{what} missed {len(gaps)} of {len(self.ids)} ids: "
                f"{', '.join(map(str, gaps[:5]))}{more}; record every example once "
                "(drop_last=False), or merge the recorders that saw the others"
            )

    def dynamics(self) -> Dynamics:
        """The closed epochs as the `Dynamics` of one proxy; a summary of record="scored"."""
        first = self.epoch - len(self._closed)
        for e, buffer in enumerate(self._closed, first):
            self._refuse_gaps(buffer, f"epoch {e}")
        if self.epoch == 1:
            raise InputError("nothing recorded yet; close an epoch with end_epoch()")
        given: dict[str, Any] = {"labels": self._batches.labels.copy(), "ids": self.ids}
        if self.record == "all":
            columns = _stack(self._closed)
            del columns["seen"]
            given |= {name: column[None] for name, column in columns.items()}
            return Dynamics.from_arrays(**given, scored_epoch=self.scored_epoch)
        snapshot = self._buffers.get("snapshot")
        scored = self.scored_epoch or 0
        if snapshot is None or self.epoch <= scored:
            raise InputError(
                f"epoch {scored}, the scored one, is not closed yet: this is epoch {self.epoch}"
            )
        self._refuse_gaps(snapshot, f"the snapshot of epoch {scored}")
        given |= {n: column[None, None].copy() for n, column in snapshot.columns().items()}
        kept = Dynamics.from_arrays(**given, epochs=[scored])
        # Picking copies: what is added up later must not reach dynamics handed out before.
        return replace(kept, stored_totals=self._totals.totals().pick([0]))

    def state_dict(self) -> dict[str, Any]:
        """All of it, mid-epoch too, as a flat dict of NumPy arrays and JSON values."""
        about = self._batches
        state = {
            **self._options,
            "format": FORMAT,
            "epoch": self.epoch,
            "classes": about.classes,
            "dtype": None if about.dtype is None else about.dtype.name,
            "ids": self.ids,
            "labels": about.labels.copy(),
        }
        groups: dict[str, Mapping[str, Any]] = {"totals": self._totals.state()}
        if self._closed:
            groups["closed"] = _stack(self._closed)
        groups |= {n: self._buffers[n].state() for n in _BUFFERS if n in self._buffers}
        return state | {f"{g}/{n}": a for g, group in groups.items() for n, a in group.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken, by a recorder made with the same arguments."""
        made: dict[str, Any] = {"format": FORMAT, "ids": self.ids, **self._options}
        for name, mine in made.items():
            if name not in state or not np.array_equal(state[name], mine):
                raise InputError(
                    f"this state is of a recorder with other {name}; "
                    "make the recorder with the arguments it had then"
                )
        try:
            groups = _group(state, len(self.ids))
            totals = TotalsAccumulator.resume(groups["totals"])
            old = groups.get("closed", {"seen": ()})
            each = [{n: a[e] for n, a in old.items()} for e in range(len(old["seen"]))]
            closed = [self._restore("open", state, arrays) for arrays in each]
            buffers = {n: self._restore(n, state, groups[n]) for n in _BUFFERS if n in groups}
            epoch = int(state["epoch"])
            self._batches.resume(state["labels"], state["classes"], state["dtype"])
        except KeyError as lacking:
            raise InputError(f"this recorder state is not whole, it lacks {lacking}") from None
        self.epoch, self._totals, self._closed, self._buffers = epoch, totals, closed, buffers

    def _restore(
        self, name: str, state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> EpochBuffer:
        dtype = np.dtype(state["dtype"])
        buffer = EpochBuffer(len(self.ids), int(state["classes"]), self._columns[name], dtype)
        buffer.fill(arrays)
        return buffer

    def merge(self, others: "Iterable[Recorder | Mapping[str, Any]]") -> None:
        """Take in recorders, or their state dicts, that saw other examples of the same epochs.

        For one recorder per rank of distributed training: `all_gather_object` the state dicts and
        merge them before each `end_epoch`, or once, after epochs closed with
        end_epoch(allow_missing=True). An example that several have seen must have the same values
        in all: do not pad where augmentation or batch statistics make them differ. Recorders that
        disagree are an error, and this one stays as it was.
        """
        merged = self._copy(self.state_dict())
        for k, other in enumerate(others, 1):
            part = other.state_dict() if isinstance(other, Recorder) else other
            merged._absorb(self._copy(part), k)
        merged._add_up()
        self.load_state_dict(merged.state_dict())

    def _copy(self, state: Mapping[str, Any]) -> "Recorder":
        copy = Recorder(self.ids, **self._options)
        copy.load_state_dict(state)
        return copy

    def _absorb(self, part: "Recorder", k: int) -> None:
        """Fill the gaps with what `part`, which nobody else holds, has seen."""
        mine, its = self._totals.state(), part._totals.state()
        if self.epoch != part.epoch or any(not np.array_equal(mine[n], its[n]) for n in mine):
            raise InputError(
                f"recorder {k} cannot be merged: it is in epoch {part.epoch}, this one in epoch "
                f"{self.epoch}, or their sums differ; merge all of them after the same epochs"
            )
        self._batches.absorb(part._batches, k)
        first = self.epoch - len(self._closed)
        both = list(zip(range(first, self.epoch), self._closed, part._closed, strict=True))
        for name, epoch in zip(_BUFFERS, (self.epoch, self.scored_epoch or 0), strict=True):
            if name in self._buffers and name in part._buffers:
                both.append((epoch, self._buffers[name], part._buffers[name]))
        for epoch, a, b in both:
            at = a.clash(b)
            if at is not None:
                raise InputError(
                    f"recorder {k} cannot be merged: in epoch {epoch} its values for id "
                    f"{self.ids[at]!s} differ; let each example be seen by one recorder"
                )
            a.fill(b.state())
        self._buffers = part._buffers | self._buffers


def _stack(buffers: list[EpochBuffer]) -> dict[str, Column]:
    """The arrays of several buffers as (epoch, example), "seen" among them."""
    states = [{"seen": buffer.seen} | buffer.columns() for buffer in buffers]
    return {name: np.stack([state[name] for state in states]) for name in states[0]}


def _group(state: Mapping[str, Any], n: int) -> dict[str, dict[str, Any]]:
    """The flat "group/name" keys of a state as one dict per group, arrays over n examples."""
    groups: dict[str, dict[str, Any]] = {}
    for key, value in state.items():
        if isinstance(value, np.ndarray) and value.shape[-1:] != (n,):
            raise InputError(f"this recorder state is damaged: {key} has shape {value.shape}")
        group, slash, name = key.partition("/")
        if slash:
            groups.setdefault(group, {})[name] = value
    return groups
