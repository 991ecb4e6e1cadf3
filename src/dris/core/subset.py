"""A subset of the examples, and the cut that makes one: the highest scores, ties by a hash."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import hashed_order
from dris.core.validate import read_only, same_value

Ids = NDArray[np.generic] | None


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """Which examples to train on, and how they were chosen.

    >>> subset = Subset(np.array([0, 2]), "by hand", {}, total=3)
    >>> len(subset), subset.mask().tolist()
    (2, [True, False, True])
    """

    indices: NDArray[np.int64]  # sorted positions of the kept examples, read-only
    rule: str  # what chose them
    parameters: Mapping[str, Any]  # what that was given, as values that JSON can hold
    total: int  # N, the number of examples chosen from
    tied: int = 0  # how many of the kept the tie-break preferred over others of exactly their score

    def __post_init__(self) -> None:
        given = np.asarray(self.indices)
        if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
            raise InputError(
                "indices must be at least one whole number in a row, "
                f"got {given.dtype} of shape {given.shape}"
            )
        if not (given[1:] > given[:-1]).all():
            raise InputError("indices must increase without repeats; pass np.unique(indices)")
        if int(given[0]) < 0 or int(given[-1]) >= self.total:
            raise InputError(
                f"indices must be in 0..{self.total - 1}, got {given[0]} to {given[-1]}"
            )
        if not 0 <= self.tied <= given.size:
            raise InputError(f"tied must be in 0..{given.size}, got {self.tied}")
        object.__setattr__(self, "indices", read_only(self.indices, np.int64))
        object.__setattr__(self, "parameters", dict(self.parameters))

    def __len__(self) -> int:
        return self.indices.size

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __eq__(self, other: object) -> bool:
        return same_value(self, other)

    def mask(self) -> NDArray[np.bool_]:
        """True for the kept examples, one entry per example of the whole."""
        mask = np.zeros(self.total, dtype=np.bool_)
        mask[self.indices] = True
        return mask


def top_mask(
    score: NDArray[np.float64], count: int, *, seed: int, ids: Ids
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Mark the `count` highest scores; also the positions that a tie-break let in."""
    if count == 0:
        return np.zeros(score.size, dtype=np.bool_), np.empty(0, dtype=np.int64)
    lowest = score.size - count
    cut = np.partition(score, lowest)[lowest]
    mask = score >= cut
    surplus = np.count_nonzero(mask) - count
    if surplus == 0:
        return mask, np.empty(0, dtype=np.int64)
    equal = np.flatnonzero(score == cut)
    order = np.argpartition(hashed_order(ids_at(ids, equal), seed), equal.size - surplus)
    mask[equal[order[equal.size - surplus :]]] = False
    return mask, equal[order[: equal.size - surplus]]


def ids_at(ids: Ids, positions: NDArray[np.int64]) -> NDArray[np.generic]:
    """The ids of the positions, which name themselves where there are none."""
    return positions if ids is None else ids[positions]
