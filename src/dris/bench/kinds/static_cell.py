"""A target trained on what a rule keeps (paper, algorithm 1)."""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from dris.bench.kinds.groups import Finding, Place, prepared, timed
from dris.bench.rules import rule_of
from dris.bench.spec import Cell
from dris.learn.targets import train_target


def findings(cells: Sequence[Cell], place: Place) -> Iterator[Finding]:
    """Accuracy, contamination and size of every cell of one group."""
    shared: dict[str, float] = {}
    data, noisy, judged = prepared(cells, place, shared)
    for cell in cells:
        if cell.target is None:
            raise ValueError("a static cell needs a target")
        seconds = dict(shared)
        with warnings.catch_warnings(), timed(seconds, "scoring"):
            warnings.filterwarnings("ignore", message=".* pass the gate, fewer than")
            subset = rule_of(cell.rule)(judged, cell.keep, cell.seed)
        with timed(seconds, "target"):
            run = train_target(
                cell.target.model,
                data.x,
                noisy.given,
                subset,
                recipe=cell.target.recipe,
                seed=cell.seed,
                classes=data.classes,
                test=(data.test_x, data.test_y),
                device=place.device,
            )
        kept = subset.indices
        smallest = int(np.bincount(noisy.given[kept], minlength=data.classes).min())
        found = {
            "accuracy": float(run.accuracy or 0.0),
            "contamination": float(noisy.flipped[kept].mean()),
            "size": len(kept),
            "smallest_class": smallest,
        }
        if "passed" in subset.parameters:
            found |= {n: subset.parameters.get(n, 0) for n in ("passed", "short")}
        yield Finding(cell, found, seconds)
