"""The kinds of models that can be trained, in the order in which they are asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dris.core.errors import InputError, suggest_name
from dris.learn.trainers.estimator import EstimatorTrainer
from dris.learn.trainers.job import DivergedError, Job
from dris.learn.trainers.networks.network_trainer import NetworkTrainer
from dris.learn.trainers.stacked.head import HeadTrainer
from dris.learn.trainers.trainer import Trainer

# The last takes all the rest.
TRAINERS: tuple[Trainer, ...] = (HeadTrainer(), EstimatorTrainer(), NetworkTrainer())


def trainer_of(model: Any) -> Trainer:
    """The trainer of a model, by its name or by what it is."""
    return next(trainer for trainer in TRAINERS if trainer.takes(model))


def check_model(model: Any) -> Any:
    """A model as jobs hold it; raises if it cannot be a proxy."""
    if isinstance(model, str):
        check_name(model)
    return trainer_of(model).check(model)


def check_name(model: str) -> None:
    """Raise for a name that no kind of model has; builds nothing."""
    if ":" in model or model in trainer_of(model).names:
        return
    names = [name for trainer in TRAINERS for name in trainer.names]
    raise InputError(
        f"unknown model {model!r}{suggest_name(model, names)}; choose from {', '.join(names)}, "
        "or package.module:function"
    )


def describe_model(model: Any) -> str:
    """A model in words that determine it: a name, an estimator's parameters, an import path."""
    return model if isinstance(model, str) else trainer_of(model).describe(model)


@contextmanager
def one_thread(job: Job) -> Iterator[None]:
    """Compute in one thread on the CPU, so that no bit depends on the machine's other work."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1), trainer_of(job.model).limit_threads(job):
        yield


@contextmanager
def naming_divergence(job: Job, epoch: int) -> Iterator[None]:
    """Name the training and the epoch when its numbers are no longer finite."""
    try:
        yield
    except ValueError as error:
        if not trainer_of(job.model).is_divergence(error):
            raise
        text = str(error)
        remedy = "" if "lower" in text else "; lower its learning rate or standardize"
        diverged = DivergedError(f"{job.who} diverged at epoch {epoch}: {text}{remedy}")
        diverged.step = getattr(error, "step", None)
        raise diverged from None
