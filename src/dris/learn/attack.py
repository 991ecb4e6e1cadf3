"""The targeted attacker: flips the labels that hurt most, seen from a model of its own."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.columns import labels_for
from dris.core.noise.flips import NoisyLabels, flip_labels
from dris.core.streams import check_seed
from dris.core.validate import check_labels
from dris.learn.engines.engine import devices_of
from dris.learn.engines.processes import Progress
from dris.learn.jobs.all_jobs import train_jobs
from dris.learn.proxies import default_recipe
from dris.learn.recipe import Recipe
from dris.learn.record.array_like import refuse_other_index
from dris.learn.store.run_store import Store
from dris.learn.trainers.inputs import checked_inputs, count_rows
from dris.learn.trainers.job import Data, Job
from dris.learn.trainers.registry import check_model


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

    Larger: a larger gradient. The attacker's random streams are its own, never a proxy's; its
    scored epoch is its last unless the recipe says otherwise.
    """
    data = checked_inputs(x)
    refuse_other_index(x, y)
    labels = labels_for(check_labels(y), count_rows(data))
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
    (found,) = train_jobs([job], Data(data, labels), store, workers=1, progress=progress)
    if found.dynamics is None:
        raise found.broken[0]
    return np.asarray(found.dynamics.snapshot("gradient_norm")[0], dtype=np.float64)


def targeted_noise(
    x: Any,
    y: ArrayLike,
    rate: float,
    *,
    model: Any = "mlp",
    epochs: int = 20,
    recipe: Recipe | None = None,
    seed: int = 0,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
) -> NoisyLabels:
    """Flip the labels of the ⌊rate·N⌋ examples with the largest gradient norm, in one call.

    >>> x = np.arange(8.0).reshape(-1, 1); y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> int(targeted_noise(x, y, 0.25, epochs=3).flipped.sum())
    2
    """
    norms = attacker_norms(
        x,
        y,
        model=model,
        epochs=epochs,
        recipe=recipe,
        seed=seed,
        device=device,
        store=store,
        progress=progress,
    )
    return flip_labels(y, rate, kind="targeted", norms=norms, seed=seed)
