"""Tasks on an engine: in processes here, or on the nodes of a Ray cluster.

On Ray, what tasks share is sent once, and a task whose process or node dies is run again.
"""

import logging
import os
import socket
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from dris.core.errors import InputError
from dris.core.validate import check_count
from dris.learn.engines.processes import Progress, run_here, settle
from dris.learn.extras import require

ENGINES = ("local", "ray")


@dataclass(frozen=True, slots=True)
class Engine:
    """How tasks are run; the result is the same, to the byte."""

    name: str = "local"  # "local", joblib's processes, or "ray", which needs the extra `ray`
    # of the Ray cluster: host:port, "auto" for the one that this machine belongs to. Not given,
    # RAY_ADDRESS names it, or Ray finds or starts one on this machine
    address: str | None = None
    cpus: float = 1  # that Ray reserves for each task; more where its memory decides how many fit
    gpus: float = 0  # that Ray reserves for each task; 0.5 lets two tasks share one
    retries: int = 3  # how often a task is run again when its process or its node dies

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise InputError(f"engine must be one of {', '.join(ENGINES)}, got {self.name!r}")
        given = (self.address, self.cpus, self.gpus, self.retries)
        if self.name == "local" and given != (None, 1, 0, 3):
            raise InputError(
                "address, cpus, gpus and retries are for Ray, the engine is local; use engine ray"
            )
        if not self.cpus > 0:
            raise InputError(f"cpus must be above 0, got {self.cpus}")
        if not (0 <= self.gpus <= 1 or (self.gpus > 0 and float(self.gpus).is_integer())):
            raise InputError(f"gpus must be a share of one or a whole number, got {self.gpus}")
        check_count(self.retries, "retries", at_least=0)

    def devices(self, device: str) -> list[str]:
        """The devices that proxies are dealt out to; a task on Ray sees its own GPUs only."""
        if self.name == "local" or device == "cpu":
            return devices_of(device)
        if device != "cuda":
            raise InputError(f"device must be cpu or cuda on Ray, which deals GPUs, got {device!r}")
        if not self.gpus:
            raise InputError("device cuda on Ray needs GPUs for each proxy; ask for gpus=1")
        return ["cuda:0"]


LOCAL = Engine()


def as_engine(engine: Engine | str) -> Engine:
    """An engine, also by its name alone."""
    return engine if isinstance(engine, Engine) else Engine(engine)


def devices_of(device: str) -> list[str]:
    """The devices that jobs are dealt out to: "cuda" means every GPU that is visible."""
    if device == "cpu":
        return ["cpu"]
    if not device.startswith("cuda"):
        raise InputError(f"device must be cpu, cuda or cuda:<number>, got {device!r}")
    count = require("torch", "torch").cuda.device_count()
    if count == 0:
        raise InputError("no CUDA device is visible; use device='cpu'")
    return [device] if ":" in device else [f"cuda:{i}" for i in range(count)]


MAX_SECONDS_TO_ANSWER = 5.0  # Ray itself would try for minutes
_CLIENT = "ray://"
_log = logging.getLogger("dris.run")


def run_all(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    *,
    workers: int | None,
    progress: Progress | None = None,
    total: int = 0,
    engine: Engine | str = "local",
    folder: Path | None = None,
) -> list[Any]:
    """`function(*task, tick)` for every task; the results in the order of the tasks.

    The nodes of a cluster must see the `folder`, if given, by this very path.
    """
    if workers is not None:
        check_count(workers, "workers", at_least=1)
    if (where := as_engine(engine)).name == "local":
        return run_here(function, tasks, workers=workers, progress=progress, total=total)
    how: dict[str, Any] = {"workers": workers, "progress": progress, "total": total}
    with mark_folder(folder) as mark:
        return run_on_ray(function, tasks, engine=where, mark=mark, **how)


def connect(engine: Engine) -> ModuleType:
    """Ray, connected to the engine's cluster, or as whoever called `ray.init` decided."""
    ray = require("ray", "ray")
    address = engine.address or os.environ.get("RAY_ADDRESS")
    if ray.is_initialized():
        at = engine.address
        if at not in (None, "auto", "local") and not str(at).startswith(_CLIENT):
            there = str(ray.get_runtime_context().gcs_address)
            if _resolve(str(at)) != _resolve(there):
                raise InputError(
                    f"this process is connected to Ray at {there} and not at {at}; "
                    "call ray.shutdown() first"
                )
        return ray
    if address not in (None, "auto", "local"):
        _refuse_unreachable(address)
    try:
        dashboard = False if address in (None, "local") else None
        quiet: Any = {"log_to_driver": False, "logging_level": "ERROR"}
        ray.init(address=address, include_dashboard=dashboard, **quiet)
    except (ConnectionError, OSError, RuntimeError, ValueError, AssertionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"Ray cannot be used at {address or 'this machine'}: {reason}") from error
    return ray


