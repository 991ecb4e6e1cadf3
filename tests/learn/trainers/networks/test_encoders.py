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


class Network(torch.nn.Module):
    """Means of channels, behind a last layer as torchvision's networks have one."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))
        self.classifier = torch.nn.Linear(3, 5)

    def forward(self, x):
        return self.classifier(x.mean(dim=(2, 3)) * self.scale)


def module(monkeypatch, name, **names):
    made = ModuleType(name)
    vars(made).update(names)
    monkeypatch.setitem(sys.modules, name, made)


@pytest.fixture
def torchvision(monkeypatch, tmp_path):
    """No encoder at all, and a function that adds torchvision, its weights on the disk or not."""
    hub = tmp_path / "hub" / "checkpoints"
    hub.mkdir(parents=True)
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    for entry in ENCODERS:
        for package in entry.packages:
            monkeypatch.setitem(sys.modules, package, None)  # an import of it fails

    def add(*, weights):
        if weights:
            torch.save(Network().state_dict(), hub / "tv.pth")
        told = SimpleNamespace(mean=(0.5,) * 3, std=(0.25,) * 3, crop_size=[16])
        default = SimpleNamespace(url="https://nowhere.invalid/tv.pth", transforms=lambda: told)

        def get_model(name, *, weights):
            if weights is not None:
                raise OSError("no network")
            return Network()

        module(monkeypatch, "torchvision")
        kept = {
            "get_model": get_model,
            "get_model_weights": lambda _: SimpleNamespace(DEFAULT=default),
        }
        module(monkeypatch, "torchvision.models", **kept)

    return add


def test_without_any_package_there_is_no_encoder(torchvision):
    assert installed_encoder() is None
    assert lacking_weights() == ""


def test_a_package_with_its_weights_on_the_disk_is_taken_and_reads_images(torchvision):
    torchvision(weights=True)
    title, network = installed_encoder()
    assert title.startswith("torchvision's ")
    features = extract_features(network, IMAGES)
    assert features.shape == (6, 3)
    scaled = (IMAGES.mean(axis=(2, 3)) / 255 - 0.5) / 0.25
    assert np.allclose(features, scaled, atol=0.1)  # enlarged to its side, on its scale
    assert lacking_weights() == ""
    assert named_encoder("torchvision:resnet18")[0] == "torchvision's resnet18"


def test_weights_that_are_not_here_are_named_and_not_fetched(torchvision):
    torchvision(weights=False)
    assert installed_encoder() is None
    assert "torchvision is installed" in lacking_weights()
    # The twin: by its name it is fetched, which fails without a network, in one sentence.
    with pytest.raises(InputError, match="needs a network"):
        named_encoder("torchvision")


def test_a_package_that_cannot_be_imported_beside_this_torch_is_passed_over(
    torchvision, monkeypatch
):
    torchvision(weights=True)

    def broken(name):
        raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr(encoders.importlib, "import_module", broken)
    assert installed_encoder() is None
    with pytest.raises(InputError, match="pip install '"):
        named_encoder("torchvision")


def test_any_function_that_builds_a_network_is_an_encoder(torchvision, monkeypatch):
    module(monkeypatch, "own_encoders", build=Network, wrong=lambda: 3)
    title, network = named_encoder("own_encoders:build")
    assert title == "own_encoders:build"
    assert extract_features(network, IMAGES).shape == (6, 5)
    with pytest.raises(InputError, match=r"nn\.Module"):
        named_encoder("own_encoders:wrong")
    with pytest.raises(InputError, match="unknown encoder 'tim'"):
        find_encoder("tim")
    with pytest.raises(InputError, match="absent"):
        named_encoder("absent:build")


def pictures(channels=3):
    y = np.arange(240) % 2
    x = np.random.default_rng(0).integers(0, 60, size=(240, channels, 8, 8))
    return LabelledData.of(
        (x + 120 * y[:, None, None, None]).astype(np.uint8), y, classes=("dark", "light")
    )


def test_the_encoder_that_was_named_is_in_the_note_and_in_the_recipe(torchvision, monkeypatch):
    torchvision(weights=True)
    module(monkeypatch, "own_encoders", build=Network)
    named = Settings(2, 2, encoder="own_encoders:build")
    scored = train_ensemble(pictures(), named, workers=1)
    assert "own_encoders:build" in scored.notes[0]
    assert scored.recipe()["settings"]["encoder"] == "own_encoders:build"
    assert "torchvision's" in train_ensemble(pictures(), Settings(2, 2), workers=1).notes[0]


def test_an_encoder_beside_a_model_or_for_what_is_no_picture_in_colour_is_refused(torchvision):
    torchvision(weights=True)
    both = Settings(2, 1, encoder="torchvision", models=("mlp",))
    with pytest.raises(InputError, match="not both"):
        train_ensemble(pictures(), both, workers=1)
    with pytest.raises(InputError, match="pictures in colour"):
        train_ensemble(pictures(1), Settings(2, 1, encoder="torchvision"), workers=1)
