"""From a score to a subset of exactly ⌊αN⌋ examples, whatever order they come in."""

from collections.abc import Mapping
from typing import Any, Required, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core import validate
from dris.core.errors import InputError
from dris.core.streams import check_seed, hashed_order, seed_for
from dris.core.subset import Ids, Subset, ids_at, top_mask


def keep_top(
    score: ArrayLike, *, fraction: float, seed: int = 0, ids: ArrayLike | None = None
) -> Subset:
    """Keep the ⌊αN⌋ highest scores (paper, "Static Pruning"); a hash of (seed, id) breaks ties.

    >>> keep_top([0.1, 0.9, 0.5, 0.7], fraction=0.5).indices.tolist()
    [1, 3]
    """
    s, count, seed, names = _check(score, fraction, seed, ids)
    mask = top_mask(s, count, seed=seed, ids=names)
    at_cut = s == s[mask].min()
    tied = int((at_cut & mask).sum()) if (at_cut & ~mask).any() else 0
    return _subset(mask, "keep_top", {"fraction": fraction}, seed, tied)


class How(TypedDict, total=False):
    """What every choice takes: α, the seed of its random numbers, and the examples' ids."""

    fraction: Required[float]
    seed: int
    ids: ArrayLike | None


def remove_bottom(score: ArrayLike, *, remove: float | None = None, **how: Unpack[How]) -> Subset:
    """Drop the ⌊remove·N⌋ lowest scores, then keep ⌊αN⌋ of the rest uniformly at random.

    `remove` defaults to α, as the paper's appendix has it, or to 1 − α where α would leave too few.
    """
    s, count, seed, names = _check(score, **how)
    share = validate.exact(how["fraction"], "fraction")
    removed = min(share, 1 - share) if remove is None else validate.exact(remove, "remove")
    positions = _without_lowest(s, removed, "remove", count, seed, names)
    mask = np.zeros(s.size, dtype=np.bool_)
    mask[_uniform(positions, count, seed=seed, ids=names)] = True
    return _subset(mask, "remove_bottom", {"fraction": share, "remove": removed}, seed)


def keep_top_per_class(score: ArrayLike, labels: ArrayLike, **how: Unpack[How]) -> Subset:
    """The highest scores of each class, ⌊αN⌋ in all: in proportion, at least one each."""
    s, count, seed, names = _check(score, **how)
    y = validate.check_labels(labels)
    if y.size != s.size:
        raise InputError(f"labels must be one per example: {s.size} scores, {y.size} labels")
    y = y.astype(np.min_scalar_type(y.max()))  # 8 or 16 bits sort in linear time
    order = np.argsort(y, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(y[order])) + 1)
    mask = np.zeros(s.size, dtype=np.bool_)
    for positions, quota in zip(members, share_out([m.size for m in members], count), strict=True):
        inside = top_mask(s[positions], quota, seed=seed, ids=ids_at(names, positions))
        mask[positions[inside]] = True
    return _subset(mask, "keep_top_per_class", {"fraction": how["fraction"]}, seed)


def mix_uniform(score: ArrayLike, *, share: float, **how: Unpack[How]) -> Subset:
    """Keep ⌊k·⌊αN⌋⌋ examples from the top, the others uniformly from what remains (k = share)."""
    s, count, seed, names = _check(score, **how)
    from_top = validate.part_of(share, count, "share")
    mask = top_mask(s, from_top, seed=seed, ids=names)
    mask[_uniform(np.flatnonzero(~mask), count - from_top, seed=seed, ids=names)] = True
    return _subset(mask, "mix_uniform", {"fraction": how["fraction"], "share": share}, seed)


