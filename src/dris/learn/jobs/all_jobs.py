"""Train many jobs on an engine, on data that is prepared once, and join those that finished."""

import itertools
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from dris.core.dynamics.columns import TRAJECTORIES
from dris.core.dynamics.dynamics import Dynamics, held_from
from dris.core.errors import InputError
from dris.core.files import make_folder, temporary_folder
from dris.core.scores.ranks import normalized_ranks
from dris.learn.engines.processes import Progress
from dris.learn.engines.tasks import LOCAL, Engine, mark_folder, run_all, run_on_ray
from dris.learn.jobs.kept_jobs import hash_data, key_of
from dris.learn.jobs.proxy_job import train
from dris.learn.jobs.stacked_job import train_stacked
from dris.learn.store.run_store import Store
from dris.learn.store.runs import Run
from dris.learn.trainers.folds import in_and_out
from dris.learn.trainers.job import (
    Data,
    DivergedError,
    Job,
    Normalize,
    Trained,
    epochs_of,
    folds_for,
)
from dris.learn.trainers.registry import trainer_of


def train_jobs(
    jobs: Sequence[Job],
    data: Data,
    store: Store | str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine = LOCAL,
) -> list[Trained]:
    """Every job's dynamics, and what went wrong in it, in the order of the jobs."""
    kept = Store(store) if isinstance(store, str | Path) else store
    if kept is not None:
        make_folder(kept.root)  # here, in one sentence, rather than in every worker
        # Here, not in a worker: what stands in a notebook has its source in this process only.
        jobs = [replace(job, code=trainer_of(job.model).hash_source(job.model)) for job in jobs]
    with temporary_folder() as folder:
        # Ray has an object store of its own, and its nodes may share no disk.
        local = engine.name == "local"
        tasks = _prepare(jobs, data, folder if local else None, hashed=kept is not None)
        if local:
            # Stacked models share this process; others get processes of one thread each.
            together = all(trainer_of(job.model).trains_together for job in jobs)
            threads = (workers or os.cpu_count() or 1) if len(jobs) == 1 or together else 1
            gpus = len({job.device for job in jobs if job.device != "cpu"})
            trained = run_all(
                partial(_attempt, threads=threads),
                [(*task, kept) for task in tasks],
                workers=1 if together else workers or gpus or None,
                progress=progress,
                total=sum(map(epochs_of, jobs)),
            )
        else:
            trained = _train_on_ray(tasks, kept, workers, progress, engine)
    if kept is not None:
        for job, result in zip(jobs, trained, strict=True):
            if job.fold == 0:  # a proxy's folds count as one
                count = len(job.members) or 1
                kept.found += count if result.from_store else 0
                kept.trained += 0 if result.from_store else count - len(result.broken)
    return trained


def _prepare(
    jobs: Sequence[Job], data: Data, folder: Path | None, *, hashed: bool
) -> list[tuple[Job, Data]]:
    """Each job with its data, prepared once for all jobs of a kind and scaling."""
    prepared: dict[tuple[str, Normalize], Data] = {}
    tasks = []
    for job in jobs:
        trainer = trainer_of(job.model)
        which = trainer.title, trainer.scaling(job, data)
        if which not in prepared:
            ready = trainer.prepare(data, which[1], folder)
            prepared[which] = replace(ready, hashes=hash_data(ready)) if hashed else ready
        tasks.append((job, prepared[which]))
    return tasks


def _train_on_ray(
    tasks: Sequence[tuple[Job, Data]],
    store: Store | None,
    workers: int | None,
    progress: Progress | None,
    engine: Engine,
) -> list[Trained]:
    """Every job on the cluster, but for those that the store holds.

    A node that sees the store's folder keeps its work there as a local process does. One that does
    not sends the finished dynamics back, and this process writes them down as they arrive.
    """
    runs = [None if store is None else store.run(key_of(*task)) for task in tasks]
    kept = {i: run.read() for i, run in enumerate(runs) if run is not None}
    results = {i: Trained(d, from_store=True) for i, d in kept.items() if d is not None}
    left = [i for i in range(len(tasks)) if i not in results]
    before = sum(epochs_of(tasks[i][0]) for i in results)

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(before + done, total)

    total = sum(epochs_of(job) for job, _ in tasks)
    tell(0, total)
    if left:  # else nobody asks whether the cluster is there
        # A process elsewhere has another working folder.
        there = None if store is None else Store(store.root.absolute())
        with mark_folder(None if there is None else there.root) as mark:
            trained = run_on_ray(
                partial(_on_node, max(1, int(engine.cpus)), mark),
                [(*tasks[i], there) for i in left],
                engine=engine,
                workers=workers,
                progress=tell,
                total=total,
                arrived=lambda i, result: _keep(runs[left[i]], *result),
            )
        results |= dict(zip(left, trained, strict=True))
    return [results[i] for i in range(len(tasks))]


def _on_node(
    threads: int,
    mark: Path | None,
    job: Job,
    data: Data,
    store: Store | None,
    tick: Callable[[], None],
) -> tuple[Trained | None, float]:
    """What a job gives, None for dynamics that are in the store by now; and the seconds it took."""
    begin = time.monotonic()
    visible = store if mark is not None and mark.exists() else None
    result = _attempt(job, data, visible, tick, threads=threads)
    sent = None if visible is not None and result.whole else result
    return sent, time.monotonic() - begin


