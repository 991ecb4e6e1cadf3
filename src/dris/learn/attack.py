"""Simulated label noise: the targeted attacker, and noise on a user's own data."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.columns import labels_for
from dris.core.errors import InputError
from dris.core.noise.flips import NoisyLabels, flip_labels
from dris.core.streams import check_seed
from dris.core.validate import check_labels, refuse_other_index
from dris.data.files import check_named
from dris.data.labelled import LabelledData
from dris.learn.engines.processes import Progress
from dris.learn.engines.tasks import devices_of
from dris.learn.jobs.all_jobs import train_jobs
from dris.learn.proxies import default_recipe
from dris.learn.recipe import Recipe
from dris.learn.store.run_store import Store
from dris.learn.trainers.job import Data, Job, check_inputs
from dris.learn.trainers.registry import check_model


def targeted_noise(
    x: Any, y: ArrayLike, rate: float, *, seed: int = 0, **attacker: Any
) -> NoisyLabels:
    """Flip the labels of the ⌊rate·N⌋ examples with the largest gradient norm, in one call.

    Further keywords are those of `attacker_norms`: model, epochs, recipe, device, store, progress.

    >>> x = np.arange(8.0).reshape(-1, 1); y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> int(targeted_noise(x, y, 0.25, epochs=3).flipped.sum())
    2
    """
    norms = attacker_norms(x, y, seed=seed, **attacker)
    return flip_labels(y, rate, kind="targeted", norms=norms, seed=seed)


def attacker_norms(
    x: Any,
    y: ArrayLike,
    *,
    model: Any = "mlp",
    epochs: int = 20,
    recipe: Recipe | None = None,
    seed: int = 0,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Last-layer gradient norm of each example under an attacker trained on the true labels.

    Its random streams are its own; its scored epoch is its last unless the recipe says otherwise.
    """
    data = check_inputs(x)
    refuse_other_index(x, y)
    labels = labels_for(check_labels(y), len(data))
    job = Job(
        model=check_model(model),
        stream=("attacker",),
        seed=check_seed(seed),
        classes=int(labels.max()) + 1,
        recipe=recipe or default_recipe(model, epochs, scored_epoch=epochs),
        record="scored",  # one eval-mode pass is all that is read
        gradient_norm=True,
        device=devices_of(device)[0],
    )
    (trained,) = train_jobs([job], Data(data, labels), store, workers=1, progress=progress)
    if trained.dynamics is None:
        raise trained.broken[0]
    return np.asarray(trained.dynamics.snapshot("gradient_norm")[0], dtype=np.float64)


def corrupt_labels(
    data: LabelledData,
    rate: float,
    *,
    kind: str = "uniform",
    seed: int = 0,
    matrix: ArrayLike | None = None,
    progress: Progress | None = None,
) -> NoisyLabels:
    """Flip ⌊rate·n⌋ of the n labels that are not trusted, by any kind of `flip_labels`.

    For `transition` the matrix decides, not the rate.
    """
    places = np.flatnonzero(~data.trusted)
    if places.size < 2:
        raise InputError("every label is trusted, so none may be flipped; leave out `trusted`")
    more: dict[str, Any] = {"classes": len(data.classes)}
    if kind == "targeted":
        network = data.x.ndim == 4 and importlib.util.find_spec("torch") is not None
        x = data.x if network or data.x.ndim == 2 else data.x.reshape(len(data), -1)
        model = "small_cnn" if network else "mlp"
        norms = attacker_norms(x, data.labels, model=model, seed=seed, progress=progress)
        more["norms"] = norms[places]
    elif kind == "instance":
        flat = data.x.reshape(len(data), -1).astype(np.float64)
        spread = flat.std(axis=0)
        more["features"] = ((flat - flat.mean(axis=0)) / np.where(spread > 0, spread, 1))[places]
    elif kind == "transition":
        more["matrix"] = matrix
    share = None if kind == "transition" else rate
    part = flip_labels(data.labels[places], share, kind=kind, seed=seed, **more)
    given = data.labels.copy()
    given[places] = part.given
    return NoisyLabels(given, data.labels, part.how)


def truth_path(path: Path) -> Path:
    """Where the truth about a corrupted copy is kept."""
    return check_named(path).with_name(f"{path.stem}-truth.csv")
