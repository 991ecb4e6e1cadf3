"""Train proxies once per (data, noise, seed) and a target per rule; one JSON record per cell.

Killed, the same call goes on: proxies come from the store, finished cells from their records.
"""

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.bench.beyond.mlp import SmallMLP
from dris.bench.beyond.setting import Cell, Study, cells_of, noises
from dris.bench.cell_data import Loaded
from dris.bench.rules import BASELINES, GATED, RULES, VARIANTS, Judged, checked_rules
from dris.bench.spec import Noise
from dris.core.choose.selection import Subset
from dris.core.dynamics.arrayfile import made_folder, write_atomically
from dris.core.errors import InputError
from dris.core.noise.flips import NoisyLabels, flip_labels
from dris.core.streams import rng_for, seed_for
from dris.data.known.catalogue import load
from dris.learn.attack import attacker_norms
from dris.learn.proxies import train_proxies
from dris.learn.run.processes import Progress, run_all
from dris.learn.targets import train_target

Record = dict[str, Any]


def run(
    study: Study,
    *,
    seeds: Sequence[int],
    store: Path,
    only_rules: Sequence[str] | None = None,
    only_noises: Sequence[Noise] | None = None,
    backbone: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Record]:
    """Every cell's record, from the store where it is there; all rules and noises unless named."""
    folder = made_folder(store / "cells")
    groups = [(noise, seed) for seed in seeds for noise in only_noises or noises()]
    wanted = checked_rules(only_rules or [*BASELINES, *GATED, *VARIANTS])
    everywhere = [rule for rule in wanted if rule not in VARIANTS]
    variants = [rule for rule in wanted if rule in VARIANTS]
    every = [cells_of(study, *group, everywhere, variants) for group in groups]
    if any(_missing(cells, folder) for cells in every):
        data = loaded(study, store, backbone)
        tasks = [(data, cells, store) for cells in every]
        total = sum(map(len, every))
        run_all(_group, tasks, workers=workers, progress=progress, total=total)
    return [json.loads(_path(folder, c).read_text()) for cells in every for c in cells]


def loaded(study: Study, store: Path, backbone: str | None = None) -> Loaded:
    """Flat rows in [0, 1] for mlp (images halved), images for networks, or frozen features.

    Features are of Food-101 and of studies named so, with at most 3,000 test images.
    """
    data = load(study.known)
    n = len(data.train_y)
    chosen = np.arange(n)
    if study.examples is not None and study.examples < n:
        draw = rng_for(0, "beyond", study.data, "examples").permutation(n)
        chosen = np.sort(draw[: study.examples])
    train_x, test_x, test_y = data.train_x[chosen], data.test_x, data.test_y
    if data.kind == "paths" or study.data.endswith("-features"):
        if backbone is None:
            raise InputError(
                f"{study.data} runs on frozen features; pass --backbone package.module:function, "
                "which returns a network from images to features"
            )
        tested = rng_for(0, "beyond", study.data, "tests").permutation(len(test_y))[:3000]
        test_x, test_y = test_x[tested], test_y[tested]
        train_x, test_x = (_features(backbone, x, store) for x in (train_x, test_x))
    elif study.model == "mlp":
        largest = train_x.max()
        train_x, test_x = (_rows(x) / np.float32(largest) for x in (train_x, test_x))
    return Loaded(train_x, data.train_y[chosen], test_x, test_y, len(data.classes))


