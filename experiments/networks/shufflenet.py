"""ShuffleNetV2 at half width for 32×32 images (Ma et al. 2018, table 5)."""

import torch
from torch import Tensor, nn

from experiments.dris_torch import Classifier, average, channels_of, convolution

_STEM = 24
_STAGES = ((48, 4), (96, 8), (192, 4))  # channels, units
_FEATURES = 1024


class ShuffleUnit(nn.Module):
    """Half of the channels pass by, the other half is filtered, then both are interleaved.

    >>> import torch
    >>> ShuffleUnit(8)(torch.zeros(1, 8, 6, 6)).shape
    torch.Size([1, 8, 6, 6])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.filtered = _filtered(channels // 2, channels // 2, stride=1)

    def forward(self, x: Tensor) -> Tensor:
        """Interleave the half left alone with the half filtered."""
        alone, rest = x.chunk(2, dim=1)
        return _interleaved(alone, self.filtered(rest))


class HalvingUnit(nn.Module):
    """Both branches see every channel, halve height and width, and are interleaved.

    >>> import torch
    >>> HalvingUnit(4, 8)(torch.zeros(1, 4, 6, 6)).shape
    torch.Size([1, 8, 3, 3])
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.short = nn.Sequential(
            convolution(inputs, inputs, stride=2, groups=inputs),
            nn.BatchNorm2d(inputs),
            convolution(inputs, outputs // 2, 1),
            nn.BatchNorm2d(outputs // 2),
            nn.ReLU(),
        )
        self.filtered = _filtered(inputs, outputs // 2, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """Interleave the two branches."""
        return _interleaved(self.short(x), self.filtered(x))


def shufflenet_v2_x0_5(input_shape: tuple[int, ...], classes: int) -> Classifier:
    """ShuffleNetV2 ×0.5 with a CIFAR stem: 3×3 convolution of stride 1, no max-pool.

    The three stages keep their stride of 2 each: a 32×32 image is 4×4 before the average.
    352,042 parameters, 10,902,016 multiply-adds on 3×32×32 with 10 classes.

    >>> shufflenet_v2_x0_5((3, 32, 32), 10).head.in_features
    1024
    """
    inputs = _STEM
    layers = [convolution(channels_of(input_shape), inputs), nn.BatchNorm2d(inputs), nn.ReLU()]
    for channels, units in _STAGES:
        layers.append(HalvingUnit(inputs, channels))
        layers.extend(ShuffleUnit(channels) for _ in range(units - 1))
        inputs = channels
    layers += [convolution(inputs, _FEATURES, 1), nn.BatchNorm2d(_FEATURES), nn.ReLU()]
    return Classifier(average(*layers), nn.Linear(_FEATURES, classes))


def _filtered(inputs: int, outputs: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        convolution(inputs, outputs, 1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        convolution(outputs, outputs, stride=stride, groups=outputs),
        nn.BatchNorm2d(outputs),
        convolution(outputs, outputs, 1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


def _interleaved(left: Tensor, right: Tensor) -> Tensor:
    """Channels in turn from left and right: concatenation and a shuffle of two groups in one."""
    return torch.stack((left, right), dim=2).flatten(1, 2)
