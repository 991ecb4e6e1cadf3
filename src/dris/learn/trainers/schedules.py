"""What an epoch trains on: its batches of positions, and what each example's loss counts.

Every schedule gives the batches of an epoch from the epoch's number alone, so that a resumed run
goes on with the same ones.
"""

import itertools
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dris.core.streams import rng_for

Positions = NDArray[np.int64]


class Schedule(Protocol):
    """What the loop asks of a schedule."""

    @property
    def steps(self) -> int:
        """Batches in an epoch."""

    @property
    def largest(self) -> int:
        """Examples in the longest of them."""

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """The weight of each of the N examples' losses; None when all are 1."""

    def batches(self, epoch: int) -> list[Positions]:
        """The positions of every batch of an epoch, epochs from 1."""


@dataclass(frozen=True, slots=True)
class Passes:
    """Every row once an epoch, in a new order: how proxies train.

    `equal` batches have nearly the same size, none of one example where B > 2 (BatchNorm cannot
    take it); otherwise there are full ones and a rest. `batch_count` is how many equal ones.

    >>> passes = Passes(np.arange(5), 2, seed=0, stream=("x",))
    >>> [len(b) for b in passes.batches(1)], passes.steps
    ([2, 2, 1], 3)
    """

    rows: Positions
    batch_size: int
    seed: int
    stream: tuple[str | int, ...]
    equal: bool = True
    weights: None = None
    batch_count: int | None = None

    @property
    def steps(self) -> int:
        return self.batch_count or -(-len(self.rows) // self.batch_size)

    @property
    def largest(self) -> int:
        return -(-len(self.rows) // self.steps) if self.equal else self.batch_size

    def batches(self, epoch: int) -> list[Positions]:
        order = rng_for(self.seed, *self.stream, "order", epoch).permutation(self.rows)
        if self.equal:
            size, more = divmod(len(order), self.steps)
            ends = [b * size + min(b, more) for b in range(self.steps + 1)]
            return [order[a:b] for a, b in itertools.pairwise(ends)]
        return [order[b : b + self.batch_size] for b in range(0, len(order), self.batch_size)]
