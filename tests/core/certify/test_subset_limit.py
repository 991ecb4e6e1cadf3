"""The limit on a subset and the protocol: numbers, coverage, and the twins that break."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import oracles_canaries as oracle
from canary_worlds import World, kept, left_wrong
from dris.core.certify.limits import (
    canary_mask,
    contamination_limit,
    corruption_limit,
    data_limits,
    most_covered,
    most_uncounted,
    subset_limits,
)
from dris.core.chances import most_marked
from dris.core.errors import InputError
from dris.core.noise.canaries import plant_canaries, without_canaries
from dris.core.subset import Subset

DELTA = 0.05


def allowed(runs, delta=DELTA):
    """More failures than this have a chance below 1e-6 if the level is right."""
    return binom.isf(1e-6, runs, delta)


def test_the_numbers_are_those_of_the_formula():
    _, canaries, _, subset = World(n=400, rate=0.1).make(np.random.default_rng(1))
    limit = contamination_limit(subset, canaries, 40, delta=DELTA)
    passed = int(subset.mask()[canaries.certifying].sum())
    assert (limit.canaries, limit.passed) == (20, passed)
    assert limit.left == 200 - int(subset.mask()[canaries.positions].sum())
    counted = 20 - limit.uncounted
    assert limit.both == oracle.most_marked(passed, counted + 40, counted, 0.9 * DELTA)
    assert limit.wrong == limit.both - passed
    assert limit.share == limit.wrong / limit.left
    assert limit.delta == 0.05
    assert limit.to_dict()["vacuous"] is limit.vacuous is False
    assert f"{limit.share:.2%} are wrong" in str(limit)


def test_delta_is_split_over_the_corruption_the_count_and_canaries_that_do_not_count():
    _, canaries, score, subset = World(quality=3.0).make(np.random.default_rng(1))
    known = contamination_limit(subset, canaries, 200, delta=DELTA)
    assert known.uncounted == most_uncounted(canaries, 200, 0.1 * DELTA)
    result = corruption_limit(score, canaries, delta=0.02)
    assert result.outside < result.corrupted
    limit = contamination_limit(subset, canaries, result, delta=DELTA)
    assert limit.corrupted == result.outside
    assert set(result.conditions) <= set(limit.conditions)
    assert limit.uncounted == most_uncounted(canaries, result.corrupted, 0.1 * 0.03)
    counted = limit.canaries - limit.uncounted
    both = most_marked(
        limit.passed, total=counted + result.outside, drawn=counted, delta=0.9 * 0.03
    )
    assert (limit.both, limit.wrong) == (both, both - limit.passed)


def test_a_limit_is_vacuous_when_all_that_is_wrong_may_be_left():
    _, canaries, _, subset = World().make(np.random.default_rng(1))
    limit = contamination_limit(subset, canaries, 40)
    for wrong, corrupted, vacuous in ((0, 0, False), (1, 1, True), (39, 40, False), (40, 40, True)):
        assert dataclasses.replace(limit, wrong=wrong, corrupted=corrupted).vacuous is vacuous
    assert contamination_limit(subset, canaries, 1_000).corrupted == 1_000  # all of them


def test_more_passing_canaries_or_more_wrong_labels_never_tighten_the_limit():
    canaries = plant_canaries(np.arange(500) % 5, share=0.2, rng=np.random.default_rng(0))
    others = np.flatnonzero(~canaries.mask())[:200]
    own = canaries.certifying

    def limit(passing, wrong):
        indices = np.union1d(others, own[:passing])
        return contamination_limit(Subset(indices, "some", {}, total=500), canaries, wrong).wrong

    table = np.array([[limit(x, n) for n in (0, 1, 20, 60, 150)] for x in (0, 1, 5, 20, 50)])
    assert (np.diff(table, axis=0) >= 0).all()
    assert (np.diff(table, axis=1) >= 0).all()
    assert table[:, 0].tolist() == [0] * 5


def test_no_canary_that_counts_certifies_nothing():
    _, canaries, _, _ = World().make(np.random.default_rng(0))
    everything = Subset(np.arange(1_000), "all", {}, total=1_000)
    limit = contamination_limit(everything, canaries, 200)
    assert limit.vacuous
    assert limit.wrong == 200
    assert "nothing is certified" in str(limit)


WORLDS = {
    "good detector": World(),
    "poor detector": World(quality=0.5, keep=0.3),
    "no detector": World(quality=0.0, keep=0.25),
    "inverted detector": World(quality=-1.0, rate=0.4),
    "two classes at 0.4": World(classes=2, rate=0.4),
    "two classes at 0.4, inverted": World(classes=2, rate=0.4, quality=-1.5),
    "few canaries": World(share=0.02, quality=1.0),
    "many wrong, many canaries": World(rate=0.45, share=0.3, quality=1.0, choosing=0.0),
    "nothing wrong": World(rate=0.0),
    "three classes, keep most": World(classes=3, rate=0.1, keep=0.9, quality=1.0),
}


def failures(world, runs, correct=True):
    """How often more wrong labels are left than certified, with their number known."""
    failed = 0
    for seed in range(runs):
        truth, canaries, _, subset = world.make(np.random.default_rng([seed, world.n]))
        if not correct:  # as if no flip could restore a label
            canaries = dataclasses.replace(canaries, uncounted_chance=0.0)
        limit = contamination_limit(subset, canaries, world.wrong, delta=DELTA)
        failed += left_wrong(truth, canaries, subset) > limit.wrong
    return failed


@pytest.mark.parametrize("name", WORLDS)
def test_the_limit_fails_no_more_often_than_promised(name):
    assert failures(WORLDS[name], 500) <= allowed(500)


def test_without_the_correction_two_classes_break_the_promise():
    world = WORLDS["two classes at 0.4, inverted"]
    assert failures(world, 100, correct=False) > 50


def dipping(runs, split):
    """A hundred useless detectors; the one that lets the fewest canaries through is certified."""
    half = 0.5 if split else 0.0
    world = World(n=4_000, classes=100, rate=0.05, quality=0.0, share=0.05, choosing=half)
    failed = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, 77])
        truth, canaries, _, _ = world.make(rng)
        looked_at = canaries.choosing if split else canaries.certifying
        detectors = rng.normal(size=(100, world.n))
        subsets = [kept(score, 0.5) for score in detectors]
        best = min(subsets, key=lambda s: s.mask()[looked_at].sum())
        limit = contamination_limit(best, canaries, world.wrong, delta=DELTA)
        failed += left_wrong(truth, canaries, best) > limit.wrong
    return failed


def test_choosing_by_one_part_and_certifying_by_the_other_keeps_the_promise():
    assert dipping(120, split=True) <= allowed(120)


def test_choosing_and_certifying_by_the_same_canaries_breaks_it():
    assert dipping(120, split=False) > allowed(120)


def test_where_all_that_was_chosen_are_canaries_there_is_nothing_to_limit():
    _, canaries, _, _ = World().make(np.random.default_rng(0))
    only = Subset(canaries.positions, "all", {}, total=1_000)
    with pytest.raises(InputError, match="are canaries; keep more"):
        contamination_limit(only, canaries, 10)


@pytest.fixture(scope="module")
def made():
    """One kind of canaries in a world with a good detector."""
    truth, canaries, score, subset = World(n=2_000, quality=4.0).make(np.random.default_rng(0))
    return truth, canaries, score, subset


@pytest.fixture(scope="module")
def two(made):
    """A second kind planted after the first, and a subset that holds canaries of both."""
    _, first, score, _ = made
    second = plant_canaries(
        first.planted, share=0.05, rng=np.random.default_rng(1), classes=10, avoid=first.mask()
    )
    inside = score >= np.sort(score)[500]
    inside[second.positions] = True
    return (
        (first, replace(second, kind="hard")),
        score,
        Subset(np.flatnonzero(inside), "s", {}, 2_000),
    )


def test_the_limit_on_the_data_spends_half_of_delta(made):
    _, canaries, score, _ = made
    for delta in (0.05, 0.2):
        (result,) = data_limits(score, [canaries], delta=delta)
        assert result == corruption_limit(score, canaries, delta=delta / 2)
        assert result.delta == delta / 2
    (usual,) = data_limits(score, [canaries])
    assert (usual.delta, usual.at_most) == (0.025, 0.5)
    (capped,) = data_limits(score, [canaries], at_most=0.3)
    assert capped == corruption_limit(score, canaries, delta=0.025, at_most=0.3)


def test_the_limit_on_a_subset_spends_the_other_half(made):
    _, canaries, score, subset = made
    for delta in (0.05, 0.2):
        most = data_limits(score, [canaries], delta=delta)
        (result,) = subset_limits(subset, [canaries], most, delta=delta)
        assert result == contamination_limit(subset, canaries, most[0], delta=delta)
        assert result.delta == delta
    most = data_limits(score, [canaries])
    assert subset_limits(subset, [canaries], most)[0].delta == DELTA


def test_a_kind_counts_its_own_canaries_and_those_of_other_kinds_are_in_nobodys_data(two):
    kinds, score, subset = two
    most = data_limits(score, kinds)
    result = subset_limits(subset, kinds, most)
    assert [limit.kind for limit in result] == ["uniform", "hard"]
    free = int((subset.mask() & ~canary_mask(kinds, 2_000)).sum())
    assert [limit.left for limit in result] == [free, free]
    for limit, own, other, data in zip(result, kinds, kinds[::-1], most, strict=True):
        rest = without_canaries(subset, other)
        assert limit == contamination_limit(rest, own, data)
    # The twin: with the others left in, the same number of wrong ones is a smaller share.
    left_in = contamination_limit(subset, kinds[0], most[0])
    assert left_in.share < result[0].share


def test_a_kind_without_certifying_canaries_has_no_limit_but_its_canaries_leave(two):
    kinds, score, subset = two
    silent = replace(kinds[0], certifies=np.zeros(len(kinds[0]), dtype=bool))
    most = data_limits(score, [silent, kinds[1]])
    assert [limit.kind for limit in most] == ["hard"]
    (result,) = subset_limits(subset, [silent, kinds[1]], most)
    free = int((subset.mask() & ~canary_mask(kinds, 2_000)).sum())
    assert (result.kind, result.left) == ("hard", free)


def test_rows_of_canaries_are_counted_and_paid_for(two):
    kinds, score, subset = two
    most = data_limits(score, kinds)
    back = canary_mask(kinds, 2_000)
    back[np.flatnonzero(back)[::2]] = False
    bare = subset_limits(subset, kinds, most, delta=DELTA)
    result = subset_limits(subset, kinds, most, delta=DELTA, rows=back)
    spent = 0.1 * DELTA / 2
    for limit, before, own, other, data in zip(result, bare, kinds, kinds[::-1], most, strict=True):
        rest = without_canaries(subset, other)
        own_limit = contamination_limit(rest, own, data, delta=DELTA - spent)
        wrong = sum(
            min(int((back & kind.mask()).sum()), most_covered(kind, data.corrupted, spent / 2))
            for kind in kinds
        )
        assert limit.left == before.left + back.sum()
        assert limit.wrong == own_limit.wrong + wrong > before.wrong
        assert limit.delta == DELTA


def test_no_more_rows_can_be_wrong_than_there_are(made):
    _, canaries, score, subset = made
    most = data_limits(score, [canaries])
    bare = subset_limits(subset, [canaries], most)[0]
    for count in (0, 1, 2):
        back = np.zeros(2_000, dtype=bool)
        back[canaries.positions[:count]] = True
        result = subset_limits(subset, [canaries], most, rows=back)[0]
        assert bare.wrong + count <= result.wrong <= bare.wrong + count + 3
        assert result.left == bare.left + count
    assert subset_limits(subset, [canaries], most, rows=np.zeros(2_000, bool))[0] == bare


def test_a_limit_is_never_above_what_is_left(made):
    _, canaries, score, _ = made
    (most,) = data_limits(score, [canaries])
    one = Subset(np.array([int(np.flatnonzero(~canaries.mask())[0])]), "s", {}, 2_000)
    back = np.zeros(2_000, dtype=bool)
    back[canaries.positions[:2]] = True
    (result,) = subset_limits(one, [canaries], [most], rows=back)
    assert (result.wrong, result.left) == (3, 3)


def test_rows_must_be_canaries(made):
    _, canaries, score, subset = made
    most = data_limits(score, [canaries])
    rows = canaries.mask()
    rows[np.flatnonzero(~rows)[0]] = True
    with pytest.raises(InputError, match="rows must be canaries"):
        subset_limits(subset, [canaries], most, rows=rows)


ROW_WORLDS = {
    "all rows back": (World(n=2_000, quality=6.0, rate=0.3), lambda c, truth: c.mask()),
    "rows back where the label is wrong": (
        World(n=2_000, quality=6.0, rate=0.2),
        lambda c, truth: c.mask() & (c.given != truth),
    ),
    "two classes": (World(quality=3.0, rate=0.2, classes=2), lambda c, truth: c.mask()),
    "few canaries": (World(quality=3.0, share=0.03), lambda c, truth: c.mask()),
    "little is wrong": (World(quality=3.0, rate=0.05), lambda c, truth: c.mask()),
}
RUNS = 200


def row_failures(name, runs, counted=True):
    """How often more is wrong among what is used, rows of canaries included, than certified."""
    world, comes_back = ROW_WORLDS[name]
    failed = 0
    for seed in range(runs):
        truth, canaries, score, subset = world.make(np.random.default_rng([seed, 5]))
        back = comes_back(canaries, truth)
        most = data_limits(score, [canaries], delta=DELTA)
        rows = back if counted else None
        (limit,) = subset_limits(subset, [canaries], most, delta=DELTA, rows=rows)
        wrong = left_wrong(truth, canaries, subset) + int((back & (canaries.given != truth)).sum())
        failed += wrong > limit.wrong
    return failed


@pytest.mark.parametrize("name", ROW_WORLDS)
def test_with_rows_counted_the_limit_fails_no_more_often_than_promised(name):
    assert row_failures(name, RUNS) <= allowed(RUNS)


@pytest.mark.parametrize("name", ["all rows back", "rows back where the label is wrong"])
def test_without_counting_them_the_promise_breaks(name):
    assert row_failures(name, 40, counted=False) > 20
