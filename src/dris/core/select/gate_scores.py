"""The two scores of gated selection: detectors find the corrupt, choosers rank what passes.

One score cannot do both: what detects well chooses dull examples, what chooses well prefers the
corrupted.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import Score, aum_mean, el2n, random, rank_variance
from dris.core.scores.ranks import normalized_ranks
from dris.core.streams import hashed_order, seed_for

Mask = NDArray[np.bool_]


def early_margins(dynamics: Dynamics) -> list[Score]:
    """The mean margin over all epochs, over the first quarter, the first half and the first eighth.

    Larger: learned early and surely. Proxies that end up memorizing their labels still tell wrong
    from right in the first epochs. A summary holds the sum over all epochs only.
    """
    recorded = 1 if dynamics.is_summary else len(dynamics.epochs)
    ends = [recorded // part for part in (4, 2, 8) if recorded >= part]
    return [aum_mean(dynamics), *(aum_mean(_first(dynamics, end)) for end in ends)]


def _first(dynamics: Dynamics, epochs: int) -> Dynamics:
    """The losses and margins of the first epochs, as views."""
    columns = {name: dynamics.column(name)[:, :epochs] for name in ("loss", "margin")}
    until = dynamics.epochs[:epochs]
    return replace(
        dynamics, columns=columns, epochs=until, scored_epoch=until[-1], out_of_fold=None
    )


DETECTORS: dict[str, Callable[[Dynamics], list[Score]]] = {
    "early_margin": early_margins,
    "margin": lambda dynamics: [aum_mean(dynamics)],
}
"""Larger = cleaner. A detector may come in several variants; the canaries pick the best."""


def uniform(dynamics: Dynamics, seed: int) -> Score:
    """A random number in [0, 1) per example, from a hash of (seed, id)."""
    # A salt of its own: else the winners of a tie-break would also win the draw.
    return random(dynamics, seed=seed_for(seed, "gated", "uniform"))


def half_el2n(dynamics: Dynamics, among: Mask, seed: int, *, weight: float = 1.0) -> Score:
    """A random number plus `weight` times EL2N's rank among those to choose from.

    Larger: harder, or luckier; the hard are preferred and the easy not left out.
    """
    score = uniform(dynamics, seed)
    if weight and among.any():
        score[among] += weight * normalized_ranks(el2n(dynamics)[among])
    return score


def class_balanced(dynamics: Dynamics, among: Mask, seed: int) -> Score:
    """The negated place in a random queue of one's given class: equally many of every class.

    Larger: earlier in the queue. Those among which to choose stand before the others.
    """
    if dynamics.labels is None:
        raise InputError("the chooser class_balanced needs labels, these dynamics hold none")
    hashes = hashed_order(dynamics.ids, seed_for(seed, "gated", "class_balanced"))
    order = np.lexsort((hashes, ~among, dynamics.labels))
    first = np.flatnonzero(np.diff(dynamics.labels[order], prepend=-1))
    sizes = np.diff(np.append(first, order.size))
    score = np.empty(order.size)
    score[order] = np.repeat(first, sizes) - np.arange(order.size)
    return score


CHOOSERS: dict[str, Callable[[Dynamics, Mask, int], Score]] = {
    "rank_variance": lambda dynamics, among, seed: rank_variance(dynamics),
    "el2n": lambda dynamics, among, seed: el2n(dynamics),
    "uniform": lambda dynamics, among, seed: uniform(dynamics, seed),
    "class_balanced": class_balanced,
    "half_el2n": half_el2n,
}
"""Larger is kept first, of what passes the gate."""
