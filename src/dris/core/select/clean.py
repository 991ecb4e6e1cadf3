"""Drop the suspects, then choose among the rest: the least suspicious, or the hard."""

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.noise_rate import surest_share
from dris.core.scores.formulas import Score
from dris.core.scores.suggestions import doubted_labels
from dris.core.scores.suspicion import (
    doubtful_labels,
    suspicion,
    unlikely_labels,
    unseen_probabilities,
)
from dris.core.select.gate import canaries_needed, gate_of
from dris.core.select.gate_scores import half_el2n
from dris.core.subset import Ids, Subset, top_mask
from dris.core.validate import count_of

Mask = NDArray[np.bool_]
_LEAN = 0.5  # weight of the rank by EL2N beside a random number


def suspect_labels(dynamics: Dynamics, canaries: Mask | None = None) -> Mask:
    """Where a label is more likely wrong than right.

    Out of fold: as `unlikely_labels` has it. Without out-of-fold values: most proxies contradict
    the label, and a gate rejects it where canaries are enough to set one.

    >>> d = Dynamics.from_logits(np.array([[[3.0, 0.0], [0.0, 2.0]]]), labels=[0, 0])
    >>> suspect_labels(d).tolist()
    [False, True]
    """
    labels = dynamics.labels
    if labels is not None and dynamics.out_of_fold is not None:
        p = unseen_probabilities(dynamics)
        if p is not None:
            return unlikely_labels(p, labels, labels)
    suspect = doubted_labels(dynamics.snapshot("correct"))
    if canaries is not None and int(canaries.sum()) >= canaries_needed():
        suspect &= ~gate_of(dynamics, canaries).passed
    return suspect


def keep_clean(
    dynamics: Dynamics, canaries: Mask | None, *, fraction: float, seed: int, ids: Ids
) -> Subset:
    """All but the suspects, at most ⌊αN⌋: the least suspicious first."""
    suspect, doubt = suspect_labels(dynamics, canaries), suspicion(dynamics)
    score = np.where(suspect, -2 - doubt, -doubt)
    count = min(count_of(fraction, suspect.size), int((~suspect).sum()))
    if not count:
        raise InputError("every label is suspect to these proxies; train others")
    return _subset("clean", score, count, suspect, fraction, seed, ids)


def keep_clean_then_hard(
    dynamics: Dynamics, canaries: Mask | None, *, fraction: float, seed: int, ids: Ids
) -> Subset:
    """⌊αN⌋ at random with a lean to the hard, of all that does not look wrong.

    Labels that merely look doubtful are left out too: the errors of an attack on hard examples
    are among them. There is no lean where fewer labels are left out than are wrong. Where fewer
    than ⌊αN⌋ remain, the least suspicious of the others fill up.
    """
    suspect, doubt = suspect_labels(dynamics, canaries), suspicion(dynamics)
    p, labels, missed = unseen_probabilities(dynamics), dynamics.labels, False
    if p is not None and labels is not None:
        suspect = suspect | doubtful_labels(p, labels, labels)
        missed = surest_share(p, labels) > float(suspect.mean())
    lean = 0.0 if missed else _LEAN
    score = half_el2n(dynamics, ~suspect, seed, weight=lean)
    score = np.where(suspect, -2 - doubt, score)
    count = count_of(fraction, suspect.size)
    return _subset("clean_then_hard", score, count, suspect, fraction, seed, ids)


def _subset(
    rule: str, score: Score, count: int, suspect: Mask, fraction: float, seed: int, ids: Ids
) -> Subset:
    mask, tied = top_mask(score, count, seed=seed, ids=ids)
    parameters = {
        "fraction": float(fraction),
        "suspects": int(suspect.sum()),
        "filled": max(0, count - int((~suspect).sum())),
        "seed": seed,
    }
    return Subset(np.flatnonzero(mask), rule, parameters, suspect.size, tied=tied.size)
