"""Encoders: the first that is whole on this machine, others by name, never a silent download."""

# ruff: noqa: E402  # torch is an extra

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.learn.trainers.networks import encoders
from dris.learn.trainers.networks.encoders import (
    ENCODERS,
    find_encoder,
    installed_encoder,
    lacking_weights,
    named_encoder,
)
from dris.learn.trainers.networks.features import extract_features
from dris.pipeline.ensemble import train_ensemble
from dris.pipeline.settings import Settings

IMAGES = np.random.default_rng(0).integers(0, 256, size=(6, 3, 8, 8)).astype(np.uint8)
URL = "https://nowhere.invalid/"


class Network(torch.nn.Module):
    """Means of channels, behind a last layer as torchvision's networks have one."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))
        self.classifier = torch.nn.Linear(3, 5)
        self.image_size, self.image_mean, self.image_std = 16, (0.5,) * 3, (0.25,) * 3

    def forward(self, x):
        return self.classifier(x.mean(dim=(2, 3)) * self.scale)


def module(monkeypatch, name, **names):
    made = ModuleType(name)
    vars(made).update(names)
    monkeypatch.setitem(sys.modules, name, made)
    return made


@pytest.fixture
def packages(monkeypatch, tmp_path):
    """No encoder at all, and a function that adds one, its weights on the disk or not."""
    hub = tmp_path / "hub" / "checkpoints"
    hub.mkdir(parents=True)
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    cached = {}
    look = lambda repository, name: cached.get((repository, name))  # noqa: E731
    module(monkeypatch, "huggingface_hub", try_to_load_from_cache=look)
    for entry in ENCODERS:
        for package in entry.packages:
            monkeypatch.setitem(sys.modules, package, None)  # an import of it fails
    there = encoders._is_there
    given = set()
    monkeypatch.setattr(encoders, "_is_there", lambda p: p in given and there(p))

    def timm(*, weights):
        if weights:
            path = tmp_path / "model.safetensors"
            path.write_bytes(b"")
            cached["timm/some", "model.safetensors"] = str(path)

        def create_model(name, *, pretrained, num_classes, pretrained_cfg_overlay=None):
            assert pretrained
            assert num_classes == 0
            if pretrained_cfg_overlay is None:
                raise OSError("cannot reach the hub")
            assert pretrained_cfg_overlay["file"].endswith("model.safetensors")
            made = Network()
            made.classifier = torch.nn.Identity()
            return made

        told = {"mean": (0.5,) * 3, "std": (0.25,) * 3, "input_size": (3, 16, 16)}
        data = SimpleNamespace(resolve_model_data_config=lambda network: told)
        module(monkeypatch, "timm", create_model=create_model, data=data)

        def entry(name):
            unknown = name.startswith("no")
            return None if unknown else SimpleNamespace(hf_hub_id="timm/some", url=None)

        module(monkeypatch, "timm.models", get_pretrained_cfg=entry)
        given.add("timm")

    def torchvision(*, weights):
        if weights:
            torch.save(Network().state_dict(), hub / "tv.pth")
        told = SimpleNamespace(mean=(0.5,) * 3, std=(0.25,) * 3, crop_size=[16])
        default = SimpleNamespace(url=f"{URL}tv.pth", transforms=lambda: told)

        def get_model(name, *, weights):
            if weights is not None:
                raise OSError("no network")
            return Network()

        module(monkeypatch, "torchvision")
        module(
            monkeypatch,
            "torchvision.models",
            get_model=get_model,
            get_model_weights=lambda name: SimpleNamespace(DEFAULT=default),
        )
        given.add("torchvision")

    def open_clip(*, weights):
        if weights:
            (tmp_path / "clip.bin").write_bytes(b"")
            cached["laion/clip", "open_clip_pytorch_model.bin"] = str(tmp_path / "clip.bin")

        def create_model(name, *, pretrained):
            if not pretrained.endswith("clip.bin"):
                raise OSError("no network")
            visual = Network()
            visual.classifier = torch.nn.Identity()
            return SimpleNamespace(visual=visual)

        module(monkeypatch, "open_clip", create_model=create_model)
        entry = {"hf_hub": "laion/clip/"}
        find = lambda name, tag: entry if tag == "laion2b_s34b_b79k" else {}  # noqa: E731
        module(monkeypatch, "open_clip.pretrained", get_pretrained_cfg=find)
        given.add("open_clip")

    return SimpleNamespace(timm=timm, torchvision=torchvision, open_clip=open_clip, given=given)


def test_without_any_package_there_is_no_encoder(packages):
    assert installed_encoder() is None
    assert lacking_weights() == ""


@pytest.mark.parametrize("name", ["timm", "torchvision", "open_clip"])
def test_a_package_with_its_weights_on_the_disk_is_taken_and_reads_images(packages, name):
    getattr(packages, name)(weights=True)
    title, network = installed_encoder()
    assert title.startswith(f"{name}'s ")
    features = extract_features(network, IMAGES)
    assert features.shape == (6, 3)
    scaled = (IMAGES.mean(axis=(2, 3)) / 255 - 0.5) / 0.25
    assert np.allclose(features, scaled, atol=0.1)  # enlarged to its side, on its scale
    assert lacking_weights() == ""


@pytest.mark.parametrize("name", ["timm", "torchvision", "open_clip"])
def test_weights_that_are_not_here_are_named_and_not_fetched(packages, name):
    getattr(packages, name)(weights=False)
    assert installed_encoder() is None
    said = lacking_weights()
    assert f"{name} is installed" in said
    assert f"`encoder={name!r}` fetches them" in said
    # The twin: by its name it is fetched, which fails without a network, in one sentence.
    with pytest.raises(InputError, match="needs a network"):
        named_encoder(name)


def test_the_first_of_the_registry_that_is_whole_is_taken(packages):
    packages.open_clip(weights=True)
    packages.torchvision(weights=True)
    packages.timm(weights=False)
    assert installed_encoder()[0].startswith("torchvision's")
    assert lacking_weights().startswith("timm is installed")


def test_a_package_that_cannot_be_imported_beside_this_torch_is_passed_over(packages, monkeypatch):
    packages.torchvision(weights=True)
    packages.given.add("timm")  # found, but its import fails: sys.modules holds None

    def broken(name):
        raise RuntimeError("operator torchvision::nms does not exist")

    assert installed_encoder()[0].startswith("torchvision's")
    monkeypatch.setattr(encoders.importlib, "import_module", broken)
    assert installed_encoder() is None
    with pytest.raises(InputError, match="cannot be imported beside this torch; pip install timm"):
        named_encoder("timm")


def test_another_model_can_be_named_and_one_that_is_not_is_refused(packages):
    packages.timm(weights=True)
    assert named_encoder("timm")[0] == ENCODERS[1].title
    assert named_encoder("timm:resnet18")[0] == "timm's resnet18"
    with pytest.raises(InputError, match="timm has no model 'none'"):
        named_encoder("timm:none")
    with pytest.raises(InputError, match="unknown encoder 'tim'; choose from efficientnet_lite,"):
        find_encoder("tim")
    packages.open_clip(weights=True)
    with pytest.raises(InputError, match="NAME/TAG"):
        named_encoder("open_clip:ViT-B-32")


def pictures(channels=3):
    y = np.arange(240) % 2
    x = np.random.default_rng(0).integers(0, 60, size=(240, channels, 8, 8))
    return LabelledData.of(
        (x + 120 * y[:, None, None, None]).astype(np.uint8), y, classes=("dark", "light")
    )


def test_the_encoder_that_was_named_is_in_the_note_and_in_the_recipe(packages):
    packages.torchvision(weights=True)
    packages.open_clip(weights=True)
    scored = train_ensemble(pictures(), Settings(2, 2, encoder="open_clip"), workers=1)
    assert "images are read once by open_clip's ViT-B-32" in scored.notes[0]
    assert scored.recipe()["settings"]["encoder"] == "open_clip"
    assert "torchvision's" in train_ensemble(pictures(), Settings(2, 2), workers=1).notes[0]


def test_small_cnns_are_told_of_an_encoder_without_weights(packages):
    packages.timm(weights=False)
    scored = train_ensemble(pictures(), Settings(2, 1), workers=1)
    assert scored.settings.models == ("small_cnn",)
    assert "`encoder='timm'` fetches them" in scored.notes[0]


def test_an_encoder_beside_a_model_or_for_what_is_no_picture_in_colour_is_refused(packages):
    packages.timm(weights=True)
    with pytest.raises(InputError, match="not both"):
        train_ensemble(pictures(), Settings(2, 1, encoder="timm", models=("mlp",)), workers=1)
    with pytest.raises(InputError, match="pictures in colour"):
        train_ensemble(pictures(1), Settings(2, 1, encoder="timm"), workers=1)
