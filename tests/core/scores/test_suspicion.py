"""How much a label looks wrong, by hand, and what it does not depend on."""

from dataclasses import replace

import numpy as np
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.assessment import (
    early_margin,
    out_of_fold_confidence,
    out_of_fold_probabilities,
    proxy_weights,
    suspicion,
)
from dris.core.scores.formulas import aum_mean
from dris.core.scores.ranks import normalized_ranks
from made_ensemble import cross_fitted


def test_suspicion_is_the_mean_of_two_reversed_ranks():
    dynamics, _ = cross_fitted()
    weights = proxy_weights(dynamics)
    unseen = weights @ np.exp(-dynamics.out_of_fold.snapshot("loss").astype(float))
    assert out_of_fold_confidence(dynamics, weights) == pytest.approx(unseen)
    margins = [normalized_ranks(-aum_mean(dynamics.only([k]))) for k in range(3)]
    by_hand = (normalized_ranks(-unseen) + weights @ np.array(margins)) / 2
    assert suspicion(dynamics, proxy_weights(dynamics)) == pytest.approx(by_hand)
    alone = replace(dynamics, out_of_fold=None)
    assert suspicion(alone, proxy_weights(alone)) == pytest.approx(
        normalized_ranks(-aum_mean(dynamics))
    )


def test_proxies_that_predict_labels_count_for_more_but_none_for_nothing():
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
    suspicious = suspicion(dynamics, proxy_weights(dynamics))
    assert suspicious[flipped].min() > np.median(suspicious[~flipped])


def test_the_early_margin_stops_at_the_scored_epoch():
    margin = np.array([[[1.0, -1.0], [3.0, -3.0], [100.0, 100.0]]])
    dynamics = Dynamics.from_arrays(loss=np.ones((1, 3, 2)), margin=margin, scored_epoch=2)
    assert early_margin(dynamics).tolist() == [2.0, -2.0]
    assert early_margin(dynamics.at(3)).tolist() == pytest.approx([104 / 3, 32.0])
    assert early_margin(dynamics.summary()).tolist() == pytest.approx([104 / 3, 32.0])


def test_probabilities_are_exact_for_two_classes_and_sum_to_one():
    dynamics, _ = cross_fitted(classes=2)
    p = out_of_fold_probabilities(dynamics, proxy_weights(dynamics))
    assert p.sum(axis=1) == pytest.approx(1)
    twin = dynamics.out_of_fold
    assert np.take_along_axis(p, dynamics.labels[:, None], axis=1)[:, 0] == pytest.approx(
        proxy_weights(dynamics) @ np.exp(-twin.snapshot("loss").astype(float))
    )
    assert out_of_fold_probabilities(cross_fitted()[0], np.full(3, 1 / 3), 5).shape == (600, 5)
    assert out_of_fold_probabilities(replace(dynamics, out_of_fold=None), np.full(3, 1 / 3)) is None


def test_a_row_far_from_all_others_has_probabilities_too():
    far = {"loss": [[2000.0, 0.0]], "margin": [[-2000.0, 2000.0]], "rival": [[2, 1]]}
    d = Dynamics.from_arrays(labels=[0, 0], **far)
    p = out_of_fold_probabilities(replace(d, out_of_fold=d), np.ones(1), 3)
    assert p.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
