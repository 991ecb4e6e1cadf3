"""The options that commands about data share, each with one name, one meaning and one help text."""

from pathlib import Path
from typing import Annotated

import typer

_READ, _TRAIN, _WRITE = "Reading", "Proxies", "Result"

DataPaths = Annotated[
    list[Path],
    typer.Argument(
        help="CSV, Parquet, NPZ, NPY, a folder of images, a saved data set.", metavar="DATA..."
    ),
]
Label = Annotated[
    str | None, typer.Option("--label", help="Column of the given labels.", rich_help_panel=_READ)
]
Id = Annotated[
    str | None, typer.Option("--id", help="Column of ids; row numbers.", rich_help_panel=_READ)
]
Trusted = Annotated[
    str | None,
    typer.Option("--trusted", help="Column: label known to be right.", rich_help_panel=_READ),
]
Features = Annotated[
    str | None,
    typer.Option("--features", help="Columns to learn from: a,b,c.", rich_help_panel=_READ),
]
Without = Annotated[
    str | None, typer.Option("--without", help="Columns to leave out.", rich_help_panel=_READ)
]
Missing = Annotated[
    str,
    typer.Option("--missing", help="Missing numbers: refuse or median.", rich_help_panel=_READ),
]
ImageSize = Annotated[
    int | None,
    typer.Option("--image-size", min=1, help="Side of square images.", rich_help_panel=_READ),
]
Proxies = Annotated[
    int, typer.Option("--proxies", min=2, help="K, how many proxies.", rich_help_panel=_TRAIN)
]
Epochs = Annotated[
    int, typer.Option("--epochs", min=1, help="Passes over the data.", rich_help_panel=_TRAIN)
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="Such as mlp,sgd_log; fits the data.", rich_help_panel=_TRAIN),
]
CanaryKinds = Annotated[
    str,
    typer.Option("--canaries", help="Of uniform,hard,confusable; or none.", rich_help_panel=_TRAIN),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of all draws.", rich_help_panel=_TRAIN)]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes; all cores.", rich_help_panel=_TRAIN),
]
Device = Annotated[
    str, typer.Option("--device", help="cpu, cuda or cuda:1.", rich_help_panel=_TRAIN)
]
StoreFolder = Annotated[
    Path | None,
    typer.Option("--store", help="Where proxies are kept; OUT/runs.", rich_help_panel=_TRAIN),
]
Out = Annotated[
    Path, typer.Option("--out", help="Folder for what is written.", rich_help_panel=_WRITE)
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace files that are there.", rich_help_panel=_WRITE)
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Result as JSON on stdout.", rich_help_panel=_WRITE)
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show where an error happened.", rich_help_panel=_WRITE)
]


def names_in(text: str | None) -> tuple[str, ...]:
    """The names in a list with commas; none when nothing was given.

    >>> names_in("uniform, confusable"), names_in(None)
    (('uniform', 'confusable'), ())
    """
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