def _rows(x: NDArray[Any]) -> NDArray[np.float32]:
    """Flat rows; images at half their resolution, each pixel the mean of four."""
    if x.ndim == 2:
        return x.astype(np.float32)
    n, channels, height, width = x.shape
    blocks = x.reshape(n, channels, height // 2, 2, width // 2, 2)
    rows: NDArray[np.float32] = blocks.mean(axis=(3, 5), dtype=np.float32).reshape(n, -1)
    return rows


def _features(backbone: str, images: NDArray[Any], store: Path) -> NDArray[np.float32]:
    from dris.data.known.food101 import decode_images
    from dris.learn.networks.features import extract_features
    from dris.learn.networks.models.registry import builder_of

    pixels = decode_images(images, 224) if images.dtype.kind == "U" else images
    network = builder_of(backbone)[0](pixels.shape[1:], 0)
    return extract_features(network, pixels, batch_size=64, store=store)


def _group(data: Loaded, cells: Sequence[Cell], store: Path, tick: Callable[[], None]) -> None:
    """One noisy data set: its proxies, then the targets whose records are missing."""
    folder = store / "cells"
    missing = _missing(cells, folder)
    for _ in range(len(cells) - len(missing)):
        tick()
    if not missing:
        return
    first = missing[0]
    noisy = corrupted(first.study, data, first.noise, first.seed, store)
    judged = judge(first.study, data, noisy, first.seed, store)
    for cell in missing:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".* pass the gate, fewer than")
            subset = RULES[cell.rule](judged, cell.keep, cell.seed)
        accuracy = reached(cell.study, data, noisy.given, subset, cell.seed)
        record = record_of(cell, subset, noisy, accuracy)
        text = json.dumps(record, indent=1) + "\n"
        write_atomically(_path(folder, cell), [text.encode()])
        tick()


def corrupted(study: Study, data: Loaded, noise: Noise, seed: int, store: Path) -> NoisyLabels:
    """The study's labels under a noise; the attacker is trained once per seed."""
    if noise.kind == "targeted":
        norms = attacker_norms(
            data.x, data.y, model=_proxy(study), epochs=study.proxy_epochs, seed=seed, store=store
        )
        return flip_labels(data.y, noise.rate, kind="targeted", norms=norms, seed=seed)
    return flip_labels(data.y, noise.rate, seed=seed, classes=data.classes)


def judge(study: Study, data: Loaded, noisy: NoisyLabels, seed: int, store: Path) -> Judged:
    """Three ensembles: on the given labels, with canaries, and cross-fitted."""
    planted = flip_labels(
        noisy.given, study.canaries, seed=seed_for(seed, "canaries"), classes=data.classes
    )

    def trained(labels: NDArray[np.int64], **how: Any) -> Any:
        return train_proxies(
            data.x,
            labels,
            model=_proxy(study),
            epochs=study.proxy_epochs,
            batch_size=study.proxy_batch,
            # Random draws hash (seed, id); ids that carry the seed redraw them.
            ids=np.arange(len(data.y)) + seed * len(data.y),
            classes=data.classes,
            seed=seed,
            workers=1,
            store=store,
            **how,
        )

    return Judged(
        plain=cache(lambda: trained(noisy.given, proxies=study.proxies)),
        planted=cache(lambda: trained(planted.given, proxies=study.proxies)),
        unseen=cache(lambda: trained(noisy.given, proxies=1, cross_fit=2)),
        canaries=planted.flipped,
    )


def _proxy(study: Study) -> Any:
    return SmallMLP(hidden=64) if study.model == "mlp" else study.model


def reached(
    study: Study, data: Loaded, given: NDArray[np.int64], subset: Subset, seed: int
) -> float:
    """Test accuracy of the target, trained for as many steps as on all the data."""
    tabular = study.model == "mlp"
    run = train_target(
        SmallMLP(hidden=128, learning_rate=0.05) if tabular else study.model,
        data.x,
        given,
        subset.indices,
        epochs=study.target_epochs,
        batch_size=study.target_batch,
        seed=seed,
        classes=data.classes,
        test=(data.test_x, data.test_y),
        standardize=not tabular,
    )
    return float(run.accuracy or 0.0)


def record_of(cell: Cell, subset: Subset, noisy: NoisyLabels, accuracy: float) -> Record:
    """What is kept of a cell: what it was, and three numbers; no arrays."""
    return {
        "cell": asdict(cell),
        "accuracy": accuracy,
        "contamination": float(noisy.flipped[subset.indices].mean()),
        "size": len(subset),
        "passed": subset.parameters.get("passed"),
        "short": subset.parameters.get("short", 0),
    }


def _missing(cells: Sequence[Cell], folder: Path) -> list[Cell]:
    return [cell for cell in cells if not _path(folder, cell).exists()]


def _path(folder: Path, cell: Cell) -> Path:
    return folder / f"{cell.key}.json"
