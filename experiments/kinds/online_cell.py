"""A target trained on weighted draws from a plan (paper, algorithm 2).

A cell's rule names a `Sampler`: a plan, the exponent of its weights and its smoothing ξ.
Where examples and proxies are those of static
pruning, as at mid and paper, the trained ones are shared with it; elsewhere seeds differ in their
examples too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from dris import Dynamics, importance, train_proxies
from experiments.datasets.catalogue import load
from experiments.dris_internals import (
    SMOOTHING,
    Importance,
    NoisyLabels,
    ProductEnsemble,
    proportional,
    rank_variance_of,
    rng_for,
)
from experiments.kinds.shared import (
    Finding,
    corrupt_cell,
    prepare_group,
    product_of,
    record_time,
    target_of,
    train_timed,
)
from experiments.recipes import RHO_REFERENCE
from experiments.rules import SAMPLERS, Sampler
from experiments.scales import SCALES
from experiments.spec import Cell
from experiments.targets.online import train_online
from experiments.targets.target_run import TargetRun
from experiments.workspace import Loaded, Workspace


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """Accuracy, and how the draws concentrated, of every plan of one group."""
    first, shared = cells[0], dict[str, float]()
    data, noisy, dynamics = (
        _of_pruning(cells, workspace, shared)
        if of_pruning(first)
        else _redrawn(first, workspace, shared)
    )
    product = cache(partial(product_of, first, data, noisy, workspace))
    drawn = rng_for(0, first.source.name, "test").permutation(len(data.test_y))
    tests = drawn[: first.source.tests]
    for cell in cells:
        target, seconds = target_of(cell), dict(shared)
        sampler = SAMPLERS[cell.rule]
        with record_time(seconds, "scoring"):
            proxies = dynamics()
            plan, exponent = (
                (gated_plan(product(), sampler), None)
                if sampler.plan == "gated"
                else plan_of(sampler, proxies)
            )
        train = partial(
            train_online,
            target.model,
            data.x,
            noisy.given,
            plan=plan,
            dynamics=proxies,
            weight_exponent=exponent,
            # As in the paper, the reference is the attacker's network.
            reference=cell.ensemble.attacker,
            reference_recipe=replace(RHO_REFERENCE, augment=target.recipe.augment),
            recipe=target.recipe,
            seed=cell.seed,
            classes=data.classes,
            test=(data.test_x[tests], data.test_y[tests]),
            flagged=noisy.flipped if noisy.flipped.any() else None,
            rescue=False,
            device=workspace.device,
            store=workspace.store,
        )
        run = train_timed(seconds, train)
        yield Finding(cell, summarize_run(run), seconds)


def of_pruning(cell: Cell) -> bool:
    """Whether static pruning trains the same proxies on the same examples.

    >>> from experiments.paper.online import NOISES, online
    >>> {name: of_pruning(online(scale, NOISES[0], "uniform", 0)) for name, scale in SCALES.items()}
    {'smoke': False, 'cpu': False, 'mid': True, 'paper': True}
    """
    setups = (setup for scale in SCALES.values() for setup in scale.setups)
    return any((cell.source, cell.ensemble) == (setup.source, setup.ensemble) for setup in setups)


def _of_pruning(
    cells: Sequence[Cell], workspace: Workspace, seconds: dict[str, float]
) -> tuple[Loaded, NoisyLabels, Callable[[], Dynamics]]:
    data, noisy, ensembles = prepare_group(cells, workspace, seconds)
    return data, noisy, ensembles.plain


def _redrawn(
    first: Cell, workspace: Workspace, seconds: dict[str, float]
) -> tuple[Loaded, NoisyLabels, Callable[[], Dynamics]]:
    data = redraw(first, workspace)
    with record_time(seconds, "attacker"):
        noisy = corrupt_cell(first, data, workspace)

    @cache
    def dynamics() -> Dynamics:
        return train_proxies(
            data.x,
            noisy.given,
            proxies=first.ensemble.count,
            model=list(first.ensemble.models),
            recipe=first.ensemble.recipe,
            record="scored",
            seed=first.seed,
            classes=data.classes,
            test=(data.test_x, data.test_y),
            workers=1,
            device=workspace.device,
            store=workspace.store,
        )

    return data, noisy, dynamics


def redraw(cell: Cell, workspace: Workspace) -> Loaded:
    """The cell's examples, drawn anew for its seed, and every test example."""
    data = load(cell.source.name, data_dir=workspace.data_dir)
    order = rng_for(cell.seed, cell.source.name, "examples").permutation(len(data.train_y))
    chosen = np.sort(order[: cell.source.examples])
    x, y = data.train_x[chosen], data.train_y[chosen]
    return Loaded(x, y, data.test_x, data.test_y, len(data.classes))


def plan_of(sampler: Sampler, proxies: Dynamics) -> tuple[str | Importance, float | None]:
    """A plan and the exponent of its weights; another ξ than the usual is a plan made by hand.

    >>> plan_of(Sampler("standard_is", 0.0), Dynamics.from_losses([[0.1], [0.2]]))
    ('standard_is', 0.0)
    """
    if sampler.smoothing == SMOOTHING:
        return sampler.plan, sampler.weight_exponent
    plan = importance(
        rank_variance_of(proxies),
        smoothing=sampler.smoothing,
        weight_exponent=sampler.weight_exponent,
    )
    return plan, None


def gated_plan(product: ProductEnsemble, sampler: Sampler) -> Importance:
    """Draw with q ∝ (1 − P(wrong)) · (σ̂² + ξ·mean(σ̂²)), both of the proxies of `dris`."""
    variance = rank_variance_of(product.view)
    score = variance + sampler.smoothing * variance.mean()
    score *= 1 - product.assessment.given.wrong
    return proportional(score, weight_exponent=sampler.weight_exponent)


def summarize_run(run: TargetRun) -> dict[str, object]:
    """What a record keeps of a target: where it ended, its course, how its draws concentrated.

    A run that broke ends at `broke`, with the accuracy of its last whole epoch; where there is
    none, it is imputed and no claim reads it.
    """
    sampled = [line.sampled for line in run.log]
    sizes = [s.concentration_size for s in sampled]
    flagged = [s.flagged_mass for s in sampled if s.flagged_mass is not None]
    return {
        "accuracy": float(run.accuracy or 0.0),
        "diverged": run.status == "diverged",
        "alarm": any(s.alarm for s in sampled),
        "collapsed": run.status == "collapsed",
        "imputed": run.imputed,
        "broke": None if run.broke is None else run.broke[0],
        "smallest_concentration": min(sizes, default=0.0),
        "corrupt_draws": float(np.mean(flagged)) if flagged else 0.0,
        "accuracy_by_epoch": [round(line.test_accuracy or 0.0, 4) for line in run.log],
        "concentration_by_epoch": [round(size) for size in sizes],
    }
