"""The kinds of models that can be trained, in the order in which they are asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dris.core.errors import InputError, suggest_name
from dris.learn.jobs.jobs import CollapsedError, DivergedError, Job
from dris.learn.trainers.estimators.estimator_trainer import ESTIMATOR
from dris.learn.trainers.networks.network_trainer import NETWORK
from dris.learn.trainers.stacked.stacked_trainer import STACKED
from dris.learn.trainers.trainer import TrainerKind

TRAINERS: tuple[TrainerKind, ...] = (STACKED, ESTIMATOR, NETWORK)  # the last takes all the rest


def kind_of(model: Any) -> TrainerKind:
    """The kind of a model, by its name or by what it is.

    >>> kind_of("mlp").name, kind_of("sgd_log").name, kind_of("resnet20").name
    ('stacked head', 'scikit-learn classifier', 'network')
    """
    return next(kind for kind in TRAINERS if kind.takes(model))


def checked_model(model: Any) -> Any:
    """A model as jobs hold it, once it is known that it can be a proxy.

    >>> checked_model("sgd_log").loss
    'log_loss'
    """
    if isinstance(model, str):
        check_name(model)
    return kind_of(model).checked(model)


def check_name(model: str) -> None:
    """Refuse a name that no kind of model has; nothing is built for it.

    >>> check_name("sgd_log")
    """
    if ":" in model or model in kind_of(model).names():
        return
    names = [name for each in TRAINERS for name in each.names()]
    raise InputError(
        f"unknown model {model!r}{suggest_name(model, names)}; choose from {', '.join(names)}, "
        "or package.module:function"
    )


@contextmanager
def one_thread(job: Job) -> Iterator[None]:
    """One thread for whatever computes on the CPU, and the number there was afterwards."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1), kind_of(job.model).one_thread(job):
        yield


@contextmanager
def told_who(job: Job, epoch: int) -> Iterator[None]:
    """Name the training and the epoch when its numbers are no longer finite."""
    try:
        yield
    except CollapsedError:
        raise
    except ValueError as error:
        if not kind_of(job.model).diverged(error):
            raise
        text = str(error)
        remedy = "" if "lower" in text else "; lower its learning rate or standardize"
        diverged = DivergedError(f"{job.who} diverged at epoch {epoch}: {text}{remedy}")
        diverged.epoch, diverged.step = epoch, getattr(error, "step", None)
        raise diverged from None
