"""`dris corrupt`: known label noise in a copy of the data, to try things out on."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from dris.cli.data_options import DataOptions, option

KINDS = ("uniform", "targeted", "pair", "instance", "transition")  # of core.noise.flips


def corrupt(
    options: DataOptions,
    out: Annotated[Path, option("FILE", "The copy to write.")],
    rate: Annotated[float, option("SHARE", "Share of labels to flip.")] = 0.2,
    kind: Annotated[str, option("KIND", f"One of {', '.join(KINDS)}.")] = "uniform",
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
    from dris.learn.engines.processes import bar

    if kind not in KINDS:
        raise InputError(f"`kind` must be one of {', '.join(KINDS)}, got {kind!r}")
    if (kind == "transition") != (options.matrix is not None):
        raise InputError("`kind='transition'` and `matrix` go together; pass both")
    truth = truth_path(out)
    writer = options.writer()
    writer.refuse(out, truth)
    data = replace(options, matrix=None).read()
    matrix = None if options.matrix is None else read_matrix(options.matrix, data.classes)
    make_folder(out.parent)
    with bar("attacker") as progress:
        noisy = corrupt_labels(
            data, rate, kind=kind, seed=options.seed, matrix=matrix, progress=progress
        )
    columns = {f"{data.origin.label}_true": data.given(), "flipped": noisy.flipped}
    with writer.together() as both:
        write_data(data, out, labels=noisy.given, writer=both)
        write_ids(data, truth, columns=columns, writer=both)
    flipped = int(noisy.flipped.sum())
    say = options.output.say
    say(f"wrote {out}: {flipped:,} of {len(data):,} labels flipped ({kind})")
    say(f"wrote {truth}: the true labels and what was flipped, apart, so that no model learns it")
    options.output.result(
        {
            "command": "corrupt",
            "out": str(out),
            "truth": str(truth),
            "kind": kind,
            "examples": len(data),
            "flipped": flipped,
            "seed": options.seed,
        }
    )