def _keep(run: Run | None, result: Trained | None, seconds: float) -> Trained | None:
    """The result, from the disk where it is: dynamics in memory are those of one run at a time."""
    if run is None or (result is not None and not result.whole):
        return result
    if result is not None and result.dynamics is not None:
        with run.locked():
            if not run.done:
                run.finish(result.dynamics, seconds=seconds)
    return Trained(run.load())


def _attempt(
    job: Job, data: Data, store: Store | None, tick: Callable[[], None], *, threads: int = 1
) -> Trained:
    if trainer_of(job.model).trains_together:
        return train_stacked(job, data, store, tick, threads=threads)
    left = iter(range(epochs_of(job)))

    def count() -> None:
        next(left)
        tick()

    try:
        return train(job, data, store, count)
    except DivergedError as error:
        for _ in left:  # epochs that will never come: progress still ends at its total
            tick()
        return Trained(None, {0: error})


def join_proxies(jobs: Sequence[Job], results: Sequence[Trained], data: Data) -> Dynamics:
    """One `Dynamics` of all proxies that finished; the others are named in a warning."""
    if len(jobs) == 1 and jobs[0].members and results[0].dynamics and not results[0].broken:
        return results[0].dynamics
    parts: dict[int, Dynamics] = {}
    missing: dict[int, str] = {}
    apart: dict[int, list[tuple[Job, Trained]]] = {}
    for job, result in zip(jobs, results, strict=True):
        if not job.members:
            apart.setdefault(int(job.stream[1]), []).append((job, result))
            continue
        missing |= {job.members[i]: str(error) for i, error in result.broken.items()}
        left = [k for i, k in enumerate(job.members) if i not in result.broken]
        for i, k in enumerate(left if result.dynamics is not None else ()):
            parts[k] = result.dynamics.only([i])  # type: ignore[union-attr]
    for k, mine in apart.items():
        errors = [str(error) for _, result in mine for error in result.broken.values()]
        if errors:
            missing[k] = errors[0]
        else:
            each = align([result.dynamics for _, result in mine if result.dynamics is not None])
            parts[k] = _join_folds(mine[0][0], each, data)
    reasons = [missing[k] for k in sorted(missing)]
    if not parts:
        raise InputError(f"no proxy finished; {reasons[0]}")
    dynamics = Dynamics.merge(align([parts[k] for k in sorted(parts)]))
    if missing:
        warnings.warn(
            f"{len(parts)} of {len(parts) + len(missing)} proxies finished; {'; '.join(reasons)}",
            stacklevel=3,
        )
        dynamics = replace(dynamics, provenance={**dynamics.provenance, "missing": reasons})
    return dynamics


def align(parts: Sequence[Dynamics]) -> list[Dynamics]:
    """Models that stopped by themselves, cut at the last epoch that all have, scored at one."""
    if any(part.is_summary for part in parts):
        return list(parts)
    if len({part.epochs for part in parts}) > 1:
        last = min(part.epochs[-1] for part in parts)
        parts = [part.until(last) for part in parts]
    scored = min((part.scored_epoch for part in parts), default=0)
    return [part if part.scored_epoch == scored else part.at(scored) for part in parts]


def hold_at_best(trained: Sequence[Trained]) -> list[Trained]:
    """Jobs whose proxies stopped at different epochs, as if each had waited at its best one."""
    made = [t.dynamics for t in trained if t.dynamics is not None]
    last = max((d.totals_epochs if d.is_summary else d.scored_epoch for d in made), default=1)
    return [
        t
        if t.dynamics is None
        else replace(t, dynamics=held_from(t.dynamics, t.dynamics.scored_epoch, last))
        for t in trained
    ]


def _join_folds(job: Job, folds: Sequence[Dynamics], data: Data) -> Dynamics:
    if job.folds is None:
        return folds[0]
    fold = folds_for(job, job.stream, data)
    first = folds[0]
    each = {
        name: np.stack([part.columns[name][0] for part in folds])
        for name in first.columns
        if name in TRAJECTORIES
    }
    inside, outside = ({n: c[None] for n, c in side.items()} for side in in_and_out(each, fold))
    return replace(first, columns=inside, out_of_fold=replace(first, columns=outside))


def refuse_copies(dynamics: Dynamics) -> None:
    """Raise if two proxies agree but for rounding: their variance would be that rounding.

    So do ranks that differ by less than 1 % on average; those of networks differ by 5 % and more.
    """
    # Margins, not losses: those of two good fits are both zero but for rounding.
    margin = dynamics.snapshot("margin")
    ranks = normalized_ranks(margin)
    many = dynamics.examples >= 200
    for j, k in itertools.combinations(range(len(margin)), 2):
        alike = many and np.abs(ranks[j] - ranks[k]).mean() < 0.01
        if alike or np.allclose(margin[j], margin[k], rtol=1e-3, atol=1e-5):
            made = dynamics.provenance["proxies"][k]["model"]
            raise InputError(
                f"proxies {j} and {k} are copies: {made} ranks the losses alike whatever "
                "its seed and order; train in folds (cross_fit=4), where each sees other rows"
            )
