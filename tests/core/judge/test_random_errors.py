import numpy as np
import pytest

from dris.core.judge import random_errors as module
from dris.core.judge.random_errors import (
    losses_of_shares,
    random_errors,
)


def world(wrong, *, n=2000, spread=4.0, seed=0):
    """Two classes by log odds; strangers hedge; a share flipped at random."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, spread, n)
    true = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    p = 1 / (1 + np.exp([odds / 2, -odds / 2])).T
    return p, np.where(rng.random(n) < wrong, 1 - true, true)


def test_the_fit_is_that_of_a_search_over_a_and_b():
    p, labels = world(0.2, n=100)  # as many as there are bins: nothing is averaged
    top = p.max(axis=1)
    odds, agrees = np.log(top / (1 - top)), p.argmax(axis=1) == labels
    shares, found = losses_of_shares(p, labels)
    for e in (0.0, 0.1, 0.2, 0.3):
        best = np.inf
        for a in np.arange(-3, 9, 0.05):
            q = 1 / (1 + np.exp(-a - np.arange(0.5, 12, 0.05)[:, None] * odds))
            r = ((1 - e) * q + e * (1 - q)).clip(1e-9, 1 - 1e-9)
            best = min(best, (-np.log(np.where(agrees, r, 1 - r))).sum(axis=1).min())
        assert best - 0.2 < found[np.abs(shares - e).argmin()] < best + 0.02


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.3])
def test_errors_at_random_are_told_from_overlap(wrong):
    found = [random_errors(*world(wrong, seed=seed)) for seed in range(10)]
    assert all(one.least <= one.best for one in found)
    assert np.mean([one.best for one in found]) == pytest.approx(wrong, abs=0.02)
    p, labels = world(wrong)
    assert (p.argmax(axis=1) != labels).mean() > wrong + 0.05  # which are contradicted in all


def test_where_strangers_are_all_equally_sure_every_lesser_share_fits_and_the_most_is_taken():
    p = np.repeat([[0.8, 0.2], [0.2, 0.8]], 500, axis=0)
    labels = p.argmax(axis=1) ^ (np.arange(1000) % 5 == 0)  # overlap of a fifth looks the same
    shares, loss = losses_of_shares(p, labels)
    assert np.ptp(loss[shares < 0.19]) < 0.01
    found = random_errors(p, labels)
    assert (found.least, found.best) == (0.0, pytest.approx(0.2, abs=0.011))
    assert not found.known


def test_agreement_that_does_not_rise_with_sureness_has_met_its_ceiling(monkeypatch):
    rng = np.random.default_rng(0)
    odds = rng.uniform(1, 3, 4000)  # classes far apart, learned from noisy labels
    p = 1 / (1 + np.exp([odds, -odds])).T
    labels = (rng.random(4000) > 0.2).astype(np.int64)
    assert random_errors(p, labels).best == pytest.approx(0.2, abs=0.02)
    monkeypatch.setattr(module, "SLOPE", 0.0)  # the twin: overlap of a fifth fits as well
    loss = losses_of_shares(p, labels)[1]
    assert loss[0] - loss.min() < 0.5


def test_the_order_of_the_examples_changes_no_bit():
    p, labels = world(0.1, n=999)
    p = p.round(2)  # ties among them
    order = np.random.default_rng(5).permutation(999)
    assert (losses_of_shares(p, labels)[1] == losses_of_shares(p[order], labels[order])[1]).all()


def test_one_class_or_no_row_has_no_wrong_labels():
    one = random_errors(np.ones((5, 1)), np.zeros(5, dtype=np.int64))
    none = random_errors(np.ones((0, 2)), np.zeros(0, dtype=np.int64))
    assert one == none == module.RandomErrors(0.0, 0.0, known=False)


def test_strangers_who_are_as_sure_as_they_are_right_tell_nothing_and_it_is_said():
    """Learned from noisy labels to perfection: overlap explains it as well as errors."""
    rng = np.random.default_rng(0)
    q = 1 / (1 + np.exp(-8 * rng.normal(size=2000)))
    given = 0.7 * q + 0.3 * (1 - q)
    labels = (rng.random(2000) < given).astype(np.int64)
    assert not random_errors(np.stack((1 - given, given), axis=1), labels).known
