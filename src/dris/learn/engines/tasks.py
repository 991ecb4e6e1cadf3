"""Run independent tasks on an engine."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dris.core.validate import check_count
from dris.learn.engines.engine import Engine, as_engine
from dris.learn.engines.processes import Progress, run_here


def run_all(
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    *,
    workers: int | None,
    progress: Progress | None = None,
    total: int = 0,
    engine: Engine | str = "local",
    folder: Path | None = None,
) -> list[Any]:
    """`work(*task, tick)` for every task; the results in the order of the tasks.

    `folder`, if given, is what tasks read and write by this very path: the nodes of a cluster must
    see it.

    >>> run_all(lambda a, tick: a + 1, [(1,), (2,)], workers=1)
    [2, 3]
    """
    if workers is not None:
        check_count(workers, "workers", at_least=1)
    if (where := as_engine(engine)).name == "local":
        return run_here(work, tasks, workers=workers, progress=progress, total=total)
    from dris.learn.engines.ray_tasks import mark_folder, run_on_ray

    how: dict[str, Any] = {"workers": workers, "progress": progress, "total": total}
    with mark_folder(folder) as mark:
        return run_on_ray(work, tasks, engine=where, mark=mark, **how)
