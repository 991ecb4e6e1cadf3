"""Photographs: an encoder's features and stacked heads beside small CNNs, edges and pixels.

    python benchmarks/photographs.py --data FOLDER [--examples 1800] [--side 64]
    python benchmarks/photographs.py --data FOLDER --folder photos && dris clean photos

FOLDER holds Food-101, or some classes of it; as many photographs of each class, 15 % of the labels
flipped at random. Each way gives the AUROC of the flipped ones by the mean loss out of fold, and
takes the processor time of this process, one thread:

- features of EfficientNet-Lite0 (extra `images`), which reads the photographs once, at 128 × 128
  pixels as the product has it, then three proxies × four folds; the time with cached features is
  that of the proxies and of finding the features;
- small CNNs, three × two folds, stopped by the held-out loss, as without the extra;
- edges and colours (`gradient_features`), as without torch; and pixels, as before.

`--folder` writes 300 photographs of four classes instead, 40 of them into a wrong folder, for a
try of the command as a new user has it.

Aims: cached features in under a tenth of the small CNNs' time, an AUROC not below theirs.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from dris.core.noise.flips import flip_labels
from dris.data.images.gradient_features import gradient_features
from dris.learn.proxies import train_proxies
from dris.learn.trainers.networks.encoders import SIDE, installed_encoder
from dris.learn.trainers.networks.features import extract_features
from dris.pipeline.ensemble import _heads
from dris.pipeline.settings import DEFAULTS
from experiments.datasets.catalogue import load
from experiments.datasets.food101 import decode_images
from measure import finish, report

HEADS = list(_heads(DEFAULTS))  # two with a hidden layer, one linear, as `dris clean` has them
STOPPED: dict[str, Any] = {"scored_epoch": "held_out", "patience": 4, "workers": 1}


def main() -> None:
    """Print time and AUROC of each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--examples", type=int, default=1_800)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.folder is not None:
        some_in_wrong_folders(asked.data, asked.folder)
        return
    x, y = photographs(asked.data, asked.examples, asked.side)
    larger, _ = photographs(asked.data, asked.examples, SIDE)
    noisy = flip_labels(y, 0.15, seed=0)
    print(f"{len(y):,} photographs, {asked.side} × {asked.side}, {len(np.unique(y))} classes")
    found = installed_encoder()
    spent: dict[str, float] = {}
    areas: dict[str, float] = {}

    def ways(name: str, work: Callable[[], Any]) -> None:
        begin = time.process_time()
        dynamics = work()
        spent[name] = time.process_time() - begin
        doubt = dynamics.require_out_of_fold().snapshot("loss").mean(axis=0)
        areas[name] = float(roc_auc_score(noisy.flipped, doubt))
        told = f"{spent[name]:.1f} s of processor time, AUROC {areas[name]:.3f}"
        print(f"{name}: {told}, scored at epoch {dynamics.scored_epoch}", flush=True)

    with tempfile.TemporaryDirectory() as store:

        def encoded() -> Any:
            features = extract_features(found[1], larger, batch_size=64, store=store)
            return train_proxies(features, noisy.given, model=HEADS, cross_fit=4, **STOPPED)

        if found is not None:
            ways("features, the first time", encoded)
            ways("features, cached", encoded)
    flat = x.reshape(len(x), -1)
    ways(
        "edges and colours",
        lambda: train_proxies(
            gradient_features(x), noisy.given, model=HEADS, cross_fit=4, **STOPPED
        ),
    )
    ways("pixels", lambda: train_proxies(flat, noisy.given, model=HEADS, cross_fit=4, **STOPPED))
    ways(
        "small CNNs",
        lambda: train_proxies(x, noisy.given, model="small_cnn", cross_fit=2, **STOPPED),
    )
    if found is not None:
        part = spent["features, cached"] / spent["small CNNs"]
        report("cached features / small CNNs, time", part, "×", 0.1, at_least=False)
        more = areas["features, cached"] - areas["small CNNs"]
        report("AUROC above the small CNNs'", more, "", 0, at_least=True)
    finish()


def photographs(folder: Path, count: int, side: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """As many of each class, from the first on, and their labels."""
    data = load("food101", data_dir=folder)
    classes = np.unique(data.train_y)
    each = [np.flatnonzero(data.train_y == c)[: count // len(classes)] for c in classes]
    at = np.concatenate(each)
    labels = np.searchsorted(classes, data.train_y[at])
    return decode_images(data.train_x[at], side), labels


def some_in_wrong_folders(folder: Path, out: Path) -> None:
    """The first 75 photographs of four classes; of each eighth the folder is another class's."""
    source = folder / "food-101" / "images"
    classes = sorted(path.name for path in source.iterdir())[:4]
    for c, name in enumerate(classes):
        for i, file in enumerate(sorted((source / name).iterdir())[:75]):
            shift = 0 if i % 8 else 1 + (i // 8) % 3
            place = out / classes[(c + shift) % 4]
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place / f"{name}_{file.name}")


if __name__ == "__main__":
    main()
