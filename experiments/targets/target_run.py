"""Follow a target through its training: a line of its log per epoch, kept in the store.

A `Feed` says what each epoch trains on: a subset, or draws that may change as the target learns.
"""

import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris import InputError
from experiments.dris_internals import (
    Data,
    DivergedError,
    Job,
    Outcome,
    Run,
    Schedule,
    State,
    Store,
    Training,
    describe_model,
    from_json,
    key_of,
    make_folder,
    naming_divergence,
    one_thread,
    trainer_of,
)

_log = logging.getLogger("dris.store")
Status = Literal["finished", "diverged", "collapsed"]


class BrokenWeightsError(InputError):
    """A weight that is not finite; `step` counts from 1 in its epoch."""

    step: int = 0


class CollapsedError(InputError):
    """A sampling plan that cannot be built, in a run that is not to be rescued."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """What an epoch drew from; the sizes are those of docs/decisions/12-sampling-and-sizes.md."""

    # uniform draws that the weighted ones are worth; 0 when some example can never be drawn, None
    # where draws have no weights
    effective_size: float | None
    concentration_size: float  # how many examples carry the draws
    largest_weight: float  # of a draw
    support: int  # how many examples can be drawn at all
    # share of the draws that fall on flagged examples; None without flags
    flagged_mass: float | None
    # true if the gradient estimates that of the mean loss over all N examples
    unbiased: bool = False
    clipped: float = 0.0  # share of the draws whose weight was cut off
    alarm: bool = False  # true if the concentration size is below the alarm's threshold
    # why the plan could not be built and the draws are uniform instead, or None
    collapsed: str | None = None


@dataclass(frozen=True, slots=True)
class Epoch:
    """One line of a target's log.

    `train_loss` is the mean over the steps, None for scikit-learn; `test_accuracy` is None without
    test data, and before the last epoch of a run whose course was not asked for; `distinct` counts
    the different examples seen.
    """

    epoch: int
    train_loss: float | None
    test_accuracy: float | None
    distinct: int
    sampled: Sampled


@dataclass(frozen=True, slots=True, eq=False)
class TargetRun:
    """A trained target."""

    # "finished", "diverged" when its numbers ceased to be finite, or "collapsed" when its plan
    # could not be built and it was not to be rescued
    status: Status
    # on the test data after the last step, never the best epoch's; of a target that broke, after
    # its last whole epoch, where its weights were finite; chance, 1/C, where there is none
    # (`imputed`); None without test data
    accuracy: float | None
    log: tuple[Epoch, ...]  # one line per full epoch
    how: Mapping[str, Any]  # everything that was asked for, as plain values
    weights: Mapping[str, NDArray[Any]]  # of a network, by their names; empty for scikit-learn
    model: Any  # the trained nn.Module or the fitted estimator
    # (epoch, step) of a target that broke; neither an estimator nor a plan has a step
    broke: tuple[int, int | None] | None = None
    resumed: int = 0  # epochs that an earlier run had trained already and that were not done again

    @property
    def imputed(self) -> bool:
        """True if the accuracy is chance, because the target broke in its first epoch."""
        return self.broke is not None and not self.log and self.accuracy is not None

    def __repr__(self) -> str:
        reached = "" if self.accuracy is None else f", accuracy {100 * self.accuracy:.1f} %"
        return f"TargetRun({self.status} after {len(self.log)} epochs{reached})"

    def record(self) -> dict[str, Any]:
        """The run without its arrays, as values that JSON can hold."""
        return {
            "status": self.status,
            "accuracy": self.accuracy,
            "broke": None if self.broke is None else list(self.broke),
            "how": dict(self.how),
            "log": [asdict(line) for line in self.log],
        }


class Feed(ABC):
    """What each epoch of a target trains on; `how` is what determines it, as plain values."""

    how: Mapping[str, Any]

    @abstractmethod
    def first(self) -> Schedule:
        """A schedule to build the network with."""

    @abstractmethod
    def at(self, epoch: int, training: Training) -> tuple[Schedule, Sampled]:
        """The schedule of an epoch; may look at the network before it."""

    def state(self) -> State:
        """What a resumed run needs beside the network's state."""
        return {}

    def restore(self, state: State) -> None:  # noqa: B027
        """Go on from what `state` returned."""


