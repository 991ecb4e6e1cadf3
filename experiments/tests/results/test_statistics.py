"""Paired comparisons agree with scipy and stay undecided without evidence."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from experiments.results.statistics import compare, mean_std, percentiles
from experiments.results.table import Table


def test_the_paired_p_is_scipys_one_sided_p():
    ours, theirs = [0.81, 0.83, 0.80, 0.84], [0.75, 0.80, 0.74, 0.79]
    expected = ttest_rel(ours, theirs, alternative="greater").pvalue
    assert compare(ours, theirs).p == pytest.approx(expected)
    assert compare(theirs, ours).p == pytest.approx(expected)
    assert compare(theirs, ours).outcome == "below"


def test_noise_and_single_seeds_are_undecided():
    assert compare([0.5, 0.6], [0.6, 0.5]).outcome == "undecided"
    assert compare([0.9], [0.1]).outcome == "undecided"
    assert compare([0.5, 0.5], [0.5, 0.5]).outcome == "undecided"


@pytest.mark.parametrize(("seeds", "outcome"), [(2, "undecided"), (4, "undecided"), (5, "above")])
def test_constant_differences_have_no_p_and_decide_by_their_signs_alone(seeds, outcome):
    ours = [0.5 + 1e-16 * seed for seed in range(seeds)]  # but for rounding
    result = compare(ours, [0.25] * seeds)
    assert (result.outcome, result.p) == (outcome, None)


def test_std_is_the_sample_one():
    assert mean_std([1.0, 2.0, 4.0])[1] == pytest.approx(np.std([1, 2, 4], ddof=1))
    assert mean_std([3.0]) == (3.0, 0.0)


def test_percentiles_of_few_values_are_their_range_and_of_many_leave_the_ends_out():
    assert percentiles([0.5, *range(1, 38)]) == (0.5, 37)
    assert percentiles(list(range(201))) == (5, 195)
    assert percentiles([4.0]) == (4.0, 4.0)


def test_an_interval_stands_where_the_deviation_would_unless_both_ends_look_alike():
    values = {("a", "b"): [0.1, 0.2, 0.6], ("c", "b"): [0.5, 0.5]}
    table = Table("t", ["a", "c"], ["b"], values, best=None, percent=False, interval=True)
    assert table.markdown().splitlines()[-2:] == [
        "| a | 0.30 [0.10, 0.60] (3) |",
        "| c | 0.50 (2) |",
    ]
