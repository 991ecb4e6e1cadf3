"""A gate: a cut on a detector that canaries set, and the choice among what passes it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import Score, aum_mean, el2n, random, rank_variance
from dris.core.scores.ranks import normalized_ranks
from dris.core.streams import check_seed, hashed_order, seed_for
from dris.core.subset import Ids, Subset, top_mask
from dris.core.validate import count_of, exact

Mask = NDArray[np.bool_]
# Chosen on digits and Fashion-MNIST, then frozen (docs/decisions/16-gated-default.md).
DETECTOR, RECALL, CONFIDENCE, CHOOSER = "early_margin", 0.9, 0.95, "half_el2n"


class NothingPassesError(InputError):
    """No example passes the gate: these proxies cannot tell canaries from given labels."""


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A cut on a detector, and what it promises."""

    detector: NDArray[np.float64]  # the detector's values, one per example, larger = cleaner
    cut: float  # examples at or below it are rejected
    recall: float  # the share of corrupted like the canaries that is rejected, at least
    confidence: float  # the probability, over draws of the canaries, with which that holds at least

    @property
    def passed(self) -> Mask:
        """True for the examples above the cut."""
        return np.asarray(self.detector > self.cut)


def calibrate_gate(detector: Score, canaries: Mask, *, recall: float, confidence: float) -> Gate:
    """The lowest cut that rejects `recall` of corrupted like the canaries, with confidence.

    The cut is the j-th smallest canary value v. A further example drawn like the canaries is at or
    below it with probability F(v), and P(F(v) ≥ recall) ≥ P(Binomial(m, recall) < j): the smallest
    j for which that reaches `confidence`. What equals the cut is rejected.
    """
    from scipy.stats import binom

    inside = np.sort(detector[canaries])
    held = binom.cdf(np.arange(inside.size), inside.size, recall)
    j = int(np.searchsorted(held, confidence))  # counts from 0, as `inside` does
    if j == inside.size:
        raise InputError(
            f"{inside.size} canaries cannot set a cut with recall {recall} at confidence "
            f"{confidence}; plant at least {canaries_needed(recall, confidence)}, or lower one of "
            "the two"
        )
    return Gate(detector, float(inside[j]), recall, confidence)


def pick_gate(
    detectors: Sequence[Score], canaries: Mask, *, recall: float, confidence: float
) -> Gate:
    """The gate on the detector that lets most examples pass at the stated recall.

    Each of J cuts fails with probability (1 − confidence)/J at most: so does the one picked.
    """
    doubt = (1 - exact(confidence, "confidence")) / len(detectors)
    each = {"recall": recall, "confidence": float(1 - doubt)}
    gates = (calibrate_gate(values, canaries, **each) for values in detectors)
    best = max(gates, key=lambda gate: int(gate.passed.sum()))  # among equals the first
    return replace(best, confidence=confidence)


def canaries_needed(recall: float = RECALL, confidence: float = CONFIDENCE) -> int:
    """How many canaries it takes for any cut: the smallest m with 1 − recall^m ≥ confidence."""
    return math.ceil(math.log1p(-confidence) / math.log(recall))


def set_gate(
    dynamics: Dynamics, canaries: Mask, *, detector: str = DETECTOR, recall: float = RECALL
) -> Gate:
    """The gate that these canaries set, on the variant of the detector that serves them best.

    Two variants are tried as soon as there are canaries enough, more with three times as many.
    """
    count = canaries.sum()
    variants = DETECTORS[detector](dynamics)
    needs = [
        canaries_needed(recall, 1 - (1 - CONFIDENCE) / j) * (1 if j <= 2 else 3)
        for j in range(1, len(variants) + 1)
    ]
    tried = max(1, sum(need <= count for need in needs))
    return pick_gate(variants[:tried], canaries, recall=recall, confidence=CONFIDENCE)


def keep_passed(
    gate: Gate, score: Score, *, fraction: float, fill: bool = False, seed: int = 0, ids: Ids = None
) -> Subset:
    """The ⌊αN⌋ highest scores among what passes the gate.

    Where fewer pass `parameters["short"]` says by how many; with `fill` the best rejected fill up.
    """
    passed, count = gate.passed, count_of(fraction, gate.detector.size)
    inside = int(passed.sum())
    short = max(0, count - inside)
    mask = passed
    if not short:
        mask = top_mask(np.where(passed, score, -np.inf), count, seed=seed, ids=ids)
    elif fill:
        rejected = np.where(passed, -np.inf, gate.detector)
        mask = passed | top_mask(rejected, short, seed=seed, ids=ids)
    if not mask.any():
        raise NothingPassesError(
            f"no example is left: {inside} of {passed.size} pass the gate; lower its recall, or "
            "fill up with the best of the rejected (fill=True, the rule gated_filled)"
        )
    parameters = {"fraction": float(exact(fraction, "fraction")), "recall": float(gate.recall)}
    parameters |= {"confidence": gate.confidence, "cut": gate.cut, "passed": inside}
    parameters |= {"chosen": int(mask.sum()), "short": 0 if fill else short}
    parameters |= {"filled": short if fill else 0, "seed": check_seed(seed)}
    return Subset(np.flatnonzero(mask), "gated", parameters, passed.size)


def early_margins(dynamics: Dynamics) -> list[Score]:
    """The mean margin over all epochs, the first quarter, the first half, the first eighth."""
    recorded = 1 if dynamics.is_summary else len(dynamics.epochs)
    ends = [recorded // part for part in (4, 2, 8) if recorded >= part]
    early = (dynamics.until(dynamics.epochs[end - 1]) for end in ends)
    return [aum_mean(dynamics), *map(aum_mean, early)]


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
    """A random number plus `weight` times EL2N's rank among those to choose from."""
    score = uniform(dynamics, seed)
    if weight and among.any():
        score[among] += weight * normalized_ranks(el2n(dynamics)[among])
    return score


def class_balanced(dynamics: Dynamics, among: Mask, seed: int) -> Score:
    """The negated place in a random queue of one's given class: equally many of every class."""
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
