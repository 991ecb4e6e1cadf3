"""Networks for proxies and targets: by name, by the user's own function, or by import path.

Those by name are each a `Classifier`: penultimate features and one linear head.
"""
# ruff: noqa: E402  # The sentence about a missing torch must come before the first import of it.

import importlib
import inspect
import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from dris.core.errors import InputError
from dris.core.streams import seed_for
from dris.learn.extras import require

require("torch", "torch")

import torch
from torch import Tensor, nn

Shape = tuple[int, ...]  # one example's: (channels, height, width), or (features,)
Builder = Callable[[Shape, int], Any]  # (input_shape, classes) to a fresh `nn.Module`
_STEM = 24
_BLOCKS = (48, 96, 192)


class Classifier(nn.Module):
    """A network whose logits are `head(features(x))`, features of shape (example, feature).

    With both in hand, the exact gradient norm of the last layer, ‖p − e_y‖·‖(φ(x), 1)‖, costs
    one forward pass. Wrap a network of your own, `Classifier(body, nn.Linear(512, 10))`, to give
    it the same; a plain `nn.Module` serves everywhere else.
    """

    def __init__(self, body: nn.Module, head: nn.Linear) -> None:
        super().__init__()
        if not isinstance(head, nn.Linear):
            raise InputError(f"head must be an nn.Linear, got {type(head).__name__}")
        self.body = body
        self.head = head

    def features(self, x: Tensor) -> Tensor:
        """What the head reads: one row per example."""
        return self.body(x)  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        """The logits: one row per example, one column per class."""
        return self.head(self.features(x))  # type: ignore[no-any-return]


def linear(input_shape: Shape, classes: int) -> Classifier:
    """Multinomial logistic regression: the features are the flattened input.

    7,850 parameters, 7,840 multiply-adds on 1×28×28 with 10 classes.
    """
    return Classifier(nn.Flatten(), nn.Linear(prod(input_shape), classes))


def fully_connected(
    input_shape: Shape, classes: int, *, hidden: Sequence[int] = (256, 128)
) -> Classifier:
    """A multilayer perceptron with ReLUs; `partial(fully_connected, hidden=(512,))` is a wider one.

    235,146 parameters, 234,752 multiply-adds on 1×28×28 with 10 classes.
    """
    if any(width < 1 for width in hidden):
        raise InputError(f"hidden widths must be 1 or more, got {tuple(hidden)}")
    widths = (prod(input_shape), *hidden)
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return Classifier(nn.Sequential(*layers), nn.Linear(widths[-1], classes))


def small_cnn(input_shape: Shape, classes: int) -> Classifier:
    """For a CPU: a 5×5 stem of stride 2, then blocks of 48, 96 and 192 channels, pooled between.

    222,178 parameters, 8,425,344 multiply-adds on 3×32×32 with 10 classes.
    """
    inputs = channels_of(input_shape)
    layers = [convolution(inputs, _STEM, 5, stride=2), nn.BatchNorm2d(_STEM), nn.ReLU()]
    inputs = _STEM
    for channels in _BLOCKS:
        layers.append(convolution(inputs, channels))
        if channels != _BLOCKS[-1]:
            # Pool before the rest: BatchNorm and ReLU then see a quarter of the values.
            layers.append(nn.MaxPool2d(2, ceil_mode=True))
        layers += [nn.BatchNorm2d(channels), nn.ReLU()]
        inputs = channels
    return Classifier(average(*layers), nn.Linear(inputs, classes))


def resnet20(input_shape: Shape, classes: int) -> Classifier:
    """ResNet-20 (He et al. 2016): three stages of three blocks, 16, 32 and 64 channels.

    272,474 parameters, 40,813,184 multiply-adds on 3×32×32 with 10 classes: the published counts
    with projection shortcuts.
    """
    return residual_network(input_shape, classes, widths=(16, 32, 64), blocks=3)


