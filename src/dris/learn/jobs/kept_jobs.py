"""How a job is found again in a store, kept there, and described in the provenance."""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dris.learn.store.run_store import Store, fingerprint
from dris.learn.store.runs import Run
from dris.learn.trainers.job import Data, Job, Trained, epochs_of
from dris.learn.trainers.registry import describe_model, trainer_of
from dris.learn.trainers.trainer import Stream


def keep(
    job: Job,
    data: Data,
    store: Store | None,
    tick: Callable[[], None],
    train: Callable[[Run | None], Trained],
) -> Trained:
    """The result of a job from the store, or from `train`, whose whole results are kept."""
    if store is None:
        return train(None)
    run = store.run(key_of(job, data))
    kept = run.read()
    if kept is None:
        with run.locked():
            kept = run.read()  # another process may have been faster
            if kept is None:
                begin = time.monotonic()
                trained = train(run)
                if trained.dynamics is None or trained.broken:
                    return trained  # and not kept: the next one may have another rate
                run.finish(trained.dynamics, seconds=time.monotonic() - begin)
                del trained  # before it is read again: there would be two
                return Trained(run.load())
    for _ in range(epochs_of(job)):
        tick()
    return Trained(kept, from_store=True)


def key_of(job: Job, data: Data) -> dict[str, Any]:
    """Everything that determines a job's bytes, as plain values."""
    model = job.model
    return {
        **asdict(replace(job, model=describe_model(model))),
        "parameters": None if isinstance(model, str) else trainer_of(model).parameters(model),
        **(hash_data(data) if data.hashes is None else data.hashes),
    }


def hash_data(data: Data) -> dict[str, Any]:
    """The data in hashes of every byte: read once for all jobs that share it."""
    test = None
    if data.test_y is not None:
        test = [_hash_inputs(data.test_x), fingerprint(data.test_y)]
    more = {"labels": data.y, "judged": data.judged, "groups": data.groups}
    hashes = {name: fingerprint(a) for name, a in more.items() if a is not None}
    return {"data": _hash_inputs(data.x), "test": test, **hashes}


def provenance_of(job: Job, stream: Stream, accuracy: float | None) -> dict[str, Any]:
    """How one proxy of a job was made, as plain values."""
    return {
        "stream": list(stream),
        "model": describe_model(job.model),
        "seed": job.seed,
        "recipe": asdict(job.recipe),
        "folds": job.folds,
        "test_accuracy": accuracy,
    }


def _hash_inputs(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return fingerprint(x)
    from dris.learn.trainers.networks.sources import input_of

    # A Dataset is read once more: two of one kind and length would share a run otherwise.
    return fingerprint([fingerprint(input_of(x[i]).numpy()) for i in range(len(x))])
