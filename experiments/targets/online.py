"""Train the target on draws from a sampling plan, weighted to undo it (Algorithm 2)."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris import Dynamics, InputError
from experiments.dris_internals import (
    Data,
    Importance,
    Job,
    Passes,
    Positions,
    Progress,
    Recipe,
    Store,
    check_count,
    check_mask,
    check_model,
    describe_model,
    exact,
    fingerprint,
    loss,
    one_thread,
    rank_variance_of,
    rng_for,
    trainer_of,
)
from experiments.recipes import RHO_REFERENCE
from experiments.targets.plans import (
    Draws,
    Fixed,
    Online,
    Plan,
    Score,
    Seen,
    losses_of,
    plan_named,
)
from experiments.targets.static import TargetKeywords, counter, make_job
from experiments.targets.target_run import Sampled, TargetRun, follow

# A tenth of the smallest share of the data that the paper trains a target on (α = 0.25): each of
# the examples that carry the draws is then seen 40 times an epoch.
ALARM_SHARE = 0.025
HOLDOUT = 5_000  # the paper's, a tenth of its data; of smaller data a tenth


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
    reference_recipe: Recipe = RHO_REFERENCE,
    rescue: bool = True,
    flagged: ArrayLike | None = None,
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
    **target: Unpack[TargetKeywords],
) -> TargetRun:
    """Train a network on N draws with replacement an epoch, each loss weighted by 1/(Nq).

    The weighted gradient is unbiased for the risk under the *given* labels, corrupt ones
    included. A plan that cannot be built (every score 0) draws uniformly until it is looked at
    again, and says so, or ends the run where no rescue is wanted; a target that diverges is a
    result too, not an error.

    Args:
        model: A network by name, function or import path, as for `train_proxies`.
        x: Features (N, D), images (N, C, H, W), or a map-style torch Dataset.
        y: Given labels.
        plan: A name from `experiments.targets.plans.PLANS`, or an `Importance` over the N examples.
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
        rescue: Draw uniformly where a plan cannot be built. A comparison of plans leaves it out:
            the run then ends as "collapsed", with the accuracy of its last whole epoch.
        flagged: As for `train_target`.
        store: As for `train_target`.
        progress: As for `train_target`.
        target: epochs, batch_size, recipe, seed, classes, test, standardize and device, as for
            `train_target`.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(64, 3)); y = (x[:, 0] > 0).astype(int)
    >>> run = train_online("linear", x, y, plan="loss_is", epochs=3, batch_size=8, test=(x, y))
    >>> run.status, run.log[0].sampled.concentration_size < 64
    ('finished', True)
    """
    job, data = make_job(check_network(model), x, y, **target)
    n = len(data.y)
    name, kind, exponent = _check_plan(plan, weight_exponent, n)
    every = _check_refresh(refresh, name, kind)
    clip = None if weight_clip is None else float(exact(weight_clip, "weight_clip"))
    if clip is not None and not clip > 0:
        raise InputError(f"weight_clip must be above 0, got {clip}; leave it out for no clipping")
    marked = None if flagged is None else check_mask(flagged, n, "flagged")
    seen, pool = _read(Seen(n), kind, name, dynamics, data.y), np.arange(n)
    how: dict[str, Any] = {"kind": "online", "plan": name, "holdout": None}
    if kind.reference:
        size = _check_holdout(holdout, n)
        judge = replace(
            job, model=check_network(reference), stream=("reference",), recipe=reference_recipe
        )
        held = np.sort(rng_for(job.seed, "rho", "holdout").permutation(n)[:size])
        pool = _leave_out(held, n)
        seen = replace(
            seen,
            count=len(pool),
            proxy_loss=seen.proxy_loss[pool] if len(seen.proxy_loss) else seen.proxy_loss,
            reference_loss=_reference_loss(judge, data, held, pool, store),
        )
        trained = {"model": describe_model(judge.model), "recipe": asdict(judge.recipe)}
        how |= {"holdout": size, "reference": trained}
    alarm = ALARM_SHARE * len(pool)
    how |= {
        "weight_exponent": exponent,
        "weight_clip": clip,
        "refresh": every,
        "alarm_below": alarm,
        "pool": fingerprint(pool),
        "scores": fingerprint(seen.disagreement, seen.proxy_loss, seen.reference_loss),
        "given": fingerprint(plan.probabilities) if isinstance(plan, Importance) else None,
        "flagged": None if marked is None else fingerprint(marked),
        "rescue": rescue,
    }
    draws = Draws(name, kind, exponent, clip, every, job.recipe.batch_size, job.seed, alarm, rescue)
    feed = Online(draws, seen, pool, data.y, marked, how)
    return follow(job, data, feed, store, counter(progress, job.recipe.stop))


def _leave_out(held: Positions, n: int) -> Positions:
    return np.setdiff1d(np.arange(n), held, assume_unique=True)


def check_network(model: Any) -> Any:
    """A model that is a network."""
    title = trainer_of(model).title
    if title != "network":
        raise InputError(f"weighted draws train networks, got a {title}; use a torch one")
    return check_model(model)


def _check_plan(plan: str | Importance, exponent: float | None, n: int) -> tuple[str, Plan, float]:
    if not isinstance(plan, Importance):
        power = float(exact(1 if exponent is None else exponent, "weight_exponent"))
        if not 0 <= power <= 1:
            raise InputError(f"weight_exponent must be in [0, 1], got {exponent}")
        return str(plan), plan_named(plan), power
    if plan.probabilities.size != n:
        raise InputError(
            f"the plan is for {plan.probabilities.size} examples, here are {n}; "
            "score the examples that are drawn from"
        )
    if exponent is not None:
        raise InputError("the plan has an exponent of its own; leave weight_exponent out")
    return plan.rule, Plan(lambda seen, exponent: plan), plan.exponent


def _check_refresh(refresh: int | None, name: str, kind: Plan) -> int | None:
    if refresh is None:
        return kind.refresh
    if kind.refresh is None:
        raise InputError(f"{name} is a frozen plan and reads no target; leave refresh out")
    return check_count(refresh, "refresh", at_least=1)


def _read(
    seen: Seen, kind: Plan, name: str, dynamics: Dynamics | None, y: NDArray[np.int64]
) -> Seen:
    """What a plan reads of the proxies."""
    if kind.reads is None:
        return seen
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
    if kind.reads == "disagreement":
        return replace(seen, disagreement=rank_variance_of(dynamics))
    return replace(seen, proxy_loss=loss(dynamics))


def _check_holdout(holdout: int | None, n: int) -> int:
    size = min(HOLDOUT, n // 10) if holdout is None else holdout
    size = check_count(size, "holdout", at_least=1)
    if size >= n:
        raise InputError(f"holdout must leave examples to train on, got {size} of {n}")
    return size


def _reference_loss(
    job: Job, data: Data, held: Positions, pool: Positions, store: Store | str | Path | None
) -> Score:
    """The pool's losses under a model that has seen the holdout only; NaN when it diverged."""
    passes = Passes(held, job.recipe.batch_size, job.seed, job.stream)
    alike = Sampled(None, float(len(held)), 1.0, len(held), None)
    feed = Fixed(passes, alike, {"kind": "reference", "holdout": fingerprint(held)})
    trained = follow(job, Data(data.x, data.y), feed, store, lambda: None)
    if trained.status == "diverged":
        return np.full(len(pool), np.nan)
    with one_thread(job):
        trainer = trainer_of(job.model)
        ready = trainer.prepare(data, trainer.scaling(job, data), None)
        training = trainer.build(job, ready, passes, job.stream)
        training.restore({f"model.{name}": a for name, a in trained.weights.items()})
        return losses_of(training, pool, data.y, norms=False)[0]
