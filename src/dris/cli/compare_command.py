"""`dris compare`: two score files side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dris.cli import options as o
from dris.cli.output import Talk

if TYPE_CHECKING:
    from dris.core.scores.resemblance import ScoresCompared


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", hidden=True)],
    second: Annotated[Path, typer.Argument(metavar="B", hidden=True)],
    keep: o.Keep = 0.25,
    truth: Annotated[
        str | None,
        typer.Option(help="Column that says which labels are wrong.", metavar="FILE:COLUMN"),
    ] = None,
    id: o.Id = None,
    as_json: o.AsJson = False,
) -> None:
    """Compare two score files: rank correlations, what both would keep, wrong labels kept.

    A and B are what dris score wrote, or its folders; canaries of either are left out. Wrong
    labels come from --truth (its ids from --id, else a column id or row, else row numbers), or
    from a flag "flipped" in one of the files.
    Example: dris compare one/scores.parquet two --truth noisy-truth.csv:flipped
    """
    from dris.data.interchange.score_comparison import compare_files

    done = compare_files(first, second, keep=keep, truth=truth, id=id)
    talk = Talk(as_json=as_json)
    for note in done.notes:
        talk.note(note)
    talk.say(
        f"{done.examples:,} examples in both; keep {keep:g}: by chance the two would share "
        f"{keep:.0%} of what each keeps"
    )
    for line in _table(done.scores):
        talk.say(line)
    if done.wrong is not None:
        talk.say(f"wrong labels among all: {done.wrong:.1%}")
    talk.result({"command": "compare", **done.to_dict()})


def _table(scores: "dict[str, ScoresCompared]") -> list[str]:
    known = any(found.contamination is not None for found in scores.values())
    heads = ["score", "Spearman", "Kendall", "overlap", *(["wrong in A", "in B"] if known else [])]
    rows = [heads]
    for name, found in scores.items():
        row = [name, _number(found.spearman), _number(found.kendall), f"{found.overlap:.1%}"]
        rows.append([*row, *(f"{share:.1%}" for share in found.contamination or ())])
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    return [
        "  ".join(
            c.rjust(w) if i else c.ljust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _number(value: float | None) -> str:
    return "cannot tell" if value is None else f"{value:.3f}"
