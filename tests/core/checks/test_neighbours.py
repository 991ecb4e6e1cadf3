"""Near-copies and outliers, against every pair compared in loops and against what was planted."""

import numpy as np
import pytest

from dris.core.checks import neighbours
from dris.core.checks.neighbours import NEAR, find_neighbours, nearest_rows


def planted(seed=0, n=1200, d=12, pairs=15, far=4):
    """Blobs in which some rows nearly copy others and some are far from all."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) + 6 * rng.normal(size=(8, d))[rng.integers(8, size=n)]
    rows = rng.permutation(n)
    one, other, alone = rows[:pairs], rows[pairs : 2 * pairs], rows[2 * pairs : 2 * pairs + far]
    x[other] = x[one] + 0.005 * rng.normal(size=(pairs, d))
    x[alone] = 60 * rng.normal(size=(far, d))
    return x.astype(np.float32), one, other, alone


def test_every_pair_is_compared_as_in_loops():
    x, *_ = planted(n=90, d=3)
    index, apart = nearest_rows(x, 4, rng=np.random.default_rng(0))
    for i, row in enumerate(x.astype(np.float64)):
        distances = np.sqrt(((x.astype(np.float64) - row) ** 2).sum(axis=1))
        distances[i] = np.inf
        assert np.allclose(np.sort(distances)[:4], apart[i], rtol=1e-5)
        assert np.allclose(distances[index[i]], apart[i], rtol=1e-5)


@pytest.mark.parametrize("most", [5_000, 100], ids=["exact", "trees"])
def test_planted_near_copies_and_outliers_are_found_and_nothing_else(monkeypatch, most):
    x, one, other, alone = planted()
    monkeypatch.setattr(neighbours, "MAX_EXACT_ROWS", most)
    monkeypatch.setattr(neighbours, "LEAF", 40)
    found = find_neighbours(x, rng=np.random.default_rng(0))
    assert sorted(np.flatnonzero(found.groups >= 0)) == sorted([*one, *other])
    assert (found.groups[one] == found.groups[other]).all()
    assert len(np.unique(found.groups[one])) == len(one)
    assert set(found.outliers) == set(alone)
    assert (np.diff(found.distance[found.outliers]) <= 0).all()


def test_trees_find_the_neighbours_that_brute_force_finds(monkeypatch):
    x, *_ = planted(n=3000)
    exact = nearest_rows(x, 10, rng=np.random.default_rng(0))[1]
    monkeypatch.setattr(neighbours, "MAX_EXACT_ROWS", 100)
    trees = nearest_rows(x, 10, rng=np.random.default_rng(0))[1]
    assert (trees >= exact - 1e-5).all()
    near = exact[:, 0] < NEAR * np.median(exact[:, 0])
    assert near.any()
    assert np.allclose(trees[near, 0], exact[near, 0], rtol=1e-5)
    assert trees.mean() < 1.05 * exact.mean()


def test_exact_copies_are_one_group_however_many():
    x, *_ = planted(n=300, pairs=0, far=0)
    x[:40] = x[0]
    keys = np.where(np.arange(300) < 40, 0, np.arange(300))
    found = find_neighbours(x, keys, rng=np.random.default_rng(0))
    assert (found.groups[:40] == 0).all()
    assert (found.groups[40:] == -1).all()
    assert (found.nearest[:40] == 0).all()
