"""What an epoch of a target trains on: step parity on a subset, or draws by a plan."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dris
from dris import InputError
from experiments.dris_internals import Importance, Positions, check_count, check_seed, rng_for


@dataclass(frozen=True, slots=True)
class StepParity:
    """As many full batches an epoch on a subset as the whole data would take (Algorithm 1).

    Batches are cut from the endless concatenation of shuffled passes. The order in which a
    subset is visited is a subsequence of the full data's under the same seed, so that rules
    differ in the subset only.

    >>> parity = StepParity(np.array([1, 5]), total=7, batch_size=3, seed=0)
    >>> parity.steps, [len(b) for b in parity.batches(1)]
    (3, [3, 3, 3])
    """

    indices: Positions
    total: int
    batch_size: int
    seed: int
    weights: None = None

    def __post_init__(self) -> None:
        indices = np.asarray(self.indices)
        if len(indices) == 0:
            raise InputError("the subset is empty; nothing to train on")
        bad = indices.ndim != 1 or indices.dtype.kind not in "iu"
        if bad or indices.min() < 0 or indices.max() >= self.total:
            raise InputError(f"indices must be positions in 0..{self.total - 1}, got {indices}")
        if len(np.unique(indices)) < len(indices):
            raise InputError("indices must not repeat; pass np.unique(indices)")
        check_count(self.batch_size, "batch_size", at_least=1)

    @property
    def steps(self) -> int:
        return -(-self.total // self.batch_size)

    @property
    def largest(self) -> int:
        return self.batch_size

    def batches(self, epoch: int) -> list[Positions]:
        # The epoch's piece of the endless order, without the pieces before it.
        kept = np.zeros(self.total, dtype=bool)
        kept[self.indices] = True
        visits = self.steps * self.batch_size
        first, skip = divmod((epoch - 1) * visits, len(self.indices))
        passes = []
        for number in range(first, first + math.ceil((skip + visits) / len(self.indices))):
            order = rng_for(self.seed, "target", "pass", number).permutation(self.total)
            passes.append(order[kept[order]])
        piece = np.concatenate(passes)[skip : skip + visits]
        return list(piece.reshape(self.steps, self.batch_size))


@dataclass(frozen=True)
class Drawn:
    """As many draws an epoch as there are examples, by a plan, with its weights (Algorithm 2).

    The plan's probabilities belong to the positions in `pool`: all N, or N less a holdout. There
    are `total` = N draws per epoch also from a smaller pool, so that all plans take equally many
    steps, in batches of nearly equal size. Draws are those of `ImportanceSampler`; no weight is
    larger than `clip`.

    >>> plan = Importance(np.array([0.0, 1.0]), "by hand", {})
    >>> drawn = Drawn(plan, np.array([3, 4]), total=5, batch_size=2, seed=0)
    >>> [b.tolist() for b in drawn.batches(1)], drawn.weights.tolist()
    ([[4, 4], [4, 4], [4]], [0.0, 0.0, 0.0, 0.0, 0.5])
    """

    plan: Importance
    pool: Positions
    total: int
    batch_size: int
    seed: int
    clip: float | None = None

    @property
    def steps(self) -> int:
        return -(-self.total // self.batch_size)

    @property
    def largest(self) -> int:
        return -(-self.total // self.steps)

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        weights = np.zeros(self.total, dtype=np.float32)
        weights[self.pool] = self._sampler.weights.numpy()
        return weights if self.clip is None else np.minimum(weights, np.float32(self.clip))

    @property
    def clipped(self) -> float:
        """The share of the draws whose weight is cut off."""
        if self.clip is None:
            return 0.0
        return self.plan.mass(self.plan.weights > self.clip)

    def batches(self, epoch: int) -> list[Positions]:
        return np.array_split(self.pool[self._sampler.draws(epoch)], self.steps)

    @cached_property
    def _sampler(self) -> Any:  # needs torch
        return dris.ImportanceSampler(self.plan, seed=self.seed, num_samples=self.total)


def step_batches(
    indices: NDArray[np.int64], total: int, *, epochs: int, batch_size: int, seed: int
) -> Iterator[NDArray[np.int64]]:
    """Exactly epochs·⌈total/batch_size⌉ full batches of positions: step parity, for any loop.

    >>> steps = list(step_batches(np.array([1, 5]), total=7, epochs=2, batch_size=3, seed=0))
    >>> len(steps), {len(s) for s in steps}
    (6, {3})
    """
    parity = StepParity(indices, total, batch_size, check_seed(seed))
    for epoch in range(1, check_count(epochs, "epochs", at_least=1) + 1):
        yield from parity.batches(epoch)