def follow(
    job: Job,
    data: Data,
    feed: Feed,
    store: Store | str | Path | None,
    tick: Callable[[], None],
    *,
    course: bool = True,
) -> TargetRun:
    """Train a target as its feed says; with a store, what is there already is not done again.

    With `course` its accuracy is measured after every epoch, else only at its end.
    """
    trainer = trainer_of(job.model)
    data = trainer.prepare(data, trainer.scaling(job, data), None)
    course = course or not trainer.keeps_epochs  # what cannot go back is measured before it breaks
    if store is None:
        return _train(job, data, feed, None, tick, course)
    if not trainer.keeps_epochs:
        raise InputError(
            f"a store keeps networks, and a {trainer.title} has no plain form; leave store out"
        )
    job = replace(job, code=trainer.hash_source(job.model))
    kept = store if isinstance(store, Store) else Store(store)
    make_folder(kept.root)
    asked = {} if course else {"course": False}
    run = kept.run({**key_of(job, data), "target": dict(feed.how), **asked})
    with run.locked():
        if not run.done:
            begin = time.monotonic()
            trained = _train(job, data, feed, run, tick, course)
            outcome = Outcome(len(trained.log), trained.weights, trained.record())
            run.finish(outcome, seconds=time.monotonic() - begin)
            return trained
        for _ in range(job.recipe.stop):
            tick()
        return _loaded(job, data, feed, run.outcome())


def _train(
    job: Job, data: Data, feed: Feed, run: Run | None, tick: Callable[[], None], course: bool
) -> TargetRun:
    log: list[Epoch] = []
    state: State = {}  # after the last whole epoch
    broke: tuple[int, int | None] | None = None
    status: Status = "finished"
    with one_thread(job):
        training = trainer_of(job.model).build(job, data, feed.first(), job.stream)
        checkpoint = run.checkpoint() if run is not None else None
        if checkpoint is not None:
            log = [_line(from_json(r["log"].tobytes())) for r in checkpoint.records]
            state = checkpoint.state
            training.restore(state)
            feed.restore(state)
        resumed = len(log)
        for _ in log:
            tick()
        for epoch in range(len(log) + 1, job.recipe.stop + 1):
            try:
                training.schedule, sampled = feed.at(epoch, training)
                with naming_divergence(job, epoch):
                    log.append(_one_epoch(training, data, sampled, epoch, measured=course))
            except DivergedError as error:
                _log.warning("%s", error)
                status, broke = "diverged", (epoch, error.step)
                break
            except CollapsedError as error:
                _log.warning("%s collapsed at epoch %d: %s", job.who, epoch, error)
                status, broke = "collapsed", (epoch, None)
                break
            if run is not None or not course:
                state = {**(training.state() or {}), **feed.state()}
            if run is not None:
                line = np.frombuffer(json.dumps(asdict(log[-1])).encode(), dtype=np.uint8)
                run.save_epochs([{"log": line}], state)
            tick()
        if log and not course and data.test_y is not None:
            training.restore(state)  # as it was before it broke
            reached = training.accuracy(data.test_x, data.test_y)
            log[-1] = replace(log[-1], test_accuracy=reached)
        for _ in range(job.recipe.stop - len(log)):  # epochs that will never come
            tick()
    weights = {
        name.removeprefix("model."): a
        for name, a in (training.state() or {}).items()
        if name.startswith("model.")
    }
    accuracy = log[-1].test_accuracy if log else None
    if broke is not None and not log and data.test_y is not None:
        accuracy = 1 / job.classes
    how = {
        **feed.how,
        "model": describe_model(job.model),
        "seed": job.seed,
        "recipe": asdict(job.recipe),
    }
    return TargetRun(status, accuracy, tuple(log), how, weights, training.model, broke, resumed)


def _one_epoch(
    training: Training, data: Data, sampled: Sampled, epoch: int, *, measured: bool
) -> Epoch:
    loss = training.train_epoch(epoch)
    _refuse_broken_weights(training)
    seen = np.zeros(len(data.y), dtype=bool)
    for batch in training.schedule.batches(epoch):
        seen[batch] = True
    accuracy = None
    if measured and data.test_y is not None:
        accuracy = training.accuracy(data.test_x, data.test_y)
    return Epoch(epoch, loss, accuracy, int(seen.sum()), sampled)


def _refuse_broken_weights(training: Training) -> None:
    """Raise if the last step left a weight that is not finite; `step` then is that one."""
    for name, weights in (training.state() or {}).items():
        if name.startswith("model.") and not np.isfinite(weights).all():
            error = BrokenWeightsError(
                f"the weights must be finite, {name.removeprefix('model.')} is not after the "
                "epoch's last step; lower its learning rate"
            )
            error.step = training.schedule.steps
            raise error


def _loaded(job: Job, data: Data, feed: Feed, outcome: Outcome) -> TargetRun:
    """A finished run from the store, its network built anew around the weights."""
    note = outcome.note
    training = trainer_of(job.model).build(job, data, feed.first(), job.stream)
    weights = {name: np.array(a) for name, a in outcome.arrays.items()}
    training.restore({f"model.{name}": a for name, a in weights.items()})
    log = tuple(_line(line) for line in note["log"])
    broke = None if note["broke"] is None else tuple(note["broke"])
    reached, how = note["accuracy"], note["how"]
    return TargetRun(note["status"], reached, log, how, weights, training.model, broke, len(log))


def _line(plain: Mapping[str, Any]) -> Epoch:
    return Epoch(**{**plain, "sampled": Sampled(**plain["sampled"])})
