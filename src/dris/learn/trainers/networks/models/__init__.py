"""Networks for proxies and targets, by name, from the user's code, or from an import path.

Every model here is a `Classifier`: penultimate features and one linear head, built from
`(input_shape, classes)` with random weights. Needs the extra `torch`.

In reading order: `base` (what a model is), `dense`, `small_cnn`, `resnet`,
`registry` (all by name).
"""
# ruff: noqa: E402  # The sentence about a missing torch must come before the first import of it.

from dris.learn.extras import require

require("torch", "torch")

from dris.learn.trainers.networks.models.base import Classifier
from dris.learn.trainers.networks.models.registry import Builder, build_model
from dris.learn.trainers.networks.network_trainer import MODELS

__all__ = [
    "MODELS",
    "Builder",
    "Classifier",
    "build_model",
]
