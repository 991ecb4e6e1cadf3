"""What a command says: results on stdout, the rest on stderr; and how it is told to end."""

import _thread
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import typer

from dris.core.parameters import as_options
from dris.core.sanitize import printable


class Talk:
    """Human text on stdout, or with `as_json` one JSON value there and the text on stderr."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def say(self, text: str) -> None:
        """A line that belongs to the result; a break that somebody else put in it is shown."""
        typer.echo(printable(as_options(text)), err=self._as_json)

    def say_lines(self, text: str) -> None:
        """Several lines of our own that belong to the result."""
        typer.echo(as_options(text), err=self._as_json)

    def note(self, text: str) -> None:
        """A line about the work, always on stderr."""
        typer.echo(printable(as_options(text)), err=True)

    def result(self, values: Mapping[str, Any]) -> None:
        """The machine-readable result, if it was asked for."""
        if self._as_json:
            typer.echo(json.dumps(values, sort_keys=True, allow_nan=False, indent=1))


def open_closed_streams() -> None:
    """Let what is said on a closed stream (`>&-`) go nowhere.

    Else the next file would get its number, and what a library prints would go into the file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Takes the lowest number that is free, which is this one; workers need it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


PATIENCE = 10.0  # seconds in which a command that was told to end should have ended
NOTES = "DRIS_NOTES"  # tells workers that what they log is to be shown


class _Notes(logging.Handler):
    """Shows what the library logs, as a line on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show one line."""
        typer.echo(f"dris: {printable(as_options(record.getMessage()))}", err=True)


@contextmanager
def notes_shown() -> Iterator[None]:
    """Show warnings of the library, and at once that a store is waited for."""
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
def ended_like_ctrl_c() -> Iterator[None]:
    """Let the signals that ask a process to end do what Ctrl-C does; the second one ends it."""
    names = ("SIGTERM", "SIGHUP")
    asked = [getattr(signal, name) for name in names if hasattr(signal, name)]
    # What somebody has set already stays, such as nohup's.
    here = threading.current_thread() is threading.main_thread()
    mine = [one for one in asked if here and signal.getsignal(one) == signal.SIG_DFL]

    reminders: list[threading.Timer] = []

    def end(number: int, frame: FrameType | None) -> None:
        for one in mine:
            signal.signal(one, signal.SIG_DFL)
        # Libraries drop what is raised at some points: whoever is still here is told again.
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
