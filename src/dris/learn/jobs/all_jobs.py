"""Train many jobs on an engine, each on data that is prepared once."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dris.core.files import make_folder, temporary_folder
from dris.learn.engines.engine import LOCAL, Engine
from dris.learn.engines.processes import Progress
from dris.learn.engines.tasks import run_all
from dris.learn.jobs.kept_jobs import hash_data
from dris.learn.jobs.proxy_job import train
from dris.learn.jobs.stacked_job import train_stacked
from dris.learn.store.run_store import Store
from dris.learn.trainers.job import Data, DivergedError, Job, Normalize, Trained, epochs_of
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
        for job in jobs:
            trainer_of(job.model).refuse_unnamed(job.model)
        # Here, not in a worker: what stands in a notebook has its source in this process only.
        jobs = [replace(job, code=trainer_of(job.model).hash_source(job.model)) for job in jobs]
    how: dict[str, Any] = {"progress": progress, "total": sum(epochs_of(job) for job in jobs)}
    with temporary_folder() as folder:
        # Ray has an object store of its own, and its nodes may share no disk.
        local = engine.name == "local"
        tasks = _prepare(jobs, data, folder if local else None, hashed=kept is not None)
        if local:
            trained = _train_here(jobs, tasks, kept, workers, how)
        else:
            from dris.learn.jobs.ray_jobs import train_on_ray

            attempt = partial(_attempt, threads=max(1, int(engine.cpus)))
            trained = train_on_ray(attempt, tasks, kept, engine=engine, workers=workers, **how)
    if kept is not None:
        _tally(kept, jobs, trained)
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


def _train_here(
    jobs: Sequence[Job],
    tasks: Sequence[tuple[Job, Data]],
    store: Store | None,
    workers: int | None,
    how: dict[str, Any],
) -> list[Trained]:
    # Stacked models share this process; others get processes of one thread each.
    together = all(trainer_of(job.model).trains_together for job in jobs)
    threads = (workers or os.cpu_count() or 1) if len(tasks) == 1 or together else 1
    gpus = len({job.device for job in jobs if job.device != "cpu"})
    processes = 1 if together else workers or gpus or None
    attempt = partial(_attempt, threads=threads)
    return run_all(attempt, [(*task, store) for task in tasks], workers=processes, **how)


def _attempt(
    job: Job, data: Data, store: Store | None, tick: Callable[[], None], *, threads: int = 1
) -> Trained:
    if trainer_of(job.model).trains_together:
        return train_stacked(job, data, store, tick, threads=threads)
    left = epochs_of(job)

    def count() -> None:
        nonlocal left
        left -= 1
        tick()

    try:
        return train(job, data, store, count)
    except DivergedError as error:
        for _ in range(left):  # epochs that will never come: progress still ends at its total
            tick()
        return Trained(None, {0: error})


def _tally(store: Store, jobs: Sequence[Job], results: Sequence[Trained]) -> None:
    """Count proxies that the store held and that were trained; a proxy's folds count as one."""
    for job, result in zip(jobs, results, strict=True):
        if job.fold:
            continue
        count = len(job.members) or 1
        if result.from_store:
            store.tally.found += count
        else:
            store.tally.trained += count - len(result.broken)
