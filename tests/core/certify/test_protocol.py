"""The protocol once: how δ is split, which canaries count, and rows on which canaries lay."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from canary_worlds import World, left_wrong
from dris.core.certify.data_limit import corruption_limit, most_covered
from dris.core.certify.subset_limit import (
    canary_mask,
    contamination_limit,
    data_limits,
    subset_limits,
)
from dris.core.errors import InputError
from dris.core.noise.canaries import plant_canaries, without_canaries
from dris.core.subset import Subset

DELTA = 0.05


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
        assert result == corruption_limit(score, canaries.certifying, delta=delta / 2)
        assert result.delta == delta / 2
    (usual,) = data_limits(score, [canaries])
    assert (usual.delta, usual.at_most) == (0.025, 0.5)
    (capped,) = data_limits(score, [canaries], at_most=0.3)
    assert capped == corruption_limit(score, canaries.certifying, delta=0.025, at_most=0.3)


def test_the_limit_on_a_subset_spends_the_other_half(made):
    _, canaries, score, subset = made
    for delta in (0.05, 0.2):
        most = data_limits(score, [canaries], delta=delta)
        (result,) = subset_limits(subset, [canaries], most, delta=delta)
        assert result == contamination_limit(subset, canaries.certifying, most[0], delta=delta)
        assert (result.delta, result.delta_corrupted) == (delta, delta / 2)
        assert result.delta_count == pytest.approx(delta / 2)
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
        assert limit == contamination_limit(rest, own.certifying, data)
    # The twin: with the others left in, the same number of wrong ones is a smaller share.
    left_in = contamination_limit(subset, kinds[0].certifying, most[0])
    assert left_in.share < result[0].share


def test_a_kind_without_certifying_canaries_has_no_limit_but_its_canaries_leave(two):
    kinds, score, subset = two
    silent = replace(kinds[0], certifies=np.zeros(len(kinds[0]), dtype=bool))
    most = data_limits(score, [silent, kinds[1]])
    assert [limit.kind for limit in most] == ["hard"]
    (result,) = subset_limits(subset, [silent, kinds[1]], most)
    free = int((subset.mask() & ~canary_mask(kinds, 2_000)).sum())
    assert (result.kind, result.left) == ("hard", free)


def test_the_canary_mask_is_every_canary_of_any_kind(two):
    kinds, _, _ = two
    both = canary_mask(kinds, 2_000)
    assert np.flatnonzero(both).tolist() == sorted(
        [*kinds[0].positions.tolist(), *kinds[1].positions.tolist()]
    )


# -- rows on which canaries lay ----------------------------------------------------------------


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
        own_limit = contamination_limit(rest, own.certifying, data, delta=DELTA - spent)
        wrong = sum(
            min(
                int((back & kind.mask()).sum()),
                most_covered(kind, data.corrupted, spent / 2),
            )
            for kind in kinds
        )
        assert limit.left == before.left + back.sum()
        assert limit.wrong == own_limit.wrong + wrong > before.wrong
        assert limit.delta == DELTA
        assert limit.delta_count + limit.delta_corrupted + spent == pytest.approx(DELTA)


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


def test_a_limit_is_needed_for_every_kind_that_certifies(two):
    kinds, score, subset = two
    with pytest.raises(ValueError, match="shorter"):
        subset_limits(subset, kinds, data_limits(score, kinds)[:1])


# -- coverage ------------------------------------------------------------------------------------

WORLDS = {
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


def failures(name, runs, counted=True):
    """How often more is wrong among what is used, rows of canaries included, than certified."""
    world, comes_back = WORLDS[name]
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


@pytest.mark.parametrize("name", WORLDS)
def test_with_rows_counted_the_limit_fails_no_more_often_than_promised(name):
    # More failures than this have a chance below 1e-6 if the level is right.
    assert failures(name, RUNS) <= binom.isf(1e-6, RUNS, DELTA)


@pytest.mark.parametrize("name", ["all rows back", "rows back where the label is wrong"])
def test_without_counting_them_the_promise_breaks(name):
    assert failures(name, 40, counted=False) > 20
