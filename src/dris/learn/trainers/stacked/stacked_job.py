"""Train all stacked proxies of a job, measured in fold and out of fold after every epoch.

One job is K proxies × F folds, in this process, epoch by epoch together: so they can be stopped
together, and the scored epoch can be picked by what all of them say of examples that they did not
train on. With a store, killed work goes on from the last epoch that was kept.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dris.learn.jobs.job_keys import made_by
from dris.learn.jobs.jobs import (
    Data,
    DivergedError,
    Job,
    Trained,
    copies_of,
    everyone_or_bag,
    folds_for,
)
from dris.learn.jobs.proxy_job import kept
from dris.learn.store.run_store import Store
from dris.learn.store.runs import Run
from dris.learn.trainers.networks.schedules import Passes
from dris.learn.trainers.registry import one_thread
from dris.learn.trainers.stacked.head_models import head_of
from dris.learn.trainers.stacked.numpy_stack import Answers, NumpyStack
from dris.learn.trainers.stacked.stack_record import StackRecord, Wanted
from dris.learn.trainers.stacked.stack_values import Values

SAVE_EVERY = 2.0  # seconds of training that a kill may cost; saving more often costs more


class Stack(Protocol):
    """What the loop over epochs asks of a stack, on whatever device."""

    def __len__(self) -> int:
        """M, the number of models."""

    def train_epoch(self, epoch: int) -> None:
        """One epoch of every model."""

    def broken(self) -> list[int]:
        """Models with a weight that is not finite."""

    def answers(
        self,
        visit: Callable[[Answers], Any] | None = None,
        *,
        x: Any = None,
        together: int = 1,
        lengths: bool = False,
    ) -> list[Any]:
        """What every model says of every example, a piece at a time."""

    def state(self) -> dict[str, NDArray[Any]]:
        """All that a later epoch depends on."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave."""


def train_stacked(
    job: Job, data: Data, store: Store | None, tick: Callable[[], None], *, threads: int = 1
) -> Trained:
    """All proxies of a job; `tick` is called once per model and epoch."""
    return kept(job, data, store, tick, lambda run: _follow(job, data, run, tick, threads))


def streams_of(job: Job) -> list[tuple[str | int, ...]]:
    """The name of each proxy's streams."""
    return [(*job.stream, k) for k in job.members] or [job.stream]


def _follow(
    job: Job, data: Data, run: Run | None, tick: Callable[[], None], threads: int
) -> Trained:
    streams, recipe = streams_of(job), job.recipe
    folds = None
    if job.folds is not None:
        copies = copies_of(data)
        small = np.min_scalar_type(job.folds)
        folds = np.stack([folds_for(job, s, data, copies).astype(small) for s in streams])
        del copies
    names = ["loss", "margin", "correct", "error_norm"]
    names += ["gradient_norm"] * job.gradient_norm + ["rival"] * job.rival
    record = StackRecord(
        Wanted(
            len(streams),
            len(data.y),
            recipe.stop,
            tuple(names),
            folds is not None,
            job.record,
            None if job.pick else recipe.scored,
        )
    )
    with one_thread(job):
        stack = stack_for(job, data, streams, folds, threads)
        values = Values(data.asked, folds, job.folds or 1)
        told = np.flatnonzero(data.asked == data.y)
        losses, start = _resumed(stack, record, run)
        for _ in range(start * len(stack)):
            tick()
        waiting: list[dict[str, NDArray[Any]]] = []
        broken: dict[int, DivergedError] = {}
        alive, saved = list(range(len(streams))), time.monotonic()
        for epoch in range(start + 1, recipe.stop + 1):
            stack.train_epoch(epoch)
            seen, unseen = _measured(stack, values, record, epoch, job)
            _notice(broken, streams, job, stack, seen, epoch)
            alive = [k for k in range(len(streams)) if k not in broken]
            if not alive:
                break
            held_out = None
            if folds is not None and unseen is not None:
                losses.append(_by_fold(unseen["loss"], folds, job.folds or 1))
                loss = unseen["loss"] if len(alive) == len(streams) else unseen["loss"][alive]
                held_out = float(loss[:, told].mean(dtype=np.float64))
            record.close(held_out)
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
        accuracies = _accuracies(stack, data, job.folds or 1)
    made = [
        made_by(job, streams[k], accuracies[k]) | _told_losses(losses, k)
        for k in range(len(streams))
        if k not in broken
    ]
    some = alive if broken else None
    return Trained(record.dynamics(data.asked, {"proxies": made}, some), broken)


