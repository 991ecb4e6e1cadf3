"""From a score to a subset of exactly ⌊αN⌋ examples, whatever order they come in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.core.frozen import read_only, same_value
from dris.core.streams import check_seed, hashed_order, seed_for
from dris.core.validate import (
    check_count,
    check_ids,
    check_labels,
    check_score,
    count_of,
    exact,
    part_of,
)

Ids = NDArray[np.generic] | None


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """Which examples to train on, and how they were chosen.

    Attributes:
        indices: Sorted positions of the kept examples, read-only.
        rule: What chose them.
        parameters: What that was given, as values that JSON can hold.
        total: N, the number of examples chosen from.
        tied: How many of the kept the tie-break preferred over others of exactly their score.

    >>> subset = Subset(np.array([0, 2]), "by hand", {}, total=3)
    >>> len(subset), subset.mask().tolist()
    (2, [True, False, True])
    """

    indices: NDArray[np.int64]
    rule: str
    parameters: Mapping[str, Any]
    total: int
    tied: int = 0

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


def keep_top(
    score: ArrayLike, *, fraction: float, seed: int = 0, ids: ArrayLike | None = None
) -> Subset:
    """Keep the ⌊αN⌋ highest scores (paper, "Static Pruning"); a hash of (seed, id) breaks ties.

    >>> keep_top([0.1, 0.9, 0.5, 0.7], fraction=0.5).indices.tolist()
    [1, 3]
    """
    s, names = _checked(score, ids)
    mask, tied = top_mask(s, count_of(fraction, s.size), seed=seed, ids=names)
    return _subset(mask, "keep_top", {"fraction": fraction}, seed, tied.size)


def remove_bottom(
    score: ArrayLike,
    *,
    fraction: float,
    remove: float | None = None,
    seed: int = 0,
    ids: ArrayLike | None = None,
) -> Subset:
    """Drop the ⌊remove·N⌋ lowest scores, then keep ⌊αN⌋ of the rest uniformly at random.

    This is how the AUM authors prune. `remove` defaults to α, as the paper's appendix has it, or
    to 1 − α where α would leave too few.

    >>> remove_bottom([0.1, 0.9, 0.5, 0.7], fraction=0.5, remove=0.5).indices.tolist()
    [1, 3]
    """
    s, names = _checked(score, ids)
    count, share = count_of(fraction, s.size), exact(fraction, "fraction")
    removed = min(share, 1 - share) if remove is None else exact(remove, "remove")
    positions, tied = _without_lowest(s, removed, "remove", count, seed, names)
    mask = np.zeros(s.size, dtype=np.bool_)
    mask[_uniform(positions, count, seed=seed, ids=names)] = True
    parameters = {"fraction": fraction, "remove": removed}
    return _subset(mask, "remove_bottom", parameters, seed, int(mask[tied].sum()))


def keep_top_per_class(
    score: ArrayLike,
    labels: ArrayLike,
    *,
    fraction: float,
    seed: int = 0,
    ids: ArrayLike | None = None,
) -> Subset:
    """Keep the highest scores of each class, ⌊αN⌋ in all, in the proportions of the classes.

    Every class that is present keeps at least one example.

    >>> keep_top_per_class([9, 8, 7, 1, 2, 0], [0, 0, 0, 1, 1, 1], fraction=0.5).indices.tolist()
    [0, 1, 4]
    """
    s, names = _checked(score, ids)
    y = check_labels(labels)
    if y.size != s.size:
        raise InputError(f"labels must be one per example: {s.size} scores, {y.size} labels")
    count = count_of(fraction, s.size)
    y = y.astype(np.min_scalar_type(y.max()))  # 8 or 16 bits sort in linear time
    order = np.argsort(y, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(y[order])) + 1)
    mask, tied = np.zeros(s.size, dtype=np.bool_), 0
    for positions, quota in zip(members, quotas([m.size for m in members], count), strict=True):
        inside, equal = top_mask(s[positions], quota, seed=seed, ids=_named(names, positions))
        mask[positions[inside]] = True
        tied += equal.size
    return _subset(mask, "keep_top_per_class", {"fraction": fraction}, seed, tied)


def mix_uniform(
    score: ArrayLike, *, fraction: float, share: float, seed: int = 0, ids: ArrayLike | None = None
) -> Subset:
    """Keep ⌊k·⌊αN⌋⌋ examples from the top, the others uniformly from what remains (k = share).

    >>> len(mix_uniform(range(100), fraction=0.1, share=0.5))
    10
    """
    s, names = _checked(score, ids)
    count = count_of(fraction, s.size)
    from_top = part_of(share, count, "share")
    mask, tied = top_mask(s, from_top, seed=seed, ids=names)
    mask[_uniform(np.flatnonzero(~mask), count - from_top, seed=seed, ids=names)] = True
    # An equal that lost the tie-break may come back by the uniform draw: it owes nothing to it.
    return _subset(mask, "mix_uniform", {"fraction": fraction, "share": share}, seed, tied.size)


def stratified(
    score: ArrayLike,
    *,
    fraction: float,
    bins: int = 50,
    drop: float = 0.0,
    seed: int = 0,
    ids: ArrayLike | None = None,
) -> Subset:
    """Spread ⌊αN⌋ examples evenly over the score's range (Zheng et al. 2023, coverage-centric).

    Drops the ⌊drop·N⌋ lowest scores, cuts the rest into bins of equal width and hands the budget
    out from the smallest bin upward, evenly, uniformly at random inside a bin.

    >>> stratified([0, 0, 0, 0, 0, 0, 0, 1], fraction=0.25, bins=2).indices.tolist()[-1]
    7
    """
    s, names = _checked(score, ids)
    count, bins = count_of(fraction, s.size), check_count(bins, "bins", at_least=1)
    positions, tied = _without_lowest(s, drop, "drop", count, seed, names)
    bin_of = _equal_width(s[positions], bins)
    filled, sizes = np.unique(bin_of, return_counts=True)
    mask, budget = np.zeros(s.size, dtype=np.bool_), count
    for done, b in enumerate(np.argsort(sizes, kind="stable")):
        take = min(int(sizes[b]), budget // (filled.size - done))
        mask[_uniform(positions[bin_of == filled[b]], take, seed=seed, ids=names)] = True
        budget -= take
    parameters = {"fraction": fraction, "bins": bins, "drop": drop}
    return _subset(mask, "stratified", parameters, seed, int(mask[tied].sum()))


def top_mask(
    score: NDArray[np.float64], count: int, *, seed: int, ids: Ids
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Mark the `count` highest scores; also the positions that a tie-break let in.

    >>> mask, tied = top_mask(np.array([2.0, 1.0, 1.0]), 2, seed=0, ids=None)
    >>> int(mask.sum()), tied.size
    (2, 1)
    """
    if count == 0:
        return np.zeros(score.size, dtype=np.bool_), np.empty(0, dtype=np.int64)
    lowest = score.size - count
    cut = np.partition(score, lowest)[lowest]
    mask = score >= cut
    surplus = np.count_nonzero(mask) - count
    if surplus == 0:
        return mask, np.empty(0, dtype=np.int64)
    equal = np.flatnonzero(score == cut)
    order = np.argpartition(hashed_order(_named(ids, equal), seed), equal.size - surplus)
    mask[equal[order[equal.size - surplus :]]] = False
    return mask, equal[order[: equal.size - surplus]]


