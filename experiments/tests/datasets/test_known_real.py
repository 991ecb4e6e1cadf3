"""Facts about the real data sets; each test skips, with the reason, where its set is absent."""

import numpy as np
import pytest

from experiments.datasets import class_names
from experiments.datasets.food101 import decode_images

pytestmark = pytest.mark.realdata


def test_mnist_is_mnist(real):
    data = real("mnist")
    assert data.train_x.shape == (60_000, 1, 28, 28)
    assert data.test_x.shape == (10_000, 1, 28, 28)
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(data.train_y).tolist() == counts
    assert np.bincount(data.test_y).tolist() == [
        980,
        1135,
        1032,
        1010,
        982,
        892,
        958,
        1028,
        974,
        1009,
    ]
    assert data.train_y[:5].tolist() == [5, 0, 4, 1, 9]
    assert data.train_x.mean() / 255 == pytest.approx(0.1307, abs=1e-4)


def test_fashion_mnist_is_fashion_mnist(real):
    data = real("fashion-mnist")
    assert data.train_x.shape == (60_000, 1, 28, 28)
    assert np.bincount(data.train_y).tolist() == [6000] * 10
    assert np.bincount(data.test_y).tolist() == [1000] * 10
    assert data.classes[data.train_y[0]] == "Ankle boot"
    assert data.train_x.mean() / 255 == pytest.approx(0.2860, abs=1e-4)


def test_cifar10_is_cifar10(real):
    data = real("cifar10")
    assert data.train_x.shape == (50_000, 3, 32, 32)
    assert data.train_x.dtype == np.uint8
    assert data.test_x.shape == (10_000, 3, 32, 32)
    assert np.bincount(data.train_y).tolist() == [5000] * 10
    assert np.bincount(data.test_y).tolist() == [1000] * 10
    assert data.train_y[:5].tolist() == [6, 9, 9, 4, 1]
    assert data.classes[data.train_y[0]] == "frog"
    # The channel means everyone normalises with: red, green, blue in this order.
    means = data.train_x.mean((0, 2, 3)) / 255
    assert means.tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)


def test_cifar100_is_cifar100_and_five_fine_classes_make_a_coarse_one(real):
    fine, coarse = real("cifar100"), real("cifar100-coarse")
    assert fine.train_x.shape == (50_000, 3, 32, 32)
    assert np.bincount(fine.train_y).tolist() == [500] * 100
    assert np.bincount(fine.test_y).tolist() == [100] * 100
    assert np.bincount(coarse.train_y).tolist() == [2500] * 20
    means = fine.train_x.mean((0, 2, 3)) / 255
    assert means.tolist() == pytest.approx([0.5071, 0.4865, 0.4409], abs=1e-4)
    pairs = sorted(set(zip(coarse.train_y.tolist(), fine.train_y.tolist(), strict=True)))
    assert len(pairs) == 100
    groups = {name: set() for name in class_names.CIFAR100_COARSE}
    for group, member in pairs:
        groups[coarse.classes[group]].add(fine.classes[member])
    assert groups["people"] == {"baby", "boy", "girl", "man", "woman"}
    assert groups["fish"] == {"aquarium_fish", "flatfish", "ray", "shark", "trout"}
    assert groups["vehicles_2"] == {"lawn_mower", "rocket", "streetcar", "tank", "tractor"}
    assert groups["trees"] == {"maple_tree", "oak_tree", "palm_tree", "pine_tree", "willow_tree"}
    assert groups["insects"] == {"bee", "beetle", "butterfly", "caterpillar", "cockroach"}


def test_food101_paths_decode_and_keep_the_official_split(real):
    data = real("food101")
    assert data.kind == "paths"
    assert list(data.classes) == sorted(data.classes)
    assert not set(data.train_x.tolist()) & set(data.test_x.tolist())
    train, test = np.bincount(data.train_y), np.bincount(data.test_y)
    assert (train == 3 * test).all()  # 750 to 250 of each class, as a whole or thinned evenly
    assert all(f"/{data.classes[y]}/" in x for x, y in zip(data.train_x, data.train_y, strict=True))
    images = decode_images(data.train_x[:: len(data.train_x) // 20], size=64)
    assert images.shape[1:] == (3, 64, 64)
    assert (images.std((1, 2, 3)) > 5).all()
    assert ("in part" in data.note) == (len(data.train_x) < 75_750)
