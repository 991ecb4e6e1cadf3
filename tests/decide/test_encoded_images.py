"""Images are read once by an encoder where one is installed; proxies learn from its features."""

import numpy as np
import pytest

from dris.data.labelled import LabelledData
from dris.decide.decision import decide
from dris.decide.scored import score_data
from dris.decide.settings import Settings

torch = pytest.importorskip("torch")
CHEAP = Settings(proxies=2, epochs=3)


def photographs(channels=3):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    x = rng.integers(0, 60, size=(240, channels, 8, 8)) + 120 * y[:, None, None, None]
    return LabelledData.of(x.astype(np.uint8), y, classes=("dark", "light"))


class Encoder(torch.nn.Module):
    calls = 0

    def forward(self, x):
        type(self).calls += 1
        return torch.cat([x.mean(dim=(2, 3)), x.amax(dim=(2, 3))], dim=1)


@pytest.fixture
def encoder(monkeypatch):
    Encoder.calls = 0
    found = ("a made encoder", Encoder())
    monkeypatch.setattr("dris.learn.networks.encoders.installed_encoder", lambda: found)


def test_an_installed_encoder_reads_images_once_and_is_named(encoder, tmp_path):
    scored = score_data(photographs(), CHEAP, store=tmp_path, workers=1)
    assert scored.features.shape == (240, 6)
    assert scored.settings.models == ("mlp",)
    assert "images are read once by a made encoder" in scored.notes[0]
    read = Encoder.calls
    again = score_data(photographs(), CHEAP, store=tmp_path, workers=1)
    assert Encoder.calls == read  # kept by content
    assert (again.features == scored.features).all()


def test_whether_it_helps_is_measured_on_the_features(encoder):
    decision = decide(photographs(), settings=CHEAP, workers=1)
    assert decision.scored.table.shape == (240, 6)
    assert decision.harm is not None


def test_without_an_encoder_with_a_named_model_or_in_grey_nothing_is_encoded(encoder, monkeypatch):
    named = score_data(photographs(), Settings(2, 1, models=("small_cnn",)), workers=1)
    assert named.features is None
    assert score_data(photographs(1), CHEAP, workers=1).features is None
    monkeypatch.setattr("dris.learn.networks.encoders.installed_encoder", lambda: None)
    bare = score_data(photographs(), CHEAP, workers=1)
    assert (bare.features, bare.settings.models) == (None, ("small_cnn",))
