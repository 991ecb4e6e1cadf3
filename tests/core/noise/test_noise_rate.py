import numpy as np
import pytest

from dris.core.noise import noise_rate as module
from dris.core.noise.noise_rate import (
    RandomErrors,
    estimate_noise_rate,
    fit_random_errors,
    losses_of_shares,
)


@pytest.fixture
def by_count(monkeypatch):
    """The lower end by the surest alone: classes overlap, and anything fits."""
    fits = RandomErrors(1.0, 1.0, 1.0, 1.0, 0.4, narrow=True)
    monkeypatch.setattr(module, "fit_random_errors", lambda *_: fits)
    monkeypatch.setattr(module, "MARGIN", 0.0)


def softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def world(wrong, *, sure, n=3000, classes=4, seed=0):
    """Labels drawn from classes `sure` apart, so many flipped at random; strangers hedge."""
    rng = np.random.default_rng(seed)
    logits = sure * rng.normal(size=(n, classes))
    p = softmax(logits)
    labels = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, classes - 1)
    flipped = rng.permutation(n)[: round(wrong * n)]
    labels[flipped] = (labels[flipped] + rng.integers(1, classes, flipped.size)) % classes
    seen = softmax(logits / 2)
    return (1 - wrong) * seen + wrong * (1 - seen) / (classes - 1), labels


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("classes", [2, 4, 10])
def test_uniform_noise_lies_in_the_range_however_far_classes_are_apart(wrong, classes):
    inside = []
    for seed in range(5):
        for sure in (2.0, 6.0):
            share = estimate_noise_rate(*world(wrong, sure=sure, classes=classes, seed=seed))
            assert 0 <= share.low <= share.high <= 1
            assert share.surest <= share.high
            inside.append(share.low <= wrong + 0.005 and wrong - 0.005 <= share.high)
    assert np.mean(inside) >= 0.75  # nine of ten over all of these together


@pytest.mark.slow
def test_what_is_said_to_fit_best_is_near_the_truth():
    near = [
        abs(share.likely - wrong) < 0.05
        for wrong in (0.0, 0.1, 0.2)
        for sure in (2.0, 6.0)
        for seed in range(10)
        for share in [estimate_noise_rate(*world(wrong, sure=sure, seed=seed))]
        if share.likely is not None
    ]
    assert np.mean(near) >= 0.9
    assert len(near) >= 30  # of 60


def test_overlap_widens_the_range_at_its_upper_end_alone():
    narrow, wide = (estimate_noise_rate(*world(0.1, sure=sure)) for sure in (6.0, 1.5))
    assert wide.width > narrow.width + 0.1
    assert abs(wide.low - narrow.low) < 0.08


def test_the_lower_end_is_told_both_ways_where_classes_overlap_and_else_either(monkeypatch):
    p, labels = world(0.2, sure=6.0)
    surest = estimate_noise_rate(p, labels).surest
    assert 0.1 < surest < 0.3
    monkeypatch.setattr(module, "ERRORS_ABOVE", 100.0)  # nothing is above the upper end
    for overlap, least, less, low in (
        (0.2, 0.05, 0.3, surest),  # apart: what fits, or the surest if they nearly fit
        (0.2, 0.05, 0.08, 0.08),
        (0.2, 0.30, 0.32, 0.30),
        (0.2, 0.55, 0.57, 0.0),  # half or more: nothing can be told
        (0.4, 0.05, 0.3, 0.05),  # they overlap
        (0.4, 0.30, 0.3, surest),
        (0.55, 0.05, 0.3, 0.0),  # blurred
    ):
        fits = RandomErrors(least, less, 0.58, 0.6, overlap, narrow=True)
        monkeypatch.setattr(module, "fit_random_errors", lambda *_, fits=fits: fits)
        rate = estimate_noise_rate(p, labels)
        assert (rate.low, rate.surest) == (pytest.approx(max(0, low - 0.01)), surest)


