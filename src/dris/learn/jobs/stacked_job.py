"""Train all stacked proxies of a job, measured in fold and out of fold after every epoch.

One job is K proxies × F folds, epoch by epoch together: so they can be stopped together, and the
scored epoch can be picked by the out-of-fold loss of all.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.columns import (
    KEPT_CLASSES,
    MAX_DENSE_CLASSES,
    ClassProbabilities,
    likeliest_classes,
)
from dris.core.large.mapped import allocate
from dris.learn.jobs.kept_jobs import keep, provenance_of
from dris.learn.store.run_store import Store
from dris.learn.store.runs import Run
from dris.learn.trainers.folds import in_and_out, rows_together
from dris.learn.trainers.job import Data, DivergedError, Job, Trained, folds_for
from dris.learn.trainers.registry import one_thread
from dris.learn.trainers.stacked.head import head_of
from dris.learn.trainers.stacked.stack import Answers, Stack, class_probabilities
from dris.learn.trainers.stacked.stack_record import Columns, StackRecord, columns_of
from dris.learn.trainers.trainer import Passes, Stream

SAVE_EVERY = 2.0  # seconds of training that a kill may cost; saving more often costs more
Folds = NDArray[np.integer]  # of each example for each proxy, (proxy, example)


def train_stacked(
    job: Job, data: Data, store: Store | None, tick: Callable[[], None], *, threads: int = 1
) -> Trained:
    """All proxies of a job; `tick` is called once per model and epoch."""
    return keep(job, data, store, tick, lambda run: _follow(job, data, run, tick, threads))


def _follow(
    job: Job, data: Data, run: Run | None, tick: Callable[[], None], threads: int
) -> Trained:
    streams: list[Stream] = [(*job.stream, k) for k in job.members] or [job.stream]
    recipe, count = job.recipe, job.folds or 1
    folds = None
    if job.folds is not None:
        together, small = rows_together(data.x, data.groups, len(data.y)), np.min_scalar_type(count)
        folds = np.stack([folds_for(job, s, data, together).astype(small) for s in streams])
    record = StackRecord(job, len(streams), len(data.y))
    with one_thread(job):
        stack = stack_for(job, data, streams, folds, threads)
        unchanged = np.flatnonzero(data.asked == data.y)
        losses, start = _resume(stack, record, run)
        for _ in range(start * len(stack)):
            tick()
        waiting: list[Columns] = []
        broken: dict[int, DivergedError] = {}
        alive, saved = list(range(len(streams))), time.monotonic()
        for epoch in range(start + 1, recipe.stop + 1):
            stack.train_epoch(epoch)
            inside, outside = record.place(epoch)
            if job.record == "snapshot":
                inside = outside = _held_out(stack, folds, data)
            else:
                inside = _measure(stack, data, folds, record, count)
            broken = _diverged(job, streams, stack, inside, epoch) | broken
            alive = [k for k in range(len(streams)) if k not in broken]
            if not alive:
                break
            held_out = None
            if folds is not None and outside:
                losses.append(_loss_by_fold(outside["loss"], folds, count))
                loss = outside["loss"] if len(alive) == len(streams) else outside["loss"][alive]
                held_out = float(loss[:, unchanged].mean(dtype=np.float64))
            record.close(held_out)
            if (folds is not None or job.record == "snapshot") and epoch == record.scored:
                stack.mark()
            for _ in range(len(stack)):
                tick()
            if job.patience is not None and epoch - record.best >= job.patience:
                break
            if run is not None and not broken:
                waiting.append(record.last())
                if time.monotonic() - saved > SAVE_EVERY:
                    each = {"losses": np.array(losses, dtype=np.float64)}
                    run.save_epochs(waiting, {**stack.state(), **record.state(), **each})
                    record.rest()
                    waiting, saved = [], time.monotonic()
        for _ in range((recipe.stop - record.epoch) * len(stack)):  # epochs that never come
            tick()
        if not alive:
            return Trained(None, broken)
        accuracies = _accuracies(stack, data, count)
        stack.return_to_mark()
        if job.record == "snapshot":
            _measure(stack, data, folds, record, count)
        spoken = None if folds is None else _out_of_fold(stack, folds, data, job)
    made = [provenance_of(job, streams[k], accuracies[k]) for k in alive]
    for k, one in zip(alive, made if losses else (), strict=False):
        one["held_out_loss"] = np.array(losses)[:, k].T.tolist()
    dynamics = record.dynamics(data.asked, {"proxies": made}, alive if broken else None)
    if spoken is not None:
        dynamics = replace(dynamics, probabilities=spoken.pick(alive) if broken else spoken)
    return Trained(dynamics, broken)


def _out_of_fold(stack: Stack, folds: Folds, data: Data, job: Job) -> ClassProbabilities:
    """What each proxy's models think of the rows that they did not train on."""
    count, many = job.folds or 1, job.classes > MAX_DENSE_CLASSES
    shape = (*folds.shape, KEPT_CLASSES if many else job.classes)
    values = allocate(shape, np.float32)
    kept = allocate(shape, np.int32) if many else None

    def write(answers: Answers) -> None:
        k, at = answers.models.start // count, answers.examples
        p = class_probabilities(answers.logits[0])
        if kept is None:
            values[k, at] = p
        else:
            top = likeliest_classes(p.copy(), [data.y[at], data.asked[at]])
            kept[k, at], values[k, at] = top, np.take_along_axis(p, top.astype(np.intp), axis=1)

    stack.answer_each(_left_out(folds, count), write)
    return ClassProbabilities(values, folds, job.classes, kept)


