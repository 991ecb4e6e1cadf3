"""Photographs in folders: an encoder reads them from their files, larger than small CNNs do."""

from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

import dris
from dris.pipeline.ensemble import train_ensemble
from dris.pipeline.settings import Settings

torch = pytest.importorskip("torch")
CHEAP = Settings(proxies=2, epochs=2)


class Sides(torch.nn.Module):
    """Features that say how large the images were."""

    seen: ClassVar[list[int]] = []

    def forward(self, x):
        type(self).seen.append(x.shape[-1])
        return x.mean(dim=(2, 3))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    Sides.seen = []
    made = ("a made encoder", Sides())
    monkeypatch.setattr("dris.learn.trainers.networks.encoders.installed_encoder", lambda: made)
    rng = np.random.default_rng(0)
    for name, light in (("dark", 0), ("light", 150)):
        (tmp_path / "in" / name).mkdir(parents=True)
        for i in range(40):
            pixels = rng.integers(light, light + 100, size=(70, 90, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "in" / name / f"{i}.png")
    return tmp_path


def test_an_encoder_reads_the_files_at_its_own_side_and_keeps_what_it_read(folder):
    data = dris.read_data(folder / "in")
    assert data.x.shape == (80, 3, 32, 32)
    ensemble = train_ensemble(data, CHEAP, workers=1, store=folder / "runs")
    assert set(Sides.seen) == {128}
    assert "a made encoder, at 128 × 128 pixels" in ensemble.notes[0]
    read = len(Sides.seen)
    train_ensemble(dris.read_data(folder / "in"), CHEAP, workers=1, store=folder / "runs")
    assert len(Sides.seen) == read
    # The twin: another picture in one file, and they are read again.
    Image.fromarray(np.zeros((70, 90, 3), np.uint8)).save(folder / "in" / "light" / "3.png")
    train_ensemble(dris.read_data(folder / "in"), CHEAP, workers=1, store=folder / "runs")
    assert len(Sides.seen) > read


def test_a_size_that_was_named_is_kept_to(folder):
    data = dris.read_data(folder / "in", image_size=32)
    assert not data.made_small
    ensemble = train_ensemble(data, CHEAP, workers=1)
    assert set(Sides.seen) == {32}
    assert "pixels" not in ensemble.notes[0]