def test_what_fits_best_is_not_said_where_much_fits_or_the_surest_contradict_it(monkeypatch):
    p, labels = world(0.2, sure=6.0)
    for most, overlap, narrow, known in (
        (0.3, 0.1, True, True),
        (0.3, 0.1, False, False),
        (0.3, 0.4, True, False),
        (0.01, 0.1, True, False),
    ):
        fits = RandomErrors(0.0, 0.0, 0.01, most, overlap, narrow=narrow)
        monkeypatch.setattr(module, "fit_random_errors", lambda *_, fits=fits: fits)
        assert (estimate_noise_rate(p, labels).likely is not None) == known


def test_strangers_who_are_as_sure_as_they_are_right_tell_nothing_and_it_is_said():
    """Learned from noisy labels to perfection: overlap explains it as well as errors."""
    rng = np.random.default_rng(0)
    q = 1 / (1 + np.exp(-8 * rng.normal(size=2000)))
    given = 0.7 * q + 0.3 * (1 - q)
    labels = (rng.random(2000) < given).astype(np.int64)
    share = estimate_noise_rate(np.stack((1 - given, given), axis=1), labels)
    assert (share.low < 0.3, share.likely) == (True, None)


def surely(seen, classes):
    """Probabilities by which each class is seen, the first example the surest."""
    p = np.full((seen.size, classes), 0.01)
    p[np.arange(seen.size), seen] = np.linspace(50, 1, seen.size)
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.usefixtures("by_count")
def test_labels_of_a_class_that_looks_alike_are_not_taken_for_wrong_ones():
    rng = np.random.default_rng(0)
    seen = rng.integers(5, size=3000)
    fifth = rng.random(3000) < 0.2
    neighbour = np.where(fifth, (seen + 1) % 5, seen)
    assert estimate_noise_rate(surely(seen, 5), neighbour).low < 0.01
    anywhere = np.where(fifth, (seen + rng.integers(1, 5, 3000)) % 5, seen)  # the twin
    assert 0.1 < estimate_noise_rate(surely(seen, 5), anywhere).low < 0.2


@pytest.mark.usefixtures("by_count")
def test_of_two_classes_as_many_count_as_are_contradicted_no_more_often():
    rng = np.random.default_rng(1)
    seen = rng.integers(2, size=3000)
    level = rng.random(3000) < 0.2
    low = estimate_noise_rate(surely(seen, 2), np.where(level, 1 - seen, seen)).low
    assert 0.17 < low < 0.2
    hard = level | ((np.arange(3000) > 600) & (rng.random(3000) < 0.3))
    alike = estimate_noise_rate(surely(seen, 2), np.where(hard, 1 - seen, seen)).low
    assert 0.13 < alike < 0.2  # the hard do not join, so that less is known
    assert (hard.mean() - alike) > 0.2


def test_where_most_of_the_sure_are_contradicted_none_is_sure():
    rng = np.random.default_rng(2)
    seen = rng.integers(4, size=2000)
    blind = estimate_noise_rate(surely(seen, 4), rng.integers(4, size=2000))
    assert (blind.low, blind.high > 0.7) == (0.0, True)


def test_a_few_rows_are_no_proof_that_nothing_is_wrong():
    seen = np.arange(40) % 4
    share = estimate_noise_rate(surely(seen, 4), seen)
    assert (share.low, share.high) == (0.0, 0.0)
    seen = np.arange(200) % 2
    labels = seen.copy()
    labels[::10] = 1 - labels[::10]
    assert estimate_noise_rate(surely(seen, 2), labels).low < 0.1  # less its uncertainty


@pytest.mark.usefixtures("by_count")
def test_of_two_classes_by_hand():
    seen = np.arange(400) % 2
    labels = np.where(np.arange(400) % 5 == 0, 1 - seen, seen)  # a fifth of every ring
    share = estimate_noise_rate(surely(seen, 2), labels)
    # The surest 60, then rings of 20 up to 320 of 400.
    assert share.low == pytest.approx(0.2 - 1.282 * (0.16 / 320) ** 0.5)
    assert share.high == pytest.approx(0.2 + 2 * (0.16 / 400) ** 0.5)
    labels[60:80:10] = 1 - seen[60:80:10]  # two right ones again: the next ring joins
    labels[80:100:4] = 1 - seen[80:100:4]  # more wrong ones: this does not
    wrong = (labels != seen)[:80].mean()
    low = estimate_noise_rate(surely(seen, 2), labels).low
    assert low == pytest.approx(wrong - 1.282 * (wrong * (1 - wrong) / 80) ** 0.5)


