"""`dris trial`: which rule wins on a user's own data."""

from pathlib import Path
from typing import Annotated

import typer

from dris.cli import options as o
from dris.cli.requests import Request, again, refuse_existing
from dris.cli.talking import Talk, bar


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(trial)


def trial(
    data: o.DataPaths,
    keep: o.Keep = 0.25,
    rate: Annotated[float, typer.Option(help="Share of labels attacked.", metavar="SHARE")] = 0.25,
    seeds: Annotated[int, typer.Option(help="How many, 3 or more.", metavar="N")] = 3,
    examples: Annotated[int, typer.Option(help="Draw so many at most.", metavar="N")] = 6_000,
    label: o.Label = None,
    id: o.Id = None,
    trusted: o.Trusted = None,
    features: o.Features = None,
    without: o.Without = None,
    missing: o.Missing = "refuse",
    image_size: o.ImageSize = None,
    proxies: o.Proxies = 3,
    epochs: o.Epochs = 20,
    workers: o.Workers = None,
    engine: o.EngineName = "local",
    address: o.Address = None,
    cpus: o.Cpus = 1,
    gpus: o.Gpus = 0,
    out: Annotated[Path, typer.Option(help="Folder for what is written.", metavar="FOLDER")] = Path(
        "trial-out"
    ),
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Attack your own data in known ways, and show which rule wins: a table, JSON and a figure.

    A fifth is held out to test on, trusted labels if there are enough. Interrupted, the same
    command goes on.
    Example: dris trial data.csv --label y --out trial-out
    """
    from dris.bench.trial import Trial, run_trial
    from dris.bench.trial_page import NAMES, lines_of, write_trial
    from dris.core.arrayfile import made_folder

    setting = Trial(keep, rate, seeds, proxies, epochs, examples)
    refuse_existing([out / name for name in NAMES], force=force)
    ask = Request(
        data=data,
        label=label,
        id=id,
        trusted=trusted,
        features=features,
        without=without,
        missing=missing,
        image_size=image_size,
        engine=engine,
        address=address,
        cpus=cpus,
        gpus=gpus,
    )
    found = ask.read()
    made_folder(out)
    talk = Talk(as_json=as_json)
    try:
        with bar("attacks, proxies, targets") as progress:
            cells, split = run_trial(
                found,
                setting,
                store=out / "runs",
                workers=workers,
                progress=progress,
                engine=ask.where(),
            )
    except KeyboardInterrupt:
        talk.note(f"what is finished is kept in {out / 'runs'}; to go on: {again()}")
        raise
    result = write_trial(cells, split, setting, out)
    for line in lines_of(cells, split, setting):
        talk.say(line)
    talk.say(f"wrote {', '.join(str(out / name) for name in NAMES)}")
    talk.result({"command": "trial", **result})
