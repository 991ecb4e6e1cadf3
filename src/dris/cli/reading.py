"""From the reading options of a command to data, and what a reader has to say on stderr."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from dris.cli.options import names_in
from dris.core.errors import InputError
from dris.data.labelled import LabelledData


def read(
    paths: Sequence[Path],
    *,
    features: str | None = None,
    without: str | None = None,
    missing: str = "refuse",
    **columns: Any,
) -> LabelledData:
    """The data that the options of a command describe."""
    from dris.data.read import read_data

    if missing not in ("refuse", "median"):
        raise InputError(f"--missing must be refuse or median, got {missing!r}")
    chosen = None if features is None else names_in(features)
    data = read_data(
        list(paths), features=chosen, without=names_in(without), missing=missing, **columns
    )
    for note in data.notes:
        typer.echo(note, err=True)
    return data
