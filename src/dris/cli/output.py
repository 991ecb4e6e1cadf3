"""What a command prints, results on stdout and the rest on stderr; and how signals end it."""

import _thread
import json
import logging
import os
import shutil
import signal
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from dris.core.errors import as_options
from dris.core.sanitize import printable, under

MAX_WIDTH = 100
_NUMBER = r"(?<![\w.,-])[+−]?\d+(?:[.,]\d+)*(?: ?[±–] ?\d+(?:\.\d+)?)?(?: %| points)?(?!\w)"


@dataclass(frozen=True, slots=True)
class Output:
    """Human text on stdout; with `as_json` one JSON value there, and the text on stderr.

    `quiet` leaves out everything but files and JSON.
    """

    as_json: bool = False
    quiet: bool = False

    def say(self, text: str, style: str = "", *, indent: int = 0, whole: bool = False) -> None:
        """Print a line of the result, its numbers bold on a terminal, and escape what breaks it.

        A `whole` line is not wrapped, so that it can be copied: paths and commands.
        """
        if self.quiet:
            return
        from rich.console import Console
        from rich.text import Text

        file = under(sys.stderr if self.as_json else sys.stdout)
        console = Console(file=file, width=_width(), highlight=False)
        line = " " * indent + printable(as_options(text))
        shown = Text(line if whole else _wrapped(line, " " * (indent + 2)), style=style)
        if not whole:
            shown.highlight_regex(_NUMBER, "bold")
        console.print(shown, soft_wrap=True)

    def files(self, about: Mapping[Path, str]) -> None:
        """Print each file and what it is; paths alone where `quiet` was asked for."""
        wide = max(len(str(path)) for path in about)
        for path, text in about.items():
            self.say(f"{path!s:<{wide}}  {text}", indent=2, whole=True)
            if self.quiet and not self.as_json:
                typer.echo(printable(path))

    def note(self, text: str) -> None:
        """Print a line about the work, always on stderr."""
        say_problem(printable(as_options(text)))

    def result(self, values: Mapping[str, Any]) -> None:
        """Print the machine-readable result, if it was asked for."""
        if self.as_json:
            typer.echo(json.dumps(values, sort_keys=True, allow_nan=False, indent=1))


def say_problem(sentence: str) -> None:
    """Print a sentence on stderr, on a terminal wrapped at words."""
    typer.echo(_wrapped(sentence) if sys.stderr.isatty() else sentence, err=True)


def _width() -> int:
    return max(40, min(MAX_WIDTH, shutil.get_terminal_size((MAX_WIDTH, 24)).columns))


def _wrapped(line: str, further: str = "") -> str:
    """The line at words, what goes on `further` in."""
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(line, _width(), subsequent_indent=further, **how)


def open_closed_streams() -> None:
    """Send what is printed on a closed stream (`>&-`) nowhere.

    Else the next file opened would get its number, and a library's prints would go into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Takes the lowest free number, which is this one; workers need it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


PATIENCE = 10.0  # seconds that a command has to end after a signal
NOTES = "DRIS_NOTES"  # tells workers to show what they log


class _Notes(logging.Handler):
    """Prints what the library logs, a line each on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        say_problem(f"dris: {printable(as_options(record.getMessage()))}")


@contextmanager
def showing_notes() -> Iterator[None]:
    """Show the library's warnings, and that a store is waited for."""
    log, store, notes = logging.getLogger("dris"), logging.getLogger("dris.store"), _Notes()
    before = log.propagate, store.level
    os.environ[NOTES] = "shown"
    log.addHandler(notes)
    log.propagate = False
    store.setLevel(logging.INFO)
    try:
        yield
    finally:
        del os.environ[NOTES]
        log.removeHandler(notes)
        log.propagate = before[0]
        store.setLevel(before[1])


@contextmanager
def signals_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does; the second signal ends the process."""
    names = ("SIGTERM", "SIGHUP")
    asked = [getattr(signal, name) for name in names if hasattr(signal, name)]
    # Handlers that are set already stay, such as nohup's.
    here = threading.current_thread() is threading.main_thread()
    mine = [one for one in asked if here and signal.getsignal(one) == signal.SIG_DFL]

    reminders: list[threading.Timer] = []

    def end(number: int, frame: FrameType | None) -> None:
        for one in mine:
            signal.signal(one, signal.SIG_DFL)
        # Some libraries drop what is raised inside them: interrupt again later.
        reminders.append(threading.Timer(PATIENCE, _thread.interrupt_main))
        reminders[-1].daemon = True
        reminders[-1].start()
        raise KeyboardInterrupt

    for one in mine:
        signal.signal(one, end)
    try:
        yield
    finally:
        for reminder in reminders:
            reminder.cancel()
            reminder.join()
        for one in mine:
            signal.signal(one, signal.SIG_DFL)