def stratify(score: ArrayLike, *, bins: int = 50, drop: float = 0.0, **how: Unpack[How]) -> Subset:
    """Spread ⌊αN⌋ examples evenly over the score's range (Zheng et al. 2023, coverage-centric).

    Drops the ⌊drop·N⌋ lowest scores, cuts the rest into bins of equal width and hands the budget
    out from the smallest bin upward, uniformly at random inside a bin.
    """
    s, count, seed, names = _check(score, **how)
    bins = validate.check_count(bins, "bins", 1)
    positions = _without_lowest(s, drop, "drop", count, seed, names)
    bin_of = _equal_width(s[positions], bins)
    filled, sizes = np.unique(bin_of, return_counts=True)
    mask, budget = np.zeros(s.size, dtype=np.bool_), count
    for done, b in enumerate(np.argsort(sizes, kind="stable")):
        take = min(int(sizes[b]), budget // (filled.size - done))
        mask[_uniform(positions[bin_of == filled[b]], take, seed=seed, ids=names)] = True
        budget -= take
    parameters = {"fraction": how["fraction"], "bins": bins, "drop": drop}
    return _subset(mask, "stratified", parameters, seed)


def share_out(sizes: list[int], count: int) -> list[int]:
    """Share `count` out in proportion to the sizes, by largest remainder, at least one each."""
    if count < len(sizes):
        raise InputError(
            f"{count} examples cannot cover {len(sizes)} classes; keep at least {len(sizes)}, "
            f"a fraction of {len(sizes) / sum(sizes):.3g}"
        )
    total = sum(sizes)
    small = {g for g, size in enumerate(sizes) if count * size < total}
    if small:  # they get one each and step aside
        large = [g for g in range(len(sizes)) if g not in small]
        shared = share_out([sizes[g] for g in large], count - len(small))
        by_group = dict(zip(large, shared, strict=True))
        return [by_group.get(g, 1) for g in range(len(sizes))]
    whole, remainder = zip(*(divmod(count * size, total) for size in sizes), strict=True)
    by_remainder = sorted(range(len(sizes)), key=lambda g: -remainder[g])
    lucky = set(by_remainder[: count - sum(whole)])
    return [w + (g in lucky) for g, w in enumerate(whole)]


def _without_lowest(
    score: NDArray[np.float64], share: Any, name: str, count: int, seed: int, ids: Ids
) -> NDArray[np.int64]:
    left = score.size - validate.part_of(share, score.size, name)
    if left < count:
        raise InputError(
            f"{name} = {float(share):.6g} leaves {left} of {score.size} examples, fewer than the "
            f"{count} to keep"
        )
    return np.flatnonzero(top_mask(score, left, seed=seed, ids=ids))


def _uniform(positions: NDArray[np.int64], count: int, *, seed: int, ids: Ids) -> NDArray[np.int64]:
    """`count` of the positions at random: those with the lowest hashes of (seed, id)."""
    if count == 0:
        return positions[:0]
    # A salt of its own: else the winners of a tie-break would also win every uniform draw.
    order = hashed_order(ids_at(ids, positions), seed_for(seed, "selection", "uniform"))
    return positions[np.argpartition(order, count - 1)[:count]]


def _equal_width(score: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    low, high = float(score.min()), float(score.max())
    if low == high:
        return np.zeros(score.size, dtype=np.int64)
    if np.isinf(high - low):
        return _equal_width(score / 4, bins)
    return np.minimum((score - low) / (high - low) * bins, bins - 1).astype(np.int64)


def _check(
    score: ArrayLike, fraction: float, seed: int = 0, ids: ArrayLike | None = None
) -> tuple[NDArray[np.float64], int, int, Ids]:
    s = validate.check_score(score)
    # Without ids the positions serve, and only those of the few that need a hash are written out.
    names = None if ids is None else validate.check_ids(ids, s.size)
    return s, validate.count_of(fraction, s.size), seed, names


def _subset(
    mask: NDArray[np.bool_], rule: str, shares: Mapping[str, Any], seed: int, tied: int = 0
) -> Subset:
    indices = np.flatnonzero(mask)
    indices.flags.writeable = False
    parameters = {k: v if k == "bins" else float(validate.exact(v, k)) for k, v in shares.items()}
    return Subset(
        indices, rule, parameters | {"seed": check_seed(seed)}, total=mask.size, tied=tied
    )
