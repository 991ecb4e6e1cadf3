import numpy as np
import pytest

from dris.core.noise import noise_rate as module
from dris.core.noise.noise_rate import (
    fit_random_errors,
    losses_of_shares,
)


def world(wrong, *, n=2000, spread=4.0, seed=0):
    """Two classes by log odds; strangers hedge; a share flipped at random."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, spread, n)
    true = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    p = 1 / (1 + np.exp([odds / 2, -odds / 2])).T
    return p, np.where(rng.random(n) < wrong, 1 - true, true)


@pytest.mark.parametrize("classes", [2, 5])
def test_the_fit_is_that_of_a_search_over_powers(classes):
    rng = np.random.default_rng(classes)
    logits = 2 * rng.normal(size=(200, classes))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.where(rng.random(200) < 0.2, rng.integers(classes, size=200), p.argmax(axis=1))
    shares, fit = losses_of_shares(p, labels)
    assert (shares[0], shares[-1]) == (0.0, pytest.approx(min(0.6, 0.98 - 1 / classes)))
    for e in (0.0, 0.1, 0.2, 0.3):

        def loss(power, e=e):
            q = p**power / (p**power).sum(axis=1, keepdims=True)
            r = (1 - e) * q + e / (classes - 1) * (1 - q)
            return -np.log(r[np.arange(200), labels]).sum()

        best = min(loss(power) for power in np.arange(0.25, 20.01, 0.02))
        assert best - 0.01 < fit[np.abs(shares - e).argmin()] < best + 0.3


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.3])
def test_errors_at_random_are_told_from_overlap(wrong):
    fit = [fit_random_errors(*world(wrong, seed=seed)) for seed in range(10)]
    assert all(one.least <= one.less <= one.best <= one.most for one in fit)
    assert np.mean([one.best for one in fit]) == pytest.approx(wrong, abs=0.02)
    p, labels = world(wrong)
    assert (p.argmax(axis=1) != labels).mean() > wrong + 0.05  # which are contradicted in all


def test_where_strangers_are_all_equally_sure_every_lesser_share_fits():
    p = np.repeat([[0.8, 0.2], [0.2, 0.8]], 500, axis=0)
    labels = p.argmax(axis=1) ^ (np.arange(1000) % 5 == 0)  # overlap of a fifth looks the same
    fit = fit_random_errors(p, labels)
    assert (fit.least, fit.most) == (0.0, pytest.approx(0.2, abs=0.03))
    assert not fit.narrow


def test_a_label_of_any_class_is_an_error_and_one_of_a_class_that_looks_alike_is_not():
    rng = np.random.default_rng(0)
    seen = rng.integers(5, size=3000)
    alike, fifth = (seen + 1) % 5, rng.random(3000) < 0.2
    p = np.full((3000, 5), 0.01)
    p[np.arange(3000), seen], p[np.arange(3000), alike] = 0.75, 0.22
    overlap = fit_random_errors(p, np.where(fifth, alike, seen))
    assert (overlap.best, overlap.overlap) == (0.0, pytest.approx(0.25, abs=0.02))
    anywhere = (seen + rng.integers(1, 5, 3000)) % 5
    errors = fit_random_errors(p, np.where(fifth, anywhere, seen))  # the twin
    assert (errors.best, errors.overlap) == (
        pytest.approx(0.18, abs=0.03),
        pytest.approx(0.03, abs=0.03),
    )


def test_the_more_classes_overlap_the_further_the_least_is_from_the_best(monkeypatch):
    p, labels = world(0.2, spread=3.0)
    fit = fit_random_errors(p, labels)
    assert fit.overlap > 0.1
    monkeypatch.setattr(module, "BENT", 0.0)
    assert fit.least < fit_random_errors(p, labels).least < fit.best


def test_the_order_of_the_examples_changes_no_bit():
    p, labels = world(0.1, n=999)
    p = p.round(2)  # ties among them
    order = np.random.default_rng(5).permutation(999)
    assert (losses_of_shares(p, labels)[1] == losses_of_shares(p[order], labels[order])[1]).all()


def test_of_many_examples_some_tell_the_same(monkeypatch):
    p, labels = world(0.1, n=20_000)
    order = np.random.default_rng(5).permutation(20_000)
    some = losses_of_shares(p, labels)[1]
    assert (some == losses_of_shares(p[order], labels[order])[1]).all()
    fit = fit_random_errors(p, labels)
    with monkeypatch.context() as patch:  # many classes: fewer examples
        patch.setattr(module, "CELLS", 4_000)
        assert losses_of_shares(p, labels)[1] == pytest.approx(some / 5, rel=1e-2)
    monkeypatch.setattr(module, "ROWS", 20_000)
    every = losses_of_shares(p, labels)[1]
    assert some == pytest.approx(every / 2, rel=1e-3)
    assert fit_random_errors(p, labels).best == pytest.approx(fit.best, abs=0.011)


def test_one_class_or_no_row_has_no_wrong_labels():
    one = fit_random_errors(np.ones((5, 1)), np.zeros(5, dtype=np.int64))
    none = fit_random_errors(np.ones((0, 2)), np.zeros(0, dtype=np.int64))
    assert one == none == module.RandomErrors(0.0, 0.0, 0.0, 0.0, 0.0, narrow=False)
