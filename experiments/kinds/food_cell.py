"""Pretrained backbones: linear probes judge, the last block of a target learns (paper, table 4).

The models of a cell's ensemble are backbones, each with one probe on its features. The target is
"package.module:NAME", of which NAME_trunk stays frozen and NAME_tail learns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dris import Dynamics, train_proxies
from experiments.datasets.catalogue import load
from experiments.dris_internals import NoisyLabels, NothingPassesError, rng_for, seed_for
from experiments.dris_torch import DatasetSource, TensorSource, build_model
from experiments.kinds.pictures import AT_ONCE, features_by, pictures_of
from experiments.kinds.shared import (
    Ensembles,
    Finding,
    corrupt_cell,
    ensembles_of,
    epoch_folder,
    record_time,
    target_of,
    train_timed,
)
from experiments.kinds.static_cell import imputation_mark, majority_result
from experiments.networks.backbones import PARTS, build_fine_tuned
from experiments.spec import CLEAN, Cell, Source, Target
from experiments.targets.static import train_target
from experiments.targets.target_run import TargetRun
from experiments.workspace import Loaded, Workspace

Pictures = Loaded
"""Training and test images, in memory or as data sets that read a file."""


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """Accuracy, injected corruption and candidate noise of every rule's subset."""
    first, shared = cells[0], dict[str, float]()
    data = pictures(first.source, workspace)
    with record_time(shared, "features"):
        features = [features_of(model, data, workspace) for model in first.ensemble.models]
    with record_time(shared, "attacker"):
        noisy = corrupt_cell(
            first,
            data,
            workspace,
            seen=lambda: ("linear", features_of(first.ensemble.attacker, data, workspace)[0]),
        )
    ensembles = probe_ensembles(first, data, noisy, features, workspace)
    with record_time(shared, "maps"):
        model, x, test_x = split_target(target_of(first), data, workspace)
    train = partial(_target, model, device=workspace.device, classes=data.classes)
    candidates = None
    if first.noise == CLEAN:
        with record_time(shared, "reference"):
            # All cells of the group read it, so it is kept beside the attackers.
            kept_train = partial(train, store=workspace.store)
            candidates = candidate_noise(first, data, kept_train, x, test_x)
    for cell in cells:
        seconds = dict(shared)
        try:
            with record_time(seconds, "scoring"):
                kept = ensembles.subset(cell.rule, cell.keep, cell.seed)
        except NothingPassesError:
            result = majority_result(data, noisy)
            if candidates is not None:
                result |= {"candidates": None, "candidates_in_data": float(candidates.mean())}
            yield Finding(cell, result, seconds)
            continue
        with epoch_folder(model, cell, workspace) as epochs:
            mine = (x, noisy.given, kept, target_of(cell), cell.seed)
            run = train_timed(
                seconds, partial(train, *mine, test=(test_x, data.test_y), store=epochs)
            )
            result = {
                "accuracy": float(run.accuracy or 0.0),
                "contamination": float(noisy.flipped[kept.indices].mean()),
                "size": len(kept.indices),
                **imputation_mark(run),
            }
            if candidates is not None:
                result |= {
                    "candidates": float(candidates[kept.indices].mean()),
                    "candidates_in_data": float(candidates.mean()),
                }
            yield Finding(cell, result, seconds)  # its record is written when this goes on


@lru_cache(maxsize=1)
def pictures(source: Source, workspace: Workspace) -> Pictures:
    """The images of a source; digits are drawn as grey pictures of 8 × 8 pixels."""
    data = load(source.name, data_dir=workspace.data_dir)
    train, tests = (
        np.sort(rng_for(0, source.name, "pictures").permutation(len(y))[:wanted])
        for wanted, y in ((source.examples, data.train_y), (source.tests, data.test_y))
    )
    return Pictures(
        _images(data.train_x[train], source.side, workspace.store),
        data.train_y[train],
        _images(data.test_x[tests], source.side, workspace.store),
        data.test_y[tests],
        len(data.classes),
    )


def _images(x: NDArray[Any], side: int | None, folder: Path) -> Any:
    if x.dtype.kind != "U":
        grey = np.rint(255 / 16 * x).astype(np.uint8).reshape(-1, 1, 8, 8)
        return np.repeat(grey, 3, axis=1)
    return pictures_of(x, 224 if side is None else side, folder)


