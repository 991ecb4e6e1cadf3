import numpy as np
import pytest

from dris.core.judge.wrong_share import wrong_share


def world(wrong, *, overlap=0.0, n=6000, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    labels = np.where(rng.random(n) < wrong, (truth + rng.integers(1, classes, n)) % classes, truth)
    seen = np.where(rng.random(n) < overlap, rng.integers(classes, size=n), truth)
    p = np.full((n, classes), 0.02)
    p[np.arange(n), seen] = np.where(
        seen == truth, rng.uniform(0.6, 1, n), rng.uniform(0.4, 0.6, n)
    )
    return p / p.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("overlap", [0.0, 0.2])
def test_uniform_noise_lies_in_the_range_and_near_its_lower_end(wrong, overlap):
    inside = 0
    for seed in range(20):
        share = wrong_share(*world(wrong, overlap=overlap, seed=seed))
        inside += share.low <= wrong + 0.005 and wrong - 0.02 <= share.high
        assert wrong - share.low < 0.1
        assert 0 <= share.low <= share.high <= 1
    assert inside >= 18


def test_overlap_widens_the_range_at_its_upper_end_alone():
    narrow, wide = (wrong_share(*world(0.1, overlap=o)) for o in (0.0, 0.3))
    assert wide.width > narrow.width + 0.1
    assert abs(wide.low - narrow.low) < 0.03
    assert "too many where classes overlap" in str(wide)
