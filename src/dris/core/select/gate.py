"""Gated selection: drop what looks corrupt first, choose among the rest after.

The gate is a cut on a detector (larger = cleaner) set by canaries, examples whose labels were
flipped on purpose before the proxies trained; the chooser is any score. One number cannot do
both: what detects well chooses dull examples, what chooses well prefers the corrupted.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.binomial import at_most
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.frozen import read_only, same_value
from dris.core.scores.formulas import Score, aum_mean, consensus, el2n, random, rank_variance
from dris.core.scores.ranks import normalized_ranks
from dris.core.select.selection import Ids, Subset, top_mask
from dris.core.streams import checked_seed, hashed_order, seed_for
from dris.core.validate import checked_ids, checked_mask, checked_score, count_of, exact

Mask = NDArray[np.bool_]


class NothingPassesError(InputError):
    """No example passes the gate: by these proxies the planted labels are as good as the given."""


def mean_rank(dynamics: Dynamics) -> Score:
    """The negated consensus; larger: all proxies find the given label easy.

    >>> mean_rank(Dynamics.from_losses([[0.1, 0.2, 0.9], [0.1, 0.2, 0.9]])).round(2).tolist()
    [-0.33, -0.67, -1.0]
    """
    return -consensus(dynamics)


def margin_and_rank(dynamics: Dynamics) -> Score:
    """The mean of two ranks: by margin over epochs and proxies, and by mean rank.

    Larger: both find the label right. In (0, 1]; ties share their mean rank.

    >>> d = Dynamics.from_arrays(loss=[[0.1, 0.9, 0.2]], margin=[[3.0, -1.0, 5.0]])
    >>> margin_and_rank(d).round(3).tolist()
    [0.833, 0.333, 0.833]
    """
    by_margin = normalized_ranks(aum_mean(dynamics))
    return np.asarray((by_margin + normalized_ranks(mean_rank(dynamics))) / 2)


def class_balanced(dynamics: Dynamics, among: Mask, seed: int) -> Score:
    """The negated place in a random queue of one's given class: equally many of every class.

    Larger: earlier in the queue. Those among which to choose stand before the others.

    >>> d = Dynamics.from_logits(np.zeros((1, 4, 2)), labels=[0, 0, 0, 1])
    >>> sorted(class_balanced(d, np.ones(4, dtype=bool), seed=0).tolist())
    [-2.0, -1.0, 0.0, 0.0]
    """
    if dynamics.labels is None:
        raise InputError("a class-balanced choice needs labels, these dynamics hold none")
    lots = hashed_order(dynamics.ids, seed_for(seed, "gated", "class_balanced"))
    order = np.lexsort((lots, ~among, dynamics.labels))
    first = np.flatnonzero(np.diff(dynamics.labels[order], prepend=-1))
    sizes = np.diff(np.append(first, order.size))
    score = np.empty(order.size)
    score[order] = np.repeat(first, sizes) - np.arange(order.size)
    return score


def uniform(dynamics: Dynamics, seed: int) -> Score:
    """A random number per example, from a hash of (seed, id).

    >>> uniform(Dynamics.from_losses(np.eye(2)), seed=0).shape
    (2,)
    """
    # A salt of its own: else the winners of a tie-break would also win the draw.
    return random(dynamics, seed=seed_for(seed, "gated", "uniform"))


def half_el2n(dynamics: Dynamics, among: Mask, seed: int) -> Score:
    """EL2N's rank among those to choose from, plus a random number of the same size.

    Larger: harder, or luckier; the hard are preferred and the easy not left out.

    >>> d = Dynamics.from_logits(np.zeros((1, 4, 2)), labels=[0, 0, 0, 1])
    >>> bool((half_el2n(d, np.ones(4, dtype=bool), seed=0) <= 2).all())
    True
    """
    score = np.zeros(dynamics.examples)
    if among.any():
        score[among] = normalized_ranks(el2n(dynamics)[among])
    return score + uniform(dynamics, seed)


def early_margins(dynamics: Dynamics) -> list[Score]:
    """The mean margin over all epochs, over the first quarter, the first half and the first eighth.

    Larger: learned early and surely. Proxies that come to know their labels by heart still tell a
    wrong one from a right one in the first epochs. A summary holds the sum over all epochs only.

    >>> margin = np.arange(8.0).reshape(1, 8, 1)
    >>> d = Dynamics.from_arrays(loss=np.ones((1, 8, 1)), margin=margin)
    >>> [float(score[0]) for score in early_margins(d)]
    [3.5, 0.5, 1.5, 0.0]
    """
    recorded = 1 if dynamics.is_summary else len(dynamics.epochs)
    ends = [recorded // part for part in (4, 2, 8) if recorded >= part]
    return [aum_mean(dynamics), *(aum_mean(_first(dynamics, end)) for end in ends)]


def _first(dynamics: Dynamics, epochs: int) -> Dynamics:
    """The losses and margins of the first epochs; nothing is copied."""
    columns = {name: dynamics.column(name)[:, :epochs] for name in ("loss", "margin")}
    until = dynamics.epochs[:epochs]
    return replace(
        dynamics, columns=columns, epochs=until, scored_epoch=until[-1], out_of_fold=None
    )


# A detector may come in several variants; the canaries say which of them serves best.
DETECTORS: dict[str, Callable[[Dynamics], list[Score]]] = {
    "early_margin": early_margins,
    "margin": lambda dynamics: [aum_mean(dynamics)],
    "mean_rank": lambda dynamics: [mean_rank(dynamics)],
    "margin_and_rank": lambda dynamics: [margin_and_rank(dynamics)],
}

CHOOSERS: dict[str, Callable[[Dynamics, Mask, int], Score]] = {
    "rank_variance": lambda dynamics, among, seed: rank_variance(dynamics),
    "el2n": lambda dynamics, among, seed: el2n(dynamics),
    "uniform": lambda dynamics, among, seed: uniform(dynamics, seed),
    "class_balanced": class_balanced,
    "half_el2n": half_el2n,
}


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A cut on a detector, and what it promises.

    Attributes:
        detector: The detector's values, one per example, larger = cleaner, read-only.
        cut: Examples at or below it are rejected.
        recall: The share of corrupted like the canaries that is rejected, at least.
        confidence: The probability, over draws of the canaries, with which that holds.
        achieved: That probability at this number of canaries, `confidence` or more; exact for
            one detector without ties, a lower limit for the best of several.
        canaries: How many canaries set the cut.
        rejected: How many of those are rejected.

    >>> gate = calibrate_gate(np.arange(100.0), np.arange(100) < 60)
    >>> gate.cut, int(gate.passed.sum()), gate.canaries
    (59.0, 40, 60)
    """

    detector: NDArray[np.float64]
    cut: float
    recall: float
    confidence: float
    achieved: float
    canaries: int
    rejected: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "detector", read_only(self.detector, np.float64))

    def __eq__(self, other: object) -> bool:
        return same_value(self, other)

    @property
    def passed(self) -> Mask:
        """True for the examples above the cut."""
        return np.asarray(self.detector > self.cut)


