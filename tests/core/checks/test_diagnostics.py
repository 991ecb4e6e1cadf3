"""Diagnostics against scikit-learn, loops and simulations with a known answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import oracles
from dris.core.checks.diagnostics import Check, auroc, contamination, empirical_gap
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError


def toy(k=4, n=40, seed=0, ids=None):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(k, n, 3)).astype(np.float32)
    return Dynamics.from_logits(z, np.arange(n) % 3, ids=ids), rng.permutation(n) < n // 4


# -- detection ---------------------------------------------------------------------------------


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


def test_turning_the_score_around_turns_the_auroc_around():
    score, mark = np.random.default_rng(0).normal(size=50).round(1), np.arange(50) < 20
    assert auroc(-score, mark) == pytest.approx(1 - auroc(score, mark), abs=1e-15)
    assert auroc(score, ~mark) == pytest.approx(1 - auroc(score, mark), abs=1e-15)


@pytest.mark.parametrize(
    ("score", "mark"),
    [
        ([1.0, 2.0], [True, True]),
        ([1.0, 2.0], [False, False]),
        ([1.0, 2.0], [True, False, True]),
        ([1.0, np.nan], [True, False]),
        ([1.0, np.inf], [True, False]),
        ([[1.0, 2.0]], [True, False]),
        ([1.0, 2.0], [1, 0]),
        ([], []),
    ],
)
def test_detection_refuses_what_it_cannot_auroc(score, mark):
    with pytest.raises(InputError):
        auroc(score, np.array(mark) if mark else np.zeros(0, bool))


# -- contamination -----------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.data())
def test_contamination_counts(corrupted, data):
    chosen = data.draw(
        st.lists(st.integers(0, len(corrupted) - 1), min_size=1, unique=True), label="subset"
    )
    assert contamination(chosen, corrupted) == pytest.approx(
        oracles.contamination(chosen, corrupted)
    )


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ([], "empty"),
        ([0, 4], r"0\.\.3"),
        ([-1, 0], r"0\.\.3"),
        ([0.0, 1.0], "positions"),
        ([True, False, True, True], "np.flatnonzero"),
        ([[0, 1]], "positions"),
    ],
)
def test_contamination_refuses_what_is_not_a_subset(chosen, says):
    with pytest.raises(InputError, match=says):
        contamination(chosen, [True, False, False, False])


def test_contamination_refuses_a_mask_of_numbers():
    with pytest.raises(InputError, match="boolean mask"):
        contamination([0], [1, 0])


# -- the gap -----------------------------------------------------------------------------------


def test_the_gap_equals_the_oracle_raw_and_corrected():
    d, bad = toy(k=6)
    out = empirical_gap(d, bad)
    expected = oracles.gap(d.snapshot("loss").tolist(), bad)
    assert out.proxies.tolist() == [1, 2, 3, 4, 5, 6]
    assert out.raw == pytest.approx(expected, abs=1e-13)
    assert out.raw[0] == out.corrected[0] == 0
    assert out.corrected[1:] == pytest.approx([expected[k - 1] * k / (k - 1) for k in range(2, 7)])
    assert out.radius == pytest.approx(
        [np.sqrt(np.log(2 * 40 / 0.05) / (2 * k)) for k in range(1, 7)]
    )


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2])
def test_the_gap_needs_a_delta_between_zero_and_one(delta):
    with pytest.raises(InputError, match=r"delta must be in \(0, 1\)"):
        empirical_gap(*toy(), delta=delta)


def test_a_verdict_reads_as_one_line():
    assert (
        str(Check("gap", "fails", 0.5, 1.0, "too small")) == "gap: fails (0.5 against 1): too small"
    )
    assert str(Check("gap", "cannot tell", float("nan"), 1.0, "K = 3")) == "gap: cannot tell: K = 3"
