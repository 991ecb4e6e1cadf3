"""Two scores side by side."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dris.core.errors import InputError
from dris.core.scores.resemblance import compare_scores


def test_correlations_and_overlap_worked_by_hand():
    found = compare_scores([1.0, 2, 3, 4], [2.0, 1, 3, 4], fraction=0.5)
    assert found.spearman == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert found.kendall == pytest.approx((5 - 1) / 6)
    assert found.overlap == 1.0
    assert found.contamination is None


def test_a_reversed_score_has_correlation_minus_one_and_keeps_the_others():
    score = np.arange(10.0)
    wrong = score >= 5
    found = compare_scores(score, -score, fraction=0.5, wrong=wrong)
    assert (found.spearman, found.kendall) == (pytest.approx(-1), pytest.approx(-1))
    assert (found.overlap, found.contamination) == (0.0, (1.0, 0.0))


def test_a_constant_score_has_no_correlation_rather_than_nan():
    found = compare_scores(np.ones(4), np.arange(4.0), fraction=0.5)
    assert (found.spearman, found.kendall) == (None, None)


def kendall_by_pairs(a, b):
    """Tau-b from the definition: concordant less discordant pairs, over those that are not tied."""
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    signs = [(np.sign(a[i] - a[j]), np.sign(b[i] - b[j])) for i, j in pairs]
    agree = sum(x * y for x, y in signs)
    return agree / np.sqrt(sum(x != 0 for x, _ in signs) * sum(y != 0 for _, y in signs))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=12))
def test_both_correlations_equal_slow_versions_ties_included(pairs):
    a, b = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    found = compare_scores(a, b, fraction=0.5)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert found.spearman is None
        return
    ranks = [[(np.sum(s < v) + np.sum(s <= v)) / 2 for v in s] for s in (a, b)]
    assert found.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert found.kendall == pytest.approx(kendall_by_pairs(a, b))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"second": [1.0]}, "same examples"),
        ({"second": [1.0, np.nan, 2.0]}, "finite"),
        ({"fraction": 0.0}, "fraction"),
        ({"wrong": [1, 0, 1]}, "boolean mask"),
        ({"wrong": [True]}, "boolean mask"),
    ],
)
def test_bad_inputs_are_refused(change, says):
    given = {"second": [1.0, 2.0, 3.0], "fraction": 0.5, "wrong": None, **change}
    with pytest.raises(InputError, match=says):
        compare_scores([1.0, 2.0, 3.0], given.pop("second"), **given)
