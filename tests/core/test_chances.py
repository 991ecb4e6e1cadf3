"""The one limit behind canaries and audits, and the binomial distribution: exact, as SciPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, hypergeom

import oracles_canaries as oracle
from dris.core.chances import chance_of_at_most, most_marked


def test_by_hand():
    # Two of four are marked; drawing two misses both in one of six ways.
    assert chance_of_at_most(0, total=4, marked=2, drawn=2) == pytest.approx(1 / 6, rel=1e-14)
    assert chance_of_at_most(1, total=4, marked=2, drawn=2) == pytest.approx(5 / 6, rel=1e-14)
    assert chance_of_at_most(2, total=4, marked=2, drawn=2) == 1.0  # there are no more
    assert chance_of_at_most(1, total=4, marked=4, drawn=2) == 0.0  # there are no fewer than two
    # Of 10, 5 drawn and none marked: 3 marked would be missed with C(7,5)/C(10,5) = 21/252 = 1/12,
    # 4 with 6/252 = 1/42.
    assert most_marked(0, total=10, drawn=5, delta=0.05) == 3
    assert most_marked(0, total=10, drawn=5, delta=0.09) == 2
    assert most_marked(0, total=10, drawn=0, delta=0.05) == 10  # nothing was looked at
    assert most_marked(2, total=10, drawn=10, delta=0.05) == 2  # everything was
    assert most_marked(5, total=10, drawn=5, delta=0.05) == 10


@st.composite
def urns(draw):
    total = draw(st.integers(1, 40))
    drawn, marked = draw(st.integers(0, total)), draw(st.integers(0, total))
    return total, marked, drawn, draw(st.integers(0, 40))


@settings(max_examples=300, deadline=None)
@given(urns())
def test_chances_agree_with_whole_numbers(urn):
    total, marked, drawn, seen = urn
    ours = chance_of_at_most(seen, total=total, marked=marked, drawn=drawn)
    exact = float(oracle.chance_of_at_most(seen, total, marked, drawn))
    assert ours == pytest.approx(exact, rel=1e-12, abs=1e-300)


@settings(max_examples=100, deadline=None)
@given(urns(), st.sampled_from([0.01, 0.05, 0.3]))
def test_the_limit_agrees_with_trying_every_number(urn, delta):
    total, _, drawn, seen = urn
    seen = min(seen, drawn)
    assert most_marked(seen, total=total, drawn=drawn, delta=delta) == oracle.most_marked(
        seen, total, drawn, delta
    )


# The certificates lean on these five; docs/decisions/14-canaries.md proves them by coupling.
@settings(max_examples=300, deadline=None)
@given(st.integers(1, 12), st.integers(0, 15), st.data())
def test_the_five_moves_that_make_a_limit_safe(m, n, data):
    r = data.draw(st.integers(0, m + n))
    x = data.draw(st.integers(0, m))

    def chance(x, m, n, r):
        return oracle.chance_of_at_most(x, m + n, m, r)

    if r < m + n:
        assert chance(x, m, n, r + 1) <= chance(x, m, n, r)  # so that bisection works
        assert chance(x + 1, m, n, r + 1) >= chance(x, m, n, r)  # counting one canary too many
    assert chance(x, m, n + 1, r) >= chance(x, m, n, r)  # a limit on n in place of n
    assert chance(x, m, n + 1, r + 1) <= chance(x, m, n, r)  # so that ε_U is one bisection
    if r <= m - 1 + n:
        assert chance(x, m - 1, n, r) >= chance(x, m, n, r)  # a limit on m' in place of m'


def test_ten_million_examples_agree_with_scipy_and_with_a_normal_scale():
    for seen, marked, drawn in ((100, 200_000, 6_000), (2_000, 100_000, 200_000), (3, 400, 10**5)):
        ours = chance_of_at_most(seen, total=10**7, marked=marked, drawn=drawn)
        # SciPy's own relative error is near 1e-9 here: it subtracts logarithms of factorials.
        assert ours == pytest.approx(hypergeom.cdf(seen, 10**7, marked, drawn), rel=1e-7)


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3])
def test_the_limit_fails_as_rarely_as_promised_where_clopper_pearson_does_not(rate):
    m, n, delta, runs = 2_000, 500, 0.05, 20_000
    r = int(rate * (m + n))
    seen = np.random.default_rng(5).hypergeometric(m, n, r, size=runs)
    left = r - seen
    limit = {x: most_marked(x, total=m + n, drawn=m, delta=delta) - x for x in set(seen.tolist())}
    failures = int((left > np.array([limit[x] for x in seen.tolist()])).sum())
    # A level of exactly δ would exceed this once in 10^6 runs of the test.
    assert failures <= binom.isf(1e-6, runs, delta)
    assert failures >= 0.5 * delta * runs  # and it is not bought with slack
    # The twin: a limit on the rate, times n, forgets that the n are a sample themselves.
    rate_limit = beta.ppf(1 - delta, seen + 1, m - seen)
    assert (left > rate_limit * n).mean() > 0.17