def calibrate_gate(
    detector: ArrayLike, canaries: ArrayLike, *, recall: float = 0.95, confidence: float = 0.95
) -> Gate:
    """The lowest cut that rejects `recall` of corrupted like the canaries, with confidence.

    The cut is the j-th smallest canary value v. A further example drawn like the canaries is at
    or below it with probability F(v), and P(F(v) ≥ recall) ≥ P(Binomial(m, recall) < j), exactly
    so without ties (order statistics): the smallest j for which that reaches `confidence`.
    What equals the cut is rejected. Nothing is promised for corruption unlike the canaries; and
    canaries that got their true label back by chance raise the cut, past the clean if there are
    more than 1 − recall of them.

    >>> detector = np.r_[np.linspace(-1, 0, 200), np.linspace(-0.5, 1, 800)]
    >>> gate = calibrate_gate(detector, np.arange(1000) < 200)
    >>> gate.rejected, round(gate.achieved, 4)
    (196, 0.9736)
    """
    values = checked_score(detector)
    planted = checked_mask(canaries, values.size, "canaries")
    for name, level in (("recall", recall), ("confidence", confidence)):
        if not 0 < exact(level, name) < 1:
            raise InputError(f"{name} must be in (0, 1), got {level}")
    inside = np.sort(values[planted])
    held = at_most(inside.size, float(recall))[:-1]
    j = int(np.searchsorted(held, float(confidence)))  # counts from 0, as `inside` does
    if j == inside.size:
        need = canaries_needed(recall, confidence)
        raise InputError(
            f"{inside.size} canaries cannot tell a cut with recall {recall} at confidence "
            f"{confidence}; plant at least {need}, or lower one of the two"
        )
    cut = float(inside[j])
    return Gate(
        values,
        cut,
        float(recall),
        float(confidence),
        float(held[j]),
        inside.size,
        int((inside <= cut).sum()),
    )


