"""Residual networks for 32×32 images (He et al. 2016, "Deep Residual Learning")."""

from torch import Tensor, nn

from dris.learn.trainers.networks.models.base import Classifier, averaged, channels_of, convolution


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions beside a shortcut; a 1×1 projection where the shape changes.

    >>> import torch
    >>> ResidualBlock(4, 8, stride=2)(torch.zeros(1, 4, 6, 6)).shape
    torch.Size([1, 8, 3, 3])
    """

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
        total: Tensor = self.shortcut(x) + self.residual(x)
        return total.relu()


def resnet20(input_shape: tuple[int, ...], classes: int) -> Classifier:
    """ResNet-20: three stages of three blocks, 16, 32 and 64 channels, strides 1, 2, 2.

    272,474 parameters, 40,813,184 multiply-adds on 3×32×32 with 10 classes: the published counts
    with projection shortcuts. He et al.'s parameter-free shortcuts would make it 269,722.

    >>> resnet20((3, 32, 32), 10).head
    Linear(in_features=64, out_features=10, bias=True)
    """
    return residual_network(input_shape, classes, widths=(16, 32, 64), blocks=3)


def residual_network(
    input_shape: tuple[int, ...], classes: int, *, widths: tuple[int, ...], blocks: int
) -> Classifier:
    """Stages of residual blocks of these widths, each but the first halving height and width."""
    inputs = widths[0]
    layers = [convolution(channels_of(input_shape), inputs), nn.BatchNorm2d(inputs), nn.ReLU()]
    for stage, width in enumerate(widths):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(ResidualBlock(inputs, width, stride=stride))
            inputs = width
    return Classifier(averaged(*layers), nn.Linear(inputs, classes))
