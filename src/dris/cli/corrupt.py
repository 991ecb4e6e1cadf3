"""`dris corrupt`: known label noise in a copy of the data, to try things out on."""

from pathlib import Path
from typing import Annotated

import typer

from dris.cli import options as o
from dris.cli.requests import Request, refuse_existing
from dris.cli.talking import Talk, bar

# What a user calls it, and the kind of noise it is.
KINDS = {
    "uniform": "uniform",
    "targeted": "targeted",
    "asymmetric": "pair",
    "instance": "instance",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(corrupt)


def corrupt(
    data: o.DataPaths,
    out: Annotated[Path, typer.Option(help="The copy to write.", metavar="FILE")],
    rate: Annotated[float, typer.Option(help="Share of labels to flip.", metavar="SHARE")] = 0.2,
    kind: Annotated[str, typer.Option(help=f"Of {', '.join(KINDS)}.", metavar="KIND")] = "uniform",
    label: o.Label = None,
    id: o.Id = None,
    trusted: o.Trusted = None,
    features: o.Features = None,
    without: o.Without = None,
    missing: o.Missing = "refuse",
    image_size: o.ImageSize = None,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Flip labels in a copy, and keep the truth beside it: FILE-truth.csv.

    uniform: any example, any other class. targeted: where an attacker's model has the largest
    gradients. asymmetric: to the next class. instance: by a random function of the features.
    Example: dris corrupt data.csv --label y --rate 0.2 --kind targeted --out noisy.csv
    """
    from dris.bench.corrupting import corrupted, truth_beside
    from dris.core.arrayfile import made_folder
    from dris.core.errors import InputError
    from dris.data.outputs import write_data, write_ids

    if kind not in KINDS:
        raise InputError(f"--kind must be one of {', '.join(KINDS)}, got {kind!r}")
    truth = truth_beside(out)
    refuse_existing([out, truth], force=force)
    found = Request(
        data=data,
        label=label,
        id=id,
        trusted=trusted,
        features=features,
        without=without,
        missing=missing,
        image_size=image_size,
    ).read()
    made_folder(out.parent)
    with bar("attacker") as progress:
        noisy = corrupted(found, rate, kind=KINDS[kind], seed=seed, progress=progress)
    write_data(found, out, labels=noisy.given, force=force)
    columns = {f"{found.origin.label}_true": found.given(), "flipped": noisy.flipped}
    write_ids(found, truth, columns=columns, force=force)
    flipped = int(noisy.flipped.sum())
    talk = Talk(as_json=as_json)
    talk.say(f"wrote {out}: {flipped:,} of {len(found):,} labels flipped ({kind})")
    talk.say(
        f"wrote {truth}: the true labels and what was flipped, apart, so that no model learns it"
    )
    talk.result(
        {
            "command": "corrupt",
            "out": str(out),
            "truth": str(truth),
            "kind": kind,
            "examples": len(found),
            "flipped": flipped,
            "seed": seed,
        }
    )
