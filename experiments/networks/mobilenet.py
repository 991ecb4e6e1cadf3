"""MobileNetV2 at half width for 32×32 images (Sandler et al. 2018, table 2)."""

from torch import Tensor, nn

from experiments.dris_torch import Classifier, average, channels_of, convolution

# Expansion, channels at full width, blocks, stride of the first block. The second stage has
# stride 1 where ImageNet's table has 2: with the stem's it is one of the two strides left out.
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 1),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_WIDTH = 0.5
_FEATURES = 1280  # not narrowed below full width, as in the paper (section 5.1)


class InvertedResidual(nn.Module):
    """Widen by 1×1, filter each channel by 3×3, project by 1×1 without a non-linearity.

    >>> import torch
    >>> InvertedResidual(8, 16, expansion=6, stride=2)(torch.zeros(1, 8, 6, 6)).shape
    torch.Size([1, 16, 3, 3])
    """

    def __init__(self, inputs: int, outputs: int, *, expansion: int, stride: int) -> None:
        super().__init__()
        wide = inputs * expansion
        widen = _activated(convolution(inputs, wide, 1)) if expansion > 1 else []
        self.residual = nn.Sequential(
            *widen,
            *_activated(convolution(wide, wide, stride=stride, groups=wide)),
            convolution(wide, outputs, 1),
            nn.BatchNorm2d(outputs),
        )
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """The residual, on top of x where the shapes agree."""
        y: Tensor = self.residual(x)
        return x + y if self.adds else y


def mobilenet_v2_x0_5(input_shape: tuple[int, ...], classes: int) -> Classifier:
    """MobileNetV2 ×0.5 with a CIFAR stem: strides 1 (stem), then 1, 1, 2, 2, 1, 2, 1 by stage.

    A 32×32 image is 4×4 before the average. No dropout before the head.
    700,490 parameters, 27,969,024 multiply-adds on 3×32×32 with 10 classes.

    >>> mobilenet_v2_x0_5((3, 32, 32), 10).head.in_features
    1280
    """
    inputs = _narrowed(32)
    layers = _activated(convolution(channels_of(input_shape), inputs))
    for expansion, channels, blocks, first_stride in _STAGES:
        outputs = _narrowed(channels)
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            layers.append(InvertedResidual(inputs, outputs, expansion=expansion, stride=stride))
            inputs = outputs
    layers += _activated(convolution(inputs, _FEATURES, 1))
    return Classifier(average(*layers), nn.Linear(_FEATURES, classes))


def _activated(layer: nn.Conv2d) -> list[nn.Module]:
    return [layer, nn.BatchNorm2d(layer.out_channels), nn.ReLU6()]


def _narrowed(channels: int) -> int:
    """The channels at this width, to the nearest multiple of 8, halves up, at least 8."""
    return max(8, int(channels * _WIDTH + 4) // 8 * 8)
