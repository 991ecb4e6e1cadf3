"""Train one proxy, record it after every epoch, keep it so that a kill costs little."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.sanitize import from_json
from dris.learn.jobs.job_keys import key_of, made_by
from dris.learn.jobs.jobs import (
    Data,
    Job,
    Positions,
    Trained,
    epochs_of,
    everyone_or_bag,
    folds_for,
)
from dris.learn.record.recorder import Recorder
from dris.learn.store.run_store import Store
from dris.learn.store.runs import Run
from dris.learn.trainers.networks.schedules import Passes
from dris.learn.trainers.registry import kind_of, one_thread, told_who
from dris.learn.trainers.trainer import Trainer


def train(job: Job, data: Data, store: Store | None, tick: Callable[[], None]) -> Trained:
    """The `Dynamics` of one job (K = 1) over all examples, ids = positions.

    One thread, so that no bit depends on the machine's other work. `tick` is called after each
    epoch, also for those found in the store.
    """
    return kept(job, data, store, tick, lambda run: Trained(_follow(job, data, run, tick)))


def kept(
    job: Job,
    data: Data,
    store: Store | None,
    tick: Callable[[], None],
    work: Callable[[Run | None], Trained],
) -> Trained:
    """What `work` gives for the run of a job, or what the store holds; it keeps whole results."""
    if store is None:
        return work(None)
    run = store.run(key_of(job, data))
    found = run.found()
    if found is None:
        with run.locked():
            found = run.found()  # another process may have been faster
            if found is None:
                begin = time.monotonic()
                trained = work(run)
                if trained.dynamics is None or trained.broken:
                    return trained  # and not kept: the next one may have another rate
                run.finish(trained.dynamics, seconds=time.monotonic() - begin)
                del trained  # before it is read again: there would be two
                return Trained(run.load())
    for _ in range(epochs_of(job)):
        tick()
    return Trained(found, found=True)


def _follow(job: Job, data: Data, run: Run | None, tick: Callable[[], None]) -> Dynamics:
    y = data.y
    measured = np.arange(len(y), dtype=np.int64)
    rows, outside = everyone_or_bag(job, job.stream, len(y)), measured[:0]
    if job.folds is not None:
        fold = folds_for(job, job.stream, data)
        rows, outside = np.flatnonzero(fold != job.fold), np.flatnonzero(fold == job.fold)
    recipe = job.recipe
    recorder = Recorder(
        measured,
        labels=y[measured],
        record=job.record,
        # Who may stop early does not know which epochs there will be.
        scored_epoch=recipe.scored if job.patience is None else None,
        gradient_norm=job.gradient_norm,
        rival=job.rival,
    )
    with one_thread(job):
        trainer = _trainer(job, data, rows)
        start = _resumed(trainer, recorder, run)
        for _ in range(start):
            tick()
        for epoch in range(start + 1, recipe.stop + 1):
            if job.patience is not None and _no_better(recorder, outside, job.patience):
                for _ in range(epoch, recipe.stop + 1):  # epochs that never come
                    tick()
                break
            with told_who(job, epoch):
                _one_epoch(job, trainer, recorder, y, measured, epoch)
            held = None if run is None else trainer.state()
            if run is not None and held is not None:
                record, state = _split(recorder)
                run.save_epoch(epoch, record, {**held, **state})
            tick()
        accuracy = None if data.test_y is None else trainer.accuracy(data.test_x, data.test_y)
    made = {"proxies": [made_by(job, job.stream, accuracy)]}
    return replace(recorder.dynamics(), provenance=made)


def _no_better(recorder: Recorder, outside: Positions, patience: int) -> bool:
    """Whether so many epochs have not lowered the loss on the rows that were held out."""
    if recorder.epoch <= patience + 1:
        return False
    losses = recorder.dynamics().loss[0][:, outside].mean(axis=1, dtype=np.float64)
    return bool(len(losses) - (1 + int(losses.argmin())) >= patience)


def _one_epoch(
    job: Job,
    trainer: Trainer,
    recorder: Recorder,
    y: NDArray[np.int64],
    measured: Positions,
    epoch: int,
) -> None:
    # Networks hand over what they see in training; the others are measured after every epoch.
    follows = job.record == "scored" and kind_of(job.model).hands_over
    if follows:
        watched: Any = trainer
        watched.train_epoch(epoch, lambda at, logits: recorder.update(at, logits, y[at]))
    else:
        trainer.train_epoch(epoch)
    scored = job.record == "scored" and epoch == job.recipe.scored
    if scored or not follows:
        wants = job.gradient_norm and (scored or job.record == "all")
        for at in trainer.portions(measured):
            logits, hidden = trainer.measure(at, hidden=wants)
            logits = logits.astype(np.float32, copy=False)
            if not follows:
                recorder.update(at, logits, y[at], hidden if job.record == "all" else None)
            if scored:
                recorder.snapshot(at, logits, y[at], hidden)
    recorder.end_epoch()


def _trainer(job: Job, data: Data, rows: Positions) -> Trainer:
    kind = kind_of(job.model)
    stream = job.stream if job.folds is None else (*job.stream, "fold", job.fold)
    passes = Passes(rows, job.recipe.batch_size, job.seed, stream, equal=kind.equal_batches)
    return kind.build(job, data, passes, stream)


def _resumed(trainer: Trainer, recorder: Recorder, run: Run | None) -> int:
    """The last epoch that need not be trained again, with trainer and recorder put there."""
    checkpoint = run.checkpoint() if run is not None else None
    if checkpoint is None:
        return 0
    state = dict(checkpoint.state)
    plain = from_json(state.pop("recorder").tobytes())
    held: dict[str, Any] = {**plain, "ids": recorder.ids}
    prefix = "recorder."
    for name in [n for n in state if n.startswith(prefix)]:
        held[name.removeprefix(prefix)] = state.pop(name)
    if checkpoint.records and checkpoint.records[0]:
        for name in checkpoint.records[0]:
            held[name] = np.stack([record[name] for record in checkpoint.records])
    recorder.load_state_dict(held)
    trainer.restore(state)
    return checkpoint.epoch


def _split(recorder: Recorder) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The last epoch's columns, and what else the recorder needs to go on."""
    record: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for name, value in recorder.state_dict().items():
        if name == "ids":
            continue
        if name.startswith("closed/"):
            record[name] = value[-1]
        elif isinstance(value, np.ndarray):
            arrays[f"recorder.{name}"] = value
        else:
            plain[name] = value
    arrays["recorder"] = np.frombuffer(json.dumps(plain, sort_keys=True).encode(), dtype=np.uint8)
    return record, arrays
