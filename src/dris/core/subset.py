"""A subset of the examples, and the cut that makes one: the highest scores, ties by a hash."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.streams import hashed_order
from dris.core.validate import read_only, same_value

Ids = NDArray[np.generic] | None


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """Which examples to train on, and how they were chosen."""

    indices: NDArray[np.int64]  # sorted positions of the kept examples, read-only
    rule: str  # what chose them
    parameters: Mapping[str, Any]  # what that was given, as values that JSON can hold
    total: int  # N, the number of examples chosen from
    tied: int = 0  # how many `keep_top` kept that the tie-break preferred over equals

    def __post_init__(self) -> None:
        object.__setattr__(self, "indices", read_only(self.indices, np.int64))
        object.__setattr__(self, "parameters", dict(self.parameters))

    def __len__(self) -> int:
        return self.indices.size

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    __eq__ = same_value

    def mask(self) -> NDArray[np.bool_]:
        """True for the kept examples, one entry per example of the whole."""
        mask = np.zeros(self.total, dtype=np.bool_)
        mask[self.indices] = True
        return mask


def top_mask(score: NDArray[np.float64], count: int, *, seed: int, ids: Ids) -> NDArray[np.bool_]:
    """Mark the `count` highest scores; of equals at the cut those with the smallest hashes."""
    if count == 0:
        return np.zeros(score.size, dtype=np.bool_)
    cut = np.partition(score, score.size - count)[score.size - count]
    mask: NDArray[np.bool_] = score >= cut
    surplus = np.count_nonzero(mask) - count
    if surplus:
        equal = np.flatnonzero(score == cut)
        order = np.argpartition(hashed_order(ids_at(ids, equal), seed), equal.size - surplus)
        mask[equal[order[equal.size - surplus :]]] = False
    return mask


def ids_at(ids: Ids, positions: NDArray[np.int64]) -> NDArray[np.generic]:
    """The ids of the positions, which name themselves where there are none."""
    return positions if ids is None else ids[positions]
