"""The paper's pretrained networks for Food-101, as builders; torchvision is needed here only.

pip install "dris[vision]", torchvision from the index that torch came from.
"""

from typing import Any

import torch
from torch import Tensor, nn

from dris import InputError

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def resnet18(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """ResNet-18 with ImageNet weights: 512 features."""
    return _without("resnet18", "fc")


def mobilenet_v3_small(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """MobileNetV3-Small with ImageNet weights: 576 features."""
    return _without("mobilenet_v3_small", "classifier")


def efficientnet_b0(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """EfficientNet-B0 with ImageNet weights: 1,280 features."""
    return _without("efficientnet_b0", "classifier")


def resnet50_trunk(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """ResNet-50 before its last stage of blocks: 1,024 maps, a 16th of the side."""
    n = _pretrained("resnet50")
    return nn.Sequential(_Scaled(), n.conv1, n.bn1, n.relu, n.maxpool, n.layer1, n.layer2, n.layer3)


def resnet50_tail(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """ResNet-50's last stage of blocks, and a new linear classifier."""
    n = _pretrained("resnet50")
    return nn.Sequential(n.layer4, n.avgpool, nn.Flatten(), nn.Linear(2048, classes))


def torchvision_for(version: str) -> str:
    """The torchvision of a torch: its minor version is 15 ahead, its build must be the same one.

    >>> torchvision_for("2.13.0+cpu")
    'pip install "torchvision==0.28.*" from the index that torch+cpu came from'
    """
    number, _, build = version.partition("+")
    minor = int(number.split(".")[1]) + 15
    where = f" from the index that torch+{build} came from" if build else ""
    return f'pip install "torchvision==0.{minor}.*"{where}'


class _Scaled(nn.Module):
    """Bytes to what torchvision's weights expect."""

    mean: Tensor
    deviation: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name, value in (("mean", _MEAN), ("deviation", _DEVIATION)):
            self.register_buffer(name, 255 * torch.tensor(value).reshape(-1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.deviation


def _without(name: str, last: str) -> nn.Module:
    network = _pretrained(name)
    setattr(network, last, nn.Flatten())
    return nn.Sequential(_Scaled(), network)


def _pretrained(name: str) -> Any:
    try:
        from torchvision import models
    except (ImportError, RuntimeError):  # RuntimeError: built for another torch
        raise InputError(
            f"{name} at the paper's scale needs torchvision built for the installed torch, "
            f"{torch.__version__}; {torchvision_for(torch.__version__)}"
        ) from None
    return models.get_model(name, weights="IMAGENET1K_V1")
