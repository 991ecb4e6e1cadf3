"""What the ensemble thinks of every label, by hand: suspicion, suspects, suggested labels."""

from dataclasses import replace

import numpy as np
import pytest

from dris.core.dynamics.columns import rivals_of
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.assessment import (
    SUSPECT_ODDS,
    assess,
    class_cuts,
    contradicted_by_most,
    early_margin,
    find_outmatched,
    find_suspects,
    guesses,
    out_of_fold_confidence,
    out_of_fold_probabilities,
    proxy_weights,
    suggested_labels,
    suspicion,
    usual_confidence,
)
from dris.core.noise.canaries import plant_canaries
from dris.core.scores.formulas import aum_mean
from dris.core.scores.ranks import normalized_ranks
from dris.learn.proxies import train_proxies
from dris.learn.record.recorder import Recorder
from dris.pipeline.ensemble import _pilot_views
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


@pytest.mark.parametrize(
    ("p", "labels"),
    [
        # Proxies are shy of class 1, which never gets half.
        ([[0.7, 0.3], [0.65, 0.35], [0.9, 0.1], [0.95, 0.05]], [1, 1, 0, 0]),
        # Examples of class 2 are never surer than 0.4: at 0.3 it is as likely as usual.
        ([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4], [0.36, 0.34, 0.3]], [0, 2, 2]),
        # Nobody carries class 2.
        ([[0.3, 0.1, 0.6], [0.1, 0.6, 0.3], [0.1, 0.5, 0.4]], [0, 1, 1]),
    ],
)
def test_a_class_is_compared_with_what_is_usual_for_it(p, labels):
    p, y = np.array(p), np.array(labels)
    assert not find_suspects(p, y, y).any()
    assert not find_outmatched(p, y, y).any()
    assert (p.argmax(axis=1) != y).any()  # the twin: a plain comparison blames it


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


def recorded(logits, labels):
    parts = []
    for z in logits:
        recorder = Recorder(len(labels), labels=labels, rival=True)
        recorder.update(np.arange(len(labels)), z, labels)
        recorder.end_epoch()
        parts.append(recorder.dynamics())
    return Dynamics.merge(parts)


def test_the_rival_is_the_best_class_besides_the_label():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(3, 50, 4)), rng.integers(0, 4, 50)
    for k, n in np.ndindex(3, 50):
        others = [c for c in range(4) if c != labels[n]]
        assert rivals_of(logits, labels)[k, n] == max(others, key=lambda c: logits[k, n, c])


def test_a_proxy_guesses_its_largest_logit():
    rng = np.random.default_rng(1)
    logits, labels = rng.normal(size=(3, 200, 5)).astype(np.float32), rng.integers(0, 5, 200)
    assert np.array_equal(guesses(recorded(logits, labels)), logits.argmax(axis=2))


def test_the_suggestion_is_the_plurality_whatever_the_order_of_the_proxies():
    rng = np.random.default_rng(2)
    logits, labels = rng.normal(size=(5, 300, 3)).astype(np.float32), rng.integers(0, 3, 300)
    dynamics = recorded(logits, labels)
    suggested = suggested_labels(dynamics)
    assert np.array_equal(suggested, suggested_labels(dynamics.only([3, 0, 4, 2, 1])))
    votes = np.stack([(logits.argmax(axis=2) == c).sum(axis=0) for c in range(3)])
    assert (votes[suggested, np.arange(300)] == votes.max(axis=0)).all()


def test_equal_votes_go_to_the_larger_margin():
    logits = np.array([[[2.0, 0.0]], [[0.0, 3.0]]])
    assert suggested_labels(recorded(logits, np.array([0]))).tolist() == [1]
    assert suggested_labels(recorded(logits[:, :, ::-1], np.array([0]))).tolist() == [0]


