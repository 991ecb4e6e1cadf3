"""The one error that users see: a sentence naming the value, the rule and the remedy."""

import ast
import errno
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


class InputError(ValueError):
    """Something handed to dris breaks a rule; the message says what, which and what to do.

    >>> raise InputError("fraction must be in (0, 1], got 1.5")
    Traceback (most recent call last):
    ...
    dris.core.errors.InputError: fraction must be in (0, 1], got 1.5
    """


class Problems:
    """Collects refusals, and raises them as one."""

    def __init__(self, where: object) -> None:
        self.where = where
        self.refusals: list[InputError] = []

    def add(self, problem: str) -> None:
        """Remember a refusal."""
        self.refusals.append(InputError(problem))

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Remember a refusal and go on."""
        try:
            yield
        except InputError as error:
            self.refusals.append(error)

    def refuse(self) -> None:
        """Raise what was collected, if anything; a single problem as it is."""
        if len(self.refusals) == 1:
            raise self.refusals[0]
        if self.refusals:
            listed = " ".join(f"({i}) {error}" for i, error in enumerate(self.refusals, start=1))
            raise InputError(f"{self.where} has {len(self.refusals)} problems: {listed}")


def suggest_name(name: str, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """A question that names the most similar of the known names; nothing when none is similar.

    >>> suggest_name("gatd", ["clean", "gated"]), suggest_name("best", ["clean", "gated"])
    (' (did you mean gated?)', '')
    """
    names = {one.lower(): one for one in reversed(list(known))}
    near = get_close_matches(name.lower(), list(names), 1)
    return f" (did you mean {shown(names[near[0]])}?)" if near else ""


MEMORY = "close other programs, use fewer workers (`workers=1`), or less of the data"
_ROOM = "free space on that disk, or name a folder on another one, and do the same again"
_REMEDIES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "allow larger files (ulimit -f), or name a folder on another disk",
    errno.ENOLCK: "that disk offers no locks; name a folder on another one (`out`, `store`)",
    errno.EROFS: "that disk is for reading only; name a folder on another one",
    errno.EIO: "that disk does not answer; name a folder on another one",
    errno.EMFILE: "allow more open files (ulimit -n), or use fewer workers (`workers=1`)",
    errno.ENOMEM: MEMORY,
    errno.EAGAIN: MEMORY,
}


def remedy_for(error: OSError, otherwise: str = "check the path and its permissions") -> str:
    """What to do about an error of the system."""
    return _REMEDIES.get(error.errno or 0, otherwise)


def describe_error(error: OSError) -> str:
    """An error of the system as a sentence: the file, what is the matter, what to do."""
    where = "" if error.filename is None else f"{error.filename}: "
    return f"{where}{error.strerror or error}; {remedy_for(error)}"


_PARAMETER = re.compile(r"`([a-z][a-z_]*)(?:=([^`]+))?`")
_DEFAULTS = {"missing": "mark", "text": "auto"}


def parameter(name: str, value: Any = None) -> str:
    """A parameter as messages name it: in backticks, with its value where one is proposed."""
    shown = "" if value is None else "=" + repr(value).replace("`", "\\x60")
    return f"`{name}{shown}`"


def as_options(text: str) -> str:
    """A message for the command line: each parameter in backticks as an option with dashes."""

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        try:
            given = None if value is None else ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return match[0]  # no value of ours
        return shlex.join(_words(name, True if given is None else given))

    return _PARAMETER.sub(option, text)


def command_words(asked: Mapping[str, Any]) -> list[str]:
    """The reading parameters as words of a command line, without those left at their default."""
    others = {
        name: value for name, value in asked.items() if value and _DEFAULTS.get(name) != value
    }
    return [word for name, value in others.items() for word in _words(name, value)]


def _words(name: str, value: Any) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return [option]
    text = ",".join(value) if isinstance(value, list | tuple) else str(value)
    return [f"{option}={text}"] if text.startswith("-") else [option, text]
