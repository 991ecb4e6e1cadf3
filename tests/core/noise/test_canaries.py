"""Planting: exact numbers, places and labels for every kind, and parts that cannot be confused."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from canary_worlds import kept, left_wrong
from dris.core.certify.limits import contamination_limit, corruption_limit
from dris.core.errors import InputError
from dris.core.noise.canaries import ATTACKERS, CANARY_KINDS, plant_canaries, without_canaries
from dris.core.select.selection import keep_top
from dris.core.subset import Subset


def rng(seed=0):
    return np.random.default_rng(seed)


def arguments(kind, labels, classes):
    n, r = len(labels), rng(9)
    top = r.integers(0, classes, n)
    matrix = np.full((classes, classes), 0.3 / (classes - 1))
    np.fill_diagonal(matrix, 0.7)
    return {
        "uniform": {},
        "hard": {"gap": r.random(n), "hardest": 0.5},
        "confusable": {"top_two": np.stack([top, (top + 1) % classes], axis=1)},
        "matrix": {"matrix": matrix},
    }[kind]


@pytest.mark.parametrize("kind", CANARY_KINDS)
@settings(max_examples=25, deadline=None)
@given(classes=st.integers(2, 5), n=st.integers(30, 80), seed=st.integers(0, 1000))
def test_every_kind_flips_exactly_its_share_and_nothing_else(kind, classes, n, seed):
    labels = rng(seed).integers(0, classes, n)
    before = labels.copy()
    more = arguments(kind, labels, classes)
    canaries = plant_canaries(labels, share=0.2, kind=kind, rng=rng(seed), classes=classes, **more)
    assert len(canaries) == n // 5
    assert np.flatnonzero(canaries.planted != canaries.given).tolist() == (
        canaries.positions.tolist()
    )
    assert canaries.planted.min() >= 0
    assert canaries.planted.max() < classes
    assert np.array_equal(labels, before)
    assert canaries.mask().sum() == len(canaries)
    parts = [set(canaries.choosing), set(canaries.certifying)]
    assert parts[0].isdisjoint(parts[1])
    assert parts[0] | parts[1] == set(canaries.positions)
    assert len(parts[0]) == len(canaries) // 2
    again = plant_canaries(labels, share=0.2, kind=kind, rng=rng(seed), classes=classes, **more)
    assert canaries == again


def test_every_kind_says_which_attacker_it_imitates():
    assert set(CANARY_KINDS) == set(ATTACKERS)


def test_uniform_canaries_fall_everywhere_and_on_every_other_class_alike():
    labels = np.arange(60) % 3
    places, steps = np.zeros(60, int), np.zeros(3, int)
    for seed in range(800):
        c = plant_canaries(labels, share=0.1, rng=rng(seed))
        places[c.positions] += 1
        np.add.at(steps, (c.planted - c.given)[c.positions] % 3, 1)
    # Each place is binomial(800, 0.1), each step binomial(4800, 1/2); 60 + 1 checks at 1e-8.
    assert places.min() > binom.ppf(1e-8, 800, 0.1)
    assert places.max() < binom.isf(1e-8, 800, 0.1)
    assert steps[0] == 0
    assert binom.ppf(1e-8, 4_800, 0.5) < steps[1] < binom.isf(1e-8, 4_800, 0.5)


def test_hard_canaries_fall_among_the_smallest_gaps_only():
    gap = np.linspace(1, 0, 100)
    c = plant_canaries([0, 1] * 50, share=0.1, kind="hard", gap=gap, hardest=0.3, rng=rng())
    assert c.positions.min() >= 70
    assert np.bincount(c.stratum).tolist() == [70, 30]
    assert c.uncounted_chance == 1.0  # at two classes, another class is the only other class
    assert c.parameters["hardest"] == 0.3


def test_hard_canaries_among_equal_gaps_do_not_depend_on_the_order_of_the_file():
    places = np.zeros(100, int)
    for seed in range(300):
        c = plant_canaries(
            [0, 1] * 50, share=0.1, kind="hard", gap=np.ones(100), hardest=0.2, rng=rng(seed)
        )
        places[c.positions] += 1
    assert places[50:].sum() > binom.ppf(1e-8, 3_000, 0.5)
    assert places[50:].sum() < binom.isf(1e-8, 3_000, 0.5)


def test_confusable_canaries_take_the_runner_up_or_the_top_where_that_is_given():
    top_two = np.array([[0, 1], [1, 0], [2, 1], [2, 0]] * 5)
    labels = np.zeros(20, dtype=int)
    c = plant_canaries(labels, share=0.95, kind="confusable", top_two=top_two, classes=3, rng=rng())
    expected = np.array([1, 1, 1, 2] * 5)
    assert np.array_equal(c.planted[c.positions], expected[c.positions])
    assert c.uncounted_chance == 1.0


def test_matrix_canaries_match_what_the_matrix_does_to_clean_labels():
    # Class 0 goes wrong half the time, to 1; class 1 a fifth of the time, to 0 or 2; 2 never.
    matrix = [[0.5, 0.5, 0.0], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]]
    # What is given and right after the attack, from 3 * 2000 labels: 1000, 1600 and 2000.
    labels = np.repeat([0, 1, 2], [1000, 1600, 2000])
    counts = np.zeros((3, 3), int)
    for seed in range(300):
        c = plant_canaries(labels, share=0.02, kind="matrix", matrix=matrix, rng=rng(seed))
        np.add.at(counts, (c.given[c.positions], c.planted[c.positions]), 1)
    assert counts[[0, 1, 2], [0, 1, 2]].sum() == 0
    assert counts[2].sum() == counts[0, 2] == 0
    total = counts.sum()
    # The attacker made 1000 wrong labels 0 -> 1, 200 each 1 -> 0 and 1 -> 2. A draw without
    # replacement flattens the odds a little (the densest tenth of class 0): hence 2 % of room.
    for place, share in (((0, 1), 5 / 7), ((1, 0), 1 / 7), ((1, 2), 1 / 7)):
        assert counts[place] / total == pytest.approx(share, abs=0.02)
    assert np.array_equal(c.stratum, labels)


def test_a_second_kind_can_be_planted_beside_the_first():
    first = plant_canaries(np.arange(100) % 5, share=0.1, rng=rng())
    second = plant_canaries(
        first.planted, share=0.1, kind="hard", gap=rng().random(100), hardest=0.5,
        avoid=first.mask(), rng=rng(1), classes=5,
    )  # fmt: skip
    assert not (first.mask() & second.mask()).any()
    assert np.array_equal(second.planted[first.mask()], first.planted[first.mask()])


def test_when_nothing_is_chosen_all_may_certify_and_when_all_choose_none_can():
    all_certify = plant_canaries([0, 1] * 50, share=0.2, choosing=0, rng=rng())
    assert all_certify.certifying.size == 20
    assert all_certify.choosing.size == 0
    none = plant_canaries([0, 1] * 50, share=0.2, choosing=1, rng=rng())
    assert none.certifying.size == 0


def test_dropping_canaries_leaves_the_rest_and_says_so():
    canaries = plant_canaries([0, 1] * 50, share=0.2, rng=rng())
    chosen = keep_top(rng().random(100), fraction=0.5)
    left = without_canaries(chosen, canaries)
    assert not canaries.mask()[left.indices].any()
    assert set(left.indices) | set(canaries.positions) >= set(chosen.indices)
    with pytest.raises(InputError, match="are canaries; keep more"):
        without_canaries(Subset(canaries.positions, "all", {}, total=100), canaries)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "evil"}, "kind must be one of uniform, hard"),
        ({"share": 0}, "share must be in"),
        ({"share": 0.001}, "is none"),
        ({"rng": 0}, "rng must be a NumPy generator"),
        ({"choosing": 1.5}, r"choosing must be in \[0, 1\]"),
        ({"avoid": np.zeros(3, bool)}, "boolean mask of 100"),
        ({"avoid": np.ones(100, bool)}, "leave some"),
        ({"gap": np.ones(100)}, "does not use gap"),
        ({"kind": "hard"}, "needs gap"),
        ({"kind": "hard", "gap": np.ones(100)}, "needs hardest"),
        ({"kind": "hard", "gap": np.ones(9), "hardest": 0.5}, "one number from 0 up"),
        ({"kind": "hard", "gap": np.ones(100), "hardest": 0.01}, "only 1 examples qualify"),
        ({"kind": "confusable", "top_two": np.ones((100, 2), int)}, "two different classes"),
        ({"kind": "confusable", "top_two": np.ones((100, 3), int)}, "shape"),
        ({"kind": "matrix", "matrix": np.eye(2)}, "flips only 0 examples"),
        ({"kind": "matrix", "matrix": [[0, 1], [0.5, 0.5]]}, "class 0 keeps none"),
        ({"kind": "matrix", "matrix": [[0.5, 0.4], [0.5, 0.5]]}, "sum to 1"),
    ],
)
def test_bad_input_is_one_sentence(change, says):
    with pytest.raises(InputError, match=says):
        plant_canaries([0, 1] * 50, **{"rng": rng(), **change})


RATES = (0.0, 0.1, 0.25, 0.4)


@cache
def digits():
    x, y = load_digits(return_X_y=True)
    return x / 16.0, y


def logits(rows, labels):
    """A short logistic regression on these rows, asked about all of them."""
    x, _ = digits()
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(max_iter=10).fit(x[rows], labels[rows])
    return model.decision_function(x)


@cache
def pilots_top_two():
    x, y = digits()
    return np.argsort(-logits(np.arange(len(x)), y), axis=1)[:, :2]


def attacked(rng, rate, kind):
    _, truth = digits()
    labels = truth.copy()
    at = rng.choice(truth.size, int(rate * truth.size), replace=False)
    if kind == "uniform":
        labels[at] = (labels[at] + rng.integers(1, 10, at.size)) % 10
    else:
        top, second = pilots_top_two()[at].T
        labels[at] = np.where(second == truth[at], top, second)
    return labels


def mean_margin(labels, rng):
    """Of two proxies, each trained on a random half: the label's logit less the largest other."""
    total, rows = np.zeros(labels.size), np.arange(labels.size)
    for half in np.array_split(rng.permutation(labels.size), 2):
        z = logits(half, labels)
        own = z[rows, labels].copy()
        z[rows, labels] = -np.inf
        total += own - z.max(axis=1)
    return total / 2


