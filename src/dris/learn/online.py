"""Train the target on draws from a sampling plan, weighted to undo it (Algorithm 2)."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.checks import checked_count, checked_mask, exact
from dris.core.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.sampling import Importance
from dris.core.scores import loss, rank_variance
from dris.core.streams import rng_for
from dris.core.trajectories import trajectories_of
from dris.learn.estimators import is_estimator
from dris.learn.following import Arrays, Sampled, TargetRun, follow
from dris.learn.parallel import Progress
from dris.learn.plans import Plan, Score, Seen, no_score, plan_named, uniform
from dris.learn.recipe import PAPER_RHO_REFERENCE, Recipe
from dris.learn.schedules import Drawn, Passes, Positions, Schedule
from dris.learn.store import Store, fingerprint
from dris.learn.targets import checked_job, counted
from dris.learn.training import Data, Job, engine_of, one_thread

# A tenth of the smallest share of the data that the paper trains a target on (α = 0.25): each of
# the examples that carry the draws is then seen 40 times an epoch.
ALARM_SHARE = 0.025
HOLDOUT = 5_000  # the paper's, a tenth of its data; of smaller data a tenth
_log = logging.getLogger("dris")


def train_online(
    model: Any,
    x: Any,
    y: ArrayLike,
    *,
    plan: str | Importance = "dr_is",
    dynamics: Dynamics | None = None,
    weight_exponent: float | None = None,
    weight_clip: float | None = None,
    refresh: int | None = None,
    holdout: int | None = None,
    reference: Any = "resnet20",
    reference_recipe: Recipe = PAPER_RHO_REFERENCE,
    epochs: int = 20,
    batch_size: int | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    classes: int | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    flagged: ArrayLike | None = None,
    standardize: bool = True,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
) -> TargetRun:
    """Train a network on N draws with replacement an epoch, each loss weighted by 1/(Nq).

    The weighted gradient is unbiased for the risk under the *given* labels, corrupt ones
    included. A plan that cannot be built (every score 0) draws uniformly until it is looked at
    again, and says so; a target that diverges is a result too, not an error.

    Args:
        model: A network by name, function or import path, as for `train_proxies`.
        x: Features (N, D), images (N, C, H, W), or a map-style torch Dataset.
        y: Given labels.
        plan: A name from `dris.learn.plans.PLANS`, or an `Importance` over the N examples.
        dynamics: What `train_proxies` returned for (x, y); "dr_is", "uniform_hybrid" and
            "rho_approximate" read it.
        weight_exponent: 1 for unbiased weights (the default), 0 for none: a shifted objective.
        weight_clip: The most that a draw may count; biased where it cuts.
        refresh: Epochs after which a plan that reads the target looks again; the plan's unless
            given.
        holdout: Examples that only the RHO plans' reference trains on; 5,000, or a tenth of N if
            that is less, unless given. Their labels are the given ones.
        reference: The RHO plans' reference model.
        reference_recipe: How it trains; the paper's 30 epochs unless given.
        epochs: E, each of N draws in ⌈N/B⌉ batches.
        batch_size: B, 128 unless given.
        recipe: How the target trains, in place of epochs and batch_size.
        seed: Every random stream is derived from it and from its purpose.
        classes: Number of classes, when the largest label may be absent.
        test: Held-out (x, y) to state the accuracy on, after every epoch.
        flagged: A mask of examples, such as those known to be corrupt, whose share of the draws
            is logged; nothing is decided by it.
        standardize: Give each feature (or image channel) mean 0 and standard deviation 1.
        device: "cpu" (one thread) or "cuda".
        store: Folder that keeps every epoch and the result: killed work goes on from there and
            ends in the same bytes.
        progress: Called with (epochs done, epochs in all).

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(64, 3)); y = (x[:, 0] > 0).astype(int)
    >>> run = train_online("linear", x, y, plan="loss_is", epochs=3, batch_size=8, test=(x, y))
    >>> run.status, run.log[0].sampled.concentration_size < 64
    ('finished', True)
    """
    if is_estimator(model):
        raise InputError("weighted draws train networks, got a scikit-learn model; use a torch one")
    job, data = checked_job(
        model, x, y, epochs, batch_size, recipe, seed, classes, test, standardize, device
    )
    n = len(data.y)
    how = _checked_plan(plan, weight_exponent, weight_clip, refresh, n)
    seen, pool = Seen(n), np.arange(n)
    if how.kind.dynamics:
        seen = _with_dynamics(seen, dynamics, data.y, how.name)
    marked = None if flagged is None else checked_mask(flagged, n, "flagged")
    about: dict[str, Any] = {
        "kind": "online",
        "plan": how.name,
        "given": None if how.given is None else fingerprint(how.given.probabilities),
        "weight_exponent": how.exponent,
        "weight_clip": how.clip,
        "refresh": how.refresh,
        "disagreement": fingerprint(seen.disagreement),
        "proxy_loss": fingerprint(seen.proxy_loss),
        "flagged": None if marked is None else fingerprint(marked),
        "holdout": None,
        "alarm_below": None,
    }
    if how.kind.reference:
        size = _checked_holdout(holdout, n)
        held = np.sort(rng_for(job.seed, "rho", "holdout").permutation(n)[:size])
        pool = np.setdiff1d(pool, held, assume_unique=True)
        judge = replace(
            job,
            model=checked_job(
                reference, x, y, 1, None, reference_recipe, seed, classes, None, standardize, device
            )[0].model,
            stream=("reference",),
            recipe=reference_recipe,
        )
        about |= {"holdout": size, "reference": str(reference)}
        losses = _reference_loss(judge, data, held, pool, store)
        seen = replace(seen, count=len(pool), reference_loss=losses)
        if len(seen.proxy_loss):
            seen = replace(seen, proxy_loss=seen.proxy_loss[pool])
        about["reference_loss"] = fingerprint(losses)
    about["alarm_below"] = ALARM_SHARE * len(pool)
    feed = _Online(how, seen, pool, marked, job, data.y, about)
    return follow(job, data, feed, store, counted(progress, job.recipe.stop))


@dataclass(frozen=True, slots=True)
class _How:
    """A plan as asked for."""

    name: str
    kind: Plan
    given: Importance | None
    exponent: float
    clip: float | None
    refresh: int | None


def _checked_plan(
    plan: str | Importance,
    exponent: float | None,
    clip: float | None,
    refresh: int | None,
    n: int,
) -> _How:
    if isinstance(plan, Importance):
        if plan.probabilities.size != n:
            raise InputError(
                f"the plan is for {plan.probabilities.size} examples, here are {n}; "
                "score the examples that are drawn from"
            )
        if exponent is not None:
            raise InputError("the plan has an exponent of its own; leave weight_exponent out")
        given, name, kind, power = plan, plan.rule, Plan(lambda seen, e: plan), plan.exponent
    else:
        given, name, kind = None, str(plan), plan_named(plan)
        power = 1.0 if exponent is None else float(exact(exponent, "weight_exponent"))
        if not 0 <= power <= 1:
            raise InputError(f"weight_exponent must be in [0, 1], got {exponent}")
    cut = None if clip is None else float(exact(clip, "weight_clip"))
    if cut is not None and not cut > 0:
        raise InputError(f"weight_clip must be above 0, got {clip}; leave it out for no clipping")
    every = kind.refresh
    if refresh is not None:
        if every is None:
            raise InputError(f"{name} is a frozen plan and reads no target; leave refresh out")
        every = checked_count(refresh, "refresh", at_least=1)
    return _How(name, kind, given, power, cut, every)


def _with_dynamics(seen: Seen, dynamics: Dynamics | None, y: NDArray[np.int64], name: str) -> Seen:
    if dynamics is None:
        raise InputError(f"{name} reads the proxies; pass dynamics=dris.train_proxies(x, y)")
    if dynamics.examples != seen.count:
        raise InputError(
            f"the dynamics are of {dynamics.examples} examples, here are {seen.count}; "
            "train the proxies on the same data"
        )
    if dynamics.labels is not None and not np.array_equal(dynamics.labels, y):
        raise InputError(
            "the dynamics were recorded under other labels; train the proxies on the same (x, y)"
        )
    # Rank variance of one proxy is an error of its own: only plans that read it should ask.
    disagreement = no_score() if name == "rho_approximate" else rank_variance(dynamics)
    return replace(seen, disagreement=disagreement, proxy_loss=loss(dynamics))


def _checked_holdout(holdout: int | None, n: int) -> int:
    size = min(HOLDOUT, n // 10) if holdout is None else holdout
    size = checked_count(size, "holdout", at_least=1)
    if size >= n:
        raise InputError(f"holdout must leave examples to train on, got {size} of {n}")
    return size


def _reference_loss(
    job: Job, data: Data, held: Positions, pool: Positions, store: Store | str | Path | None
) -> Score:
    """The pool's losses under a model that has seen the holdout only; NaN when it diverged."""
    passes = Passes(held, job.recipe.batch_size, job.seed, job.stream)
    trained = follow(job, replace(data, test_x=None, test_y=None), _Reference(passes), store, _idle)
    if trained.status == "diverged":
        return np.full(len(pool), np.nan)
    with one_thread(job):
        engine = engine_of(job, data.x, data.y, passes, stream=job.stream)
        engine.restore({f"model.{name}": a for name, a in trained.weights.items()})
        return _losses(engine, pool, data.y, hidden=False)[0]


