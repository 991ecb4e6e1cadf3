"""`python -m experiments`: the paper's tables and our own studies, run from a clone.

python -m experiments reproduce pruning --scale smoke
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dris.cli import guarded_main
from dris.cli.help_pages import PanelledHelp
from dris.cli.runs_table import plain_console
from dris.core.sanitize import printable
from experiments import reproduce_command, trial_command
from experiments.datasets.catalogue import load, status

app = typer.Typer(
    help="The paper's tables and our own studies.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figure and the numbers.")] = Path(
        "demo-out"
    ),
    seeds: Annotated[int, typer.Option(min=2, help="How many seeds.")] = 5,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; all cores by default.")
    ] = None,
) -> None:
    """Attack real digits, score, select, train, and show whether the method works."""
    from experiments.own.demo import show

    show(seeds, out=out, workers=workers)


@app.command()
def data(
    name: Annotated[str | None, typer.Argument(help="Fetch and check this data set.")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where data sets lie; DRIS_DATA or the user cache.")
    ] = None,
) -> None:
    """List the known data sets and whether they are at hand, or fetch and check one."""
    if name is None:
        show_status(data_dir)
    else:
        fetch_and_tell(name, data_dir)


def show_status(data_dir: Path | None) -> None:
    """One line per known data set; damaged and missing files are named."""
    page = plain_console()
    table = Table("name", "state", "where", "licence", box=None)
    for one in status(data_dir):
        where = one.detail if one.state == "damaged" else str(one.path or "")
        table.add_row(one.known.name, one.state, printable(where), one.known.licence)
    page.print(table)


def fetch_and_tell(name: str, data_dir: Path | None) -> None:
    """Load one data set, downloading it when absent, and say what it is."""
    data = load(name, data_dir=data_dir)
    page = plain_console()
    text = f"{name}: {len(data.train_y):,} to train on, {len(data.test_y):,} to test, "
    text += f"{len(data.classes)} classes, checksums right. {data.note} {data.citation}"
    page.print(printable(" ".join(text.split())), soft_wrap=True)


for part in (trial_command, reproduce_command):
    part.register(app)
for command in app.registered_commands:
    command.cls = PanelledHelp


if __name__ == "__main__":
    guarded_main(app, "experiments")
