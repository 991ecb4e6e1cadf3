import numpy as np
import pytest

from dris.core.dynamics.columns import rivals_of
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.assessment import (
    contradicted_by_most,
    guesses,
    suggested_labels,
)
from dris.core.noise.canaries import plant_canaries
from dris.learn.proxies import train_proxies
from dris.learn.record.recorder import Recorder
from dris.pipeline.ensemble import _pilot_views


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
