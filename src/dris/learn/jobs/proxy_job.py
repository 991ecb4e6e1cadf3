"""Train one proxy, record it after every epoch, keep it so that a kill costs little."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.sanitize import from_json
from dris.learn.jobs.kept_jobs import keep, provenance_of
from dris.learn.record.recorder import Recorder
from dris.learn.store.run_store import Store
from dris.learn.store.runs import Run
from dris.learn.trainers.job import Data, Job, Positions, Trained, folds_for
from dris.learn.trainers.registry import naming_divergence, one_thread, trainer_of
from dris.learn.trainers.trainer import Passes, Training

_PREFIX = "recorder."


def train(job: Job, data: Data, store: Store | None, tick: Callable[[], None]) -> Trained:
    """The `Dynamics` of one job (K = 1) over all examples, ids = positions.

    `tick` is called after each epoch, also for those that the store holds.
    """
    return keep(job, data, store, tick, lambda run: Trained(_follow(job, data, run, tick)))


def _follow(job: Job, data: Data, run: Run | None, tick: Callable[[], None]) -> Dynamics:
    y, recipe = data.y, job.recipe
    everyone = np.arange(len(y), dtype=np.int64)
    rows, outside = everyone, everyone[:0]
    if job.folds is not None:
        fold = folds_for(job, job.stream, data)
        rows, outside = np.flatnonzero(fold != job.fold), np.flatnonzero(fold == job.fold)
    recorder = Recorder(
        everyone,
        labels=y,
        record="all" if job.record == "all" else "scored",
        # Who may stop early does not know which epochs there will be.
        scored_epoch=recipe.scored if job.patience is None else None,
        gradient_norm=job.gradient_norm,
        rival=job.rival,
    )
    trainer = trainer_of(job.model)
    stream = job.stream if job.folds is None else (*job.stream, "fold", job.fold)
    with one_thread(job):
        passes = Passes(rows, recipe.batch_size, job.seed, stream, equal=trainer.equal_batches)
        training = trainer.build(job, data, passes, stream)
        start = _resume(training, recorder, run)
        for _ in range(start):
            tick()
        for epoch in range(start + 1, recipe.stop + 1):
            if job.patience is not None and _no_better(recorder, outside, job.patience):
                for _ in range(epoch, recipe.stop + 1):  # epochs that never come
                    tick()
                break
            with naming_divergence(job, epoch):
                _one_epoch(job, training, recorder, y, epoch)
            state = None if run is None else training.state()
            if run is not None and state is not None:
                record, rest = _split(recorder)
                run.save_epochs([record], {**state, **rest})
            tick()
        accuracy = None if data.test_y is None else training.accuracy(data.test_x, data.test_y)
    made = {"proxies": [provenance_of(job, job.stream, accuracy)]}
    return replace(recorder.dynamics(), provenance=made)


def _no_better(recorder: Recorder, outside: Positions, patience: int) -> bool:
    if recorder.epoch <= patience + 1:
        return False
    losses = recorder.dynamics().loss[0][:, outside].mean(axis=1, dtype=np.float64)
    return bool(len(losses) - (1 + int(losses.argmin())) >= patience)


def _one_epoch(
    job: Job, training: Training, recorder: Recorder, y: NDArray[np.int64], epoch: int
) -> None:
    # Networks are recorded on their training batches; others are measured after every epoch.
    follows = job.record == "scored" and trainer_of(job.model).records_batches
    if follows:
        network: Any = training
        network.train_epoch(epoch, lambda at, logits: recorder.update(at, logits, y[at]))
    else:
        training.train_epoch(epoch)
    scored = job.record == "scored" and epoch == job.recipe.scored
    if scored or not follows:
        wants = job.gradient_norm and (scored or job.record == "all")
        for at in training.portions(np.arange(len(y), dtype=np.int64)):
            logits, hidden = training.measure(at, hidden=wants)
            logits = logits.astype(np.float32, copy=False)
            if not follows:
                recorder.update(at, logits, y[at], hidden if job.record == "all" else None)
            if scored:
                recorder.snapshot(at, logits, y[at], hidden)
    recorder.end_epoch()


def _resume(training: Training, recorder: Recorder, run: Run | None) -> int:
    """Bring training and recorder to the last epoch that was kept, and return it."""
    checkpoint = run.checkpoint() if run is not None else None
    if checkpoint is None:
        return 0
    state = dict(checkpoint.state)
    held: dict[str, Any] = {**from_json(state.pop("recorder").tobytes()), "ids": recorder.ids}
    for name in [n for n in state if n.startswith(_PREFIX)]:
        held[name.removeprefix(_PREFIX)] = state.pop(name)
    for name in checkpoint.records[0]:
        held[name] = np.stack([record[name] for record in checkpoint.records])
    recorder.load_state_dict(held)
    training.restore(state)
    return checkpoint.epoch


def _split(recorder: Recorder) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The last epoch's columns, and what else the recorder needs to go on."""
    state = recorder.state_dict()
    del state["ids"]
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in state.items() if name not in arrays}
    record = {name: value[-1] for name, value in arrays.items() if name.startswith("closed/")}
    rest = {_PREFIX + name: value for name, value in arrays.items() if name not in record}
    about = json.dumps(plain, sort_keys=True).encode()
    return record, {**rest, "recorder": np.frombuffer(about, dtype=np.uint8)}
