"""What a stack's epochs leave behind: columns as (proxy, epoch, example), in fold and out of fold.

`record="all"` keeps every epoch. `record="scored"` keeps one, the scored or, so far, the one of
the smallest held-out loss, and adds up margins and forgetting: O(K·N) memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.dynamics.trajectories import TotalsAccumulator
from dris.core.large.mapped import let_go, roomy

Columns = dict[str, NDArray[Any]]
_KINDS: dict[str, Any] = {"correct": np.bool_, "rival": np.int32}
_SIDES = ("in", "out")
_ROOM = 1 << 25  # bytes of kept columns that stay in memory; more go into a file


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be kept: how many of what, and which epochs.

    Attributes:
        proxies: K.
        examples: N.
        epochs: At most.
        names: Of the columns.
        folds: Whether there are values out of fold.
        record: "all" or "scored".
        scored: The scored epoch; None for the one of the smallest held-out loss.
    """

    proxies: int
    examples: int
    epochs: int
    names: tuple[str, ...]
    folds: bool
    record: Literal["all", "scored"]
    scored: int | None


class StackRecord:
    """Filled by one epoch after the other: `place`, write into it, `close`.

    >>> record = StackRecord(Wanted(1, 2, 3, ("loss",), False, "all", 1))
    >>> record.place(1)[0]["loss"][:] = [[0.5, 0.25]]
    >>> record.close(None)
    >>> record.dynamics(np.array([0, 1]), {}).loss.tolist()
    [[[0.5, 0.25]]]
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted, self.epoch, self.best = wanted, 0, 0
        self.held_out: list[float] = []
        held = wanted.epochs if wanted.record == "all" else 1
        shape = (wanted.proxies, held, wanted.examples)
        self._sides = [self._empty(shape) for _ in range(1 + wanted.folds)]
        self._now = self._sides
        if wanted.record == "scored":
            # What is kept is looked at when all is over: it need not be in memory until then.
            self._now, self._sides = self._sides, [self._apart(side) for side in self._sides]
        self._totals = [TotalsAccumulator(*shape[::2]) for _ in self._sides]

    def _empty(self, shape: tuple[int, ...]) -> Columns:
        kinds = {name: _KINDS.get(name, np.float32) for name in self.wanted.names}
        return {name: np.empty(shape, dtype=kind) for name, kind in kinds.items()}

    def _apart(self, columns: Columns) -> Columns:
        """Columns of the same kinds and shapes, in one piece of room."""
        room = roomy((sum(c.nbytes for c in columns.values()),), np.uint8, large=_ROOM)
        made, begin = {}, 0
        for name, column in sorted(columns.items(), key=lambda item: -item[1].itemsize):
            end = begin + column.nbytes
            made[name] = room[begin:end].view(column.dtype).reshape(column.shape)
            begin = end
        return {name: made[name] for name in columns}

    def place(self, epoch: int) -> tuple[Columns, Columns | None]:
        """Where the columns (proxy, example) of the next epoch are written to."""
        self.epoch = epoch
        e = epoch - 1 if self.wanted.record == "all" else 0
        views = [{n: c[:, e] for n, c in side.items()} for side in self._now]
        return views[0], views[1] if self.wanted.folds else None

    def names(self, epoch: int) -> tuple[str, ...]:
        """The columns that the epoch needs: not all where only margins are added up."""
        wanted = self.wanted
        if wanted.record == "all" or wanted.folds or epoch == wanted.scored:
            return wanted.names
        return tuple(n for n in wanted.names if n in ("margin", "correct"))

    def close(self, held_out: float | None) -> None:
        """Note that the epoch is written, and its held-out loss, where there is one."""
        if held_out is not None:
            self.held_out.append(held_out)
            self.best = 1 + int(np.argmin(self.held_out))
        if self.wanted.record == "all":
            return
        for totals, side in zip(self._totals, self._now, strict=True):
            totals.add(side["margin"][:, 0], side["correct"][:, 0])
        if self.epoch == (self.best if self.wanted.scored is None else self.wanted.scored):
            for kept, side in zip(self._sides, self._now, strict=True):
                for name, column in side.items():
                    kept[name][...] = column
            self.rest()

    def rest(self) -> None:
        """Let go of what is kept until it is looked at again."""
        for kept in self._sides:
            let_go(kept["loss"])  # and with it all of the side

    @property
    def scored(self) -> int:
        """The epoch that scores look at."""
        return self.best if self.wanted.scored is None else self.wanted.scored

    def dynamics(
        self,
        labels: NDArray[np.int64],
        provenance: Mapping[str, Any],
        proxies: Sequence[int] | None = None,
    ) -> Dynamics:
        """The epochs so far, of all proxies or of some, ids = positions."""
        made = [self._side(side, totals, labels, proxies) for side, totals in self._pairs()]
        return Dynamics(**made[0], provenance=dict(provenance), out_of_fold=_twin(made[1:]))

    def _pairs(self) -> list[tuple[Columns, TotalsAccumulator]]:
        return list(zip(self._sides, self._totals, strict=True))

    def _side(
        self,
        side: Columns,
        totals: TotalsAccumulator,
        labels: NDArray[np.int64],
        proxies: Sequence[int] | None,
    ) -> dict[str, Any]:
        everything = self.wanted.record == "all"
        kept: Any = slice(None) if proxies is None else list(proxies)
        last = self.epoch if everything else 1
        return {
            "columns": {name: column[kept, :last] for name, column in side.items()},
            "ids": np.arange(self.wanted.examples),
            "epochs": tuple(range(1, last + 1)) if everything else (self.scored,),
            "scored_epoch": self.scored,
            "labels": labels,
            "stored_totals": None if everything else totals.totals().pick(kept),
        }

    # -- keeping ----------------------------------------------------------------------------

    def last(self) -> Columns:
        """The columns of the last epoch, for a store; copies, named by side."""
        if self.wanted.record != "all":
            return {}
        e = self.epoch - 1
        return {
            f"{where}/{name}": column[:, e].copy()
            for where, side in zip(_SIDES, self._sides, strict=False)
            for name, column in side.items()
        }

    def state(self) -> Columns:
        """What else is needed to go on later, to be written away before the next epoch."""
        state: Columns = {"held_out": np.array(self.held_out, dtype=np.float64)}
        if self.wanted.record == "all":
            return state
        for where, (side, totals) in zip(_SIDES, self._pairs(), strict=False):
            state |= {f"{where}/{name}": column for name, column in side.items()}
            added = totals.state(copy=False)
            state |= {f"{where}/totals/{n}": np.asarray(a) for n, a in added.items()}
        return state

    def restore(self, epoch: int, state: Mapping[str, Any], records: Sequence[Columns]) -> None:
        """Go on from what `last` of every epoch and `state` gave."""
        self.epoch = epoch
        self.held_out = state["held_out"].tolist()
        self.best = 1 + int(np.argmin(self.held_out)) if self.held_out else 0
        for s, where in enumerate(_SIDES[: len(self._sides)]):
            for e, record in enumerate(records if self.wanted.record == "all" else ()):
                for name, column in self._sides[s].items():
                    column[:, e] = record[f"{where}/{name}"]
            if self.wanted.record == "scored":
                for name, column in self._sides[s].items():
                    column[...] = state[f"{where}/{name}"]
                prefix = f"{where}/totals/"
                held = {n.removeprefix(prefix): a for n, a in state.items() if prefix in n}
                self._totals[s] = TotalsAccumulator.resume(held)


def _twin(made: Sequence[dict[str, Any]]) -> Dynamics | None:
    return Dynamics(**made[0]) if made else None
