"""The options that commands about data share, each with one name, one meaning and one help text."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from dris.core.errors import InputError
from dris.core.select.rule_parameters import PARAMETERS


def _share(text: str | float) -> float:
    """A share as people write it.

    >>> _share("25%"), _share("0.25"), _share(" 2.5 % ")
    (0.25, 0.25, 0.025)
    """
    words = str(text).strip()
    try:
        share = float(words[:-1]) / 100 if words.endswith("%") else float(words)
    except ValueError:
        raise typer.BadParameter(f"must be a share such as 0.25 or 25%, got {text!r}") from None
    return share


def check_share(share: float | None, name: str = "--keep") -> None:
    """Refuse what is no share before anything is read.

    >>> check_share(0.25), check_share(None)
    (None, None)
    """
    if share is not None and not 0 < share <= 1:
        meant = 1 < share <= 100 and share == int(share)
        percent = f"; {share:g} of 100 is {share:g}%" if meant else ""
        raise InputError(f"{name} must be in (0, 1], got {share:g}{percent}")


DataPaths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="DATA", hidden=True),
]
Label = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="The given labels [label].")
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Ids [row numbers].")]
Trusted = Annotated[
    str | None, typer.Option("--trusted", metavar="COLUMN", help="Yes where a label is right.")
]
Features = Annotated[
    str | None, typer.Option("--features", metavar="A,B", help="Columns to learn from [all].")
]
Without = Annotated[
    str | None, typer.Option("--without", metavar="A,B", help="Columns to leave out.")
]
Missing = Annotated[
    str, typer.Option("--missing", metavar="HOW", help="Gaps: mark, median or refuse.")
]
Text = Annotated[str, typer.Option("--text", metavar="HOW", help="Text: words, sentences or auto.")]
MergeSpellings = Annotated[
    bool, typer.Option("--merge-spellings", help="Labels Cat, cat and CAT are one.")
]
NoLabel = Annotated[
    str | None, typer.Option("--no-label", metavar="A,B", help="Labels that mean none, such as ?.")
]
ImageSize = Annotated[
    int | None, typer.Option("--image-size", metavar="N", help="Images become N by N pixels.")
]
AllowOutside = Annotated[
    bool, typer.Option("--allow-outside", help="Follow a table to images that lie elsewhere.")
]
From = Annotated[
    list[Path] | None,
    typer.Option("--from", metavar="FILE", help="Import dynamics or probabilities; may repeat."),
]
Proxies = Annotated[int, typer.Option("--proxies", metavar="K", help="How many proxies.")]
Epochs = Annotated[int, typer.Option("--epochs", metavar="N", help="Passes over the data.")]
Folds = Annotated[
    int, typer.Option("--folds", metavar="F", help="Of each stacked proxy; 0 for none.")
]
ScoredEpoch = Annotated[
    int | None, typer.Option("--scored-epoch", metavar="N", help="Of scores [by held-out loss].")
]
NoHarm = Annotated[bool, typer.Option("--no-harm", help="Do not measure whether it helps.")]
Model = Annotated[
    str | None, typer.Option("--model", metavar="A,B", help="Such as mlp,sgd_log [by the data].")
]
Encoder = Annotated[
    str | None,
    typer.Option("--encoder", metavar="NAME", help="Of pictures, or none [one that is here]."),
]
CanaryKinds = Annotated[
    str,
    typer.Option("--canaries", metavar="A,B", help="Of uniform, hard, confusable, matrix."),
]
Matrix = Annotated[
    Path | None, typer.Option("--matrix", metavar="FILE", help="How classes become others.")
]
AtMost = Annotated[
    float,
    typer.Option(
        "--at-most", metavar="SHARE", parser=_share, help="Surely no more labels are wrong."
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of everything random.")]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Processes [all cores].")
]
EngineName = Annotated[
    str, typer.Option("--engine", metavar="NAME", help="local, or ray for a cluster.")
]
Address = Annotated[
    str | None, typer.Option("--address", metavar="HOST:PORT", help="Of the Ray cluster.")
]
Cpus = Annotated[float, typer.Option("--cpus", metavar="N", help="On Ray, for each task.")]
Gpus = Annotated[float, typer.Option("--gpus", metavar="N", help="On Ray, for each task.")]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="cpu, cuda or cuda:1.")]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", metavar="FOLDER", help="Keeps proxies [OUT/runs].")
]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="For what is written.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what dris wrote there before.")]
AsJson = Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")]
MaybeKeep = Annotated[
    float | None,
    typer.Option("--keep", metavar="SHARE", parser=_share, help="Of the examples, 0.25 or 25%."),
]
Keep = Annotated[
    float,
    typer.Option("--keep", metavar="SHARE", parser=_share, help="Of the examples, 0.25 or 25%."),
]


def names_in(text: str | None) -> tuple[str, ...]:
    """The names in a list with commas; none when nothing was given.

    >>> names_in("uniform, confusable"), names_in(None)
    (('uniform', 'confusable'), ())
    """
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def takes_rule(command: Callable[..., None]) -> Callable[..., None]:
    """A command with a `rule` as one that takes the parameters of rules too, an option each."""

    @wraps(command)
    def run(*positional: Any, **given: Any) -> None:
        parameters = {name: given.pop(name) for name in PARAMETERS}
        if any(value is not None for value in parameters.values()):
            from dris.core.select.rules import rule_of

            given["rule"] = rule_of(given["rule"], **parameters)
        command(*positional, **given)

    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                kind | None,
                typer.Option(f"--{name}", metavar=None if kind is bool else "X", help=text),
            ],
        )
        for name, (kind, text) in PARAMETERS.items()
    ]
    signature = inspect.signature(command)
    everything = [*signature.parameters.values(), *options]
    run.__signature__ = signature.replace(parameters=everything)  # type: ignore[attr-defined]
    return run
