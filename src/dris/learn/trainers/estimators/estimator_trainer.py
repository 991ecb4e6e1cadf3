"""scikit-learn's classifiers as a kind of trainer."""

from typing import Any

from dris.core.errors import InputError
from dris.learn.jobs.jobs import Data, Job
from dris.learn.jobs.standardized import as_table
from dris.learn.trainers.estimators.staged import ESTIMATORS, Estimator, is_estimator, resolve
from dris.learn.trainers.networks.schedules import Schedule
from dris.learn.trainers.trainer import Stream, Trainer, TrainerKind


def _build(job: Job, data: Data, schedule: Schedule, stream: Stream) -> Trainer:
    return Estimator(
        resolve(job.model),
        data.x,
        data.y,
        job.classes,
        epochs=job.recipe.epochs,
        seed=job.seed,
        stream=stream,
        schedule=schedule,
    )


def _named(model: Any) -> str:
    return " ".join(repr(model).split())


def _parameters(model: Any) -> dict[str, str]:
    """An estimator's parameters in full: its own words leave out the middle of long ones."""
    return {n: repr(v) for n, v in model.get_params().items() if n != "random_state"}


def _refuse_steps(model: Any) -> None:
    if not hasattr(model, "partial_fit"):
        raise InputError(f"{type(model).__name__} has no partial_fit, so it takes no steps")


def _diverged(error: ValueError) -> bool:
    """scikit-learn's own errors are plain ones."""
    return any(sign in str(error) for sign in ("finite", "overflow"))


ESTIMATOR = TrainerKind(
    name="scikit-learn classifier",
    names=lambda: tuple(ESTIMATORS),
    takes=is_estimator,
    checked=resolve,
    prepare=as_table,
    build=_build,
    batch_size=64,
    named=_named,
    parameters=_parameters,
    refuse_steps=_refuse_steps,
    equal_batches=False,
    weighted=False,
    keeps_epochs=False,
    diverged=_diverged,
)