def best_gate(
    detectors: Sequence[ArrayLike],
    canaries: ArrayLike,
    *,
    recall: float = 0.95,
    confidence: float = 0.95,
) -> Gate:
    """The gate on the detector that lets most examples pass at the stated recall.

    Each of J detectors gets a cut that fails with probability (1 − confidence)/J at most, so that
    the promise holds for all at once, and with it for the one that is picked by looking.

    >>> blind, sharp = np.tile([0.0, 1.0], 50), np.r_[np.zeros(60), np.ones(40)]
    >>> gate = best_gate([blind, sharp], np.arange(100) < 60, recall=0.9)
    >>> int(gate.passed.sum()), gate.confidence
    (40, 0.95)
    """
    if len(detectors) == 0:
        raise InputError("detectors must be one or more, got none")
    doubt = (1 - exact(confidence, "confidence")) / len(detectors)
    gates = [
        calibrate_gate(values, canaries, recall=recall, confidence=float(1 - doubt))
        for values in detectors
    ]
    best = max(gates, key=lambda gate: int(gate.passed.sum()))  # among equals the first
    achieved = 1 - len(gates) * (1 - best.achieved)
    return replace(best, confidence=float(confidence), achieved=max(achieved, float(confidence)))


def canaries_needed(recall: float, confidence: float) -> int:
    """How many canaries it takes for any cut: the smallest m with 1 − recall^m ≥ confidence.

    >>> canaries_needed(0.95, 0.95)
    59
    """
    return math.ceil(math.log1p(-float(confidence)) / math.log(float(recall)))


