"""Tasks on the nodes of a Ray cluster: what they share is sent once, what dies is run again.

Whatever several tasks share lies once in Ray's object store, and tasks read its arrays where they
lie. Results come back one by one. A task whose process or node dies is run again from its
beginning, which for a training with a store that its node sees is its last full epoch.
"""

import logging
import os
import sys
import time
from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from types import ModuleType
from typing import Any

from dris.core.errors import InputError
from dris.learn.engines.cluster import connected
from dris.learn.engines.engine import Engine
from dris.learn.engines.processes import Progress, settle
from dris.learn.engines.visible_folder import Mark
from dris.learn.extras import require

_log = logging.getLogger("dris.run")
_POLL = 0.25  # seconds between two looks at the cluster
Arrived = Callable[[int, Any], Any]


class Counter:
    """What running tasks report: their ticks, and where they began. An actor beside the caller.

    Counts are those of a whole task, so that one that is run again is not counted twice.

    >>> counter = Counter()
    >>> counter.tick(0, 5); counter.tick(0, 1); counter.told(0)
    ({0: 5}, [])
    """

    def __init__(self) -> None:
        self._ticks: dict[int, int] = {}
        self._begun: list[tuple[int, str]] = []

    def begin(self, task: int, place: str) -> None:
        """Note where a task begins, maybe again."""
        self._begun.append((task, place))

    def tick(self, task: int, count: int) -> None:
        """Note how far a task is."""
        self._ticks[task] = max(count, self._ticks.get(task, 0))

    def told(self, since: int) -> tuple[dict[int, int], list[tuple[int, str]]]:
        """The ticks of each task, and the beginnings after the first `since`."""
        return self._ticks, self._begun[since:]


def run_on_ray(
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    *,
    engine: Engine,
    workers: int | None = None,
    progress: Progress | None = None,
    total: int = 0,
    mark: Mark | None = None,
    arrived: Arrived | None = None,
) -> list[Any]:
    """`work(*task, tick)` for every task, on the cluster; the results in the order of the tasks.

    Args:
        work: A function that the nodes can import.
        tasks: Its arguments. An object that several tasks share is sent once.
        engine: The cluster, and what of it each task takes.
        workers: So many tasks at a time at most; as many as the cluster holds unless given.
        progress: Called with (ticks so far, total).
        total: How many ticks there will be.
        mark: In a folder that every task needs; a node that does not see it is an error.
        arrived: Called here with (task, result) when one comes; what it returns is kept instead.
    """
    ray = connected(engine)
    watch = _Watch(ray, engine, len(tasks), progress, total)
    place = _placing(ray, tasks)
    run = ray.remote(_at_work).options(
        num_cpus=engine.cpus,
        num_gpus=engine.gpus,
        max_retries=engine.retries,
        scheduling_strategy="SPREAD",
    )
    waiting = iter(enumerate(tasks))
    running: dict[Any, int] = {}
    results: dict[int, Any] = {}
    work_there = ray.put(work)
    try:
        while len(results) < len(tasks):
            for i, task in islice(waiting, (workers or len(tasks)) - len(running)):
                given = [place(argument) for argument in task]
                running[run.remote(i, watch.counter, sys.path, mark, work_there, *given)] = i
            for ref in ray.wait(list(running), timeout=_POLL)[0]:
                i = running.pop(ref)
                watch.ended[i], result = _got(ray, ref, f"task {i + 1} of {len(tasks)}", engine)
                results[i] = result if arrived is None else arrived(i, result)
            watch.look()
    finally:
        for ref in running:
            ray.cancel(ref, force=True)
        ray.kill(watch.counter)
    return [results[i] for i in range(len(tasks))]


def _at_work(
    task: int,
    counter: Any,
    path: Sequence[str],
    mark: Mark | None,
    work: Callable[..., Any],
    *arguments: Any,
) -> tuple[int, Any]:
    """One task, in a process of some node: how often it ticked, and its result."""
    settle(path)
    ray = require("ray", "ray")
    node, host = ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address()
    counter.begin.remote(task, f"node {node[:8]} at {host}, process {os.getpid()}")
    if mark is not None and not mark.is_visible():
        raise InputError(
            f"the node at {host} does not see {mark.path.parent}, where results are kept; "
            "name one on a disk that all nodes share, by its whole path"
        )
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        counter.tick.remote(task, count)

    result = work(*arguments, tick)
    return count, result


def _placing(ray: ModuleType, tasks: Sequence[tuple[Any, ...]]) -> Callable[[Any], Any]:
    """A function that sends what several tasks share once, by identity."""
    shared = {i for i, n in Tally(id(a) for task in tasks for a in task).items() if n > 1}
    sent: dict[int, Any] = {}

    def place(argument: Any) -> Any:
        if id(argument) not in shared:
            return argument
        if id(argument) not in sent:
            sent[id(argument)] = ray.put(argument)
        return sent[id(argument)]

    return place


def _got(ray: ModuleType, ref: Any, which: str, engine: Engine) -> tuple[int, Any]:
    """What a task has sent back; its own error is raised as if it had run here."""
    try:
        count, result = ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        raise (error.cause if isinstance(error.cause, Exception) else error) from error
    except ray.exceptions.RayError as error:
        said = (str(error).strip().splitlines() or [""])[0].strip()
        raise InputError(
            f"{which} was lost with its process or node and {engine.retries} retries did not help "
            f"({type(error).__name__}: {said}); what is finished is kept in the store if there is "
            "one, so mend the cluster and run the same again, or allow more retries"
        ) from error
    return count, result


class _Watch:
    """Looks at the cluster now and then: progress, where tasks run, whether they ever can."""

    def __init__(
        self, ray: ModuleType, engine: Engine, tasks: int, progress: Progress | None, total: int
    ) -> None:
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=True
        )
        actor = ray.remote(Counter).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here)
        self.counter = actor.remote()
        self.ended: dict[int, int] = {}
        self._ray, self._engine, self._tasks = ray, engine, tasks
        self._progress, self._total = progress, total
        self._places: dict[int, str] = {}
        self._seen = 0
        self._most = 0
        self._next_check = time.monotonic()

    def look(self) -> None:
        """Tell the progress and the log what is new."""
        ticks: Mapping[int, int] = {}
        begun: list[tuple[int, str]] = []
        with suppress(self._ray.exceptions.RayError):  # the counter is being started, maybe again
            ticks, begun = self._ray.get(self.counter.told.remote(self._seen), timeout=10)
        self._seen += len(begun)
        for task, place in begun:
            self._tell(f"task {task + 1} of {self._tasks}", self._places.get(task), place)
            self._places[task] = place
        self._most = max(self._most, sum({**ticks, **self.ended}.values()))
        if self._progress is not None:
            self._progress(self._most, self._total)
        if len(self.ended) < self._tasks and time.monotonic() > self._next_check:
            self._next_check = time.monotonic() + (5.0 if self._somebody_fits() else 60.0)

    def _tell(self, which: str, before: str | None, now: str) -> None:
        if before is None:
            _log.info("%s runs on %s", which, now)
        else:
            _log.warning("%s was lost on %s; it runs again on %s", which, before, now)

    def _somebody_fits(self) -> bool:
        """Whether a node is large enough for a task; else say that the wait may be for ever."""
        asked = {"CPU": self._engine.cpus, "GPU": self._engine.gpus}
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if any(all(n.get(name, 0) >= least for name, least in asked.items()) for n in nodes):
            return True
        _log.warning(
            "no node of the Ray cluster has %g CPUs and %g GPUs for a task; waiting for one to "
            "join, or ask for less",
            *asked.values(),
        )
        return False
