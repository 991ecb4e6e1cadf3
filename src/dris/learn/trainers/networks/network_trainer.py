"""Networks as a kind of trainer: by name, by the user's own function, or by import path.

Nothing here imports torch before a network is asked for.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from dris.core.errors import InputError
from dris.learn.store.run_store import fingerprint
from dris.learn.trainers.job import Data, Job
from dris.learn.trainers.trainer import Schedule, Stream, Trainer, Training


class NetworkTrainer(Trainer):
    """torch networks."""

    title = "network"
    names = ("fc", "linear", "resnet20", "small_cnn")
    batch_size = 128
    records_batches = True

    def takes(self, model: Any) -> bool:
        return True

    def check(self, model: Any) -> Any:
        from dris.learn.trainers.networks.models import builder_of

        builder_of(model)
        return model

    def build(self, job: Job, data: Data, schedule: Schedule, stream: Stream) -> Training:
        import torch

        from dris.learn.trainers.networks.loop import Network
        from dris.learn.trainers.networks.sources import DatasetSource, TensorSource

        device = torch.device(job.device)
        source = (
            TensorSource(data.x, device, normalize=bool(job.normalize))
            if isinstance(data.x, np.ndarray)
            else DatasetSource(data.x, device)
        )
        how: dict[str, Any] = {"seed": job.seed, "stream": stream, "device": device}
        return Network(job.model, source, data.y, job.classes, job.recipe, schedule=schedule, **how)

    def describe(self, model: Any) -> str:
        """A function, a class or a partial in words that lead to it."""
        if isinstance(model, str):
            return model
        if isinstance(model, partial):
            given = [repr(a) for a in model.args]
            given += [f"{name}={value!r}" for name, value in sorted(model.keywords.items())]
            return f"{self.describe(model.func)}({', '.join(given)})"
        named = model if hasattr(model, "__qualname__") else type(model)
        return f"{named.__module__}:{named.__qualname__}"

    def hash_source(self, model: Any) -> str | None:
        function = _innermost(model)
        if isinstance(function, str):
            if ":" not in function:
                return None
            from dris.learn.trainers.networks.models import builder_of

            function = _innermost(builder_of(function)[0])
        else:
            unnamed = "<" in self.describe(function) or not hasattr(function, "__qualname__")
            if unnamed or " at 0x" in self.describe(model):
                raise InputError(
                    f"a store finds runs by the model's name, and {self.describe(model)} may mean "
                    "several models; name the function: write it with def at the top of a module, "
                    "and give numbers to it with functools.partial"
                )
        try:
            return fingerprint(inspect.getsource(function))  # what it calls is not seen
        except (OSError, TypeError):
            return None

    @contextmanager
    def limit_threads(self, job: Job) -> Iterator[None]:
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


def _innermost(model: Any) -> Any:
    while isinstance(model, partial):
        model = model.func
    return model
