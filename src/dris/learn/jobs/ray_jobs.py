"""Train jobs on a Ray cluster and keep them in a store, whether or not the nodes see its disk.

A node that sees the store's folder trains as a local process does: under the run's lock, every
epoch of a network kept, killed work going on from there. A node that does not sends the finished
dynamics back, and this process writes them down as they arrive. Either way what is done in the
store is not sent out at all.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dris.learn.engines.engine import Engine
from dris.learn.engines.processes import Progress
from dris.learn.engines.tasks import mark_folder, run_on_ray
from dris.learn.jobs.kept_jobs import key_of
from dris.learn.store.run_store import Store
from dris.learn.store.runs import Run
from dris.learn.trainers.job import Data, Job, Trained, epochs_of

Attempt = Callable[[Job, Data, Store | None, Callable[[], None]], Trained]


def train_on_ray(
    attempt: Attempt,
    tasks: Sequence[tuple[Job, Data]],
    store: Store | None,
    *,
    engine: Engine,
    workers: int | None,
    progress: Progress | None,
    total: int,
) -> list[Trained]:
    """`attempt(*task, store, tick)` for every task, but for those that the store holds."""
    runs = [None if store is None else store.run(key_of(*task)) for task in tasks]
    kept = {i: run.read() for i, run in enumerate(runs) if run is not None}
    results = {i: Trained(d, from_store=True) for i, d in kept.items() if d is not None}
    left = [i for i in range(len(tasks)) if i not in results]
    before = sum(epochs_of(tasks[i][0]) for i in results)

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(before + done, total)

    tell(0, total)
    if left:  # else nobody asks whether the cluster is there
        # A process elsewhere has another working folder.
        there = None if store is None else Store(store.root.absolute())
        with mark_folder(None if there is None else there.root) as mark:
            trained = run_on_ray(
                _on_node,
                [(attempt, mark, *tasks[i], there) for i in left],
                engine=engine,
                workers=workers,
                progress=tell,
                total=total,
                arrived=lambda i, result: _keep(runs[left[i]], *result),
            )
        results |= dict(zip(left, trained, strict=True))
    return [results[i] for i in range(len(tasks))]


def _on_node(
    attempt: Attempt,
    mark: Path | None,
    job: Job,
    data: Data,
    store: Store | None,
    tick: Callable[[], None],
) -> tuple[Trained | None, float]:
    """What a job gives, None for dynamics that are in the store by now; and the seconds it took."""
    begin = time.monotonic()
    visible = store if mark is not None and mark.exists() else None
    result = attempt(job, data, visible, tick)
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
