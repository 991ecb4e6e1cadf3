"""What the ensemble thinks of every label: P(wrong), suspects, suggested labels."""

from dataclasses import replace

import numpy as np
import pytest

from dris.core.dynamics.columns import rivals_of
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.assessment import (
    _order_by_margin,
    assess,
    contradicted_by_most,
    early_margin,
    suggested_labels,
)
from dris.core.noise.canaries import plant_canaries
from dris.core.noise.views import proxy_views
from dris.learn.record.recorder import Recorder
from dris.pipeline.ensemble import _pilot_views


def test_the_early_margin_stops_at_the_scored_epoch():
    margin = np.array([[[1.0, -1.0], [3.0, -3.0], [100.0, 100.0]]])
    dynamics = Dynamics.from_arrays(loss=np.ones((1, 3, 2)), margin=margin, scored_epoch=2)
    assert early_margin(dynamics).tolist() == [2.0, -2.0]
    assert early_margin(dynamics.at(3)).tolist() == pytest.approx([104 / 3, 32.0])
    assert early_margin(dynamics.summary()).tolist() == pytest.approx([104 / 3, 32.0])


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


def test_the_suggestion_is_the_plurality_whatever_the_order_of_the_proxies():
    rng = np.random.default_rng(2)
    logits, labels = rng.normal(size=(5, 300, 3)).astype(np.float32), rng.integers(0, 3, 300)
    dynamics = recorded(logits, labels)
    suggested = suggested_labels(dynamics)
    assert np.array_equal(suggested, suggested_labels(dynamics.only([3, 0, 4, 2, 1])))
    votes = np.stack([(logits.argmax(axis=2) == c).sum(axis=0) for c in range(3)])
    assert (votes[suggested, np.arange(300)] == votes.max(axis=0)).all()


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


def test_dynamics_without_rivals_say_how_to_get_them():
    dynamics = Dynamics.from_logits(np.zeros((2, 3, 2)), [0, 1, 0])
    with pytest.raises(InputError, match="rival=True"):
        suggested_labels(dynamics)
    with pytest.raises(InputError, match="need labels"):
        suggested_labels(Dynamics.from_losses(np.eye(2)))
    with pytest.raises(InputError, match="classes"):
        Dynamics.from_arrays(loss=np.eye(2), rival=[[0.5, 1.0], [0.0, 1.0]])


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


def three_gaussians(n=900, wrong=0.2, seed=0):
    """Three proxies' out-of-fold dynamics of three overlapping classes, and the true labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    z = 4 * np.eye(3)[truth] + rng.normal(size=(3, n, 3))
    given = np.where(rng.random(n) < wrong, (truth + rng.integers(1, 3, n)) % 3, truth)
    side = replace(recorded(z.astype(np.float32), given), ids=np.arange(n))
    return replace(side, out_of_fold=side), given, truth


def test_probabilities_from_loss_and_margin_are_exact_for_the_label_and_its_rival():
    z = np.random.default_rng(6).normal(size=(2, 40, 4)).astype(np.float32)
    labels = np.arange(40) % 4
    side = recorded(z, labels)
    views = proxy_views(replace(side, out_of_fold=side), labels=[labels], classes=4)
    p = np.exp(z) / np.exp(z).sum(axis=2, keepdims=True)
    for at in (np.broadcast_to(labels, (2, 40)), rivals_of(z, labels)):
        exact = np.take_along_axis(p, at[:, :, None].astype(int), axis=2)
        held = np.take_along_axis(views.values, at[:, :, None].astype(int), axis=2)
        np.testing.assert_allclose(held, exact, atol=1e-6)
    assert proxy_views(side, labels=[labels]) is None  # in fold it is no evidence


def test_suspects_are_the_wrong_labels_and_their_suggestion_the_true_one():
    dynamics, given, truth = three_gaussians()
    held = assess(dynamics)
    wrong = given != truth
    suspects = held.given.suspects
    assert wrong[suspects].mean() > 0.9
    assert suspects[wrong].mean() > 0.8
    assert (held.suggested == truth)[suspects].mean() > 0.9
    assert held.noise_rate.low <= wrong.mean() <= held.noise_rate.high
    assert held.noise_rate.likely == pytest.approx(held.given.wrong.mean())
    assert held.training_weights[wrong].mean() < 0.3 < 0.9 < held.training_weights[~wrong].mean()
    classes, p = held.likeliest(np.arange(5), 2)
    assert (classes[:, 0] == held.suggested[:5]).all()
    assert (p[:, 0] >= p[:, 1]).all()
    own = np.take_along_axis(held.truth, given[:, None], axis=1)[:, 0]
    assert own == pytest.approx(1 - held.given.wrong)  # after the margins had their say
    assert held.truth.sum(axis=1) == pytest.approx(1)


def test_a_trusted_label_is_right_in_every_respect():
    dynamics, given, truth = three_gaussians()
    held = assess(dynamics, trusted=given != truth)
    assert not held.given.wrong[given != truth].any()
    assert (held.suggested == given)[given != truth].all()
    assert held.noise_matrix(3).diagonal().min() > 0.95
    assert held.noise_rate.likely < 0.02
    twin = assess(dynamics)
    assert twin.noise_matrix(3).diagonal().max() < 0.9
    assert twin.noise_rate.likely > 0.1


def test_canaries_are_no_noise_of_the_data():
    _dynamics, given, truth = three_gaussians(wrong=0.0)
    canaries = plant_canaries(given, share=0.1, rng=np.random.default_rng(1))
    z = 4 * np.eye(3)[truth] + np.random.default_rng(2).normal(size=(3, truth.size, 3))
    side = recorded(z.astype(np.float32), canaries.planted)
    planted = canaries.mask()
    held = assess(replace(side, out_of_fold=side), given=given, planted=planted)
    assert held.shown.suspects[planted].mean() > 0.8
    assert held.given.suspects.mean() < 0.02
    assert held.noise_rate.low == 0
    assert held.noise_rate.likely < 0.03
    assert held.posterior.rate.likely > 0.07  # the twin: of the labels that were fitted


def test_margins_order_labels_of_a_side_and_move_nobody_across():
    wrong = np.array([0.9, 0.9, 0.8, 0.1, 0.1, 0.0])
    margin = np.array([5.0, -5.0, 1.0, 4.0, -4.0, 9.0])
    ordered = _order_by_margin(wrong, margin, np.ones(6, dtype=bool))
    assert np.argsort(-ordered, kind="stable")[:2].tolist() in ([1, 0], [0, 1])
    assert ordered[1] >= ordered[0]
    assert ordered[4] >= ordered[3]
    assert np.array_equal(ordered > 0.5, wrong > 0.5)
    assert sorted(ordered) == sorted(wrong)
    certain = _order_by_margin(np.ones(3), np.array([1.0, -2.0, 0.0]), np.ones(3, dtype=bool))
    assert np.argsort(-certain).tolist() == [1, 2, 0]
    assert certain == pytest.approx(1)
    aside = _order_by_margin(wrong, margin, wrong < 0)
    assert aside.tolist() == wrong.tolist()
