"""What a job is found again by, and how its proxies were made, as plain values."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dris.learn.jobs.jobs import Data, Job
from dris.learn.store.model_names import name_of, parameters_of
from dris.learn.store.run_store import fingerprint


def key_of(job: Job, data: Data) -> dict[str, Any]:
    """Everything that determines a job's bytes, as plain values."""
    told = asdict(replace(job, model=name_of(job.model)))
    for name, unset in (("members", ()), ("patience", None), ("pick", False)):
        if told[name] == unset:  # so that runs from before these were there are still found
            del told[name]
    if job.folds is not None:
        told["measured"] = "all"
    return {
        **told,
        "parameters": parameters_of(job.model),
        "stream": list(job.stream),
        **(mark_of(data) if data.mark is None else data.mark),
    }


def mark_of(data: Data) -> dict[str, Any]:
    """The data in hashes of every byte: read once for all jobs that share it.

    >>> sorted(mark_of(Data(np.zeros((2, 1)), np.array([0, 1]))))
    ['data', 'labels', 'test']
    """
    test = None
    if data.test_y is not None:
        test = [_print_of(data.test_x), fingerprint(data.test_y)]
    mark = {"data": _print_of(data.x), "labels": fingerprint(data.y), "test": test}
    return mark if data.judged is None else {**mark, "judged": fingerprint(data.judged)}


def made_by(job: Job, stream: tuple[str | int, ...], accuracy: float | None) -> dict[str, Any]:
    """How one proxy of a job was made, as plain values.

    >>> from dris.learn.recipe import Recipe
    >>> made_by(Job("mlp", ("proxy",), 0, 2, Recipe(1, 1, 0.1)), ("proxy", 3), None)["stream"]
    ['proxy', 3]
    """
    return {
        "stream": list(stream),
        "model": name_of(job.model),
        "seed": job.seed,
        "recipe": asdict(job.recipe),
        "bag": job.bag,
        "folds": job.folds,
        "test_accuracy": accuracy,
    }


def _print_of(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return fingerprint(x)
    if hasattr(x, "indptr"):
        return fingerprint(x.data, x.indices, x.indptr, np.array(x.shape))
    from dris.learn.trainers.networks.sources import input_of

    # A Dataset is read once more: two of one kind and length would share a run otherwise.
    return fingerprint([fingerprint(input_of(x[i]).numpy()) for i in range(len(x))])
