"""How commands speak: results on stdout, all else on stderr, a bar on a terminal only."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from dris.core.errors import InputError
from dris.learn.parallel import Progress


def answer(result: Mapping[str, Any], lines: Sequence[str], *, as_json: bool) -> None:
    """The result: as JSON on stdout, or as lines that a person reads."""
    text = json.dumps(result, indent=1, ensure_ascii=False) if as_json else "\n".join(lines)
    typer.echo(text)


def refuse_taken(paths: Sequence[Path], *, force: bool) -> None:
    """Stop before any work is done when a file would be overwritten, or cannot be written."""
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path} is a folder; name a file to write")
        if not force and path.exists():
            raise InputError(f"{path} exists; use --force to replace it, or name another")
        if not path.parent.is_dir():
            raise InputError(f"{path.parent}: no such folder; create it before writing into it")


@contextmanager
def bar(what: str) -> Iterator[Progress]:
    """A progress bar with the time left, on stderr; nothing where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    talk = Console(stderr=True)
    shown = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=talk,
        transient=True,
        disable=not talk.is_terminal,
    )
    with shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
