"""A target trained on what a rule keeps (paper, algorithm 1)."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.dris_internals import NoisyLabels, NothingPassesError, Subset
from experiments.kinds.shared import (
    Finding,
    epoch_folder,
    model_of,
    prepare_group,
    record_time,
    target_of,
    train_timed,
)
from experiments.spec import Cell
from experiments.targets.static import train_target
from experiments.targets.target_run import TargetRun
from experiments.workspace import Loaded, Workspace

More = Callable[[TargetRun, Loaded, NoisyLabels, Subset], dict[str, Any]]
"""What else another kind of cell wants to know of a trained target."""


def findings(
    cells: Sequence[Cell], workspace: Workspace, *, more: More | None = None
) -> Iterator[Finding]:
    """Accuracy, contamination and size of every cell of one group."""
    shared: dict[str, float] = {}
    data, noisy, ensembles = prepare_group(cells, workspace, shared)
    for cell in cells:
        seconds = dict(shared)
        try:
            with record_time(seconds, "scoring"):
                subset = ensembles.subset(cell.rule, cell.keep, cell.seed)
        except NothingPassesError:
            yield Finding(cell, majority_result(data, noisy), seconds)
            continue
        with epoch_folder(model_of(target_of(cell).model), cell, workspace) as epochs:
            train = partial(train_on_subset, cell, data, noisy.given, subset, workspace, epochs)
            run = train_timed(seconds, train)
            kept = subset.indices
            result: dict[str, Any] = {
                "accuracy": float(run.accuracy or 0.0),
                "contamination": float(noisy.flipped[kept].mean()),
                "size": len(kept),
                "smallest_class": int(np.bincount(noisy.given[kept], minlength=data.classes).min()),
                **imputation_mark(run),
            }
            if "passed" in subset.parameters:
                result |= {name: subset.parameters.get(name, 0) for name in ("passed", "short")}
            if more is not None:
                with record_time(seconds, "memory"):
                    result |= more(run, data, noisy, subset)
            yield Finding(cell, result, seconds)  # its record is written when this goes on


def train_on_subset(
    cell: Cell,
    data: Loaded,
    given: NDArray[np.int64],
    subset: Subset,
    workspace: Workspace,
    folder: Path | None = None,
) -> TargetRun:
    """The cell's target, trained for as many steps as on all the data, and tested.

    It keeps its epochs in the folder, where there is one: killed work goes on.
    """
    target = target_of(cell)
    return train_target(
        model_of(target.model),
        data.x,
        given,
        subset,
        recipe=target.recipe,
        seed=cell.seed,
        classes=data.classes,
        test=(data.test_x, data.test_y),
        device=workspace.device,
        course=False,
        store=folder,
    )


def imputation_mark(run: TargetRun) -> dict[str, Any]:
    """Nothing, or the word that keeps claims from reading the accuracy of a target that broke."""
    return {"imputed": True} if run.imputed else {}


def majority_result(data: Loaded, noisy: NoisyLabels) -> dict[str, Any]:
    """What a rule that keeps nothing comes to: the commonest class, which no claim reads."""
    common = np.bincount(noisy.given, minlength=data.classes).argmax()
    return {
        "accuracy": float((data.test_y == common).mean()),
        "contamination": None,
        "size": 0,
        "smallest_class": 0,
        "imputed": True,
    }
