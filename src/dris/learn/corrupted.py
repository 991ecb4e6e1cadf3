"""Simulated label noise on a user's own data; labels that somebody vouches for stay as they are."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dris.core.errors import InputError
from dris.core.noise.flips import NoisyLabels, flip_labels
from dris.data.files import check_named
from dris.data.labelled import LabelledData
from dris.learn.attack import attacker_norms
from dris.learn.engines.processes import Progress


def corrupted(
    data: LabelledData,
    rate: float,
    *,
    kind: str = "uniform",
    seed: int = 0,
    matrix: ArrayLike | None = None,
    progress: Progress | None = None,
) -> NoisyLabels:
    """Flip ⌊rate·n⌋ of the n labels that are not trusted, by any kind of `flip_labels`.

    The targeted attacker is a small network on the given labels; `instance` noise follows random
    projections of the standardized features; for `transition` the matrix decides, not the rate.
    """
    open_places = np.flatnonzero(~data.trusted)
    if open_places.size < 2:
        raise InputError("every label is trusted, so none may be flipped; leave out `trusted`")
    more: dict[str, Any] = {}
    if kind == "targeted":
        network = data.x.ndim == 4 and importlib.util.find_spec("torch") is not None
        x = data.x if network or data.x.ndim == 2 else data.x.reshape(len(data), -1)
        norms = attacker_norms(
            x, data.labels, model="small_cnn" if network else "mlp", seed=seed, progress=progress
        )
        more["norms"] = norms[open_places]
    elif kind == "instance":
        flat = data.x.reshape(len(data), -1).astype(np.float64)
        spread = flat.std(axis=0)
        more["features"] = ((flat - flat.mean(axis=0)) / np.where(spread > 0, spread, 1))[
            open_places
        ]
    elif kind == "transition":
        more["matrix"] = matrix
    share = None if kind == "transition" else rate
    part = flip_labels(
        data.labels[open_places], share, kind=kind, seed=seed, classes=len(data.classes), **more
    )
    given = data.labels.copy()
    given[open_places] = part.given
    return NoisyLabels(given, data.labels, part.how)


def truth_beside(path: Path) -> Path:
    """Where the truth about a corrupted copy is kept."""
    return check_named(path).with_name(f"{path.stem}-truth.csv")
