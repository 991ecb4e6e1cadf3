"""Work spread over processes, with progress that crosses them through a growing file."""

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dris.core.checks import checked_count
from dris.core.errors import InputError

Progress = Callable[[int, int], None]


class Ticker:
    """Adds one byte to a file per call: the cheapest counter that many processes can share."""

    def __init__(self, path: str | None) -> None:
        self._path = path

    def __call__(self) -> None:
        """Count one."""
        if self._path is not None:
            with open(self._path, "ab") as file:
                file.write(b".")


def run_all(
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    *,
    workers: int | None,
    progress: Progress | None = None,
    total: int = 0,
) -> list[Any]:
    """`work(*task, tick)` for every task, in processes; the results in the order of the tasks.

    One worker means this process. Arrays are shared between processes through memory maps.

    >>> run_all(lambda a, tick: a + 1, [(1,), (2,)], workers=1)
    [2, 3]
    """
    from joblib import Parallel, delayed

    if workers is not None:
        checked_count(workers, "workers", at_least=1)
    count = min(len(tasks), workers or os.cpu_count() or 1)
    with _counting(progress, total) as ticker:
        results: list[Any] = Parallel(n_jobs=count)(
            delayed(_with_path)(sys.path, work, *t, ticker) for t in tasks
        )
    return results


def _with_path(path: Sequence[str], work: Callable[..., Any], *args: Any) -> Any:
    """Work in a process that may be older than the caller's latest import folders."""
    sys.path.extend(folder for folder in path if folder not in sys.path)
    return work(*args)


@contextmanager
def _counting(progress: Progress | None, total: int) -> Iterator[Ticker]:
    """Report the counter while work goes on, and once more at its end."""
    if progress is None:
        yield Ticker(None)
        return
    handle, path = tempfile.mkstemp(prefix="dris-progress-")
    os.close(handle)
    over = threading.Event()
    size = Path(path).stat

    def watch() -> None:
        while not over.wait(0.2):
            progress(size().st_size, total)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield Ticker(path)
    finally:
        over.set()
        watcher.join()
        progress(size().st_size, total)
        Path(path).unlink()


def devices_of(device: str) -> list[str]:
    """The devices that jobs are dealt out to: "cuda" means every GPU that is visible.

    >>> devices_of("cpu")
    ['cpu']
    """
    if device == "cpu":
        return ["cpu"]
    if not device.startswith("cuda"):
        raise InputError(f"device must be cpu, cuda or cuda:<number>, got {device!r}")
    from dris.learn.extras import require

    torch = require("torch", "torch")
    count = torch.cuda.device_count()
    if count == 0:
        raise InputError("no CUDA device is visible; use device='cpu'")
    return [device] if ":" in device else [f"cuda:{i}" for i in range(count)]