def features_of(
    model: str, data: Pictures, workspace: Workspace
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A backbone's features of the training and test images, kept in the store."""
    network = _built(model, data)
    train, test = (
        features_by(network, x, device=workspace.device, store=workspace.store)
        for x in (data.x, data.test_x)
    )
    return train, test


def probe_ensembles(
    cell: Cell,
    data: Pictures,
    noisy: NoisyLabels,
    features: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
    workspace: Workspace,
) -> Ensembles:
    """One linear probe per backbone, as the rules want to see them."""

    def probes(labels: NDArray[np.int64], count: int, folds: int | None) -> Dynamics:
        """Probe k, with its own random streams, on backbone k, and so on around."""
        trained = [
            train_proxies(
                train,
                labels,
                proxies=count,
                model="linear_head",
                recipe=cell.ensemble.recipe,
                seed=cell.seed,
                cross_fit=folds,
                classes=data.classes,
                # Random draws hash (seed, id); ids that carry the seed redraw them.
                ids=np.arange(len(labels)) + cell.seed * len(labels),
                test=(test, data.test_y),
                workers=1,
                device=workspace.device,
            )
            for train, test in features[:count]
        ]
        return Dynamics.merge([trained[k % len(trained)].only([k]) for k in range(count)])

    return ensembles_of(cell, noisy.given, data.classes, probes)


def split_target(target: Target, data: Pictures, workspace: Workspace) -> tuple[Any, Any, Any]:
    """What is trained, and on what: the tail on the trunk's maps, or all of it on images.

    The trunk never changes, so its maps are computed once where they can be held; both ways train
    the same tail on the same numbers.
    """
    trunk, tail = (f"{target.model}_{part}" for part in PARTS)
    network = _built(trunk, data).eval()
    with torch.inference_mode():
        shape = tuple(network(torch.zeros(1, *_shape(data))).shape[1:])
    if 4 * int(np.prod(shape)) * len(data.y) > AT_ONCE:
        return partial(build_fine_tuned, target.model), data.x, data.test_x
    flat = nn.Sequential(network, nn.Flatten())
    maps, test_maps = (
        np.asarray(features_by(flat, x, device=workspace.device, store=workspace.store)).reshape(
            -1, *shape
        )
        for x in (data.x, data.test_x)
    )
    return tail, maps, test_maps


def candidate_noise(
    cell: Cell, data: Pictures, train: Any, x: Any, test_x: Any
) -> NDArray[np.bool_]:
    """Training examples whose label a reference trained on the test set would not give.

    Mostly the reference's own mistakes: the paper flags a quarter of the data where about 5 % are
    thought to be wrong. It takes as many steps as a target.
    """
    target, times = target_of(cell), -(-len(data.y) // len(data.test_y))
    recipe = replace(target.recipe, epochs=times * target.recipe.epochs)
    reference = replace(target, recipe=recipe)
    seed = seed_for(cell.seed, "reference")
    run = train(test_x, data.test_y, np.arange(len(data.test_y)), reference, seed)
    labels: NDArray[np.bool_] = predicted(run, x) != data.y
    return labels


def predicted(run: TargetRun, x: Any) -> NDArray[np.int64]:
    """The class that a trained target gives to each example."""
    device = next(run.model.parameters()).device
    every = np.array_split(np.arange(len(x)), -(-len(x) // 256))
    run.model.eval()
    with torch.inference_mode():
        source = (
            TensorSource(x, device, normalize=False)
            if isinstance(x, np.ndarray)
            else DatasetSource(x, device)
        )
        parts = [run.model(batch).argmax(dim=1).cpu().numpy() for batch in source.batches(every)]
    return np.concatenate(parts)


def _target(
    model: Any,
    x: Any,
    y: NDArray[np.int64],
    kept: Any,
    target: Target,
    seed: int,
    *,
    device: str,
    classes: int,
    test: tuple[Any, NDArray[np.int64]] | None = None,
    store: Path | None = None,
) -> TargetRun:
    return train_target(
        model,
        x,
        y,
        kept,
        recipe=target.recipe,
        seed=seed,
        classes=classes,
        test=test,
        course=False,
        standardize=False,
        device=device,
        store=store,
    )


def _built(model: str, data: Pictures) -> nn.Module:
    return build_model(model, _shape(data), data.classes, seed=0)


def _shape(data: Pictures) -> tuple[int, ...]:
    return tuple(np.shape(data.x[0]))