def residual_network(
    input_shape: Shape, classes: int, *, widths: tuple[int, ...], blocks: int
) -> Classifier:
    """Stages of residual blocks of these widths, each but the first halving height and width."""
    inputs = widths[0]
    layers = [convolution(channels_of(input_shape), inputs), nn.BatchNorm2d(inputs), nn.ReLU()]
    for stage, width in enumerate(widths):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(ResidualBlock(inputs, width, stride=stride))
            inputs = width
    return Classifier(average(*layers), nn.Linear(inputs, classes))


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions beside a shortcut; a 1×1 projection where the shape changes."""

    def __init__(self, inputs: int, outputs: int, *, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            convolution(inputs, outputs, stride=stride),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            convolution(outputs, outputs),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                convolution(inputs, outputs, 1, stride=stride), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """ReLU(shortcut + residual)."""
        return (self.shortcut(x) + self.residual(x)).relu()  # type: ignore[no-any-return]


def channels_of(input_shape: Shape) -> int:
    """The channels of an image shape, which must be (channels, height, width)."""
    if len(input_shape) != 3:
        raise InputError(
            "a convolutional network needs input_shape (channels, height, width), "
            f'got {input_shape}; use "fc" or "linear" for vectors'
        )
    return input_shape[0]


def convolution(
    inputs: int, outputs: int, kernel: int = 3, *, stride: int = 1, groups: int = 1
) -> nn.Conv2d:
    """A convolution to be followed by BatchNorm: no bias, "same" padding."""
    pad = kernel // 2
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=pad, groups=groups, bias=False)


def average(*layers: nn.Module) -> nn.Sequential:
    """Layers, then the mean over what is left of height and width: (example, channel)."""
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


MODELS: dict[str, Builder] = {
    "fc": fully_connected,
    "linear": linear,
    "resnet20": resnet20,
    "small_cnn": small_cnn,
}


def build_model(
    spec: str | Builder, input_shape: Sequence[int], classes: int, *, seed: int
) -> nn.Module:
    """A freshly initialised model: one of `MODELS`, a function, or "package.module:function".

    The weights depend on the seed alone, on every device, and torch's own random state is left as
    it was.
    """
    builder, name = builder_of(spec)
    state = seed_for(seed, "initial weights")
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        # Not torch.manual_seed: that would reseed the GPUs too, which nothing here restores.
        torch.default_generator.manual_seed(state)
        model = builder(tuple(input_shape), classes)
    if not isinstance(model, nn.Module):
        raise InputError(
            f"the model function {name} must return an nn.Module, got {type(model).__name__}"
        )
    return model


def builder_of(spec: Any) -> tuple[Builder, str]:
    """The function that a spec means, and its name; raises if it takes other arguments."""
    if isinstance(spec, nn.Module):
        raise InputError(
            f"model must be a function that builds it, got a built {type(spec).__name__}; "
            "pass its class or a function of (input_shape, classes)"
        )
    if isinstance(spec, str):
        if ":" not in spec and spec not in MODELS:
            raise InputError(
                f"model must be one of {', '.join(sorted(MODELS))}, or package.module:function, "
                f"got {spec!r}"
            )
        builder, name = MODELS.get(spec) or _import(spec), spec
    elif callable(spec):
        builder, name = spec, getattr(spec, "__qualname__", repr(spec))
    else:
        raise InputError(f"model must be a name or a function, got {spec!r}")
    try:
        signature = inspect.signature(builder)
    except (TypeError, ValueError):
        return builder, name  # written in C, say: calling it will tell
    try:
        signature.bind((1,), 2)
    except TypeError:
        raise InputError(
            f"the model function {name} must take (input_shape, classes), its signature is "
            f"{signature}; wrap it: lambda input_shape, classes: ..."
        ) from None
    return builder, name


def _import(path: str) -> Builder:
    module_name, _, attribute = path.partition(":")
    try:
        function = operator.attrgetter(attribute)(importlib.import_module(module_name))
    except Exception as error:  # importing runs the user's code: anything may come out of it
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(
            f"model {path!r} cannot be imported ({reason}); "
            "it must read package.module:function and be on the Python path"
        ) from error
    if isinstance(function, nn.Module) or not callable(function):
        raise InputError(f"model {path!r} must name a function, got {type(function).__name__}")
    return function  # type: ignore[no-any-return]
