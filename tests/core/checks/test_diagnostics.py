"""Diagnostics against scikit-learn, loops and simulations with a known answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import oracles
from dris.core.checks.assumption_checks import Check, auroc
from dris.core.errors import InputError


def marked_scores(values):
    pair = st.tuples(values, st.booleans())
    both = lambda rows: len({m for _, m in rows}) == 2  # noqa: E731
    return st.lists(pair, min_size=2, max_size=40).filter(both)


@settings(max_examples=100, deadline=None)
@given(
    marked_scores(st.integers(0, 4).map(float))
    | marked_scores(st.floats(-1e300, 1e300, allow_subnormal=False))
)
def test_detection_agrees_with_scikit_learn_and_the_oracle_ties_included(rows):
    score, mark = (np.array(column) for column in zip(*rows, strict=True))
    assert auroc(score, mark) == pytest.approx(roc_auc_score(mark, score), abs=1e-12)
    assert auroc(score, mark) == pytest.approx(oracles.auroc(score, mark), abs=1e-12)


def test_detection_by_hand():
    mark = [True, False, True, False]
    assert auroc([4, 3, 2, 1], mark) == 0.75  # 3 of 4 pairs in order
    assert auroc([5, 5, 5, 5], mark) == 0.5


@pytest.mark.parametrize(
    ("score", "mark"),
    [
        ([1.0, 2.0], [True, True]),
        ([1.0, 2.0], [True, False, True]),
        ([1.0, np.nan], [True, False]),
        ([1.0, 2.0], [1, 0]),
        ([], []),
    ],
)
def test_detection_refuses_what_it_cannot_auroc(score, mark):
    with pytest.raises(InputError):
        auroc(score, np.array(mark) if mark else np.zeros(0, bool))


def test_a_check_reads_as_one_line():
    assert (
        str(Check("gap", "fails", 0.5, 1.0, "too small"))
        == "gap: fails (0.5, threshold 1): too small"
    )
    assert str(Check("gap", "cannot tell", float("nan"), 1.0, "K = 3")) == "gap: cannot tell: K = 3"