@pytest.mark.usefixtures("by_count")
@pytest.mark.parametrize("far", [3, 9])
def test_of_four_classes_by_hand(far):
    # Among the less sure 0 is mixed up with 1 and 2, 3 with 1 and 2, so 0 and 3 are far apart.
    pairs = [(0, 1), (1, 0), (0, 2), (2, 0), (3, 1), (1, 3), (3, 2), (2, 3)]
    rest = np.array(pairs * 5 + [(c, c) for c in range(4)] * 20)
    sure = np.array([(0, 3)] * far + [(0, 1)] * (10 - far) + [(0, 0)] * 20)
    seen, labels = np.concatenate((sure, rest)).T
    low = estimate_noise_rate(surely(seen, 4), labels).low
    if far == 3:  # three times 3 of 30
        assert low == pytest.approx(0.3 - 1.282 * ((9 * 0.1 - 0.3**2) / 30) ** 0.5)
    else:  # three times 9 would be more than there are
        assert low == pytest.approx(1 / 3 - 1.282 * (2 / 9 / 30) ** 0.5)


def test_no_end_leaves_what_a_share_can_be():
    seen = np.arange(100) % 2
    right = estimate_noise_rate(surely(seen, 2), seen)
    assert (right.low, right.high) == (0.0, 0.0)
    assert estimate_noise_rate(surely(seen, 2), 1 - seen).high == 1.0


@pytest.mark.usefixtures("by_count")
def test_of_ten_classes_a_third_of_the_others_is_far_by_hand():
    # Among the less sure 0 is mixed up with 1 to 6 and never with 7, 8 and 9.
    rest = np.array([(0, c) for c in range(1, 7)] * 4 + [(c, c) for c in range(10)] * 10)[:120]
    sure = np.array([(0, 7)] * 2 + [(0, 8)] + [(0, 1)] * 8 + [(0, 0)] * 19)
    seen, labels = np.concatenate((sure, rest)).T
    share = estimate_noise_rate(surely(seen, 10), labels)
    # Three of nine are far: 3 of 30, times 9 / 3.
    assert share.low == pytest.approx(0.3 - 1.282 * ((9 * 0.1 - 0.3**2) / 30) ** 0.5)
    assert share.width == share.high - share.low


def test_where_only_the_unsure_are_contradicted_nothing_is_surely_wrong():
    seen = np.arange(400) % 2
    labels = seen.copy()
    labels[360:] = 1 - labels[360:]
    share = estimate_noise_rate(surely(seen, 2), labels)
    assert (share.low, share.high > 0.1) == (0.0, True)


def two_classes(wrong, *, n=2000, spread=4.0, seed=0):
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
    fit = [fit_random_errors(*two_classes(wrong, seed=seed)) for seed in range(10)]
    assert all(one.least <= one.less <= one.best <= one.most for one in fit)
    assert np.mean([one.best for one in fit]) == pytest.approx(wrong, abs=0.02)
    p, labels = two_classes(wrong)
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
    p, labels = two_classes(0.2, spread=3.0)
    fit = fit_random_errors(p, labels)
    assert fit.overlap > 0.1
    monkeypatch.setattr(module, "BENT", 0.0)
    assert fit.least < fit_random_errors(p, labels).least < fit.best


def test_the_order_of_the_examples_changes_no_bit():
    p, labels = two_classes(0.1, n=999)
    p = p.round(2)  # ties among them
    order = np.random.default_rng(5).permutation(999)
    assert (losses_of_shares(p, labels)[1] == losses_of_shares(p[order], labels[order])[1]).all()


def test_of_many_examples_some_tell_the_same(monkeypatch):
    p, labels = two_classes(0.1, n=20_000)
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
