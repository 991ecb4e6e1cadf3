"""Subsets: exact sizes, no say for the file order, every rule against its slow version."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles_choosing as oracle
from dris.core.errors import InputError
from dris.core.select.selection import (
    keep_top,
    keep_top_per_class,
    mix_uniform,
    remove_bottom,
    share_out,
    stratify,
)
from dris.core.subset import Subset

RULES = {
    "keep_top": keep_top,
    "remove_bottom": remove_bottom,
    "mix_uniform": lambda s, **k: mix_uniform(s, share=0.5, **k),
    "stratified": lambda s, **k: stratify(s, bins=4, drop=0.1, **k),
    "keep_top_per_class": lambda s, **k: keep_top_per_class(s, by_id(len(s), **k), **k),
}


def by_id(n, ids=None, **_):
    """Three classes that travel with the ids."""
    numbers = range(n) if ids is None else [int(str(i).removeprefix("img-")) for i in ids]
    return np.array(numbers) % 3


# Few values, so that ties abound; both zeros, which must tie.
scores = st.lists(st.sampled_from([-2.0, -0.0, 0.0, 0.5, 1.0, 3.0]), min_size=9, max_size=40)
fractions = st.sampled_from([0.4, 0.5, 0.77, 0.9])
seeds = st.integers(0, 5)


def shuffled_ids(n, seed):
    return np.random.default_rng(seed).permutation(10 * n)[:n]


def test_the_subset_has_the_exact_size_where_floats_would_lose_one():
    assert len(keep_top(np.arange(50_000), fraction=0.29)) == 14_500
    assert int(0.29 * 50_000) == 14_499  # Counterexample: what plain floats give.


def test_a_fraction_of_one_keeps_everything():
    for rule in RULES.values():
        if rule is not RULES["stratified"]:
            assert rule(np.zeros(7), fraction=1).indices.tolist() == list(range(7))


def test_remove_bottom_never_keeps_what_it_removed_and_ignores_the_score_of_the_rest():
    score = np.arange(100.0)
    subset = remove_bottom(score, fraction=0.25)
    assert subset.parameters == {"fraction": 0.25, "remove": 0.25, "seed": 0}
    assert subset.indices.min() >= 25
    assert subset.indices.min() < 60  # keep_top would start at 75
    other = remove_bottom(np.r_[np.arange(25.0), np.arange(100.0, 25, -1)], fraction=0.25)
    assert other == subset


def test_per_class_keeps_a_rare_class_that_plain_top_would_lose():
    score, labels = np.r_[np.arange(1.0, 99), 0, 0], np.r_[np.zeros(98, int), 1, 2]
    assert set(labels[keep_top_per_class(score, labels, fraction=0.1).indices]) == {0, 1, 2}
    assert set(labels[keep_top(score, fraction=0.1).indices]) == {0}


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ([50, 30, 20], 10, [5, 3, 2]),
        ([96, 3, 1], 10, [8, 1, 1]),
        ([4, 4, 4], 4, [2, 1, 1]),  # equal remainders: the lower label first
        ([41, 34, 25], 10, [4, 3, 3]),
    ],
)
def test_quotas_by_hand(sizes, count, expected):
    assert share_out(sizes, count) == expected


def test_mix_uniform_takes_its_share_from_the_top():
    subset = mix_uniform(np.arange(1000.0), fraction=0.1, share=0.3)
    assert len(subset) == 100
    assert set(range(970, 1000)) <= set(subset.indices.tolist())
    assert np.median(subset.indices) < 900  # the rest comes from everywhere
    assert mix_uniform(range(9), fraction=0.5, share=1).indices.tolist() == [5, 6, 7, 8]


def test_stratified_hands_out_evenly_from_the_smallest_bin():
    # Bins of 2, 4 and 94 examples, a budget of 30: all 2, all 4, and 24 of the large one.
    score = np.r_[np.full(94, 0.1), np.full(4, 0.5), np.full(2, 0.9)]
    subset = stratify(score, fraction=0.3, bins=3)
    assert np.bincount((score[subset.indices] * 3).astype(int)).tolist() == [24, 4, 2]
    even = stratify(np.repeat([0.0, 1.0, 2.0], 30), fraction=0.5, bins=3)
    assert np.bincount(even.indices // 30).tolist() == [15, 15, 15]


@settings(deadline=None, max_examples=60)
@given(scores, fractions, seeds)
def test_every_rule_equals_its_slow_version(score, fraction, seed):
    n = len(score)
    ids = shuffled_ids(n, seed)
    count = oracle.flips(fraction, n)
    asked = {"fraction": fraction, "seed": seed, "ids": ids}

    top = keep_top(score, **asked)
    kept = oracle.keep_top(score, count, ids, seed)
    assert set(top.indices) == kept
    assert top.tied == oracle.tied_at_the_cut(score, kept)

    removed = oracle.flips(min(Fraction(str(fraction)), 1 - Fraction(str(fraction))), n)
    expected = oracle.remove_bottom(score, count, removed, ids, seed)
    assert set(remove_bottom(score, **asked).indices) == expected

    expected = oracle.mix_uniform(score, count, oracle.flips(0.3, count), ids, seed)
    assert set(mix_uniform(score, share=0.3, **asked).indices) == expected

    expected = oracle.stratified(score, count, 3, oracle.flips(0.1, n), ids, seed)
    assert set(stratify(score, bins=3, drop=0.1, **asked).indices) == expected

    y = ids % 3
    if len(set(y)) > 1:
        groups = [np.flatnonzero(y == c) for c in np.unique(y)]
        shares = share_out([g.size for g in groups], count)
        expected = set()
        for g, quota in zip(groups, shares, strict=True):
            best = oracle.keep_top([score[i] for i in g], quota, ids[g], seed)
            expected |= {int(g[j]) for j in best}
        assert set(keep_top_per_class(score, y, **asked).indices) == expected


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=4), st.data())
def test_quotas_are_the_closest_to_proportion_when_no_class_is_too_small(sizes, data):
    count = data.draw(st.integers(len(sizes), sum(sizes)))
    shared = share_out(sizes, count)
    assert sum(shared) == count
    assert all(1 <= q <= size for q, size in zip(shared, sizes, strict=True))
    shares = [Fraction(count * size, sum(sizes)) for size in sizes]
    if min(shares) >= 1:
        best = oracle.smallest_distance_to_proportion(sizes, count)
        assert oracle.distance(shared, shares) == best


@pytest.mark.parametrize("name", RULES)
@settings(deadline=None, max_examples=30)
@given(score=scores, fraction=fractions, seed=seeds)
def test_permuting_scores_and_ids_together_keeps_the_same_ids(name, score, fraction, seed):
    score, ids = np.array(score), shuffled_ids(len(score), seed)
    if seed % 2:  # text breaks ties as well as numbers
        ids = np.array([f"img-{i:03d}" for i in ids])
    order = np.random.default_rng(seed + 1).permutation(len(score))
    if name == "keep_top_per_class" and len(set(by_id(len(score), ids))) == 1:
        return
    one = RULES[name](score, fraction=fraction, seed=seed, ids=ids)
    two = RULES[name](score[order], fraction=fraction, seed=seed, ids=ids[order])
    assert set(ids[one.indices]) == set(ids[order][two.indices])
    assert one.tied == two.tied
    assert len(one) == oracle.flips(fraction, len(score))


def test_a_rule_that_breaks_ties_by_position_would_be_caught():
    score, ids, order = np.zeros(20), np.arange(20), np.random.default_rng(0).permutation(20)
    one, two = (ids[np.argsort(-s, kind="stable")[:5]] for s, ids in ((score, ids), (score, order)))
    assert set(one) != set(two)


@pytest.mark.parametrize("name", RULES)
def test_seeds_decide_ties_reproducibly_and_the_input_is_left_alone(name):
    score = np.zeros(60)
    score.flags.writeable = False
    one, again, other = (RULES[name](score, fraction=0.5, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one != other
    json.dumps(RULES[name](score, fraction=np.float32(0.5), seed=np.int64(1)).parameters)
    assert (one.parameters["seed"], one.parameters["fraction"]) == (1, 0.5)


def test_uniform_draws_do_not_follow_the_tie_break():
    score = np.zeros(2000)
    ties = set(keep_top(score, fraction=0.5).indices)
    # All equal: both are uniform halves. Under one salt they would be the same half.
    drawn = set(mix_uniform(score, fraction=0.5, share=0).indices)
    # Hypergeometric, mean 500, sd 11.2: outside 6 sd has a tail below 1e-8.
    assert abs(len(ties & drawn) - 500) < 67


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    ("score", "how", "says"),
    [
        (list(range(9)), {"seed": -1}, "seed"),
        ([1, 2, 3], {"fraction": 0}, "fraction must be in"),
        ([1, 2, 3], {"fraction": 1.5}, "fraction must be in"),
        ([1, 2, 3], {"fraction": None}, "finite number"),
        ([1, 2, 3], {"fraction": 0.3}, "is none"),
        ([], {}, "empty"),
        ([[1, 2, 3]], {}, "one number per example"),
        ([1, float("nan"), 3], {}, "nan at position 1"),
        (["a", "b", "c"], {}, "must be numbers"),
    ],
)
def test_bad_scores_fractions_and_seeds_are_refused(name, score, how, says):
    rule = RULES[name]
    if name == "keep_top_per_class":

        def rule(s, **k):
            return keep_top_per_class(s, np.resize([0, 1, 2], np.size(s) or 3), **k)

    with pytest.raises(InputError, match=says):
        rule(score, **{"fraction": 0.5} | how)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda s: keep_top(s, fraction=0.5, ids=[0, 1, *range(1, 9)]), "unique"),
        (lambda s: keep_top(s, fraction=0.5, ids=[0, 1]), "one per example"),
        (lambda s: remove_bottom(s, fraction=0.5, remove=0.6), "leaves 4 of 10"),
        (lambda s: remove_bottom(s, fraction=0.5, remove=1.1), "remove must be in"),
        (lambda s: mix_uniform(s, fraction=0.5, share=1.1), "share must be in"),
        (lambda s: stratify(s, fraction=0.5, drop=0.6), "leaves 4 of 10"),
        (lambda s: stratify(s, fraction=0.5, drop=2), "drop must be in"),
        (lambda s: stratify(s, fraction=0.5, bins=0), "at least 1"),
        (lambda s: keep_top_per_class(s, [0, 1], fraction=0.5), "10 scores, 2 labels"),
        (lambda s: keep_top_per_class(s, [0] * 10, fraction=0.5), "two classes"),
        (lambda s: keep_top_per_class(s, range(10), fraction=0.5), "cover 10 classes"),
    ],
)
def test_arguments_of_one_rule_are_checked_even_without_ties(call, says):
    with pytest.raises(InputError, match=says):
        call(np.arange(10.0))


def test_subset_indices_are_int64_and_read_only_and_not_the_callers_array():
    mine = np.array([0, 2], dtype=np.int32)
    subset = Subset(mine, "by hand", {}, total=3)
    mine[0] = 1
    assert subset.indices.tolist() == [0, 2]
    assert subset.indices.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        subset.indices[0] = 1
    same = np.array([0, 2])
    Subset(same, "by hand", {}, total=3)
    same[0] = 1  # Still the caller's to write.


def test_subset_mask_and_equality_by_value():
    subset = keep_top([1, 3, 2], fraction=0.67)
    assert subset.mask().tolist() == [False, True, True]
    assert subset == keep_top([1, 3, 2], fraction=0.67) == pickle.loads(pickle.dumps(subset))
    assert subset != keep_top([1, 3, 2], fraction=0.67, seed=1)
    assert subset != "subset"
