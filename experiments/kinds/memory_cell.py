"""A target on what a rule keeps, as in static_cell, and which wrong labels it memorised.

Asked after its last step, in eval mode and without augmentation, about the wrong labels it was
trained on, about wrong labels it never saw, and about the right ones it was trained on.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.dris_internals import NoisyLabels, Subset
from experiments.kinds import static_cell
from experiments.kinds.shared import Finding
from experiments.spec import Cell
from experiments.targets.target_run import TargetRun
from experiments.workspace import Loaded, Workspace

Labels = NDArray[np.int64]
_AT_ONCE = 512


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """What static_cell finds of every cell, its memory, and how its target trained."""
    for finding in static_cell.findings(cells, workspace, more=_remembered):
        if finding.cell.target is not None:  # which static_cell has made sure of
            recipe = finding.cell.target.recipe
            finding.result |= {"augmented": recipe.augment, "epochs": recipe.epochs}
        yield finding


def _remembered(
    run: TargetRun, data: Loaded, noisy: NoisyLabels, subset: Subset
) -> dict[str, float | None]:
    if run.imputed:  # it has no finite weights
        return dict.fromkeys(("memorised", "by_chance", "fits_right"))
    return memory(_said(run.model, data), noisy, subset.indices)


def memory(predicted: Labels, noisy: NoisyLabels, kept: Labels) -> dict[str, float | None]:
    """Shares of labels that a target repeats; None where there is no such label.

    `memorised` is of the wrong labels that were kept, `by_chance` of those that were not, so that
    the target never saw them, `fits_right` of the right ones that were kept.

    >>> noisy = NoisyLabels(np.array([1, 1, 0, 0]), np.array([0, 0, 0, 0]), {})
    >>> memory(np.array([1, 0, 0, 0]), noisy, np.array([0, 2, 3]))
    {'memorised': 1.0, 'by_chance': 0.0, 'fits_right': 1.0}
    """
    repeats, wrong = predicted == noisy.given, noisy.flipped
    seen = np.zeros(len(wrong), dtype=np.bool_)
    seen[kept] = True
    groups = {"memorised": wrong & seen, "by_chance": wrong & ~seen, "fits_right": ~wrong & seen}
    return {n: float(repeats[of].mean()) if of.any() else None for n, of in groups.items()}


def _said(model: Any, data: Loaded) -> Labels:
    """The class that a trained network gives every training example."""
    import torch

    from experiments.dris_torch import TensorSource

    source = TensorSource(data.x, next(model.parameters()).device)
    pieces = np.array_split(np.arange(len(data.y)), -(-len(data.y) // _AT_ONCE))
    model.eval()
    with torch.inference_mode():
        result: Labels = np.concatenate(
            [model(x).argmax(dim=1).cpu().numpy() for x in source.batches(pieces)]
        )
    return result
