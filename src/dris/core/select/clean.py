"""Drop the suspects, then choose among the rest: the least suspicious, or the hard."""

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.assessment import Assessment, find_outmatched
from dris.core.noise.noise_rate import surest_share
from dris.core.scores.formulas import Score
from dris.core.select.gate import canaries_needed, gate_of
from dris.core.select.gate_scores import half_el2n
from dris.core.subset import Ids, Subset, top_mask
from dris.core.validate import count_of

Mask = NDArray[np.bool_]
_LEAN = 0.5  # weight of the rank by EL2N beside a random number


def gated_suspects(dynamics: Dynamics, assessment: Assessment, canaries: Mask | None) -> Mask:
    """The suspects; without folds only those that a gate rejects, where canaries can set one."""
    suspects = assessment.shown.suspects
    if assessment.probabilities is None:
        dynamics.snapshot("correct")  # who gives which label must be known
        if canaries is not None and int(canaries.sum()) >= canaries_needed():
            return suspects & ~gate_of(dynamics, canaries).passed
    return suspects


def keep_clean(
    dynamics: Dynamics,
    assessment: Assessment,
    canaries: Mask | None,
    *,
    fraction: float,
    seed: int,
    ids: Ids,
) -> Subset:
    """All but the suspects, at most ⌊αN⌋: the least suspicious first."""
    suspects = gated_suspects(dynamics, assessment, canaries)
    suspicion = assessment.shown.suspicion
    score = np.where(suspects, -2 - suspicion, -suspicion)
    count = min(count_of(fraction, suspects.size), int((~suspects).sum()))
    if not count:
        raise InputError("every label is suspect to these proxies; train others")
    return _subset("clean", score, count, suspects, fraction, seed, ids)


def keep_clean_then_hard(
    dynamics: Dynamics,
    assessment: Assessment,
    canaries: Mask | None,
    *,
    fraction: float,
    seed: int,
    ids: Ids,
) -> Subset:
    """⌊αN⌋ at random with a lean to the hard, of all that does not look wrong.

    Labels that another class merely outmatches are left out too: the errors of an attack on hard
    examples are among them. There is no lean where fewer labels are left out than are wrong. Where
    fewer than ⌊αN⌋ remain, the least suspicious of the others fill up.
    """
    suspects = gated_suspects(dynamics, assessment, canaries)
    p, labels, missed = assessment.probabilities, assessment.shown.labels, False
    if p is not None and labels is not None:
        suspects = suspects | find_outmatched(p, labels, labels)
        missed = surest_share(p, labels) > float(suspects.mean())
    lean = 0.0 if missed else _LEAN
    score = half_el2n(dynamics, ~suspects, seed, weight=lean)
    score = np.where(suspects, -2 - assessment.shown.suspicion, score)
    count = count_of(fraction, suspects.size)
    return _subset("clean_then_hard", score, count, suspects, fraction, seed, ids)


def _subset(
    rule: str, score: Score, count: int, suspects: Mask, fraction: float, seed: int, ids: Ids
) -> Subset:
    mask, tied = top_mask(score, count, seed=seed, ids=ids)
    parameters = {
        "fraction": float(fraction),
        "suspects": int(suspects.sum()),
        "filled": max(0, count - int((~suspects).sum())),
        "seed": seed,
    }
    return Subset(np.flatnonzero(mask), rule, parameters, suspects.size, tied=tied.size)
