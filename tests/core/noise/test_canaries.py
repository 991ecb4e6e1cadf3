"""Planting: exact numbers, places and labels for every kind, and parts that cannot be confused."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dris.core.errors import InputError
from dris.core.noise.canaries import (
    ATTACKERS,
    CANARY_KINDS,
    Canaries,
    Certifying,
    Choosing,
    check_certifying,
    plant_canaries,
    without_canaries,
)
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
    parts = [set(canaries.choosing.positions), set(canaries.certifying.positions)]
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


def test_avoided_examples_are_never_planted_and_not_counted():
    avoid = np.arange(100) < 50
    c = plant_canaries([0, 1] * 50, share=0.2, avoid=avoid, rng=rng())
    assert len(c) == 10
    assert c.positions.min() >= 50
    assert np.array_equal(c.stratum == -1, avoid)


def test_a_second_kind_can_be_planted_beside_the_first():
    first = plant_canaries(np.arange(100) % 5, share=0.1, rng=rng())
    second = plant_canaries(
        first.planted, share=0.1, kind="hard", gap=rng().random(100), hardest=0.5,
        avoid=first.mask(), rng=rng(1), classes=5,
    )  # fmt: skip
    assert not (first.mask() & second.mask()).any()
    assert np.array_equal(second.planted[first.mask()], first.planted[first.mask()])


# -- the two parts -----------------------------------------------------------------------------


def test_nothing_but_the_certifying_part_certifies():
    canaries = plant_canaries([0, 1] * 50, share=0.2, rng=rng())
    assert isinstance(check_certifying(canaries.certifying), Certifying)
    assert isinstance(canaries.choosing, Choosing)
    for other in (canaries.choosing, canaries, canaries.positions, None):
        with pytest.raises(InputError, match="what chose cannot certify"):
            check_certifying(other)


def test_the_parts_are_settled_when_the_canaries_are_planted():
    canaries = plant_canaries([0, 1] * 50, share=0.2, rng=rng())
    assert np.array_equal(canaries.certifying.positions, canaries.certifying.positions)
    with pytest.raises(dataclasses.FrozenInstanceError):
        canaries.certifies = np.ones(20, bool)
    for array in (canaries.planted, canaries.certifies, canaries.certifying.positions):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_when_nothing_is_chosen_all_may_certify_and_when_all_choose_none_can():
    all_certify = plant_canaries([0, 1] * 50, share=0.2, choosing=0, rng=rng())
    assert all_certify.certifying.positions.size == 20
    assert all_certify.choosing.positions.size == 0
    none = plant_canaries([0, 1] * 50, share=0.2, choosing=1, rng=rng())
    with pytest.raises(InputError, match="no certifying canaries"):
        check_certifying(none.certifying)


def test_dropping_canaries_leaves_the_rest_and_says_so():
    canaries = plant_canaries([0, 1] * 50, share=0.2, rng=rng())
    chosen = keep_top(rng().random(100), fraction=0.5)
    left = without_canaries(chosen, canaries)
    assert not canaries.mask()[left.indices].any()
    assert set(left.indices) | set(canaries.positions) >= set(chosen.indices)
    assert left.parameters["canaries_dropped"] == ["uniform"]
    with pytest.raises(InputError, match="are canaries; keep more"):
        without_canaries(Subset(canaries.positions, "all", {}, total=100), canaries)
    with pytest.raises(InputError, match="one data set"):
        without_canaries(Subset(np.array([0]), "one", {}, total=7), canaries)


def test_equality_is_by_value():
    a = plant_canaries([0, 1] * 50, rng=rng())
    assert a == plant_canaries([0, 1] * 50, rng=rng())
    assert a != plant_canaries([0, 1] * 50, rng=rng(1))
    assert a != "canaries"
    assert isinstance(a, Canaries)


GOOD = {"gap": np.ones(100), "hardest": 0.5, "top_two": np.array([[0, 1]] * 100)}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "evil"}, "kind must be one of uniform, hard"),
        ({"share": 0}, "share must be in"),
        ({"share": 1.0}, "share must be below 1"),
        ({"share": 0.001}, "is none"),
        ({"rng": 0}, "rng must be a NumPy generator"),
        ({"choosing": 1.5}, r"choosing must be in \[0, 1\]"),
        ({"avoid": np.zeros(3, bool)}, "boolean mask of 100"),
        ({"avoid": np.ones(100, bool)}, "leave some"),
        ({"gap": np.ones(100)}, "does not use gap"),
        ({"kind": "hard"}, "needs gap"),
        ({"kind": "hard", "gap": np.ones(100)}, "needs hardest"),
        ({"kind": "hard", "gap": np.ones(9), "hardest": 0.5}, "one number from 0 up"),
        ({"kind": "hard", "gap": -np.ones(100), "hardest": 0.5}, "one number from 0 up"),
        ({"kind": "hard", "gap": np.ones(100), "hardest": 0.01}, "only 1 examples qualify"),
        ({"kind": "confusable", "top_two": np.ones((100, 2), int)}, "two different classes"),
        ({"kind": "confusable", "top_two": np.array([[0, 5]] * 100)}, "two different classes"),
        ({"kind": "confusable", "top_two": np.ones((100, 3), int)}, "shape"),
        ({"kind": "matrix", "matrix": np.eye(2)}, "flips only 0 examples"),
        ({"kind": "matrix", "matrix": [[0, 1], [0.5, 0.5]]}, "class 0 keeps none"),
        ({"kind": "matrix", "matrix": [[0.5, 0.4], [0.5, 0.5]]}, "sum to 1"),
        ({"kind": "matrix", "matrix": [[0.5, np.nan], [0.5, 0.5]]}, "sum to 1"),
        ({"kind": "matrix", "matrix": np.ones((2, 3)) / 3}, "shape"),
    ],
)
def test_bad_input_is_one_sentence(change, says):
    with pytest.raises(InputError, match=says):
        plant_canaries([0, 1] * 50, **{"rng": rng(), **change})