def _resolve(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    with suppress(OSError):
        host = socket.gethostbyname(host)
    return host, port


def _refuse_unreachable(address: str) -> None:
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise InputError(
            f"address must be host:port, {_CLIENT}host:port or auto, got {address!r}; "
            "the head node says it when it starts: ray start --head"
        )
    try:
        socket.create_connection((host, int(port)), timeout=MAX_SECONDS_TO_ANSWER).close()
    except OSError as error:
        raise InputError(
            f"no Ray cluster can be reached at {address} ({error.strerror or error}); start one "
            "with: ray start --head --port=6379"
        ) from error


@contextmanager
def mark_folder(folder: Path | None) -> Iterator[Path | None]:
    """A file of a name used once: a process that finds it sees the folder, by the path as given."""
    if folder is None:
        yield None
        return
    mark = folder / f".seen-{uuid.uuid4().hex}"
    mark.touch()
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


def run_on_ray(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    *,
    engine: Engine,
    workers: int | None = None,
    progress: Progress | None = None,
    total: int = 0,
    mark: Path | None = None,
    arrived: Callable[[int, Any], Any] | None = None,
) -> list[Any]:
    """`function(*task, tick)` for every task, on the cluster; results in the order of the tasks.

    Progress counts the ticks of tasks that have ended. A node that does not see the `mark` is an
    error. What `arrived(task, result)` returns is kept in place of the result.
    """
    ray = connect(engine)
    _warn_if_none_fits(ray, engine)
    room = {"num_cpus": engine.cpus, "num_gpus": engine.gpus, "max_retries": engine.retries}
    run = ray.remote(_run_task).options(**room, scheduling_strategy="SPREAD")
    send = _sender(ray, tasks)
    waiting = iter(enumerate(tasks))
    running: dict[Any, int] = {}
    results: dict[int, Any] = {}
    done = 0
    try:
        while len(results) < len(tasks):
            for i, task in islice(waiting, (workers or len(tasks)) - len(running)):
                running[run.remote(sys.path, mark, function, *map(send, task))] = i
            (ref,) = ray.wait(list(running))[0]
            i = running.pop(ref)
            ticks, result = _receive(ray, ref, f"task {i + 1} of {len(tasks)}", engine)
            results[i] = result if arrived is None else arrived(i, result)
            done += ticks
            if progress is not None:
                progress(done, total)
    finally:
        for ref in running:
            ray.cancel(ref, force=True)
    return [results[i] for i in range(len(tasks))]


def _run_task(
    path: Sequence[str], mark: Path | None, function: Callable[..., Any], *arguments: Any
) -> tuple[int, Any]:
    """One task, in a process of some node: how often it ticked, and its result."""
    settle(path)
    if mark is not None and not mark.exists():
        host = require("ray", "ray").util.get_node_ip_address()
        raise InputError(
            f"the node at {host} does not see {mark.parent}, where results are kept; "
            "name one on a disk that all nodes share, by its whole path"
        )
    ticks: list[None] = []
    result = function(*arguments, lambda: ticks.append(None))
    return len(ticks), result


def _sender(ray: ModuleType, tasks: Sequence[tuple[Any, ...]]) -> Callable[[Any], Any]:
    times = Counter(id(argument) for task in tasks for argument in task)
    sent: dict[int, Any] = {}

    def send(argument: Any) -> Any:
        if times[id(argument)] == 1:
            return argument
        if id(argument) not in sent:
            sent[id(argument)] = ray.put(argument)
        return sent[id(argument)]

    return send


def _receive(ray: ModuleType, ref: Any, which: str, engine: Engine) -> tuple[int, Any]:
    """What a task has sent back; its own error is raised as if it had run here."""
    try:
        return ray.get(ref)  # type: ignore[no-any-return]
    except ray.exceptions.RayTaskError as error:
        raise (error.cause if isinstance(error.cause, Exception) else error) from error
    except ray.exceptions.RayError as error:
        reason = (str(error).strip().splitlines() or [""])[0].strip()
        raise InputError(
            f"{which} was lost with its process or node and {engine.retries} retries did not help "
            f"({type(error).__name__}: {reason}); what is finished is kept in the store if there "
            "is one, so mend the cluster and run the same again, or allow more retries"
        ) from error


def _warn_if_none_fits(ray: ModuleType, engine: Engine) -> None:
    """Log that the wait may last for ever, if no node is large enough for a task."""
    asked = {"CPU": engine.cpus, "GPU": engine.gpus}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(all(n.get(name, 0) >= least for name, least in asked.items()) for n in nodes):
        _log.warning(
            "no node of the Ray cluster has %g CPUs and %g GPUs for a task; waiting for one to "
            "join, or ask for less",
            *asked.values(),
        )
