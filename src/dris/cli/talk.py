"""What a command says: results on stdout, the rest on stderr."""

import json
from collections.abc import Mapping
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
