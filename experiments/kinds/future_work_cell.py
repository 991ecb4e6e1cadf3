"""What the paper leaves for later: noise on inputs, who is left out, and when to look.

A cell's noise is on labels ("targeted"), on the inputs of a share of the training examples, whose
labels stay right ("features": heavy noise is added; "shift": the contrast is turned round), or
there is none. Subgroups are two clusters of each class; the smaller is its minority.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris import Dynamics
from experiments.assumptions import contamination
from experiments.dris_internals import best_epoch, choose, rng_for, seed_for
from experiments.kinds.ensemble_cell import until
from experiments.kinds.shared import Finding, corrupt_cell, proxies_of, record_time
from experiments.kinds.static_cell import imputation_mark, train_on_subset
from experiments.kinds.theorems_cell import flat
from experiments.spec import Cell
from experiments.workspace import Loaded, Workspace, load_examples

Mask = NDArray[np.bool_]
Labels = NDArray[np.int64]
RULES = ("random", "el2n", "aum", "rank_variance")
ON_INPUTS = ("features", "shift")
_FOLDS = 4


@dataclass(frozen=True, slots=True)
class Scene:
    """Data with noise on it: which examples have it, and the subgroup of every example."""

    data: Loaded
    given: Labels
    touched: Mask
    groups: Labels
    test_groups: Labels


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """Contamination, balance and accuracy of each rule's subset, and the sweep of epochs."""
    for cell in cells:
        seconds: dict[str, float] = {}
        with record_time(seconds, "attacker"):
            scene = made(cell, workspace)
        with record_time(seconds, "proxies"):
            dynamics = proxies_of(cell, scene.data, scene.given, workspace, cell.ensemble.count)
            crossed = proxies_of(
                cell, scene.data, scene.given, workspace, cell.ensemble.count, folds=_FOLDS
            )
        with record_time(seconds, "target"):
            result: dict[str, Any] = {
                "rules": {rule: _judged(cell, rule, dynamics, scene, workspace) for rule in RULES}
            }
        if scene.touched.any():
            result["epochs"] = sweep(cell, dynamics, crossed, scene.touched)
        yield Finding(cell, result, seconds)


def made(cell: Cell, workspace: Workspace) -> Scene:
    """A cell's data under its noise."""
    data = flat(load_examples(cell.source, workspace))
    groups, test_groups = subgroups(data, seed=cell.seed)  # of the inputs as they were
    if cell.noise.kind in ON_INPUTS:
        x, touched = disturbed(data.x, cell.noise.kind, cell.noise.rate, seed=cell.seed)
        data, given = replace(data, x=x), data.y
    else:
        noisy = corrupt_cell(cell, data, workspace)
        given, touched = noisy.given, noisy.flipped
    return Scene(data, given, touched, groups, test_groups)


def disturbed(x: NDArray[Any], kind: str, rate: float, *, seed: int) -> tuple[NDArray[Any], Mask]:
    """A share of the inputs with noise of twice the data's deviation, or with contrast reversed.

    >>> x, touched = disturbed(np.eye(4), "shift", 0.5, seed=0)
    >>> int(touched.sum()), bool((x[touched] == 1 - np.eye(4)[touched]).all())
    (2, True)
    """
    rng = rng_for(seed, "inputs", kind)
    touched = rng.permutation(len(x)) < round(rate * len(x))
    changed = np.array(x)
    if kind == "features":
        noise = rng.normal(size=x[touched].shape) * 2 * x.std()
        changed[touched] = (x[touched] + noise).astype(x.dtype)
    else:
        changed[touched] = x.max() - x[touched]
    return changed, touched


