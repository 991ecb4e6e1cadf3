"""Encoders of packages that bring networks without weights: timm, torchvision, open_clip.

Of each a function that says where a model's weights lie on this machine, without a network, and
one that builds it from there. Only where no place is given do they fetch.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

_OF_HUB = ("model.safetensors", "pytorch_model.bin")
_OF_CLIP = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")


class Reading(nn.Module):
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
        """One row of features an image."""
        if x.shape[-2:] != (self.side, self.side):
            x = nn.functional.interpolate(x, (self.side, self.side), mode="bilinear")
        out = self.network((x / 255 - self.mean) / self.deviation)
        return torch.as_tensor(out).flatten(1)

    def extra_repr(self) -> str:
        """The side, which no weight shows."""
        return f"side={self.side}"


def find_timm(model: str) -> Path | None:
    """Where the weights of one of timm's models lie."""
    models = importlib.import_module("timm.models")
    entry = models.get_pretrained_cfg(model)
    if entry is None:
        raise ValueError(f"timm has no model {model!r} with weights")
    return _in_hub(getattr(entry, "hf_hub_id", None), _OF_HUB) or _downloaded(
        getattr(entry, "url", None)
    )


def build_timm(model: str, path: Path | None) -> nn.Module:
    """One of timm's models without its last layer."""
    timm = importlib.import_module("timm")
    # A named file is read as it is; without one timm fetches.
    how: dict[str, Any] = {} if path is None else {"pretrained_cfg_overlay": {"file": str(path)}}
    network = timm.create_model(model, pretrained=True, num_classes=0, **how)
    told = timm.data.resolve_model_data_config(network)
    return Reading(network, told["mean"], told["std"], int(told["input_size"][-1]))


def find_torchvision(model: str) -> Path | None:
    """Where the best weights of one of torchvision's models lie."""
    return _downloaded(_torchvision_weights(model).url)


def build_torchvision(model: str, path: Path | None) -> nn.Module:
    """One of torchvision's models without its last layer."""
    models = importlib.import_module("torchvision.models")
    weights = _torchvision_weights(model)
    network = models.get_model(model, weights=None if path is not None else weights)
    if path is not None:
        network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    last = next(n for n in ("classifier", "fc", "heads", "head") if hasattr(network, n))
    setattr(network, last, nn.Identity())
    told = weights.transforms()
    return Reading(network, told.mean, told.std, int(told.crop_size[0]))


def find_open_clip(model: str) -> Path | None:
    """Where the weights of a model of open_clip's, NAME/TAG, lie."""
    name, _, tag = model.partition("/")
    entry = importlib.import_module("open_clip.pretrained").get_pretrained_cfg(name, tag)
    if not entry:
        raise ValueError(f"open_clip has no weights {tag!r} of {name!r}; name them as NAME/TAG")
    hub = str(entry.get("hf_hub") or "").strip("/") or None
    return _in_hub(hub, _OF_CLIP) or _downloaded(entry.get("url"), Path.home() / ".cache" / "clip")


def build_open_clip(model: str, path: Path | None) -> nn.Module:
    """The half of a model of open_clip's that reads images."""
    name, _, tag = model.partition("/")
    clip = importlib.import_module("open_clip")
    visual = clip.create_model(name, pretrained=tag if path is None else str(path)).visual
    size = visual.image_size
    side = int(size if isinstance(size, int) else size[0])
    return Reading(visual, visual.image_mean, visual.image_std, side)


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
