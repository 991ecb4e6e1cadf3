"""The paper's assumptions, measured: against loops and simulations with a known answer."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

import oracles
from dris import Dynamics, InputError, rank_variance
from experiments.assumptions import (
    boundary_disagreement,
    boundary_set,
    corrupted_disagreement,
    empirical_gap,
    estimate_assumptions,
)
from experiments.dris_internals import hashed_order, rng_for


def slow_corrupted_disagreement(losses, corrupted):
    return max(v for v, bad in zip(oracles.rank_variance(losses), corrupted, strict=True) if bad)


def slow_boundary_set(margin, corrupted, share=Fraction(1, 5)):
    """The bottom share of clean examples by mean margin over proxies."""
    mean = oracles.mean_over_proxies(margin)
    clean = [i for i, bad in enumerate(corrupted) if not bad]
    return sorted(sorted(clean, key=lambda i: mean[i])[: floor(share * len(clean))])


def slow_boundary_median(losses, margin, corrupted):
    v = oracles.rank_variance(losses)
    return float(np.median([v[i] for i in slow_boundary_set(margin, corrupted)]))


def slow_assumptions(losses, corrupted, trimmed, choose, measure):
    """(τ, γ, v_tail): `trimmed` examples dropped by variance on `choose`, the rest on `measure`."""
    bad = [i for i, c in enumerate(corrupted) if c]
    ranks = [oracles.normalized_ranks(row) for row in losses]

    def variance(i, rows, less):
        mean = sum(ranks[k][i] for k in rows) / len(rows)
        return sum((ranks[k][i] - mean) ** 2 for k in rows) / (len(rows) - less)

    ordered = sorted(bad, key=lambda i: variance(i, choose, 0))
    bulk, tail = ordered[: len(bad) - trimmed], ordered[len(bad) - trimmed :]
    best = None
    for allowed in range(len(measure)):
        reached = [sorted(ranks[k][i] for k in measure)[allowed] for i in bulk]
        tau, gamma = 1 - min(reached), allowed / len(measure)
        if best is None or tau**2 / 4 + gamma < best[0] ** 2 / 4 + best[1]:
            best = tau, gamma
    return *best, sum(variance(i, measure, 1) for i in tail) / len(tail) if tail else 0.0


def toy(k=4, n=40, seed=0, ids=None):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(k, n, 3)).astype(np.float32)
    return Dynamics.from_logits(z, np.arange(n) % 3, ids=ids), rng.permutation(n) < n // 4


# -- the paper's τ̂² ----------------------------------------------------------------------------


def test_disagreement_and_boundary_equal_the_oracles():
    for seed in range(5):
        d, bad = toy(seed=seed)
        loss, margin = d.snapshot("loss").tolist(), d.snapshot("margin").tolist()
        assert corrupted_disagreement(d, bad) == pytest.approx(
            slow_corrupted_disagreement(loss, bad), rel=1e-14
        )
        assert boundary_set(d, bad).tolist() == slow_boundary_set(margin, bad)
        assert boundary_set(d, bad, share=0.5).tolist() == slow_boundary_set(
            margin, bad, Fraction(1, 2)
        )
        result = boundary_disagreement(d, bad)
        assert result.median == pytest.approx(slow_boundary_median(loss, margin, bad), rel=1e-13)
        assert result.examples == 6  # ⌊0.2 · 30 clean⌋


def test_the_boundary_holds_no_corrupted_example_and_its_size_is_exact():
    d, bad = toy(n=400)
    chosen = boundary_set(d, bad, share=0.29)
    assert not bad[chosen].any()
    assert len(chosen) == 87  # ⌊0.29 · 300⌋


def test_tied_margins_are_not_cut_by_position():
    ids = np.arange(40)
    d = Dynamics.from_arrays(loss=np.ones((1, 40)), margin=np.zeros((1, 40)), ids=ids)
    bad = ids < 8
    turned = Dynamics.from_arrays(
        loss=np.ones((1, 40)), margin=np.zeros((1, 40)), ids=ids[::-1].copy()
    )
    chosen = set(boundary_set(d, bad).tolist())
    assert chosen == {int(turned.ids[i]) for i in boundary_set(turned, bad[::-1])}
    assert chosen != set(range(8, 14))  # the twin: what the order of the file would choose
    lots = hashed_order(ids, seed=0)
    assert chosen == {int(i) for i in sorted(ids[8:], key=lambda i: lots[i])[:6]}


def test_the_bootstrap_is_reproducible_and_named_by_its_seed():
    d, bad = toy(n=200)
    assert boundary_disagreement(d, bad) == boundary_disagreement(d, bad)
    few = [boundary_disagreement(d, bad, resamples=5, seed=seed) for seed in (1, 2)]
    assert few[0] != few[1]


def test_the_bootstrap_interval_is_from_a_fortieth_to_the_rest_by_a_loop():
    d, bad = toy(n=200)
    values = rank_variance(d.snapshot("loss"))[boundary_set(d, bad)]
    rng = rng_for(0, "bootstrap")
    medians = sorted(np.median(rng.choice(values, size=values.size)) for _ in range(1000))
    result = boundary_disagreement(d, bad)
    # Between the 25th and the 26th of 1,000 from either end: 0.025 · 999 = 24.975.
    assert result.low == pytest.approx(medians[24] + 0.975 * (medians[25] - medians[24]))
    assert result.high == pytest.approx(medians[974] + 0.025 * (medians[975] - medians[974]))


def test_the_bootstrap_interval_covers_the_median_it_is_for():
    # 60 data sets, each with a boundary set of 40. A percentile interval for a median covers at
    # least 90 % here; fewer than 46 of 60 would then have probability 7e-4 (binomial).
    population, _ = toy(k=3, n=20_000, seed=100)
    truth = boundary_disagreement(population, np.arange(20_000) < 5_000, resamples=1).median
    covered = narrow = 0
    for seed in range(60):
        d, _ = toy(k=3, n=270, seed=seed)
        result = boundary_disagreement(d, np.arange(270) < 70, resamples=200, seed=seed)
        assert result.low <= result.median <= result.high
        covered += result.low <= truth <= result.high
        narrow += abs(truth - result.median) <= (result.high - result.low) / 8
    assert covered >= 46
    assert narrow < 46  # the twin: an interval a quarter as wide does not pass


def test_a_boundary_of_nothing_or_with_a_bad_share_is_refused():
    d, bad = toy(n=8)
    for share in (0, 1.5, -0.1, 0.1):
        with pytest.raises(InputError, match="share"):
            boundary_set(d, bad, share=share)
    with pytest.raises(InputError, match="resamples"):
        boundary_disagreement(d, bad, share=1, resamples=0)
    with pytest.raises(InputError, match="this needs margin"):
        boundary_set(Dynamics.from_losses(np.eye(8)), bad)


@pytest.mark.parametrize(
    "measure",
    [
        corrupted_disagreement,
        boundary_set,
        boundary_disagreement,
        estimate_assumptions,
        empirical_gap,
    ],
)
@pytest.mark.parametrize("mask", [np.zeros(40, bool), np.ones(40, bool), np.arange(40), [True]])
def test_every_diagnostic_needs_a_mask_with_both_kinds(measure, mask):
    with pytest.raises(InputError, match="corrupted must"):
        measure(toy()[0], mask)


# -- τ, γ, v_tail ------------------------------------------------------------------------------


def known(k, n=1000, corrupt=100, tau=0.2, gamma=0.2, seed=0):
    """Corrupted examples rank in the top τ with probability 1 − γ, anywhere below otherwise."""
    rng = np.random.default_rng(seed)
    place = rng.random((k, n)) * (1 - tau)
    high = rng.random((k, corrupt)) < 1 - gamma
    top = 1 - tau + tau * rng.random((k, corrupt))
    place[:, :corrupt] = np.where(high, top, place[:, :corrupt])
    # The clean fill the rest of the top, so that a value's rank is close to the value itself.
    spare = max(0.0, (tau - (1 - gamma) * corrupt / n) / (1 - corrupt / n))
    lifted = rng.random((k, n)) < spare
    lifted[:, :corrupt] = False
    place = np.where(lifted, 1 - tau + tau * rng.random((k, n)), place)
    return Dynamics.from_losses(place), np.arange(n) < corrupt


@pytest.mark.parametrize("k", [2, 3, 7])
def test_below_eight_proxies_the_answer_is_cannot_tell(k):
    d, bad = known(k)
    out = estimate_assumptions(d, bad)
    assert out.outcome == "cannot tell"
    assert "at least 8" in out.reason
    assert np.isnan([out.tau, out.gamma, out.v_tail]).all()


@pytest.mark.parametrize("k", [8, 9, 16])
@pytest.mark.parametrize("trim", [0, 0.1, 0.25])
def test_the_estimates_equal_the_oracle(k, trim):
    d, bad = known(k, n=120, corrupt=30)
    out = estimate_assumptions(d, bad, trim=trim)
    halves = range(k // 2), range(k // 2, k)
    expected = slow_assumptions(
        d.snapshot("loss").tolist(), bad, int(Fraction(str(trim)) * 30), *halves
    )
    assert (out.tau, out.gamma, out.v_tail) == pytest.approx(expected, rel=1e-12)
    assert (out.outcome, out.trim) == ("estimated", trim)


def test_perfectly_concentrated_corruption_is_recognised():
    # The ten corrupted of 100 always hold the ten top ranks: every rank is at least 0.91.
    rng = np.random.default_rng(0)
    place = rng.random((8, 100))
    place[:, :10] += 2
    out = estimate_assumptions(Dynamics.from_losses(place), np.arange(100) < 10, trim=0)
    assert (out.tau, out.gamma) == (pytest.approx(0.09), 0)
    assert out.v_tail == 0


def test_without_a_bulk_worth_having_the_estimate_says_so():
    # Corrupted examples that rank anywhere: τ²/4 + γ must not look small. With 100 of them and
    # 8 measuring proxies the lowest of 90·8 ranks is below 0.03 but for (0.97)^720 < 3e-10.
    d, bad = known(16, tau=0.0, gamma=1.0)
    out = estimate_assumptions(d, bad)
    assert out.tau**2 / 4 + out.gamma > 0.235


def test_choosing_and_measuring_on_the_same_proxies_would_flatter():
    """All corrupted examples are alike here, so that no choice of a bulk can truly help."""
    honest, flattering = [], []
    for seed in range(20):
        d, bad = known(8, n=400, corrupt=80, tau=0.2, gamma=0.05, seed=seed)
        loss = d.snapshot("loss").tolist()
        out = estimate_assumptions(d, bad, trim=0.25)
        honest.append(out.tau**2 / 4 + out.gamma)
        tau, gamma, _ = slow_assumptions(loss, bad, 20, range(4, 8), range(4, 8))
        flattering.append(tau**2 / 4 + gamma)
    # Under "no difference" each of 20 pairs is smaller with chance ½ at most: 2^-20 is 1e-6.
    assert all(f < h for f, h in zip(flattering, honest, strict=True))
    assert np.mean(flattering) < 0.5 * np.mean(honest)


def test_one_proxy_of_five_may_rank_an_example_low_by_hand():
    # Four of five that measure rank it last of 100, one first: τ = 0 but for a share γ = 1/5, which
    # is 0.2, and less than τ = 0.99 for all, 0.99²/4 = 0.245.
    loss = np.tile(np.arange(100.0), (10, 1))
    loss[9] = -loss[9]
    last = np.arange(100) == 99
    result = estimate_assumptions(Dynamics.from_losses(loss), last, trim=0.0)
    assert (result.tau, result.gamma, result.v_tail) == (0.0, 0.2, 0.0)


def test_v_tail_is_the_unbiased_variance_of_the_tail():
    # Independent uniform ranks have variance 1/12. The mean over 25 examples of the unbiased
    # variance of 8 has standard error below 0.0065: five of those, tail 6e-7, either side.
    rng = np.random.default_rng(0)
    d = Dynamics.from_losses(rng.random((16, 1000)))
    out = estimate_assumptions(d, np.arange(1000) < 100, trim=0.25)
    assert out.v_tail == pytest.approx(1 / 12, abs=0.0325)
    means = [
        estimate_assumptions(
            Dynamics.from_losses(rng.random((8, 200))), np.arange(200) < 60, trim=0.5
        ).v_tail
        for _ in range(60)
    ]
    # 1800 such variances of 4 ranks: standard error below 0.0013, so that dividing by K instead
    # of K − 1 (a quarter less, 0.0625) is 16 standard errors away.
    assert np.mean(means) == pytest.approx(1 / 12, abs=0.0065)


def test_a_trim_of_less_than_one_example_trims_none():
    d, bad = known(8, n=50, corrupt=5)
    out = estimate_assumptions(d, bad, trim=0.1)
    assert out.v_tail == 0
    assert "bulk of 5" in out.reason


@pytest.mark.parametrize("trim", [-0.1, 1, 1.5, float("nan")])
def test_a_bad_trim_is_refused(trim):
    with pytest.raises(InputError, match="trim must be"):
        estimate_assumptions(*known(8), trim=trim)


def test_the_raw_gap_grows_by_its_factor_alone():
    # Clean ranks vary, corrupted ones hardly: the population gap is one number for every K.
    # 400 clean examples, 40 repetitions: the mean of the corrected gap at K = 2 has standard
    # error below 0.001; five of those.
    raw, corrected = [], []
    for seed in range(40):
        d, bad = known(8, n=500, corrupt=100, tau=0.2, gamma=0.0, seed=seed)
        out = empirical_gap(d, bad)
        raw.append(out.raw)
        corrected.append(out.corrected)
    raw, corrected = np.mean(raw, axis=0), np.mean(corrected, axis=0)
    assert (np.diff(raw[1:]) > 0).all()
    assert corrected[1:] == pytest.approx(corrected[-1], abs=0.005)
    assert raw[1] == pytest.approx(corrected[-1] / 2, abs=0.005)


def gap(losses, corrupted):
    """Mean rank variance of clean less corrupted for the first 1, 2, … proxies."""
    out = []
    for k in range(1, len(losses) + 1):
        v = oracles.rank_variance(losses[:k])
        clean = [x for x, bad in zip(v, corrupted, strict=True) if not bad]
        corrupt = [x for x, bad in zip(v, corrupted, strict=True) if bad]
        out.append(sum(clean) / len(clean) - sum(corrupt) / len(corrupt))
    return out


def test_the_gap_equals_the_oracle_raw_and_corrected():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(6, 40, 3)).astype(np.float32)
    d, bad = Dynamics.from_logits(z, np.arange(40) % 3), rng.permutation(40) < 10
    out = empirical_gap(d, bad)
    expected = gap(d.snapshot("loss").tolist(), bad)
    assert out.proxies.tolist() == [1, 2, 3, 4, 5, 6]
    assert out.raw == pytest.approx(expected, abs=1e-13)
    assert out.raw[0] == out.corrected[0] == 0
    assert out.corrected[1:] == pytest.approx([expected[k - 1] * k / (k - 1) for k in range(2, 7)])
    assert out.radius == pytest.approx(
        [np.sqrt(np.log(2 * 40 / 0.05) / (2 * k)) for k in range(1, 7)]
    )