def stack_for(
    job: Job,
    data: Data,
    streams: Sequence[tuple[str | int, ...]],
    folds: NDArray[np.integer] | None,
    threads: int,
) -> Stack:
    """The stack of a job, untrained: for each proxy a model, or one for each fold."""
    models: list[tuple[str | int, ...]] = []
    rows: list[NDArray[Any]] = []
    kind = np.int32 if len(data.y) < 1 << 31 else np.int64  # half the room, the same order
    for k, stream in enumerate(streams):
        if folds is None:
            models.append(stream)
            rows.append(everyone_or_bag(job, stream, len(data.y)))
            continue
        for f in range(job.folds or 1):
            models.append((*stream, "fold", f))
            rows.append(np.flatnonzero(folds[k] != f).astype(kind))
    steps = -(-max(len(r) for r in rows) // job.recipe.batch_size)
    passes = [
        Passes(r, job.recipe.batch_size, job.seed, stream, batch_count=steps)
        for r, stream in zip(rows, models, strict=True)
    ]
    given = (data.x, data.y, job.classes, job.recipe)
    how: dict[str, Any] = {
        "hidden": head_of(job.model).hidden,
        "seed": job.seed,
        "streams": models,
        "schedules": passes,
    }
    if job.device == "cpu":
        return NumpyStack(*given, **how, threads=threads)
    from dris.learn.trainers.stacked.torch_stack import TorchStack

    return TorchStack(*given, **how, device=job.device)


def _measured(
    stack: Stack, values: Values, record: StackRecord, epoch: int, job: Job
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]] | None]:
    seen, unseen = record.place(epoch)
    wanted = {name: seen[name] for name in record.names(epoch)}

    def write(said: Answers) -> None:
        values.write(said, wanted, unseen)

    stack.answers(write, together=job.folds or 1, lengths="gradient_norm" in wanted)
    return wanted, unseen


def _notice(
    broken: dict[int, DivergedError],
    streams: Sequence[tuple[str | int, ...]],
    job: Job,
    stack: Stack,
    seen: dict[str, NDArray[Any]],
    epoch: int,
) -> None:
    """Note the proxies whose weights or answers are no longer finite."""
    names = [name for name in ("loss", "margin") if name in seen]
    wild = {model // (job.folds or 1) for model in stack.broken()}
    with np.errstate(invalid="ignore", over="ignore"):
        sums = sum(seen[name].sum(axis=1, dtype=np.float64) for name in names)
    wild |= set(np.flatnonzero(~np.isfinite(sums)).tolist())
    for k in sorted(wild - set(broken)):
        who = " ".join(str(part) for part in streams[k])
        error = DivergedError(
            f"{who} diverged at epoch {epoch}: its weights or losses are no longer finite; "
            "lower its learning rate or standardize"
        )
        error.epoch = epoch
        broken[k] = error


def _by_fold(
    loss: NDArray[np.float32], folds: NDArray[np.integer], count: int
) -> NDArray[np.float64]:
    """The mean held-out loss of each model, (proxy, fold)."""
    sums = [
        np.bincount(f, weights=row, minlength=count) for f, row in zip(folds, loss, strict=True)
    ]
    sizes = [np.bincount(f, minlength=count) for f in folds]
    return np.array(sums) / np.maximum(np.array(sizes), 1)


def _told_losses(losses: Sequence[NDArray[np.float64]], k: int) -> dict[str, Any]:
    if not losses:
        return {}
    return {"held_out_loss": np.array(losses)[:, k].T.tolist()}


def _accuracies(stack: Stack, data: Data, folds: int) -> list[float | None]:
    """Each proxy's accuracy on the held-out examples: the mean over its folds' models."""
    if data.test_y is None:
        return [None] * (len(stack) // folds)
    right = np.zeros(len(stack))
    answers = data.test_y

    def count(said: Answers) -> tuple[slice, NDArray[np.intp]]:
        hits = said.logits.argmax(axis=1) == answers[said.examples]
        return said.models, hits.sum(axis=1)

    for models, hits in stack.answers(count, x=data.test_x):
        right[models] += hits
    return (right / len(answers)).reshape(-1, folds).mean(axis=1).tolist()  # type: ignore[no-any-return]


def _resumed(
    stack: Stack, record: StackRecord, run: Run | None
) -> tuple[list[NDArray[np.float64]], int]:
    """The held-out losses so far, and the last epoch that need not be trained again."""
    checkpoint = run.checkpoint() if run is not None else None
    if checkpoint is None:
        return [], 0
    record.restore(checkpoint.epoch, checkpoint.state, checkpoint.records)
    stack.restore(checkpoint.state)
    return list(checkpoint.state["losses"]), checkpoint.epoch
