"""Networks for proxies and targets, built from (input_shape, classes) with random weights.

Each is a `Classifier`: penultimate features and one linear head.
"""
# ruff: noqa: E402  # The sentence about a missing torch must come before the first import of it.

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from dris.core.errors import InputError
from dris.learn.extras import require

require("torch", "torch")

from torch import Tensor, nn

Shape = tuple[int, ...]
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
    return nn.Conv2d(
        inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False
    )


def average(*layers: nn.Module) -> nn.Sequential:
    """Layers, then the mean over what is left of height and width: (example, channel)."""
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
