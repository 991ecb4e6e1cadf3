"""Every rule by name: from dynamics to a subset of ⌊αN⌋, the same whoever asks for it."""

import warnings

import numpy as np
from numpy.typing import NDArray

from dris.core.choose.gate import CHOOSERS, DEFAULT_GATED, gated
from dris.core.choose.selection import Subset, keep_top, keep_top_per_class, remove_bottom
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import SCORES, aum_mean, rank_variance

GATED = ("gated", "gated_filled", "gated_per_class")
RULES = (*GATED, "rank_variance_per_class", "aum_remove", *SCORES)


def choose(
    rule: str,
    dynamics: Dynamics,
    *,
    keep: float,
    choosing: NDArray[np.bool_] | None = None,
    seed: int = 0,
) -> Subset:
    """What a rule keeps, blind to all but the choosing canaries, which set the gate.

    Behind a gate there may be fewer than ⌊αN⌋: `parameters["short"]` says by how many.
    "gated_filled" goes on with the cleanest of the rejected then.

    >>> d = Dynamics.from_losses([[0.1, 0.2, 0.9, 0.3], [0.9, 0.2, 0.1, 0.3]])
    >>> choose("rank_variance", d, keep=0.5).indices.tolist()
    [0, 2]
    """
    if rule not in RULES:
        raise InputError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    ids = dynamics.ids
    if rule in GATED:
        if choosing is None or not choosing.any():
            raise InputError(
                f"the rule {rule} needs canaries to set its gate, and there are none; plant some, "
                "or take a rule without a gate, such as rank_variance"
            )
        how = DEFAULT_GATED
        gate = how.gate(dynamics, choosing)
        chooser = CHOOSERS["class_balanced" if rule == "gated_per_class" else how.chooser]
        score = chooser(dynamics, gate.passed, seed)
        with warnings.catch_warnings():  # too few pass: the parameters say so
            warnings.simplefilter("ignore")
            fill = rule == "gated_filled"
            return gated(gate, score, fraction=keep, fill=fill, seed=seed, ids=ids)
    if rule == "rank_variance_per_class":
        if dynamics.labels is None:
            raise InputError(f"the rule {rule} needs labels, these dynamics hold none")
        score = rank_variance(dynamics)
        return keep_top_per_class(score, dynamics.labels, fraction=keep, seed=seed, ids=ids)
    if rule == "aum_remove":
        return remove_bottom(aum_mean(dynamics), fraction=keep, seed=seed, ids=ids)
    return keep_top(SCORES[rule](dynamics), fraction=keep, seed=seed, ids=ids)
