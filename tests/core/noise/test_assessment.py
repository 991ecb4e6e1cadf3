"""Who is a suspect, worked by hand, and what the rules that drop suspects make of it."""

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.core.noise.assessment import (
    SUSPECT_ODDS,
    assess,
    class_cuts,
    find_outmatched,
    find_suspects,
    usual_confidence,
)
from dris.pipeline.settings import Settings
from made_ensemble import cross_fitted


def test_as_many_of_a_class_go_as_are_surely_of_another_and_the_least_probable_first():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.45, 0.55], [0.3, 0.7], [0.1, 0.9], [0.2, 0.8]])
    labels = np.array([0, 0, 0, 0, 1, 1])  # on average 0.6125 and 0.85: none is surely class 1
    assert class_cuts(p, labels).tolist() == [-1, -1]
    p[3] = [0.1, 0.9]  # now one is; two of class 0 are sure, so a third of four go: one
    assert class_cuts(p, labels).tolist() == [0.1, -1]
    assert find_suspects(p, labels, labels).tolist() == [False] * 3 + [True] + [False] * 2
    other = find_suspects(p, np.array([0, 0, 1, 0, 1, 0]), labels)  # other labels, the same cuts
    assert other.tolist() == [False] * 3 + [True] + [False] * 2
    p[3] = [0.5, 0.5]
    assert not find_suspects(p, labels, labels).any()  # no other class is likelier


def test_under_heavy_noise_a_label_goes_as_soon_as_another_is_likelier():
    rng = np.random.default_rng(0)
    truth = np.arange(2000) % 2
    flipped = rng.random(2000) < 0.4
    labels = np.where(flipped, 1 - truth, truth)
    lead = rng.uniform(0.1, 0.2, 2000)  # calibrated proxies say 60 : 40 at most
    p = np.where(np.eye(2, dtype=bool)[truth], 0.5 + lead[:, None] / 2, 0.5 - lead[:, None] / 2)
    suspects = find_suspects(p, labels, labels)
    assert (suspects == flipped).mean() > 0.9
    assert not find_suspects(p, truth, truth).any()  # the twin: with no noise they all stay


def test_a_class_that_proxies_are_shy_of_is_not_blamed_for_it():
    p = np.array([[0.7, 0.3], [0.65, 0.35], [0.9, 0.1], [0.95, 0.05]])
    labels = np.array([1, 1, 0, 0])  # class 1 never gets half
    assert not find_suspects(p, labels, labels).any()
    assert (p.argmax(axis=1) != labels).sum() == 2  # the twin: a plain comparison blames it


def three_classes():
    """Two sure examples of each class, then one to be judged, labelled 0."""
    sure = np.repeat(np.eye(3) * 0.7 + 0.1, 2, axis=0)
    return sure, np.repeat([0, 1, 2], 2)


@pytest.mark.parametrize(
    ("last", "suspect", "doubtful"),
    [
        ([0.50, 0.30, 0.20], False, False),
        ([0.40, 0.45, 0.15], False, False),  # likelier, but not beside what is usual
        ([0.36, 0.50, 0.14], False, True),  # so too, by less than half as much again
        ([0.25, 0.55, 0.20], True, True),
    ],
)
def test_with_three_classes_a_label_goes_where_another_is_half_as_likely_again(
    last, suspect, doubtful
):
    sure, labels = three_classes()
    p, y = np.vstack((sure, [last])), np.append(labels, 0)
    # Class 0 has (0.8 + 0.8 + own) / 3 on its own examples, the others 0.8.
    usual = np.array([(1.6 + last[0]) / 3, 0.8, 0.8])
    beside = p[-1] / usual
    assert suspect == (beside[1] > 1.5 * beside[0])
    assert find_suspects(p, y, y).tolist() == [False] * 6 + [suspect]
    assert find_outmatched(p, y, y).tolist() == [False] * 6 + [doubtful]


def test_a_class_that_nobody_is_sure_of_is_compared_with_itself():
    # Examples of class 2 are never surer than 0.4: at 0.3 it is as likely as usual.
    p = np.array([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4], [0.36, 0.34, 0.3]])
    y = np.array([0, 2, 2])
    assert not find_suspects(p, y, y).any()
    assert find_outmatched(p, y, y).tolist() == [False, False, False]


def test_a_label_that_no_class_is_likelier_than_stays_however_unusual():
    # Class 1 is rare and never sure, so 0.3 is much for it; class 0 is still the likelier one.
    p = np.array([[0.95, 0.03, 0.02], [0.95, 0.03, 0.02], [0.8, 0.1, 0.1], [0.02, 0.03, 0.95]])
    p = np.vstack((p, [[0.5, 0.3, 0.2]]))
    y = np.array([0, 0, 1, 2, 0])
    beside = p / usual_confidence(p, y)
    assert beside[4, 1] > 1.5 * beside[4, 0]
    assert not find_suspects(p, y, y).any()


def test_hard_examples_that_were_attacked_are_suspect_though_no_class_is_sure_of_them():
    # An attack on hard examples: the true class is likelier, but far from as sure as usual.
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 100)
    p = np.full((400, 4), 0.02)
    p[np.arange(400), y] = 0.94
    hit = np.arange(0, 400, 4)
    given = y.copy()
    given[hit] = (y[hit] + rng.integers(1, 4, hit.size)) % 4
    p[hit] = 0.15
    p[hit, y[hit]] = 0.55
    assert np.flatnonzero(find_suspects(p, given, given)).tolist() == hit.tolist()


def test_a_class_that_nobody_carries_is_never_likelier():
    p = np.array([[0.3, 0.1, 0.6], [0.1, 0.6, 0.3], [0.1, 0.5, 0.4]])
    y = np.array([0, 1, 1])
    assert not find_suspects(p, y, y).any()


def test_the_odds_of_a_suspect_are_a_setting_pinned_at_one_and_a_half():
    # Every class is at 0.8 on its own sure examples, class 0 at (0.8 + 0.8 + own) / 3.
    sure, labels = three_classes()
    p, y = np.vstack((sure, [[0.25, 0.55, 0.20]])), np.append(labels, 0)
    odds = (0.55 / 0.8) / (0.25 / ((1.6 + 0.25) / 3))
    assert odds == pytest.approx(1.6958, abs=1e-4)
    assert find_suspects(p, y, y)[-1]
    assert find_suspects(p, y, y, odds - 0.001)[-1]
    assert not find_suspects(p, y, y, odds + 0.001)[-1]
    assert SUSPECT_ODDS == 1.5 == Settings().suspect_odds
    assert not find_suspects(np.array([[0.6, 0.4]] * 4), *[np.zeros(4, int)] * 2, 1.0).any()


def test_larger_odds_drop_fewer_labels_through_every_step():
    dynamics, _ = cross_fitted(strength=1.5)
    counts = [assess(dynamics, odds=odds).given.suspects.sum() for odds in (1.0, 1.5, 3.0, 30.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1] > counts[2] > counts[3]
    for bad in (0.99, float("nan")):
        with pytest.raises(InputError, match="suspect_odds"):
            Settings(suspect_odds=bad)
