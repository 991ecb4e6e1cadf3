"""Parameters in messages: Python's names, which the command line shows as its options."""

from collections.abc import Mapping
from typing import Any

_DEFAULTS = {"missing": "mark", "text": "auto"}


def command_words(asked: Mapping[str, Any]) -> list[str]:
    """The parameters by which data was read, as words of a command line.

    >>> command_words({"label": "y", "id": None, "missing": "mark", "merge_spellings": True})
    ['--label', 'y', '--merge-spellings']
    """
    words: list[str] = []
    for name, value in asked.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value and _DEFAULTS.get(name) != value:
            text = ",".join(value) if isinstance(value, list | tuple) else str(value)
            words += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return words
