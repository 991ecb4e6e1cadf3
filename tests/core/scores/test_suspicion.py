"""How much a label looks wrong, by hand, and what it does not depend on."""

from dataclasses import replace

import numpy as np
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.scores.formulas import aum_mean, el2n
from dris.core.scores.ranks import normalized_ranks
from dris.core.scores.suspicion import (
    class_cuts,
    doubtful_labels,
    early_margin,
    proxy_weights,
    suspicion,
    unlikely_labels,
    unseen_confidence,
    unseen_probabilities,
    usual_confidence,
)
from dris.core.select import clean
from dris.core.select.clean import suspect_labels
from dris.core.select.rules import CLEAN, CLEAN_THEN_HARD, choose


def cross_fitted(n=600, classes=3, wrong=0.15, strength=4.0, seed=0):
    """Proxies that see the truth, in fold and out of fold, and a share of wrong labels."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    flipped = rng.random(n) < wrong
    labels = np.where(flipped, (truth + 1) % classes, truth)
    sides = []
    for _ in range(2):
        logits = strength * np.eye(classes)[truth] + rng.normal(size=(3, n, classes))
        side = Dynamics.from_logits(logits, labels)
        others = np.where(np.eye(classes, dtype=bool)[labels], -np.inf, logits)
        rival = others.argmax(axis=2).astype(np.int32)
        sides.append(replace(side, columns={**side.columns, "rival": rival[:, None]}))
    return replace(sides[0], out_of_fold=sides[1]), flipped


def test_suspicion_is_the_mean_of_two_reversed_ranks():
    dynamics, _ = cross_fitted()
    weights = proxy_weights(dynamics)
    unseen = weights @ np.exp(-dynamics.out_of_fold.snapshot("loss").astype(float))
    assert unseen_confidence(dynamics) == pytest.approx(unseen)
    margins = [normalized_ranks(-aum_mean(dynamics.only([k]))) for k in range(3)]
    by_hand = (normalized_ranks(-unseen) + weights @ np.array(margins)) / 2
    assert suspicion(dynamics) == pytest.approx(by_hand)
    alone = replace(dynamics, out_of_fold=None)
    assert suspicion(alone) == pytest.approx(normalized_ranks(-aum_mean(dynamics)))


def test_proxies_that_foretell_labels_count_for_more_but_none_for_nothing():
    dynamics, _ = cross_fitted(n=300)
    twin = dynamics.out_of_fold
    noise = np.array(twin.columns["loss"])
    noise[2] = np.log(3)  # the third says nothing of three classes
    worse = replace(dynamics, out_of_fold=replace(twin, columns={**twin.columns, "loss": noise}))
    weights = proxy_weights(worse)
    assert weights.sum() == pytest.approx(1)
    assert 1 / 6 - 1e-9 <= weights[2] < weights[:2].min()
    likelihood = [
        np.log(w @ np.exp(-noise[:, 0].astype(float))).sum()
        for w in (2 * weights - 1 / 3, np.full(3, 1 / 3))  # the half that is fitted, and none
    ]
    assert likelihood[0] > likelihood[1]
    assert proxy_weights(replace(dynamics, out_of_fold=None)).tolist() == [1 / 3] * 3


def test_it_finds_wrong_labels_better_with_both_views_than_by_chance():
    dynamics, flipped = cross_fitted()
    found = suspicion(dynamics)
    assert found[flipped].min() > np.median(found[~flipped])


def test_the_early_margin_stops_at_the_scored_epoch():
    margin = np.array([[[1.0, -1.0], [3.0, -3.0], [100.0, 100.0]]])
    dynamics = Dynamics.from_arrays(loss=np.ones((1, 3, 2)), margin=margin, scored_epoch=2)
    assert early_margin(dynamics).tolist() == [2.0, -2.0]
    assert early_margin(dynamics.at(3)).tolist() == pytest.approx([104 / 3, 32.0])
    assert early_margin(dynamics.summary()).tolist() == pytest.approx([104 / 3, 32.0])


def test_probabilities_are_exact_for_two_classes_and_sum_to_one():
    dynamics, _ = cross_fitted(classes=2)
    p = unseen_probabilities(dynamics)
    assert p.sum(axis=1) == pytest.approx(1)
    twin = dynamics.out_of_fold
    assert np.take_along_axis(p, dynamics.labels[:, None], axis=1)[:, 0] == pytest.approx(
        proxy_weights(dynamics) @ np.exp(-twin.snapshot("loss").astype(float))
    )
    assert unseen_probabilities(cross_fitted()[0], 5).shape == (600, 5)
    assert unseen_probabilities(replace(dynamics, out_of_fold=None)) is None


def test_a_row_far_from_all_others_has_probabilities_too():
    far = {"loss": [[2000.0, 0.0]], "margin": [[-2000.0, 2000.0]], "rival": [[2, 1]]}
    d = Dynamics.from_arrays(labels=[0, 0], **far)
    p = unseen_probabilities(replace(d, out_of_fold=d), 3)
    assert p.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


def test_as_many_of_a_class_go_as_are_surely_of_another_and_the_least_probable_first():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.45, 0.55], [0.3, 0.7], [0.1, 0.9], [0.2, 0.8]])
    labels = np.array([0, 0, 0, 0, 1, 1])  # on average 0.6125 and 0.85: none is surely class 1
    assert class_cuts(p, labels).tolist() == [-1, -1]
    p[3] = [0.1, 0.9]  # now one is; two of class 0 are sure, so a third of four go: one
    assert class_cuts(p, labels).tolist() == [0.1, -1]
    assert unlikely_labels(p, labels, labels).tolist() == [False] * 3 + [True] + [False] * 2
    other = unlikely_labels(p, np.array([0, 0, 1, 0, 1, 0]), labels)  # other labels, the same cuts
    assert other.tolist() == [False] * 3 + [True] + [False] * 2
    p[3] = [0.5, 0.5]
    assert not unlikely_labels(p, labels, labels).any()  # no other class is likelier


def test_under_heavy_noise_a_label_goes_as_soon_as_another_is_likelier():
    rng = np.random.default_rng(0)
    truth = np.arange(2000) % 2
    flipped = rng.random(2000) < 0.4
    labels = np.where(flipped, 1 - truth, truth)
    lead = rng.uniform(0.1, 0.2, 2000)  # calibrated proxies say 60 : 40 at most
    p = np.where(np.eye(2, dtype=bool)[truth], 0.5 + lead[:, None] / 2, 0.5 - lead[:, None] / 2)
    found = unlikely_labels(p, labels, labels)
    assert (found == flipped).mean() > 0.9
    assert not unlikely_labels(p, truth, truth).any()  # the twin: with no noise they all stay


def test_a_class_that_proxies_are_shy_of_is_not_blamed_for_it():
    p = np.array([[0.7, 0.3], [0.65, 0.35], [0.9, 0.1], [0.95, 0.05]])
    labels = np.array([1, 1, 0, 0])  # class 1 never gets half
    assert not unlikely_labels(p, labels, labels).any()
    assert (p.argmax(axis=1) != labels).sum() == 2  # the twin: a plain comparison blames it


def test_clean_drops_suspects_alone_and_never_fills_up():
    dynamics, flipped = cross_fitted()
    suspect = suspect_labels(dynamics)
    assert flipped[suspect].mean() > 0.9
    kept = choose(CLEAN, dynamics, keep=1.0)
    assert kept.mask().tolist() == (~suspect).tolist()
    assert len(choose(CLEAN, dynamics, keep=0.1)) == 60


def test_clean_then_hard_keeps_its_size_fills_up_and_leans_to_the_hard():
    dynamics, _ = cross_fitted()
    quarter = choose(CLEAN_THEN_HARD, dynamics, keep=0.25)
    assert len(quarter) == 150
    assert not suspect_labels(dynamics)[quarter.indices].any()
    hard, rest = el2n(dynamics), ~suspect_labels(dynamics)
    assert hard[quarter.indices].mean() > hard[rest].mean()
    most = choose(CLEAN_THEN_HARD, dynamics, keep=0.95)
    assert len(most) == 570
    assert most.parameters["filled"] == 570 - int(rest.sum())


def test_there_is_no_lean_where_more_is_wrong_than_suspect(monkeypatch):
    dynamics, _ = cross_fitted(classes=2, n=4000)
    rest = ~suspect_labels(dynamics)
    ranks = normalized_ranks(el2n(dynamics))

    def leans():
        chosen = choose(CLEAN_THEN_HARD, dynamics, keep=0.25).indices
        return ranks[chosen].mean() - ranks[rest].mean()

    assert leans() > 0.05
    monkeypatch.setattr(clean, "surest_share", lambda *_: 0.5)
    assert abs(leans()) < 0.02


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
    assert unlikely_labels(p, y, y).tolist() == [False] * 6 + [suspect]
    assert doubtful_labels(p, y, y).tolist() == [False] * 6 + [doubtful]


def test_a_class_that_nobody_is_sure_of_is_compared_with_itself():
    # Examples of class 2 are never surer than 0.4: at 0.3 it is as likely as usual.
    p = np.array([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4], [0.36, 0.34, 0.3]])
    y = np.array([0, 2, 2])
    assert not unlikely_labels(p, y, y).any()
    assert doubtful_labels(p, y, y).tolist() == [False, False, False]


def test_a_label_that_no_class_is_likelier_than_stays_however_unusual():
    # Class 1 is rare and never sure, so 0.3 is much for it; class 0 is still the likelier one.
    p = np.array([[0.95, 0.03, 0.02], [0.95, 0.03, 0.02], [0.8, 0.1, 0.1], [0.02, 0.03, 0.95]])
    p = np.vstack((p, [[0.5, 0.3, 0.2]]))
    y = np.array([0, 0, 1, 2, 0])
    beside = p / usual_confidence(p, y)
    assert beside[4, 1] > 1.5 * beside[4, 0]
    assert not unlikely_labels(p, y, y).any()


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
    assert np.flatnonzero(unlikely_labels(p, given, given)).tolist() == hit.tolist()


def test_a_class_that_nobody_carries_is_never_likelier():
    p = np.array([[0.3, 0.1, 0.6], [0.1, 0.6, 0.3], [0.1, 0.5, 0.4]])
    y = np.array([0, 1, 1])
    assert not unlikely_labels(p, y, y).any()
