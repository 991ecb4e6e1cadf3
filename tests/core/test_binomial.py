"""The binomial distribution without SciPy equals SciPy's."""

import numpy as np
import pytest
from scipy.stats import binom

from dris.core.chances import at_least, at_most, chances_of


@pytest.mark.parametrize("trials", [1, 20, 290, 5_000])
@pytest.mark.parametrize("p", [1e-3, 0.05, 0.5, 0.95])
def test_chances_and_both_tails_are_scipys(trials, p):
    k = np.arange(trials + 1)
    for ours, theirs in (
        (chances_of(trials, p), binom.pmf(k, trials, p)),
        (at_most(trials, p), binom.cdf(k, trials, p)),
        (at_least(trials, p), binom.sf(k - 1, trials, p)),
    ):
        there = theirs > 1e-250
        assert np.allclose(ours[there], theirs[there], rtol=1e-10, atol=0)
        assert (ours[~there] < 1e-240).all()


def test_a_small_upper_tail_is_no_rest_of_one():
    assert 0 < at_least(100, 0.01)[60] < 1e-80
    assert 1 - at_most(100, 0.01)[59] == pytest.approx(0, abs=1e-12)  # the twin: a rest is lost