def _losses(
    engine: Any, pool: Positions, y: NDArray[np.int64], *, hidden: bool
) -> tuple[Score, Score]:
    """(loss, last-layer gradient norm) of the pool; not finite where the network is not."""
    logits, features = engine.measure(pool, hidden=hidden)
    with np.errstate(invalid="ignore", over="ignore"):
        found = trajectories_of(logits, y[pool])
        each = found["loss"].astype(np.float64)
        if features is None:
            return each, no_score()
        lengths = np.sqrt(1 + (features.astype(np.float64) ** 2).sum(axis=1))
        return each, found["error_norm"] * lengths


def _idle() -> None:
    """A tick that nobody counts."""


@dataclass(frozen=True)
class _Reference:
    """Passes over the holdout."""

    passes: Passes

    @property
    def how(self) -> Mapping[str, Any]:
        return {"kind": "reference", "holdout": fingerprint(self.passes.rows)}

    def first(self) -> Schedule:
        return self.passes

    def at(self, epoch: int, engine: Any) -> tuple[Schedule, Sampled]:
        count = len(self.passes.rows)
        return self.passes, Sampled(None, float(count), 1.0, count, None)

    def state(self) -> Arrays:
        return {}

    def restore(self, state: Arrays) -> None:
        return None


class _Online:
    """Draws from a plan, which may look at the target again between epochs."""

    def __init__(
        self,
        how: _How,
        seen: Seen,
        pool: Positions,
        flagged: NDArray[np.bool_] | None,
        job: Job,
        y: NDArray[np.int64],
        about: Mapping[str, Any],
    ) -> None:
        self.how = about
        self._how, self._seen, self._pool, self._job, self._y = how, seen, pool, job, y
        self._flagged = None if flagged is None else flagged[pool]
        self._plan = uniform(seen, how.exponent)
        self._collapsed: str | None = None
        self._alarmed = False

    def first(self) -> Schedule:
        """Uniform draws: nothing has been looked at yet."""
        return self._schedule()

    def at(self, epoch: int, engine: Any) -> tuple[Schedule, Sampled]:
        """Look again where it is time, and say what the epoch draws from."""
        every = self._how.refresh
        if epoch == 1 or (every is not None and (epoch - 1) % every == 0):
            self._build(epoch, engine)
        schedule, plan = self._schedule(), self._plan
        alarm = plan.concentration_size < self.how["alarm_below"]
        if alarm and not self._alarmed:
            _log.warning(
                "the sampler %s has collapsed: %.1f of %d examples carry the draws from epoch %d "
                "on, the alarm is at %.1f",
                *(self._how.name, plan.concentration_size, len(self._pool), epoch),
                self.how["alarm_below"],
            )
        self._alarmed = alarm
        return schedule, Sampled(
            effective_size=plan.effective_size,
            concentration_size=plan.concentration_size,
            largest_weight=float(schedule.weights.max()),
            support=plan.support,
            flagged_mass=None if self._flagged is None else plan.mass(self._flagged),
            clipped=schedule.clipped,
            alarm=alarm,
            collapsed=self._collapsed,
        )

    def state(self) -> Arrays:
        """The plan as it is: a resumed run may stand between two looks at the target."""
        plain = {
            "rule": self._plan.rule,
            "parameters": dict(self._plan.parameters),
            "collapsed": self._collapsed,
            "alarmed": self._alarmed,
        }
        text = np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)
        return {"feed": text, "feed.probabilities": self._plan.probabilities}

    def restore(self, state: Arrays) -> None:
        """Go on from what `state` gave."""
        plain = json.loads(state["feed"].tobytes())
        q = state["feed.probabilities"]
        self._plan = Importance(q, plain["rule"], plain["parameters"], self._how.exponent)
        self._collapsed, self._alarmed = plain["collapsed"], plain["alarmed"]

    def _build(self, epoch: int, engine: Any) -> None:
        def target() -> tuple[Score, Score]:
            hidden = self._how.name == "standard_is"
            return _losses(engine, self._pool, self._y, hidden=hidden)

        try:
            plan = self._how.kind.build(replace(self._seen, target=target), self._how.exponent)
            if not plan.weights.max() <= np.finfo(np.float32).max:
                raise InputError(f"a weight of {plan.weights.max():.3g} is past single precision")
            self._plan, self._collapsed = plan, None
        except InputError as error:
            # A comparison goes on: uniform draws until the next look, and the record says why.
            self._plan, self._collapsed = uniform(self._seen, self._how.exponent), str(error)
            _log.warning(
                "%s cannot be built at epoch %d, draws are uniform until it is looked at again: %s",
                *(self._how.name, epoch, error),
            )

    def _schedule(self) -> Drawn:
        total = len(self._y)
        batch = self._job.recipe.batch_size
        return Drawn(self._plan, self._pool, total, batch, self._job.seed, self._how.clip)
