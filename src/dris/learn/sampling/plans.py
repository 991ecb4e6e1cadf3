"""Sampling plans for online training: what each reads of the examples, and when it looks again.

A plan that reads the target itself is measured before epoch 1, on the initial network, and again
every `refresh` epochs: in eval mode, without augmentation, over the whole pool.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.select.importance import Importance, importance, proportional

Score = NDArray[np.float64]
SMOOTHING = 0.1  # ξ, the paper's
SHARE = 0.5  # k of the uniform hybrid; the paper names none


def no_score() -> Score:
    """What nobody has measured."""
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a plan may read, each one number per example of the pool."""

    count: int  # examples in the pool
    disagreement: Score = field(default_factory=no_score)  # the proxies' rank variance
    # mean loss of the proxies at their scored epoch
    proxy_loss: Score = field(default_factory=no_score)
    # loss of a model trained on the holdout
    reference_loss: Score = field(default_factory=no_score)
    # gives (loss, last-layer gradient norm) of the target as it is now
    target: Callable[[], tuple[Score, Score]] = lambda: (no_score(), no_score())


@dataclass(frozen=True, slots=True)
class Plan:
    """How probabilities come about."""

    # probabilities from what is seen and the exponent of the weights
    build: Callable[[Seen, float], Importance]
    # what it needs of the proxies' dynamics, if anything
    reads: Literal["disagreement", "proxy_loss"] | None = None
    reference: bool = False  # it needs a reference model, and so a holdout nobody else trains on
    # epochs after which the target is looked at again; None for a frozen plan
    refresh: int | None = None
    norms: bool = False  # it needs the target's gradient norms


def uniform(seen: Seen, exponent: float) -> Importance:
    """Every example alike: plain SGD with replacement."""
    q = np.full(seen.count, 1 / seen.count)
    return Importance(q, "uniform", {"weight_exponent": exponent}, exponent)


def dr_is(seen: Seen, exponent: float) -> Importance:
    """Draw with q ∝ σ̂² + ξ·mean(σ̂²), ξ = 0.1 (paper, eq. 7).

    >>> dr_is(Seen(2, disagreement=np.array([0.0, 1.0])), 1.0).probabilities.round(3).tolist()
    [0.045, 0.955]
    """
    return importance(seen.disagreement, smoothing=SMOOTHING, weight_exponent=exponent)


def half_uniform(seen: Seen, exponent: float) -> Importance:
    """Draw with q = (1 − k)/N + k·σ̂²/Σσ̂², k = 1/2 (paper, appendix "Hybrid score ablation")."""
    return importance(seen.disagreement, smoothing=1 / SHARE - 1, weight_exponent=exponent)


def standard_is(seen: Seen, exponent: float) -> Importance:
    """Draw with q ∝ the target's last-layer gradient norm (paper, eq. 1)."""
    return proportional(seen.target()[1], weight_exponent=exponent)


def loss_is(seen: Seen, exponent: float) -> Importance:
    """Draw with q ∝ the target's loss."""
    return proportional(seen.target()[0], weight_exponent=exponent)


def rho_approximate(seen: Seen, exponent: float) -> Importance:
    """Draw with q ∝ max(mean proxy loss − reference loss, 0), frozen."""
    gain = np.maximum(seen.proxy_loss - seen.reference_loss, 0)
    return proportional(gain, weight_exponent=exponent)


def rho_faithful(seen: Seen, exponent: float) -> Importance:
    """Draw with q ∝ max(target loss − reference loss, 0), looked at again every 5 epochs.

    >>> seen = Seen(2, reference_loss=np.ones(2), target=lambda: (np.array([2.0, 4.0]), None))
    >>> rho_faithful(seen, 1.0).probabilities.tolist()
    [0.25, 0.75]
    """
    gain = np.maximum(seen.target()[0] - seen.reference_loss, 0)
    return proportional(gain, weight_exponent=exponent)


# Refresh: 5 is the paper's for RHO-LOSS. It names none for the others; every epoch is closest to
# their definition, at the price of one forward pass.
PLANS: dict[str, Plan] = {
    "uniform": Plan(uniform),
    "dr_is": Plan(dr_is, reads="disagreement"),
    "uniform_hybrid": Plan(half_uniform, reads="disagreement"),
    "standard_is": Plan(standard_is, refresh=1, norms=True),
    "loss_is": Plan(loss_is, refresh=1),
    "rho_approximate": Plan(rho_approximate, reads="proxy_loss", reference=True),
    "rho_faithful": Plan(rho_faithful, reference=True, refresh=5),
}


def plan_named(name: object) -> Plan:
    """The plan of that name."""
    if not isinstance(name, str) or name not in PLANS:
        raise InputError(
            f"plan must be one of {', '.join(PLANS)}, or an Importance from "
            f"dris.importance(score), got {name!r}"
        )
    return PLANS[name]