def gated(
    gate: Gate,
    score: ArrayLike,
    *,
    fraction: float,
    drop: ArrayLike | None = None,
    fill: bool = False,
    seed: int = 0,
    ids: ArrayLike | None = None,
) -> Subset:
    """Keep the ⌊αN⌋ highest scores among what passes the gate, then drop the canaries.

    The choice is blind: it does not know who is a canary, and its size is fixed before they are
    looked at, so that a contamination certificate may count the canaries among the chosen. So
    the size is ⌊αN⌋ less the canaries that were chosen (`parameters["dropped"]`), few behind a
    gate. When fewer than ⌊αN⌋ pass, they are all there is: a warning says so, and
    `parameters["short"]` by how many.

    Args:
        gate: From `calibrate_gate`.
        score: The chooser's score, one per example, larger is kept first.
        fraction: α, of all N examples, canaries included.
        drop: Boolean mask of every canary, also of those that did not set the cut.
        fill: Where too few pass, go on with the best detector values among the rejected.
        seed: Ties are broken by a hash of (seed, id).
        ids: Names of the examples; positions unless given.

    >>> detector = np.r_[np.zeros(60), np.ones(40)]
    >>> gate = calibrate_gate(detector, np.arange(100) < 60)
    >>> gated(gate, np.arange(100), fraction=0.05).indices.tolist()
    [95, 96, 97, 98, 99]
    """
    s, n = checked_score(score), gate.detector.size
    if s.size != n:
        raise InputError(f"score must be one per example of the gate: {n}, got {s.size}")
    names = None if ids is None else checked_ids(ids, n)
    planted = np.zeros(n, dtype=np.bool_) if drop is None else checked_mask(drop, n, "drop")
    count, salt = count_of(fraction, n), checked_seed(seed)
    inside = np.flatnonzero(gate.passed)
    short = max(0, count - inside.size)
    mask, tied = _top(s, inside, count - short, salt, names)
    if short and fill:
        outside = np.flatnonzero(~gate.passed)
        filled, equal = _top(gate.detector, outside, short, salt, names)
        mask, tied = mask | filled, np.concatenate((tied, equal))
    elif short:
        warnings.warn(
            f"{inside.size} of {n} examples pass the gate, fewer than the {count} to keep; "
            "returning those (fill=True takes the best of the rejected)",
            stacklevel=2,
        )
    kept = mask & ~planted
    if not kept.any():
        raise NothingPassesError(
            f"no example is left: {inside.size} of {n} pass the gate; lower its recall, or fill up "
            "with the best of the rejected (fill=True, the rule gated_filled)"
        )
    parameters = {
        "fraction": float(exact(fraction, "fraction")),
        "recall": gate.recall,
        "confidence": gate.confidence,
        "cut": gate.cut,
        "passed": int(inside.size),
        "chosen": int(mask.sum()),
        "dropped": int((mask & planted).sum()),
        "short": 0 if fill else short,
        "filled": short if fill else 0,
        "seed": salt,
    }
    return Subset(np.flatnonzero(kept), "gated", parameters, n, tied=int(kept[tied].sum()))


def _top(
    score: Score, positions: NDArray[np.int64], count: int, seed: int, ids: Ids
) -> tuple[Mask, NDArray[np.int64]]:
    """Mark the `count` highest scores among the positions; also those a tie-break let in."""
    names = positions if ids is None else ids[positions]
    inside, tied = top_mask(score[positions], count, seed=seed, ids=names)
    mask = np.zeros(score.size, dtype=np.bool_)
    mask[positions[inside]] = True
    return mask, positions[tied]


@dataclass(frozen=True, slots=True)
class GatedRule:
    """A gated rule in full: what detects, how strictly, and what chooses behind the gate."""

    detector: str
    recall: float
    confidence: float
    chooser: str

    def __post_init__(self) -> None:
        for name, value, known in (
            ("detector", self.detector, DETECTORS),
            ("chooser", self.chooser, CHOOSERS),
        ):
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}")

    def gate(self, dynamics: Dynamics, canaries: ArrayLike) -> Gate:
        """The gate that these canaries set, on the variant of the detector they find best.

        The more variants, the fewer canaries each may let through. Two are tried as soon as there
        are canaries enough for that, more when there are three times as many.
        """
        planted = checked_mask(canaries, dynamics.examples, "canaries").sum()
        variants = DETECTORS[self.detector](dynamics)
        needs = [
            canaries_needed(self.recall, 1 - (1 - self.confidence) / j) * (1 if j <= 2 else 3)
            for j in range(1, len(variants) + 1)
        ]
        tried = max(1, sum(need <= planted for need in needs))
        return best_gate(variants[:tried], canaries, recall=self.recall, confidence=self.confidence)


DEFAULT_GATED = GatedRule("early_margin", recall=0.9, confidence=0.95, chooser="half_el2n")
"""Chosen on digits and Fashion-MNIST, then frozen (docs/decisions/16-gated-default.md)."""
