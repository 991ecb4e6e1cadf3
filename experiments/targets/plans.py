"""Sampling plans for online training: what each reads of the examples, and when it looks again.

A plan that reads the target itself is measured before epoch 1, on the initial network, and again
every `refresh` epochs: in eval mode, without augmentation, over the whole pool.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris import InputError, importance
from experiments.dris_internals import (
    SMOOTHING,
    Importance,
    Positions,
    Schedule,
    State,
    Training,
    from_json,
    proportional,
    trajectories_of,
)
from experiments.targets.schedules import Drawn
from experiments.targets.target_run import CollapsedError, Feed, Sampled

Score = NDArray[np.float64]
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


_log = logging.getLogger("dris.learn")


@dataclass(frozen=True)
class Fixed(Feed):
    """The same schedule in every epoch."""

    schedule: Schedule
    sampled: Sampled
    how: Mapping[str, Any]

    def first(self) -> Schedule:
        return self.schedule

    def at(self, epoch: int, training: Training) -> tuple[Schedule, Sampled]:
        return self.schedule, self.sampled


@dataclass(frozen=True, slots=True)
class Draws:
    """How a plan is to be drawn from, as asked for."""

    name: str
    plan: Plan
    exponent: float  # of the weights
    clip: float | None  # the largest weight
    refresh: int | None  # epochs between two looks at the target
    batch_size: int
    seed: int
    alarm_below: float  # the concentration size under which the sampler counts as collapsed
    rescue: bool = True  # draw uniformly where the plan cannot be built; else the run ends there


class Online(Feed):
    """Draws from a plan, which may look at the target again between epochs.

    `seen` is what the plan reads beside the target; `pool` are the positions in `y` that may be
    drawn; `flagged`, a mask over all examples, is for the log only.
    """

    def __init__(
        self,
        draws: Draws,
        seen: Seen,
        pool: Positions,
        y: NDArray[np.int64],
        flagged: NDArray[np.bool_] | None,
        how: Mapping[str, Any],
    ) -> None:
        self.how = how
        self._draws, self._seen, self._pool, self._y = draws, seen, pool, y
        self._flagged = None if flagged is None else flagged[pool]
        self._plan = uniform(seen, draws.exponent)
        self._collapsed: str | None = None
        self._alarmed = False

    def first(self) -> Schedule:
        return self._schedule()  # uniform: nothing has been looked at yet

    def at(self, epoch: int, training: Training) -> tuple[Schedule, Sampled]:
        every = self._draws.refresh
        if epoch == 1 or (every is not None and (epoch - 1) % every == 0):
            self._build(epoch, training)
        schedule, plan = self._schedule(), self._plan
        alarm = plan.concentration_size < self._draws.alarm_below
        if alarm and not self._alarmed:
            _log.warning(
                "the sampler %s has collapsed: %.1f of %d examples carry the draws from epoch %d "
                "on, the alarm is at %.1f",
                *(self._draws.name, plan.concentration_size, len(self._pool), epoch),
                self._draws.alarm_below,
            )
        self._alarmed = alarm
        return schedule, Sampled(
            effective_size=plan.effective_size,
            concentration_size=plan.concentration_size,
            largest_weight=float(schedule.weights.max()),
            support=plan.support,
            flagged_mass=None if self._flagged is None else plan.mass(self._flagged),
            unbiased=plan.unbiased and not schedule.clipped and not self._draws.plan.reference,
            clipped=schedule.clipped,
            alarm=alarm,
            collapsed=self._collapsed,
        )

    def state(self) -> State:
        # A resumed run may stand between two looks at the target.
        plain = {
            "rule": self._plan.rule,
            "parameters": dict(self._plan.parameters),
            "collapsed": self._collapsed,
            "alarmed": self._alarmed,
        }
        text = np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)
        return {"feed": text, "feed.probabilities": self._plan.probabilities}

    def restore(self, state: State) -> None:
        plain = from_json(state["feed"].tobytes())
        q = state["feed.probabilities"]
        self._plan = Importance(q, plain["rule"], plain["parameters"], self._draws.exponent)
        self._collapsed, self._alarmed = plain["collapsed"], plain["alarmed"]

    def _build(self, epoch: int, training: Training) -> None:
        def target() -> tuple[Score, Score]:
            return losses_of(training, self._pool, self._y, norms=self._draws.plan.norms)

        try:
            plan = self._draws.plan.build(replace(self._seen, target=target), self._draws.exponent)
            if not plan.weights.max() <= np.finfo(np.float32).max:
                raise InputError(f"a weight of {plan.weights.max():.3g} is past single precision")
            self._plan, self._collapsed = plan, None
        except InputError as error:
            if not self._draws.rescue:
                raise CollapsedError(f"{self._draws.name} cannot be built: {error}") from None
            # A comparison goes on: uniform draws until the next look, and the record says why.
            self._plan, self._collapsed = uniform(self._seen, self._draws.exponent), str(error)
            _log.warning(
                "%s cannot be built at epoch %d, draws are uniform until it is looked at again: %s",
                *(self._draws.name, epoch, error),
            )

    def _schedule(self) -> Drawn:
        how = self._draws
        return Drawn(self._plan, self._pool, len(self._y), how.batch_size, how.seed, how.clip)


def losses_of(
    training: Training, pool: Positions, y: NDArray[np.int64], *, norms: bool
) -> tuple[Score, Score]:
    """(loss, last-layer gradient norm if asked) of the pool; not finite if the network is not."""
    logits, features = training.measure(pool, hidden=norms)
    with np.errstate(invalid="ignore", over="ignore"):
        columns = trajectories_of(logits, y[pool])
        each = columns["loss"].astype(np.float64)
        if features is None:
            return each, no_score()
        lengths = np.sqrt(1 + (features.astype(np.float64) ** 2).sum(axis=1))
        return each, columns["error_norm"] * lengths
