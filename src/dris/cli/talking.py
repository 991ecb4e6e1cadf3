"""What a command says: results on stdout, the rest on stderr, a bar on a terminal only."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer


class Talk:
    """Human text on stdout, or with `as_json` one JSON value there and the text on stderr."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def say(self, text: str) -> None:
        """A line or more that belong to the result."""
        typer.echo(text, err=self._as_json)

    def note(self, text: str) -> None:
        """A line about the work, always on stderr."""
        typer.echo(text, err=True)

    def result(self, values: Mapping[str, Any]) -> None:
        """The machine-readable result, if it was asked for."""
        if self._as_json:
            typer.echo(json.dumps(values, sort_keys=True, allow_nan=False, indent=1))


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar with the time left on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Left())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