def test_pilot_views_serve_every_kind_of_canary_that_needs_a_pilot():
    rng = np.random.default_rng(3)
    logits, labels = rng.normal(size=(3, 400, 4)).astype(np.float32), rng.integers(0, 4, 400)
    gap, top_two = _pilot_views(recorded(logits, labels))
    confusable = plant_canaries(labels, kind="confusable", rng=rng, top_two=top_two)
    at = confusable.positions
    rivals = rivals_of(logits, labels)[:, at]
    assert ((rivals == confusable.planted[at]).sum(axis=0) >= 1).all()
    hard = plant_canaries(labels, kind="hard", rng=rng, gap=gap, hardest=0.2)
    assert gap[hard.positions].max() <= np.sort(gap)[80]


def test_trained_proxies_suggest_the_true_label_of_most_flipped_examples():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 600)
    x = np.eye(3)[truth] * 4 + rng.normal(size=(600, 3))
    given = truth.copy()
    given[:60] = (given[:60] + 1) % 3
    dynamics = train_proxies(x, given, epochs=6, model="sgd_log", rival=True, workers=1)
    assert (suggested_labels(dynamics)[:60] == truth[:60]).mean() > 0.9
    assert dynamics.summary().snapshot("rival").shape == (3, 600)


def test_dynamics_without_rivals_say_how_to_get_them():
    dynamics = Dynamics.from_logits(np.zeros((2, 3, 2)), [0, 1, 0])
    with pytest.raises(InputError, match="rival=True"):
        suggested_labels(dynamics)
    with pytest.raises(InputError, match="need labels"):
        suggested_labels(Dynamics.from_losses(np.eye(2)))
    with pytest.raises(InputError, match="classes"):
        Dynamics.from_arrays(loss=np.eye(2), rival=[[0.5, 1.0], [0.0, 1.0]])


def test_rivals_survive_a_state_and_a_file(tmp_path):
    rng = np.random.default_rng(5)
    logits, labels = rng.normal(size=(1, 20, 4)).astype(np.float32), rng.integers(0, 4, 20)
    recorder = Recorder(20, labels=labels, rival=True)
    recorder.update(np.arange(10), logits[0, :10], labels[:10])
    other = Recorder(20, labels=labels, rival=True)
    other.load_state_dict(recorder.state_dict())
    other.update(np.arange(10, 20), logits[0, 10:], labels[10:])
    other.end_epoch()
    saved = Dynamics.load(other.dynamics().save(tmp_path / "a.dynamics"))
    assert np.array_equal(saved.snapshot("rival"), rivals_of(logits, labels))
    with pytest.raises(InputError, match="other rival"):
        Recorder(20, labels=labels).load_state_dict(recorder.state_dict())


def votes(guessed, margins, label=0):
    """What proxies suggest that guess these classes by these margins, the label being 0."""
    correct = np.array([[guess == label] for guess in guessed])
    rival = np.array([[guess if guess != label else 1] for guess in guessed])
    margin = np.array(
        [[m if guess == label else -m] for guess, m in zip(guessed, margins, strict=True)]
    )
    dynamics = Dynamics.from_arrays(
        loss=np.ones((len(guessed), 1)), labels=[label], correct=correct, rival=rival, margin=margin
    )
    return suggested_labels(dynamics).item()


def test_between_equal_votes_and_equal_margins_the_smaller_class_wins_in_any_order():
    assert votes([2, 1], [1.0, 1.0]) == votes([1, 2], [1.0, 1.0]) == 1
    assert votes([0, 2], [1.0, 1.0]) == votes([2, 0], [1.0, 1.0]) == 0
    assert votes([3, 1, 2], [2.0, 2.0, 2.0]) == 1
    assert votes([1, 2], [1.0, 1.5]) == 2  # the twin: a larger margin goes first
    assert votes([2, 1, 1], [9.0, 0.1, 0.1]) == 1  # and more votes before any margin
    assert votes([2, 2, 1, 1], [1.0, 2.0, 1.5, 1.5]) == 1  # margins are summed


def test_half_of_the_proxies_is_enough_to_doubt():
    right = np.array([[True, True, False], [True, False, False]])
    assert contradicted_by_most(right).tolist() == [False, True, True]
    assert contradicted_by_most(np.array([[True], [True], [False]])).tolist() == [False]
