"""Work spread over processes, with progress that crosses them through a growing file."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any

from dris.core.errors import InputError
from dris.core.files import temporary_place
from dris.core.sanitize import under

Progress = Callable[[int, int], None]
Ticker = Callable[[], None]
NOTES = "DRIS_NOTES"  # in the environment of a command's workers
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4  # of mallopt(3)


def _count(path: str | None) -> None:
    """Add one byte to a file: the cheapest counter that many processes can share."""
    if path is not None:
        with open(path, "ab") as file:
            file.write(b".")


def run_here(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    *,
    workers: int | None,
    progress: Progress | None = None,
    total: int = 0,
) -> list[Any]:
    """`function(*task, tick)` for every task, in processes; the results in the order of the tasks.

    One worker means this process. Arrays are shared between processes through memory maps.
    """
    count = min(len(tasks), workers or os.cpu_count() or 1)
    with _counting(progress, total) as ticker:
        if count <= 1:
            return [function(*task, ticker) for task in tasks]
        from joblib import Parallel, delayed
        from joblib.externals.loky import BrokenProcessPool

        home = os.getpid()
        each = (delayed(_run_task)(home, sys.path, function, *task, ticker) for task in tasks)
        try:
            # Workers watch for the end of this process from their first moment on.
            pool = Parallel(n_jobs=count, initializer=_follow, initargs=(home,))
            return pool(each)  # type: ignore[no-any-return]
        except BrokenProcessPool:
            fewer = "`workers=1`" if count == 2 else f"fewer than {count}, such as `workers=1`"
            raise InputError(
                f"one of {count} worker processes was killed, most likely since the memory of this "
                "machine ran out; what is finished is kept, so do the same again with fewer "
                f"workers ({fewer}), or with less data"
            ) from None


@cache
def _follow(home: int) -> None:
    """End this worker soon after the process that it works for, however that one ended."""

    def watch() -> None:
        while os.getppid() == home:
            time.sleep(0.5)
        os._exit(1)

    if os.name == "posix" and os.getpid() != home:
        threading.Thread(target=watch, daemon=True).start()


def _run_task(home: int, path: Sequence[str], function: Callable[..., Any], *arguments: Any) -> Any:
    if os.getpid() != home:
        _follow(home)
        settle(path)
    return function(*arguments)


def settle(path: Sequence[str]) -> None:
    """Make a process fit for work: it may be older than the caller's import folders."""
    sys.path.extend(folder for folder in path if folder not in sys.path)
    if NOTES in os.environ:  # a worker of a command logs what the command itself would
        log = logging.getLogger("dris")
        if not log.handlers:
            log.addHandler(logging.StreamHandler())
            log.handlers[0].setFormatter(logging.Formatter("dris: %(message)s"))
        logging.getLogger("dris.store").setLevel(logging.INFO)
    keep_freed_memory()


def keep_freed_memory() -> None:
    """Let a process that only trains reuse its memory instead of handing it back at every step."""
    _glibc("mallopt", _MMAP_MAX, 0)
    _glibc("mallopt", _TRIM_THRESHOLD, 2**31 - 1)
    _glibc("mallopt", _TOP_PAD, 2**28)


def give_back_memory() -> None:
    """Hand memory back as soon as it is freed, for a process that trains no more.

    Gaps that the next arrays do not fit were a quarter of what scoring a million rows took.
    """
    _glibc("mallopt", _MMAP_THRESHOLD, 1 << 20)
    _glibc("malloc_trim", 0)


def _glibc(name: str, *arguments: int) -> None:
    """Call a function of glibc; no-op where libc is not glibc."""
    import ctypes

    with suppress(TypeError, OSError, AttributeError):
        getattr(ctypes.CDLL(None), name)(*arguments)


@contextmanager
def _counting(progress: Progress | None, total: int) -> Iterator[Ticker]:
    """Report the counter while work goes on, and once more at its end."""
    if progress is None:
        yield partial(_count, None)
        return
    over = threading.Event()
    with temporary_place() as path:
        path.touch()

        def tell() -> None:
            with suppress(FileNotFoundError):  # somebody cleaned up temporary files: no bar then
                progress(os.path.getsize(path), total)

        def watch() -> None:
            while not over.wait(0.2):
                tell()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield partial(_count, str(path))
        finally:
            over.set()
            watcher.join()
            tell()


_SECONDS = 10.0  # that a phase lasts before a pipe is told about it; the next line at ten times


class Watch:
    """Progress that names its phase; `show` draws (phase, done, total), total 0 where unknown."""

    def __init__(self, phase: str, show: Callable[[str, int, int], None]) -> None:
        self._show = show
        self._phase, self._begun = phase, time.monotonic()
        self.seconds: dict[str, float] = {}  # how long each phase took that is over
        show(phase, 0, 0)

    def __call__(self, done: int, total: int) -> None:
        """Tell how much of the phase is done."""
        self._show(self._phase, done, total)

    def enter(self, phase: str) -> None:
        """Begin the next phase, or end the last."""
        now = time.monotonic()
        self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._begun
        self._phase, self._begun = phase, now
        self._show(phase, 0, 0)


def enter_phase(progress: Progress | None, phase: str) -> None:
    """Name what comes next to whoever watches; a plain function is only told numbers."""
    if isinstance(progress, Watch):
        progress.enter(phase)


@contextmanager
def bar(phase: str) -> Iterator[Watch]:
    """Show progress on stderr; nothing of it stays on a terminal."""
    if not sys.stderr.isatty():
        yield Watch(phase, _tell_pipe())
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        *(TextColumn("{task.description}"), BarColumn()),
        *(TextColumn("{task.fields[count]}"), TimeElapsedColumn()),
    )
    with Progress(*columns, console=Console(file=under(sys.stderr)), transient=True) as shown:

        def draw(phase: str, done: int, total: int) -> None:
            if not total:  # a phase begins, or the last one ends
                for old in shown.task_ids:
                    shown.remove_task(old)
                if phase:
                    shown.add_task(phase, total=None, count="")
                return
            count = f"{done:,} of {total:,}"
            shown.update(shown.task_ids[0], completed=done, total=total, count=count)

        yield Watch(phase, draw)


def _tell_pipe() -> Callable[[str, int, int], None]:
    """A line for a phase after 10 seconds, then after 100, 1,000 …, with the time that is left."""
    begun, first, wait = time.monotonic(), -1, _SECONDS

    def write(phase: str, done: int, total: int) -> None:
        nonlocal begun, first, wait
        now = time.monotonic()
        if not total:  # a phase begins
            begun, first, wait = now, -1, _SECONDS
            return
        if first < 0:  # counted from here: what came before is other work
            begun, first = now, done
        if now - begun >= wait and done > first:
            wait *= 10
            left = (now - begun) * (total - done) / (done - first)
            sys.stderr.write(f"{phase}: {done:,} of {total:,}, about {left:.0f} s left\n")

    return write
