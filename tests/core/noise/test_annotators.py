"""Several annotators: against Dawid and Skene in loops, and against the truth."""

import numpy as np
import pytest

from dris.core.noise.annotators import CLOSE, MAX_STEPS, SHARED, Answers, find_consensus


def made_answers(*, seed=0, n=400, classes=3, rights=(0.9, 0.8, 0.7, 0.6), gaps=0.3):
    """True labels, and a table (N, A) of answers with gaps, of people who are right so often."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    wrong = (truth[:, None] + rng.integers(1, classes, (n, len(rights)))) % classes
    table = np.where(rng.random(wrong.shape) < rights, truth[:, None], wrong)
    table[rng.random(table.shape) < gaps] = -1
    table[(table < 0).all(axis=1), 0] = truth[(table < 0).all(axis=1)]
    return truth, table


def of_table(table):
    return Answers.of_table(table, tuple(f"p{i}" for i in range(table.shape[1])))


def dawid_skene(table, classes, start):
    """Expectation maximisation in loops, with the same common confusions as pseudo-counts."""
    truth, (n, people) = start.copy(), table.shape
    for _ in range(MAX_STEPS):
        counts = np.zeros((people, classes, classes))
        for i in range(n):
            for a in range(people):
                if table[i, a] >= 0:
                    counts[a, :, table[i, a]] += truth[i]
        common = counts.sum(axis=0) + 1 / classes
        common /= common.sum(axis=1, keepdims=True)
        confusion = counts + SHARED * common
        confusion /= confusion.sum(axis=2, keepdims=True)
        shares, before = truth.mean(axis=0), truth
        truth = np.zeros((n, classes))
        for i in range(n):
            for c in range(classes):
                said = [confusion[a, c, table[i, a]] for a in range(people) if table[i, a] >= 0]
                truth[i, c] = shares[c] * np.prod(said)
            truth[i] /= truth[i].sum()
        if np.abs(truth - before).max() < CLOSE:
            break
    return truth


def test_the_consensus_is_that_of_dawid_and_skene_in_loops():
    _, table = made_answers(n=80, rights=(0.95, 0.9, 0.85))
    answers = of_table(table)
    votes = answers.votes(3)
    expected = dawid_skene(table, 3, votes / votes.sum(axis=1, keepdims=True))
    assert np.abs(find_consensus(answers, 3).truth - expected).max() < 1e-9


def test_the_consensus_beats_the_majority_and_knows_who_is_good():
    truth, table = made_answers(n=2000, rights=(0.95, 0.9, 0.5, 0.5, 0.5), gaps=0.0)
    found = find_consensus(of_table(table), 3)
    majority = of_table(table).votes(3).argmax(axis=1)
    assert (found.labels != truth).mean() < 0.7 * (majority != truth).mean()
    assert np.abs(found.quality - (table == truth[:, None]).mean(axis=0)).max() < 0.03
    wrong = 1 - found.truth.max(axis=1)
    assert abs(wrong.mean() - (found.labels != truth).mean()) < 0.01  # calibrated


@pytest.mark.parametrize("told", [0.85, 1 / 3])
def test_models_are_one_more_opinion_as_far_as_they_know_something(told):
    truth, table = made_answers(n=1500, rights=(0.75, 0.7), gaps=0.2)
    rng = np.random.default_rng(1)
    guess = np.where(rng.random(len(truth)) < told, truth, rng.integers(3, size=len(truth)))
    models = np.full((len(truth), 3), 0.05)
    models[np.arange(len(truth)), guess] = 0.9
    alone, joint = (find_consensus(of_table(table), 3, p) for p in (None, models))
    gain = (alone.labels != truth).mean() - (joint.labels != truth).mean()
    assert gain > 0.05 if told > 0.5 else gain > -0.02
    assert joint.power >= 0.5 if told > 0.5 else joint.power <= 0.5


def test_answers_on_some_rows_are_those_rows_own():
    _, table = made_answers(n=30)
    some = np.arange(30) % 3 > 0
    taken = of_table(table).take(some)
    assert (taken.votes(3) == of_table(table[some]).votes(3)).all()
    assert taken.said(0, ("a", "b", "c")) == of_table(table).said(1, ("a", "b", "c"))