def subgroups(data: Loaded, *, seed: int) -> tuple[Labels, Labels]:
    """Each example's cluster of its class, 2·class for the larger, 2·class + 1 for the smaller."""
    from sklearn.cluster import KMeans

    groups, test_groups = (2 * y for y in (data.y, data.test_y))
    for label in range(data.classes):
        mine, other = data.y == label, data.test_y == label
        if mine.sum() < 2:
            continue
        made = KMeans(2, n_init=1, random_state=seed_for(seed, "subgroups") % 2**32)
        result = made.fit_predict(np.asarray(data.x[mine], dtype=np.float64))
        small = int(np.bincount(result, minlength=2).argmin())
        groups[mine] += result == small
        if other.any():
            seen = made.predict(np.asarray(data.test_x[other], dtype=np.float64))
            test_groups[other] += seen == small
    return groups, test_groups


def _judged(
    cell: Cell, rule: str, dynamics: Dynamics, scene: Scene, workspace: Workspace
) -> dict[str, float]:
    data, subset = scene.data, choose(rule, dynamics, keep=cell.keep, seed=cell.seed)
    run = train_on_subset(cell, data, scene.given, subset, workspace)
    right = _right(run.model, data, workspace)
    kept = subset.indices
    return {
        "accuracy": float(run.accuracy or 0.0),
        "contamination": contamination(kept, scene.touched),
        **balance(scene.given[kept], scene.given, scene.groups[kept], scene.groups),
        "worst_class": _worst(right, data.test_y),
        "worst_subgroup": _worst(right, scene.test_groups),
        **imputation_mark(run),
    }


def _right(model: Any, data: Loaded, workspace: Workspace) -> Mask:
    """Which test examples a trained target gets right."""
    import torch

    from experiments.dris_torch import TensorSource

    device = next(model.parameters()).device
    source = TensorSource(data.x, device).like(data.test_x)
    model.eval()
    with torch.inference_mode():
        (x,) = source.batches([np.arange(len(data.test_y))])
        result: Mask = model(x).argmax(dim=1).cpu().numpy() == data.test_y
    return result


def balance(kept: Labels, labels: Labels, groups_kept: Labels, groups: Labels) -> dict[str, float]:
    """How far a subset's classes are from the data's, and what became of the minorities.

    `smallest_class` is the least share of a class in the subset over its share in the data; 1 is
    as it was, 0 is gone. `moved` is the share of the subset that is in another class than the
    data would have it. `minority` is the share of minority subgroups in the subset over theirs
    in the data.

    >>> y, g = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    >>> balance(y[:3], y, g[:3], g)["smallest_class"].__round__(3)
    0.667
    """
    classes = int(labels.max()) + 1
    before, after = (np.bincount(part, minlength=classes) / len(part) for part in (labels, kept))
    there = before > 0
    return {
        "smallest_class": float((after[there] / before[there]).min()),
        "moved": float(np.abs(after - before).sum() / 2),
        "minority": float((groups_kept % 2).mean() / (groups % 2).mean()),
    }


def _worst(right: Mask, groups: Labels) -> float:
    """Accuracy of the group that fares worst; groups of fewer than ten examples say nothing."""
    sizes = np.bincount(groups)
    hits = np.bincount(groups, weights=right)
    large = sizes >= 10
    return float((hits[large] / sizes[large]).min()) if large.any() else float(right.mean())


def sweep(cell: Cell, dynamics: Dynamics, crossed: Dynamics, touched: Mask) -> dict[str, Any]:
    """What is touched in DR-IS's subset had the proxies been looked at after each epoch.

    `held_out` is the epoch of the smallest loss out of fold on the given labels, which needs no
    truth; `half` is the paper's.
    """
    dirt = {
        epoch: contamination(
            choose("rank_variance", until(dynamics, epoch), keep=cell.keep, seed=cell.seed).indices,
            touched,
        )
        for epoch in dynamics.epochs
    }
    picked = best_epoch(crossed)
    return {
        "epochs": list(dirt),
        "contamination": list(dirt.values()),
        "held_out": picked,
        "at_held_out": dirt[picked],
        "at_half": dirt[cell.ensemble.recipe.scored],
        "best": min(dirt.values()),
    }
