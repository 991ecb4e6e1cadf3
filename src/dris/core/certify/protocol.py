"""The certificate protocol: from the subset as chosen to the limits on what is used.

Whoever chooses is blind to the certifying canaries; what is used are the chosen without canaries,
and maybe some of the canaries' own rows. The chance δ that a limit fails is split here, nowhere
else.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.certify.data_limit import CorruptionLimit, corruption_limit, most_covered
from dris.core.certify.subset_limit import ContaminationLimit, contamination_limit
from dris.core.errors import InputError
from dris.core.noise.canaries import Canaries, without_canaries
from dris.core.subset import Subset

_FOR_ROWS = 0.1  # of δ: the price of keeping rows on which canaries had been planted


def canary_mask(kinds: Sequence[Canaries], n: int) -> NDArray[np.bool_]:
    """True for every canary of any kind."""
    mask = np.zeros(n, dtype=np.bool_)
    for kind in kinds:
        mask |= kind.mask()
    return mask


def data_limits(
    score: ArrayLike, kinds: Sequence[Canaries], *, delta: float = 0.05, at_most: float = 0.5
) -> tuple[CorruptionLimit, ...]:
    """The limit on wrong labels in all of the data, one per kind that certifies.

    It spends half of δ, the other half is for `subset_limits`: with both, each kind's two limits
    hold together with probability 1 − δ.

    Args:
        score: The detector, larger for cleaner.
        kinds: Canaries of every kind that was planted.
        delta: δ of the whole protocol.
        at_most: A share of wrong labels that is surely not exceeded.
    """
    return tuple(
        corruption_limit(score, kind.certifying, delta=delta / 2, at_most=at_most)
        for kind in kinds
        if kind.certifies.any()
    )


def subset_limits(
    chosen: Subset,
    kinds: Sequence[Canaries],
    limits: Sequence[CorruptionLimit],
    *,
    delta: float = 0.05,
    rows: ArrayLike | None = None,
) -> tuple[ContaminationLimit, ...]:
    """The limit on wrong labels in what is used of a subset, one per kind that certifies.

    A kind's limit counts its own canaries; those of other kinds are taken out first, for they are
    in nobody's training data and would pass for clean examples.

    Args:
        chosen: As chosen, blind to the certifying canaries, canaries included.
        kinds: Canaries of every kind that was planted.
        limits: From `data_limits` at the same δ.
        delta: δ of the whole protocol.
        rows: True for canaries whose own rows, with the labels they were given, are used too. How
            many of those labels are wrong is limited by how few canaries fall on wrong labels.
    """
    certifying = [kind for kind in kinds if kind.certifies.any()]
    back = np.zeros(chosen.total, dtype=np.bool_) if rows is None else np.asarray(rows)
    if (back & ~canary_mask(kinds, chosen.total)).any():
        raise InputError("rows must be canaries; what else is used belongs into the subset")
    spent = _FOR_ROWS * delta / 2 if back.any() else 0.0
    results = []
    for kind, most in zip(certifying, limits, strict=True):
        own = chosen
        for other in kinds:
            if other is not kind:
                own = without_canaries(own, other)
        limit = contamination_limit(own, kind.certifying, most, delta=delta - spent)
        if back.any():
            wrong = sum(
                min(
                    int((back & one.mask()).sum()),
                    most_covered(one, most.corrupted, spent / len(kinds)),
                )
                for one in kinds
            )
            left = limit.left + int(back.sum())
            limit = replace(limit, wrong=min(limit.wrong + wrong, left), left=left, delta=delta)
        results.append(limit)
    return tuple(results)
