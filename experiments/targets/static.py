"""Train the target on a subset for as many gradient steps as on all the data (Algorithm 1)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dris import InputError
from experiments.dris_internals import (
    Data,
    Job,
    Progress,
    Recipe,
    Store,
    Subset,
    check_inputs,
    check_labels,
    check_mask,
    check_model,
    check_seed,
    check_test,
    default_recipe,
    devices_of,
    fingerprint,
    labels_for,
    trainer_of,
)
from experiments.targets.plans import Fixed
from experiments.targets.schedules import StepParity
from experiments.targets.target_run import Sampled, TargetRun, follow


class TargetKeywords(TypedDict, total=False):
    """What `train_target` and `train_online` share; `train_target` explains each."""

    epochs: int
    batch_size: int | None
    recipe: Recipe | None
    seed: int
    classes: int | None
    test: tuple[Any, ArrayLike] | None
    standardize: bool
    device: str


def train_target(
    model: Any,
    x: Any,
    y: ArrayLike,
    subset: Subset | ArrayLike,
    *,
    epochs: int = 20,
    batch_size: int | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    classes: int | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    course: bool = True,
    flagged: ArrayLike | None = None,
    standardize: bool = True,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
) -> TargetRun:
    """Train a model on a subset for exactly E·⌈N/B⌉ steps, as many as all N examples would take.

    All batches are full, the learning rate's cosine runs over those steps, and the accuracy is
    that after the last of them. A target that diverges is a result too, not an error.

    Args:
        model: As for `train_proxies`: a network by name, function or import path, or a
            scikit-learn classifier with partial_fit, which brings its own step sizes.
        x: Features (N, D), images (N, C, H, W), or a map-style torch Dataset: all N.
        y: All given labels; those outside the subset are never trained on.
        subset: What to train on: a `Subset`, or positions.
        epochs: E. The subset is passed over N/|subset| times as often.
        batch_size: B; 64 for scikit-learn, 128 for networks.
        recipe: How a network trains, in place of epochs and batch_size.
        seed: Every random stream is derived from it and from its purpose.
        classes: Number of classes, when the largest label may be absent.
        test: Held-out (x, y) to state the accuracy on.
        course: State it after every epoch; else a network's is measured once, at the
            end, which is a fifth of a small network's time.
        flagged: A mask of examples, such as those known to be corrupt, whose share is logged;
            nothing is decided by it.
        standardize: Give each feature (or image channel) mean 0 and standard deviation 1.
        device: "cpu" (one thread) or "cuda".
        store: Folder that keeps every epoch and the result (networks only): killed work goes on
            from there and ends in the same bytes.
        progress: Called with (epochs done, epochs in all).

    >>> from sklearn.linear_model import SGDClassifier
    >>> x, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    >>> train_target(SGDClassifier(), x, y, [0, 1], epochs=5, batch_size=2, test=(x, y))
    TargetRun(finished after 5 epochs, accuracy 100.0 %)
    """
    how = (epochs, batch_size, recipe, seed, classes, test, standardize, device)
    job, data = make_job(model, x, y, *how)
    if trainer_of(job.model).trains_together:
        raise InputError("a target is a network or a scikit-learn classifier, got a stacked head")
    marked = None if flagged is None else check_mask(flagged, len(data.y), "flagged")
    if isinstance(subset, Subset) and subset.total != len(data.y):
        raise InputError(
            f"the subset was chosen from {subset.total} examples, here are {len(data.y)}; "
            "score the examples that are trained on"
        )
    indices = np.sort(subset.indices if isinstance(subset, Subset) else np.asarray(subset))
    parity = StepParity(indices, len(data.y), job.recipe.batch_size, job.seed)
    size = len(indices)
    mass = None if marked is None else float(marked[indices].mean())
    about = {
        "kind": "static",
        "rule": subset.rule if isinstance(subset, Subset) else "positions",
        "parameters": dict(subset.parameters) if isinstance(subset, Subset) else {},
        "examples": size,
        "subset": fingerprint(indices.astype(np.int64)),
        "flagged": None if marked is None else fingerprint(marked),
    }
    sampled = Sampled(None, float(size), 1.0, size, mass, unbiased=size == len(data.y))
    feed = Fixed(parity, sampled, about)
    return follow(job, data, feed, store, counter(progress, job.recipe.stop), course=course)


def make_job(
    model: Any,
    x: Any,
    y: ArrayLike,
    epochs: int = 20,
    batch_size: int | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    classes: int | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    standardize: bool = True,
    device: str = "cpu",
) -> tuple[Job, Data]:
    """A target's job and data from what a user passes, checked."""
    kind = check_model(model)
    inputs = check_inputs(x)
    labels = labels_for(check_labels(y, classes), len(inputs))
    job = Job(
        model=kind,
        stream=("target",),
        seed=check_seed(seed),
        classes=int(labels.max()) + 1 if classes is None else int(classes),
        recipe=recipe or default_recipe(kind, epochs, batch_size),
        normalize=standardize,
        device=devices_of(device)[0],
    )
    return job, Data(inputs, labels, *check_test(test, inputs))


def counter(progress: Progress | None, total: int) -> Callable[[], None]:
    """A tick that tells `progress` how many of `total` epochs are done."""
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return tick