def run(seed):
    """One data set: whether ε and the contamination exceed their limits, and by which numbers."""
    rng = np.random.default_rng([seed, 200])
    rate, kind = RATES[seed % 4], "uniform" if seed % 8 < 4 else "confusable"
    labels, truth = attacked(rng, rate, kind), digits()[1]
    more = {"top_two": pilots_top_two()} if kind == "confusable" else {}
    canaries = plant_canaries(labels, share=0.1, kind=kind, rng=rng, **more)
    score = mean_margin(canaries.planted, rng)
    subset = kept(score, 0.5)
    result = corruption_limit(score, canaries, delta=0.025)
    limit = contamination_limit(subset, canaries, result, delta=0.05)
    wrong = left_wrong(truth, canaries, subset)
    return (
        (labels != truth).sum() > result.corrupted,
        wrong > limit.wrong,
        result.share,
        wrong / limit.left,
        limit.share,
    )


@pytest.mark.slow
def test_the_limits_hold_on_200_trained_data_sets_and_say_something():
    runs = 200
    results = np.array([run(seed) for seed in range(runs)], dtype=float)
    # A right level exceeds these with a chance below 1e-4 each.
    assert results[:, 0].sum() <= binom.isf(1e-4, runs, 0.025)
    assert results[:, 1].sum() <= binom.isf(1e-4, runs, 0.05)
    uniform = np.arange(runs) % 8 < 4
    for rate, ceiling in zip(RATES[:3], (0.03, 0.2, 0.42), strict=True):
        here = uniform & (np.array(RATES)[np.arange(runs) % 4] == rate)
        assert rate <= np.median(results[here, 2]) <= ceiling
        assert np.median(results[here, 4]) <= 0.1  # of a subset of a half


def test_canaries_of_another_attacker_would_be_seen_to_fail():
    """Uniform canaries, but wrong labels to which the detector is blind."""
    failed = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 201])
        labels = attacked(rng, 0.25, "uniform")
        canaries = plant_canaries(labels, share=0.1, rng=rng)
        score = mean_margin(canaries.planted, rng)
        hidden = labels != digits()[1]
        score[hidden] = rng.choice(score[~hidden & ~canaries.mask()], hidden.sum())
        subset = kept(score, 0.5)
        result = corruption_limit(score, canaries, delta=0.025)
        limit = contamination_limit(subset, canaries, result, delta=0.05)
        failed += left_wrong(digits()[1], canaries, subset) > limit.wrong
    assert failed >= 10
