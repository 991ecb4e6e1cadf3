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


def test_constant_differences_decide_where_they_are_no_luck():
    assert compare([0.5, 0.75], [0.25, 0.5]).outcome == "above"
    lucky = compare([0.6108, 0.6048], [0.6094, 0.6034])  # twice 0.14 points, of two seeds
    assert (lucky.outcome, lucky.p > 0.1) == ("undecided", True)


def test_nearly_constant_differences_decide_without_a_warning():
    assert compare([0.5 + 1e-17, 0.7, 0.9 + 1e-16], [0.4, 0.6, 0.8]).outcome == "above"


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
