"""How far the work is: a bar with the time left on a terminal, now and then a line elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dris.core.sanitize import under
from dris.learn.engines.processes import Progress

_SECONDS = 10.0  # between two lines in a pipe, at the least


@contextmanager
def bar(what: str) -> Iterator[Progress]:
    """Show calls of `progress(done, total)` on stderr; nothing of it stays on a terminal."""
    if not sys.stderr.isatty():
        yield _lines(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Left())
    with Progress(*columns, console=Console(file=under(sys.stderr)), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def _lines(what: str) -> Progress:
    """A line for each tenth of the work, but not more than one in ten seconds."""
    last = time.monotonic()
    tenths = 0
    first: tuple[float, int] | None = None  # counted from here: what came before is other work

    def write(done: int, total: int) -> None:
        nonlocal last, tenths, first
        now = time.monotonic()
        first = (now, done) if first is None else first
        if 10 * done // max(total, 1) > tenths and now - last >= _SECONDS:
            tenths, last = 10 * done // total, now
            left = ""
            if done > first[1]:
                seconds = (now - first[0]) * (total - done) / (done - first[1])
                left = f", about {seconds:.0f} s left"
            sys.stderr.write(f"{what}: {done:,} of {total:,}{left}\n")

    return write
