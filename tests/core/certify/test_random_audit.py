"""The audit's limit: against trying every number, its coverage, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import oracles_canaries as oracle
from dris.core.certify.random_audit import AuditLimit, audit_limit, audit_size, draw_audit
from dris.core.errors import InputError
from dris.core.subset import Subset


def everything(n):
    return Subset(np.arange(n), "all", {}, total=n)


def test_by_hand():
    limit = audit_limit(size=10, checked=5, wrong=0, delta=0.05)
    assert limit.limit == 3  # 3 would be missed in 21 of 252 ways, 4 in 6 of 252
    assert limit.share == 0.3
    result = audit_limit(size=10, checked=10, wrong=2)
    assert (result.limit, result.share, result.share_after) == (2, 0.2, 0.0)
    assert AuditLimit(limit=5, size=10, checked=4, wrong=2, delta=0.05).share_after == 3 / 8
    assert AuditLimit(limit=2, size=2, checked=1, wrong=1, delta=0.05).share_after == 1.0
    assert audit_limit(size=10, checked=0, wrong=0).share == 1.0
    assert "at most 30.00% of 10 labels" in str(limit)
    assert limit.to_dict()["limit"] == 3


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(0, 4),
    st.sampled_from([0.0, 0.1, 0.25, 1.0]),
    st.sampled_from([0.05, 0.2]),
)
def test_the_size_of_an_audit_agrees_with_trying_every_size(size, wrong, share, delta):
    ours = audit_size(size=size, share=share, delta=delta, expected_wrong=wrong)
    assert ours == (None if wrong > share * size else oracle.audit_size(size, share, delta, wrong))


@pytest.mark.parametrize(("size", "wrong", "n"), [(1000, 20, 100), (300, 30, 150), (5000, 5, 60)])
def test_the_limit_covers_the_truth_and_guessing_the_rate_does_not(size, wrong, n):
    rng, runs, delta = np.random.default_rng(1), 5_000, 0.05
    result = rng.hypergeometric(wrong, size - wrong, n, size=runs)
    limits = {
        k: audit_limit(size=size, checked=n, wrong=k, delta=delta).limit
        for k in set(result.tolist())
    }
    failed = int((np.array([limits[k] for k in result.tolist()]) < wrong).sum())
    assert failed <= binom.isf(1e-6, runs, delta)  # chance of a false alarm: 1e-6
    assert (result / n * size < wrong).mean() > 0.3  # the twin: the observed rate as a limit


def test_the_audit_draws_every_example_alike_and_none_twice():
    kept = Subset(np.array([2, 3, 5, 7]), "primes", {}, total=8)
    rng = np.random.default_rng(0)
    draws = np.array([draw_audit(kept, 2, rng=rng) for _ in range(4_000)])
    assert (draws[:, 0] != draws[:, 1]).all()
    counts = np.bincount(draws.ravel(), minlength=8)
    assert counts[[0, 1, 4, 6]].sum() == 0
    # Each is binomial(4000, 1/2); outside this range with probability 1e-6.
    assert np.all((counts[[2, 3, 5, 7]] > 1840) & (counts[[2, 3, 5, 7]] < 2160))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: audit_limit(size=5, checked=2, wrong=0, delta=0), r"delta must be in \(0, 1\)"),
        (lambda: audit_size(size=5, share=1.5), r"share must be in \[0, 1\]"),
        (lambda: audit_size(size=5, share=0.5, delta=1), "delta"),
        (lambda: draw_audit(everything(3), 4, rng=np.random.default_rng(0)), "at most the 3"),
        (lambda: draw_audit(everything(3), 0, rng=np.random.default_rng(0)), "at least 1"),
    ],
)
def test_bad_input_is_one_sentence(call, says):
    with pytest.raises(InputError, match=says):
        call()
