"""Food-101 in its official layout, whole or in part: paths and labels, decoded when asked."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris import InputError
from experiments.datasets.official_formats import Splits
from experiments.dris_internals import decode_image, from_json

_CLASSES, _TRAIN, _TEST = 101, 75_750, 25_250  # of the whole data set
_LISTED = re.compile(r"([\w-]+)/[\w-]+")  # class/id, as in meta/train.txt


def read_food101(root: Path) -> Splits:
    """The images under `root` that the official split lists, as paths; labels count from 0.

    Classes without a training image are left out, with their test images, and the rest keep the
    official order; `note` says what is there when that is not everything.
    """
    listed = {split: _listed(root / "meta", split) for split in ("train", "test")}
    there = {
        f"{folder.name}/{file.stem}"
        for folder in (root / "images").iterdir()
        if folder.is_dir()
        for file in folder.glob("*.jpg")
    }
    train = [name for name in listed["train"] if name in there]
    classes = tuple(dict.fromkeys(sorted(_class_of(name) for name in train)))
    if len(classes) < 2:
        raise InputError(
            f"{root} holds training images of {len(classes)} classes; at least two are needed, as "
            "images/<class>/<id>.jpg with the ids that meta/train.txt lists"
        )
    label = {name: position for position, name in enumerate(classes)}
    test = [name for name in listed["test"] if name in there and _class_of(name) in label]
    return Splits(
        train_x=np.array([str(root / "images" / f"{name}.jpg") for name in train], dtype=np.str_),
        train_y=np.array([label[_class_of(name)] for name in train], dtype=np.int64),
        test_x=np.array([str(root / "images" / f"{name}.jpg") for name in test], dtype=np.str_),
        test_y=np.array([label[_class_of(name)] for name in test], dtype=np.int64),
        classes=classes,
        note=_note(classes, len(train), len(test)),
    )


def decode_images(paths: Sequence[str] | NDArray[np.str_], size: int) -> NDArray[np.uint8]:
    """Decode images to (N, 3, size, size): shorter side to `size`, then the middle square.

    Decode in portions: 100,000 images at 224 pixels are 15 GB.

    >>> decode_images([], size=8).shape
    (0, 3, 8, 8)
    """
    if size < 1:
        raise InputError(f"size must be at least 1 pixel, got {size}")
    out = np.empty((len(paths), 3, size, size), dtype=np.uint8)
    for row, path in zip(out, paths, strict=True):
        row[:] = decode_image(str(path), str(path), size, channels=3)
    return out


def _listed(meta: Path, split: str) -> list[str]:
    """The names class/id of one split, from train.txt or else train.json."""
    text, tree = meta / f"{split}.txt", meta / f"{split}.json"
    source = text if text.exists() else tree
    try:
        content = source.read_text(encoding="utf-8")
        names: Any = (
            content.split()
            if source == text
            else [name for group in from_json(content).values() for name in group]
        )
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f"{source} is not Food-101's list of {split} images ({error}); "
            "copy meta/ from the official archive"
        ) from None
    bad = next((name for name in names if not _LISTED.fullmatch(str(name))), None)
    if bad is not None:
        raise InputError(f"{source} must list class/id, got {bad!r}; copy it from the archive")
    return list(names)


def _class_of(name: str) -> str:
    return name.partition("/")[0]


def _note(classes: tuple[str, ...], train: int, test: int) -> str:
    if (len(classes), train, test) == (_CLASSES, _TRAIN, _TEST):
        return ""
    which = "" if len(classes) == _CLASSES else f" ({', '.join(classes)})"
    return (
        f"in part: {len(classes)} of {_CLASSES} classes{which}, "
        f"{train:,} of {_TRAIN:,} train and {test:,} of {_TEST:,} test images"
    )