def quotas(sizes: list[int], count: int) -> list[int]:
    """Share `count` out in proportion to the sizes, by largest remainder, at least one each.

    >>> quotas([96, 3, 1], 10)
    [8, 1, 1]
    """
    if count < len(sizes):
        raise InputError(
            f"{count} examples cannot cover {len(sizes)} classes; keep at least {len(sizes)}, "
            f"a fraction of {len(sizes) / sum(sizes):.3g}"
        )
    total = sum(sizes)
    small = {g for g, size in enumerate(sizes) if count * size < total}
    if small:  # they get one each and step aside
        large = [g for g in range(len(sizes)) if g not in small]
        shared = quotas([sizes[g] for g in large], count - len(small))
        by_group = dict(zip(large, shared, strict=True))
        return [by_group.get(g, 1) for g in range(len(sizes))]
    whole, remainder = zip(*(divmod(count * size, total) for size in sizes), strict=True)
    by_remainder = sorted(range(len(sizes)), key=lambda g: -remainder[g])
    lucky = set(by_remainder[: count - sum(whole)])
    return [w + (g in lucky) for g, w in enumerate(whole)]


def _without_lowest(
    score: NDArray[np.float64], share: Any, name: str, count: int, seed: int, ids: Ids
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The positions left without that share of the lowest; also those a tie-break let stay."""
    left = score.size - part_of(share, score.size, name)
    if left < count:
        raise InputError(
            f"{name} = {float(share):.6g} leaves {left} of {score.size} examples, fewer than the "
            f"{count} to keep"
        )
    mask, tied = top_mask(score, left, seed=seed, ids=ids)
    return np.flatnonzero(mask), tied


def _uniform(positions: NDArray[np.int64], count: int, *, seed: int, ids: Ids) -> NDArray[np.int64]:
    """`count` of the positions at random: those with the lowest hashes of (seed, id)."""
    if count == 0:
        return positions[:0]
    # A salt of its own: else the winners of a tie-break would also win every uniform draw.
    order = hashed_order(_named(ids, positions), seed_for(seed, "selection", "uniform"))
    return positions[np.argpartition(order, count - 1)[:count]]


def _equal_width(score: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    low, high = float(score.min()), float(score.max())
    if low == high:
        return np.zeros(score.size, dtype=np.int64)
    if np.isinf(high - low):
        return _equal_width(score / 4, bins)
    return np.minimum((score - low) / (high - low) * bins, bins - 1).astype(np.int64)


def _checked(score: ArrayLike, ids: ArrayLike | None) -> tuple[NDArray[np.float64], Ids]:
    s = check_score(score)
    # Without ids the positions serve, and only those of the few that need a hash are written out.
    return s, None if ids is None else check_ids(ids, s.size)


def _named(ids: Ids, positions: NDArray[np.int64]) -> NDArray[np.generic]:
    return positions if ids is None else ids[positions]


def _subset(
    mask: NDArray[np.bool_], rule: str, shares: Mapping[str, Any], seed: int, tied: int
) -> Subset:
    indices = np.flatnonzero(mask)
    indices.flags.writeable = False
    parameters = {k: v if k == "bins" else float(exact(v, k)) for k, v in shares.items()}
    return Subset(
        indices, rule, parameters | {"seed": check_seed(seed)}, total=mask.size, tied=tied
    )
