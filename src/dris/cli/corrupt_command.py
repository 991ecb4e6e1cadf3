"""`dris corrupt`: known label noise in a copy of the data, to try things out on."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dris.cli.data_options import READING, Request, takes_request

KINDS = ("uniform", "targeted", "pair", "instance", "transition")  # of core.noise.flips


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(takes_request(corrupt, *READING, "matrix", "seed", "force", "as_json"))


def corrupt(
    ask: Request,
    out: Annotated[Path, typer.Option(help="The copy to write.", metavar="FILE")],
    rate: Annotated[float, typer.Option(help="Share of labels to flip.", metavar="SHARE")] = 0.2,
    kind: Annotated[str, typer.Option(help=f"Of {', '.join(KINDS)}.", metavar="KIND")] = "uniform",
) -> None:
    """Flip labels in a copy, and keep the truth beside it: FILE-truth.csv.

    uniform: any example, any other class. targeted: where an attacker's model has the largest
    gradients. pair: to the next class. instance: by a random function of the features.
    transition: each label is redrawn from its row of --matrix, whatever the rate.
    Example: dris corrupt data.csv --label y --rate 0.2 --kind targeted --out noisy.csv
    """
    from dris.core.errors import InputError
    from dris.core.files import make_folder
    from dris.data.outputs import write_data, write_ids
    from dris.data.transition_matrix import read_matrix
    from dris.learn.attack import corrupt_labels, truth_path
    from dris.learn.engines.bars import bar

    if kind not in KINDS:
        raise InputError(f"--kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if (kind == "transition") != (ask.matrix is not None):
        raise InputError("--kind transition and --matrix FILE go together; pass both")
    truth = truth_path(out)
    writer = ask.writer()
    writer.refuse(out, truth)
    found = replace(ask, matrix=None).read()
    matrix = None if ask.matrix is None else read_matrix(ask.matrix, found.classes)
    make_folder(out.parent)
    with bar("attacker") as progress:
        noisy = corrupt_labels(
            found, rate, kind=kind, seed=ask.seed, matrix=matrix, progress=progress
        )
    columns = {f"{found.origin.label}_true": found.given(), "flipped": noisy.flipped}
    with writer.together() as both:
        write_data(found, out, labels=noisy.given, writer=both)
        write_ids(found, truth, columns=columns, writer=both)
    flipped = int(noisy.flipped.sum())
    say = ask.talk.say
    say(f"wrote {out}: {flipped:,} of {len(found):,} labels flipped ({kind})")
    say(f"wrote {truth}: the true labels and what was flipped, apart, so that no model learns it")
    ask.talk.result(
        {
            "command": "corrupt",
            "out": str(out),
            "truth": str(truth),
            "kind": kind,
            "examples": len(found),
            "flipped": flipped,
            "seed": ask.seed,
        }
    )