def stack_for(
    job: Job, data: Data, streams: Sequence[Stream], folds: Folds | None, threads: int
) -> Stack:
    """The stack of a job, untrained: for each proxy a model, or one for each fold."""
    models, count = list(streams), job.folds or 1
    rows: list[NDArray[Any]] = [np.arange(len(data.y), dtype=np.int64)] * len(streams)
    if folds is not None:
        dtype = np.int32 if len(data.y) < 1 << 31 else np.int64  # half the room, the same order
        models = [(*stream, "fold", f) for stream in streams for f in range(count)]
        rows = [np.flatnonzero(fold != f).astype(dtype) for fold in folds for f in range(count)]
    recipe, seed, pairs = job.recipe, job.seed, zip(rows, models, strict=True)
    steps = -(-max(len(r) for r in rows) // recipe.batch_size)
    passes = [Passes(r, recipe.batch_size, seed, own, batch_count=steps) for r, own in pairs]
    how: dict[str, Any] = {"hidden": head_of(job.model).hidden, "seed": seed, "streams": models}
    return Stack(data.x, data.y, job.classes, recipe, schedules=passes, threads=threads, **how)


def _held_out(stack: Stack, folds: Folds | None, data: Data) -> Columns:
    """The out-of-fold loss (proxy, example), and nothing else; empty without folds."""
    if folds is None:
        return {}
    loss = np.empty(folds.shape, dtype=np.float32)
    count = len(stack) // len(folds)

    def write(answers: Answers) -> None:
        at = answers.examples
        made = columns_of(answers.logits, data.asked[at], ["loss"])
        loss[answers.models.start // count, at] = made["loss"][0]

    stack.answer_each(_left_out(folds, count), write)
    return {"loss": loss}


def _left_out(folds: Folds, count: int) -> list[NDArray[np.int64]]:
    return [np.flatnonzero(fold == f) for fold in folds for f in range(count)]


def _measure(
    stack: Stack, data: Data, folds: Folds | None, record: StackRecord, count: int
) -> Columns:
    """Write the columns of the record's epoch, and return those in fold."""
    inside, outside = record.place(record.epoch)
    wanted = {name: inside[name] for name in record.names(record.epoch)}

    def write(answers: Answers) -> None:
        models, at = answers.models, answers.examples
        made = columns_of(answers.logits, data.asked[at], tuple(wanted), answers.lengths)
        if folds is None:
            for name, column in wanted.items():
                column[models, at] = made[name]
            return
        for k in range(models.start // count, models.stop // count):
            first = k * count - models.start
            own = {name: made[name][first : first + count] for name in wanted}
            each = in_and_out(own, folds[k, at].astype(np.int64))
            for columns, values in zip((wanted, outside or {}), each, strict=True):
                for name, column in columns.items():
                    column[k, at] = values[name]

    stack.answers(write, together=count, lengths="gradient_norm" in wanted)
    return wanted


def _diverged(
    job: Job, streams: Sequence[Stream], stack: Stack, inside: Columns, epoch: int
) -> dict[int, DivergedError]:
    wild = {model // (job.folds or 1) for model in stack.broken()}
    with np.errstate(invalid="ignore", over="ignore"):
        for name in {"loss", "margin"} & set(inside):
            sums = inside[name].sum(axis=1, dtype=np.float64)
            wild |= set(np.flatnonzero(~np.isfinite(sums)).tolist())
    return {
        k: DivergedError(
            f"{' '.join(map(str, streams[k]))} diverged at epoch {epoch}: its weights or losses "
            "are no longer finite; lower its learning rate or standardize"
        )
        for k in sorted(wild)
    }


def _loss_by_fold(loss: NDArray[np.float32], folds: Folds, count: int) -> NDArray[np.float64]:
    """The mean held-out loss of each model, (proxy, fold)."""
    pairs = zip(folds, loss, strict=True)
    sums = np.array([np.bincount(f, weights=row, minlength=count) for f, row in pairs])
    sizes = np.array([np.bincount(f, minlength=count) for f in folds])
    return np.asarray(sums / np.maximum(sizes, 1))


def _accuracies(stack: Stack, data: Data, folds: int) -> list[float | None]:
    """Each proxy's accuracy on the test examples: the mean over its folds' models."""
    if data.test_y is None:
        return [None] * (len(stack) // folds)
    right, labels = np.zeros(len(stack)), data.test_y

    def count(answers: Answers) -> tuple[slice, NDArray[np.intp]]:
        hits = answers.logits.argmax(axis=1) == labels[answers.examples]
        return answers.models, hits.sum(axis=1)

    for models, hits in stack.answers(count, x=data.test_x):
        right[models] += hits
    return (right / len(labels)).reshape(-1, folds).mean(axis=1).tolist()  # type: ignore[no-any-return]


def _resume(
    stack: Stack, record: StackRecord, run: Run | None
) -> tuple[list[NDArray[np.float64]], int]:
    """The held-out losses so far, and the last epoch that need not be trained again."""
    checkpoint = run.checkpoint() if run is not None else None
    if checkpoint is None:
        return [], 0
    record.restore(checkpoint.epoch, checkpoint.state, checkpoint.records)
    stack.restore(checkpoint.state)
    return list(checkpoint.state["losses"]), checkpoint.epoch
