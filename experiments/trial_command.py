"""`dris trial`: which rule wins on a user's own data."""

from pathlib import Path
from typing import Annotated

import typer

from dris.cli import options as o
from dris.cli.data_options import READING, Request, again, takes_request


def register(app: typer.Typer) -> None:
    """Add the command."""
    training = ("proxies", "epochs", "workers", "engine", "address", "cpus", "gpus")
    shared = (*READING, *training, "force", "as_json")
    app.command()(takes_request(trial, *shared))


def trial(
    ask: Request,
    keep: o.Keep = 0.25,
    rate: Annotated[float, typer.Option(help="Share of labels attacked.", metavar="SHARE")] = 0.25,
    seeds: Annotated[int, typer.Option(help="How many, 3 or more.", metavar="N")] = 3,
    examples: Annotated[int, typer.Option(help="Draw so many at most.", metavar="N")] = 6_000,
    out: Annotated[Path, typer.Option(help="Folder for what is written.", metavar="FOLDER")] = Path(
        "trial-out"
    ),
) -> None:
    """Attack your own data in known ways, and show which rule wins: a table, JSON and a figure.

    A fifth is held out to test on, trusted labels if there are enough. Interrupted, the same
    command goes on.
    Example: dris trial data.csv --label y --out trial-out
    """
    from dris.core.files import make_folder
    from dris.learn.engines.bars import bar
    from experiments.own.trial import Trial, run_trial
    from experiments.own.trial_page import NAMES, lines_of, write_trial

    setting = Trial(keep, rate, seeds, ask.proxies, ask.epochs, examples)
    writer = ask.writer()
    writer.refuse(*(out / name for name in NAMES))
    found = ask.read()
    store = make_folder(out) / "runs"
    try:
        with bar("attacks, proxies, targets") as progress:
            records, split = run_trial(
                found,
                setting,
                store=store,
                workers=ask.workers,
                progress=progress,
                engine=ask.where(),
            )
    except KeyboardInterrupt:
        ask.talk.note(f"what is finished is kept in {store}; to go on: {again()}")
        raise
    result = write_trial(records, split, setting, out, writer=writer)
    for line in lines_of(records, split, setting):
        ask.talk.say(line)
    ask.talk.say(f"wrote {', '.join(str(out / name) for name in NAMES)}")
    ask.talk.result({"command": "trial", **result})
