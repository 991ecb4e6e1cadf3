"""What a stack's epochs leave behind: columns as (proxy, epoch, example), in fold and out of fold.

In float32, with the label set apart, so that a confident example's loss is not lost beside a 1.
`record="all"` keeps every epoch; "scored" the scored one and sums, in O(K·N) memory; "snapshot" the
scored one alone, for which models are measured on all rows only once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.columns import Totals, TotalsAccumulator
from dris.core.dynamics.dynamics import Dynamics
from dris.core.large.mapped import allocate, release
from dris.learn.trainers.job import Job
from dris.learn.trainers.stacked.stack import Floats

Columns = dict[str, NDArray[Any]]
_DTYPES: dict[str, Any] = {"correct": np.bool_, "rival": np.int32}
_SIDES = ("in", "out")
_MAX_IN_MEMORY = 1 << 25  # bytes of kept columns; more go into a file


class StackRecord:
    """Filled by one epoch after the other: `place`, write into it, `close`."""

    def __init__(self, job: Job, proxies: int, examples: int) -> None:
        self._job, self._examples, self.epoch = job, examples, 0
        more = ("gradient_norm",) * job.gradient_norm + ("rival",) * job.rival
        self._names = ("loss", "margin", "correct", "error_norm", *more)
        self.held_out: list[float] = []
        shape = (proxies, job.recipe.stop if job.record == "all" else 1, examples)
        self._sides: list[Columns] = [
            {name: np.empty(shape, dtype=_DTYPES.get(name, np.float32)) for name in self._names}
            for _ in range(1 if job.folds is None else 2)
        ]
        self._now = self._sides
        self._totals: list[TotalsAccumulator] = []
        if job.record == "scored":
            # What is kept is looked at when all is over: it need not be in memory until then.
            self._now, self._sides = self._sides, [_apart(side) for side in self._sides]
            self._totals = [TotalsAccumulator(*shape[::2]) for _ in self._sides]

    def place(self, epoch: int) -> tuple[Columns, Columns | None]:
        """Where the columns (proxy, example) of an epoch are written to, in and out of fold."""
        self.epoch = epoch
        e = epoch - 1 if self._job.record == "all" else 0
        inside, *outside = ({n: c[:, e] for n, c in side.items()} for side in self._now)
        return inside, outside[0] if outside else None

    def names(self, epoch: int) -> tuple[str, ...]:
        """The columns that the epoch needs: not all where only margins are added up."""
        every = not self._totals or len(self._sides) == 2 or epoch == self.scored
        return self._names if every else ("margin", "correct")

    def close(self, held_out: float | None) -> None:
        """Note that the epoch is over, and its held-out loss, where there is one."""
        if held_out is not None:
            self.held_out.append(held_out)
        for totals, kept, side in zip(self._totals, self._sides, self._now, strict=False):
            totals.add(side["margin"][:, 0], side["correct"][:, 0])
            if self.epoch == self.scored:
                for name, column in side.items():
                    kept[name][...] = column
                release(kept["loss"])  # and with it all of the side

    def rest(self) -> None:
        """Release the memory of what is kept until it is looked at again."""
        for kept in self._sides:
            release(kept["loss"])  # and with it all of the side

    @property
    def best(self) -> int:
        """The epoch of the smallest held-out loss so far."""
        return 1 + int(np.argmin(self.held_out)) if self.held_out else 0

    @property
    def scored(self) -> int:
        """The epoch that scores look at; so far, where it is picked."""
        return self.best if self._job.pick else self._job.recipe.scored

    def dynamics(
        self,
        labels: NDArray[np.int64],
        provenance: Mapping[str, Any],
        proxies: Sequence[int] | None = None,
    ) -> Dynamics:
        """The epochs so far, of all proxies or of some, ids = positions."""
        everything = self._job.record == "all"
        picked: Any = slice(None) if proxies is None else list(proxies)
        last = self.epoch if everything else 1

        def side(s: int, **more: Any) -> Dynamics:
            totals = None if everything else Totals(self.epoch, None, None, None)
            if self._totals:
                totals = self._totals[s].totals().pick(picked)
            return Dynamics(
                columns={n: column[picked, :last] for n, column in self._sides[s].items()},
                ids=np.arange(self._examples),
                epochs=tuple(range(1, last + 1)) if everything else (self.scored,),
                scored_epoch=self.scored,
                labels=labels,
                stored_totals=totals,
                **more,
            )

        outside = side(1) if len(self._sides) == 2 else None
        return side(0, provenance=dict(provenance), out_of_fold=outside)

    def last(self) -> Columns:
        """The columns of the last epoch, for a store; copies, named by side."""
        if self._job.record != "all":
            return {}
        e = self.epoch - 1
        return {
            f"{where}/{name}": column[:, e].copy()
            for where, side in zip(_SIDES, self._sides, strict=False)
            for name, column in side.items()
        }

    def state(self) -> Columns:
        """What else is needed to go on later; not copied."""
        state: Columns = {"held_out": np.array(self.held_out, dtype=np.float64)}
        for where, side, totals in zip(_SIDES, self._sides, self._totals, strict=False):
            state |= {f"{where}/{name}": column for name, column in side.items()}
            added = totals.state(copy=False)
            state |= {f"{where}/totals/{n}": np.asarray(a) for n, a in added.items()}
        return state

    def restore(self, epoch: int, state: Mapping[str, Any], records: Sequence[Columns]) -> None:
        """Go on from what `last` of every epoch and `state` returned."""
        self.epoch = epoch
        self.held_out = state["held_out"].tolist()
        for s, (where, side) in enumerate(zip(_SIDES, self._sides, strict=False)):
            for name, column in side.items():
                for e, record in enumerate(records if self._job.record == "all" else ()):
                    column[:, e] = record[f"{where}/{name}"]
                if self._totals:
                    column[...] = state[f"{where}/{name}"]
            if self._totals:
                prefix = f"{where}/totals/"
                held = {n.removeprefix(prefix): a for n, a in state.items() if prefix in n}
                self._totals[s] = TotalsAccumulator.resume(held)


def _apart(columns: Columns) -> Columns:
    """Room for such columns in one piece of memory, maybe a mapped file."""
    size = sum(c.nbytes for c in columns.values())
    room = allocate((size,), np.uint8, large=_MAX_IN_MEMORY)
    made, begin = {}, 0
    for name, column in sorted(columns.items(), key=lambda item: -item[1].itemsize):
        end = begin + column.nbytes
        made[name] = room[begin:end].view(column.dtype).reshape(column.shape)
        begin = end
    return {name: made[name] for name in columns}


def columns_of(
    logits: Floats, labels: NDArray[np.int64], names: Sequence[str], lengths: Floats | None = None
) -> Columns:
    """Columns (model, example) from logits (model, class, example), which are changed.

    `lengths` (model, example) are those of what the last layer reads, for the gradient norm.
    """
    at = np.arange(len(labels))
    own = logits[:, labels, at]
    logits[:, labels, at] = -np.inf
    runner_up = logits.max(axis=1)
    margin = own - runner_up
    made: Columns = {"margin": margin}
    if "correct" in names:
        made["correct"] = margin > 0
        tied = np.nonzero(margin == 0)  # among equal logits the first class wins
        if len(tied[0]):
            first = logits[tied[0], :, tied[1]].argmax(axis=1)
            made["correct"][tied] = first > labels[tied[1]]
    if "rival" in names:
        made["rival"] = logits.argmax(axis=1).astype(np.int32)  # the first of equals
    if "loss" in names:
        top = np.maximum(own, runner_up)
        rest = np.exp(np.subtract(logits, top[:, None], out=logits), out=logits)
        raised, mass = np.exp(own - top), rest.sum(axis=1)
        made["loss"] = top - own + np.log1p(mass + (raised - np.float32(1)))
        squares = np.multiply(rest, rest, out=rest).sum(axis=1)
        made["error_norm"] = np.sqrt(squares + mass * mass) / (raised + mass)
        if lengths is not None:
            made["gradient_norm"] = made["error_norm"] * lengths
    return made
