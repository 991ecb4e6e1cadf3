"""What each epoch of a target trains on: always the same, or draws from a plan that looks again."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.columns import trajectories_of
from dris.core.errors import InputError
from dris.core.sanitize import from_json
from dris.core.select.importance import Importance
from dris.learn.jobs.target_job import Feed, Sampled
from dris.learn.sampling.plans import Plan, Score, Seen, no_score, uniform
from dris.learn.trainers.job import CollapsedError
from dris.learn.trainers.schedules import Drawn, Positions, Schedule
from dris.learn.trainers.trainer import State, Training

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
