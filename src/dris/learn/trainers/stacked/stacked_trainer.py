"""Stacked heads as a kind of trainer: all proxies of a job in the same products."""

from typing import Any

from dris.learn.jobs.jobs import Data, Job, Normalize, Trained, Untangled
from dris.learn.jobs.standardized import can_be_untangled
from dris.learn.store.run_store import Store
from dris.learn.trainers.networks.schedules import Schedule
from dris.learn.trainers.stacked.feature_table import as_features
from dris.learn.trainers.stacked.head_models import HEADS, head_of, is_head
from dris.learn.trainers.trainer import Stream, Tick, Trainer, TrainerKind


def _checked(model: Any) -> Any:
    return model


def _scaling(job: Job, data: Data) -> Normalize:
    wanted = head_of(job.model).untangled and job.normalize and can_be_untangled(data.x)
    return Untangled(job.normalize) if wanted else job.normalize


def _build(job: Job, data: Data, schedule: Schedule, stream: Stream) -> Trainer:
    from dris.learn.trainers.stacked.one_head import OneHead

    head = head_of(job.model)
    how: dict[str, Any] = {"seed": job.seed, "stream": stream, "schedule": schedule}
    return OneHead(head, data.x, data.y, job.classes, job.recipe, **how)


def _train(job: Job, data: Data, store: Store | None, tick: Tick, threads: int) -> Trained:
    from dris.learn.trainers.stacked.stacked_job import train_stacked

    return train_stacked(job, data, store, tick, threads=threads)


STACKED = TrainerKind(
    name="stacked head",
    names=lambda: tuple(HEADS),
    takes=is_head,
    checked=_checked,
    prepare=as_features,
    build=_build,
    batch_size=64,
    train=_train,
    scaling=_scaling,
)
