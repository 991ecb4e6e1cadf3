"""A run's curves and its decision, in TensorBoard, MLflow or Weights & Biases.

    decision = dris.clean(data)
    log_decision(decision, TensorBoardWatcher("logs"))

A watcher is anything with the three methods of `Watcher`; each adapter below is one, over the
library's own client, which is imported when it is made.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dris.core.dynamics.dynamics import Dynamics
from dris.learn.extras import require
from dris.pipeline.decision import Decision


class Watcher(Protocol):
    """Where numbers go."""

    def point(self, name: str, value: float, step: int) -> None:
        """One point of a curve."""

    def numbers(self, values: Mapping[str, float]) -> None:
        """What came out, a number each."""

    def text(self, name: str, text: str) -> None:
        """What came out, in words."""


def log_dynamics(dynamics: Dynamics, watcher: Watcher) -> None:
    """The mean loss of every proxy after each epoch, and the share of labels it agrees with.

    With folds, the same by models that never saw the example, under `held_out`.
    """
    for place, found in (("seen", dynamics), ("held_out", dynamics.out_of_fold)):
        if found is None:
            continue
        for column in ("loss", "correct"):
            if column not in found.columns:
                continue
            means = np.asarray(found.columns[column], dtype=np.float64).mean(axis=2)
            for k, curve in enumerate(means):
                for epoch, value in zip(found.epochs, curve, strict=True):
                    watcher.point(f"dris/{place}/{column}/proxy_{k}", float(value), int(epoch))


def log_decision(decision: Decision, watcher: Watcher) -> None:
    """The curves of the proxies, then how many are kept and suspect, the limit, the harm check."""
    if decision.scored is not None:
        log_dynamics(decision.scored.dynamics, watcher)
    suspects = 0 if decision.suspects is None else len(decision.suspects)
    values = {
        "dris/examples": float(len(decision.suspicion)),
        "dris/kept": float(len(decision.kept)),
        "dris/suspects": float(suspects),
    }
    if decision.limit is not None:
        values["dris/limit"] = float(decision.limit.share)
    if decision.harm is not None:
        values["dris/change_points"] = float(decision.harm.agreement.points)
    watcher.numbers(values)
    watcher.text("dris/decision", str(decision))


class TensorBoardWatcher:
    """Into a folder that `tensorboard --logdir` reads; needs torch and tensorboard."""

    def __init__(self, folder: str | Path) -> None:
        require("torch", "torch")
        require("tensorboard", "watch")
        module = require("torch.utils.tensorboard", "watch")
        self._writer: Any = module.SummaryWriter(str(folder))

    def point(self, name: str, value: float, step: int) -> None:
        """One point of a curve."""
        self._writer.add_scalar(name, value, step)

    def numbers(self, values: Mapping[str, float]) -> None:
        """What came out, a number each."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, 0)

    def text(self, name: str, text: str) -> None:
        """What came out, in words."""
        self._writer.add_text(name, text)
        self._writer.flush()


class MlflowWatcher:
    """Into the active run of MLflow, or the one that is handed over by its client's module."""

    def __init__(self, mlflow: Any = None) -> None:
        self._mlflow: Any = require("mlflow", "watch") if mlflow is None else mlflow

    def point(self, name: str, value: float, step: int) -> None:
        """One point of a curve."""
        self._mlflow.log_metric(name, value, step=step)

    def numbers(self, values: Mapping[str, float]) -> None:
        """What came out, a number each."""
        self._mlflow.log_metrics(dict(values))

    def text(self, name: str, text: str) -> None:
        """What came out, in words."""
        self._mlflow.log_text(text, f"{name}.txt")


class WandbWatcher:
    """Into a run of Weights & Biases, as `wandb.init()` returned it."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._epochs: dict[int, dict[str, float]] = {}

    def point(self, name: str, value: float, step: int) -> None:
        """One point of a curve, sent with the others of its step: steps only go up there."""
        self._epochs.setdefault(step, {})[name] = value

    def numbers(self, values: Mapping[str, float]) -> None:
        """What came out, a number each, after all that was kept back."""
        for step in sorted(self._epochs):
            self._run.log(self._epochs[step], step=step)
        self._epochs.clear()
        self._run.summary.update(dict(values))

    def text(self, name: str, text: str) -> None:
        """What came out, in words."""
        self._run.summary.update({name: text})
