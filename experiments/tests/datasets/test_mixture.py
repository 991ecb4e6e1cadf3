import math

import numpy as np
import pytest

from dris import InputError
from experiments.datasets.mixture import hyperplane_mixture, two_cluster_mixture


def test_the_paper_setting_has_200_rare_among_2000_in_20_dimensions():
    train = two_cluster_mixture(seed=0, split="train")
    assert train.x.shape == (2000, 20)
    assert train.x.dtype == np.float32
    assert train.rare.sum() == 200
    assert set(train.y.tolist()) == {0, 1}


def test_the_clusters_have_variance_1_and_400():
    m = two_cluster_mixture(20_000, seed=1, split="train", separation=0.0)
    # A sample variance of n·D normals has relative standard deviation √(2/nD): 0.0024 for the
    # common, 0.0071 for the rare; five of them are exceeded with probability below 1e-6.
    assert m.x[~m.rare].var() == pytest.approx(1, rel=5 * math.sqrt(2 / (18_000 * 20)))
    assert m.x[m.rare].var() == pytest.approx(400, rel=5 * math.sqrt(2 / (2000 * 20)))


def test_the_classes_stand_on_both_sides_at_the_separation_in_both_clusters():
    m = two_cluster_mixture(20_000, seed=2, split="train", separation=3.0)
    for members, scale in ((~m.rare, 1.0), (m.rare, 20.0)):
        up = m.x[members & (m.y == 1)].mean(0)
        down = m.x[members & (m.y == 0)].mean(0)
        # Half the distance of the means has standard deviation scale/√n per coordinate; the
        # length gains at most its noise norm, below 0.25·scale except with probability 1e-9.
        assert np.linalg.norm(up - down) / 2 == pytest.approx(3.0 * scale, abs=0.25 * scale)


def test_the_best_linear_rule_reaches_the_clean_accuracy_of_the_paper():
    train = two_cluster_mixture(20_000, seed=3, split="train")
    test = two_cluster_mixture(20_000, seed=3, split="test")
    unit = np.where(train.rare, 1 / 20, 1.0)[:, None] * train.x
    w = unit[train.y == 1].mean(0) - unit[train.y == 0].mean(0)
    accuracy = ((test.x @ w > 0) == test.y).mean()
    # Φ(1.73) = 0.9582; standard deviation √(0.958·0.042/20,000) = 0.0014, five of them.
    assert accuracy == pytest.approx(0.9582, abs=0.0071)


def test_same_seed_same_data_and_splits_differ():
    one, two = (two_cluster_mixture(seed=4, split="train") for _ in range(2))
    other = two_cluster_mixture(seed=4, split="test")
    assert (one.x == two.x).all()
    assert not (one.x == other.x).any()
    assert not (one.x == two_cluster_mixture(seed=5, split="train").x).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 1}, "n must be at least 2"),
        ({"dimension": 0}, "dimension at least 1, got 2000 and 0"),
        ({"rare_variance": 0.0}, "rare_variance must be positive"),
        ({"rare_variance": math.inf}, "rare_variance must be positive and finite, got inf"),
        ({"rare_variance": math.nan}, "got nan"),
        ({"separation": -1.0}, "separation must be zero or more"),
        ({"separation": math.nan}, "separation must be zero or more"),
        ({"rare_ratio": 0.0}, r"rare_ratio must be in \(0, 1\]"),
        ({"rare_ratio": 1.5}, r"rare_ratio must be in \(0, 1\]"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_bad_settings_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        two_cluster_mixture(**{"n": 2000, "seed": 0, "split": "train", **arguments})


def test_a_hyperplane_labels_both_clusters_and_noise_reaches_the_common_one_only():
    m = hyperplane_mixture(20_000, seed=3, split="train")
    direction = np.linalg.lstsq(m.x[m.rare], 2.0 * m.y[m.rare] - 1, rcond=None)[0]
    assert m.rare.sum() == 2000
    wrong = (m.x @ direction > 0) != m.y
    # arctan(0.1)/π = 3.2 % of the common; the estimated direction, 2,000 examples in 20
    # dimensions, is off by about √(20·0.57/2000) = 0.076 rad, which adds another 2.4 % at most.
    assert 0.03 < wrong[~m.rare].mean() < 0.065
    exact = hyperplane_mixture(20_000, seed=3, split="train", label_noise=0.0)
    assert (exact.y != m.y)[m.rare].mean() < 0.005 < (exact.y != m.y)[~m.rare].mean()


@pytest.mark.parametrize("noise", [-0.1, math.nan, math.inf])
def test_bad_label_noise_is_named(noise):
    with pytest.raises(InputError, match="label_noise must be zero or more and finite"):
        hyperplane_mixture(seed=0, split="train", label_noise=noise)
