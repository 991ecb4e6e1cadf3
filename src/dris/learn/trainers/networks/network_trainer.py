"""Networks as a kind of trainer: by name, by the user's own function, or by import path.

Nothing here imports torch before a network is asked for.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dris.core.errors import InputError
from dris.learn.jobs.jobs import Data, Job, Normalize
from dris.learn.store.run_store import fingerprint
from dris.learn.trainers.networks.schedules import Schedule
from dris.learn.trainers.trainer import Stream, Trainer, TrainerKind

# The names in `MODELS`, to be told from slips of the finger where there is no torch.
NAMES = (
    *("fc", "linear", "mobilenet_v2_x0_5", "resnet18", "resnet20", "shufflenet_v2_x0_5"),
    *("small_cnn", "vgg19_bn"),
)


def _names() -> tuple[str, ...]:
    return NAMES


def _checked(model: Any) -> Any:
    from dris.learn.trainers.networks.models.registry import checked_spec

    return checked_spec(model)


def _prepare(data: Data, normalize: Normalize, folder: Path | None = None) -> Data:
    if hasattr(data.x, "indptr"):
        raise InputError(
            "networks need an array, got a sparse matrix; use a stacked model or x.toarray()"
        )
    return data


def _build(job: Job, data: Data, schedule: Schedule, stream: Stream) -> Trainer:
    import torch

    from dris.learn.trainers.networks.loop import Network
    from dris.learn.trainers.networks.sources import DatasetSource, TensorSource

    device = torch.device(job.device)
    source = (
        TensorSource(data.x, device, normalize=bool(job.normalize))
        if isinstance(data.x, np.ndarray)
        else DatasetSource(data.x, device)
    )
    return Network(
        job.model,
        source,
        data.y,
        job.classes,
        job.recipe,
        seed=job.seed,
        stream=stream,
        schedule=schedule,
        device=device,
    )


def named(model: Any) -> str:
    """A function, a class or a partial in words that lead to it.

    >>> named(partial(named, model=3))
    'dris.learn.trainers.networks.network_trainer:named(model=3)'
    """
    if isinstance(model, str):
        return model
    if isinstance(model, partial):
        given = [repr(a) for a in model.args]
        given += [f"{name}={value!r}" for name, value in sorted(model.keywords.items())]
        return f"{named(model.func)}({', '.join(given)})"
    called = model if hasattr(model, "__qualname__") else type(model)
    return f"{called.__module__}:{called.__qualname__}"


def _refuse_unnamed(model: Any) -> None:
    """Stop at a model that a run could not be found again by: two of them may share a name."""
    function = model
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, str):
        return
    unnamed = "<" in named(function) or not hasattr(function, "__qualname__")
    if unnamed or " at 0x" in named(model):
        raise InputError(
            f"a store finds runs by the model's name, and {named(model)} may mean several "
            "models; name the function: write it with def at the top of a module, and give "
            "numbers to it with functools.partial"
        )


def _code(model: Any) -> str | None:
    """A hash of the source of a user's own function or class: edited, it is another model.

    None for models of dris and where there is no source. What the function calls is not seen.
    """
    if isinstance(model, str) and ":" not in model:
        return None
    from dris.learn.trainers.networks.models.registry import builder_of

    function = builder_of(model)[0]
    while isinstance(function, partial):
        function = function.func
    try:
        return fingerprint(inspect.getsource(function))
    except (OSError, TypeError):
        return None


@contextmanager
def _one_thread(job: Job) -> Iterator[None]:
    if job.device != "cpu":
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


NETWORK = TrainerKind(
    name="network",
    names=_names,
    takes=lambda model: True,
    checked=_checked,
    prepare=_prepare,
    build=_build,
    batch_size=128,
    named=named,
    code=_code,
    refuse_unnamed=_refuse_unnamed,
    hands_over=True,
    one_thread=_one_thread,
)
