"""Parameters in messages: Python's names, which the command line turns into its options."""

import ast
import re
import shlex
from collections.abc import Mapping
from typing import Any

_PARAMETER = re.compile(r"`([a-z][a-z_]*)(?:=([^`]+))?`")
_DEFAULTS = {"missing": "mark", "text": "auto"}


def parameter(name: str, value: Any = None) -> str:
    """A parameter as messages name it: in backticks, with its value where one is proposed.

    >>> parameter("label"), parameter("no_label", ["?"])
    ('`label`', "`no_label=['?']`")
    """
    shown = "" if value is None else "=" + repr(value).replace("`", "\\x60")
    return f"`{name}{shown}`"


def as_options(text: str) -> str:
    """A message for the command line: each parameter in backticks as an option with dashes.

    >>> as_options("name it with `label`, or pass `no_label=['?', 'n/a']` or `force=True`")
    "name it with --label, or pass --no-label '?,n/a' or --force"
    """

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        try:
            given = None if value is None else ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return match[0]  # no value of ours
        return shlex.join(_words(name, True if given is None else given))

    return _PARAMETER.sub(option, text)


def command_words(asked: Mapping[str, Any]) -> list[str]:
    """The parameters by which data was read as words of a command line, those by default left out.

    >>> command_words({"label": "y", "id": None, "missing": "mark", "no_label": ["-"]})
    ['--label', 'y', '--no-label=-']
    """
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
