from dataclasses import replace

import numpy as np
import pytest

from dris import SCORES, Dynamics
from experiments.assumptions import empirical_gap
from experiments.kinds.ensemble_cell import (
    EDGES,
    PLAIN,
    findings,
    histogram,
    measures,
    nested,
    radii,
    sizes_up_to,
    until,
)
from experiments.paper.breakdown import attack, ensemble_cell_of
from experiments.scales import SCALES
from experiments.workspace import Workspace


@pytest.fixture
def dynamics():
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(5, 4, 60, 3))
    made = {"proxies": [{"model": "fc", "test_accuracy": 0.5 + 0.1 * k} for k in range(5)]}
    return Dynamics.from_logits(logits, rng.integers(0, 3, 60), provenance=made)


@pytest.fixture
def bad():
    return np.arange(60) < 15


def test_the_gap_of_nested_ensembles_is_the_papers(dynamics, bad):
    result, oracle = nested(dynamics, bad, 0.25, 0), empirical_gap(dynamics, bad)
    assert result["proxies"] == [1, 2, 4, 5]
    at = [k - 1 for k in result["proxies"]]
    np.testing.assert_allclose(result["gap"], oracle.raw[at], atol=1e-15)
    np.testing.assert_allclose(result["corrected"], oracle.corrected[at], atol=1e-15)
    assert result["paper"][1:] == pytest.approx(oracle.radius[at[1:]])


def test_one_proxy_is_drawn_as_zero_and_chooses_nothing(dynamics, bad):
    result = nested(dynamics, bad, 0.25, 0)
    assert (result["gap"][0], result["corrected"][0], result["contamination"][0]) == (0, 0, None)
    assert result["clean"][0] == [45, *[0] * 39]
    assert result["corrupted"][0] == [15, *[0] * 39]


def test_histograms_hold_every_example_once(dynamics, bad):
    result = nested(dynamics, bad, 0.25, 0)
    assert {sum(counts) for counts in result["clean"]} == {45}
    assert {sum(counts) for counts in result["corrupted"]} == {15}
    assert histogram(np.array([0.25]))[-1] == 1
    assert len(EDGES) == 41


def test_radii_are_those_of_decision_eight():
    n, k, delta = 8_000, 16, 0.05
    paper, tight = radii(n, k)
    assert paper == pytest.approx(np.sqrt(np.log(2 * n / delta) / (2 * k)))
    assert tight == pytest.approx((k - 1) / k * np.sqrt(np.log(n / delta) / (2 * k)))


@pytest.mark.parametrize(("k", "sizes"), [(2, [1, 2]), (3, [1, 2, 3]), (32, [1, 2, 4, 8, 16, 32])])
def test_sizes_double_up_to_k(k, sizes):
    assert sizes_up_to(k) == sizes


def test_proxies_are_measured_one_by_one(dynamics, bad):
    result = measures(dynamics, bad)
    right = dynamics.snapshot("correct")
    assert result["test_accuracy"] == [0.5, 0.6, 0.7, 0.8, 0.9]
    assert result["fits_corrupted"][2] == right[2, :15].mean()
    share = 0.75 * result["fits_clean"][4] + 0.25 * result["fits_corrupted"][4]
    assert result["fits"][4] == pytest.approx(share)
    low, high = result["tau2_boundary"][1:]
    assert low <= result["tau2_boundary"][0] <= high


def test_until_an_epoch_forgets_what_came_after(dynamics):
    for rule in PLAIN:
        seen = SCORES[rule](until(dynamics, 3))
        rest = dynamics.columns["loss"].copy()
        rest[:, 3] = 9.0
        changed = replace(dynamics, columns={**dynamics.columns, "loss": rest})
        np.testing.assert_array_equal(seen, SCORES[rule](until(changed, 3)))
    np.testing.assert_array_equal(
        SCORES["rank_variance"](until(dynamics, 3)), SCORES["rank_variance"](dynamics.at(3))
    )
    assert (SCORES["aum"](until(dynamics, 3)) != SCORES["aum"](dynamics)).any()


def test_a_plain_cell_trains_no_canaries_and_gated_adds_the_gated_rule(tmp_path):
    pytest.importorskip("torch")
    setup = SCALES["smoke"].setups[0]
    cell = ensemble_cell_of(setup, attack(0.25), 0, "plain")
    plain = next(findings([cell], Workspace(tmp_path))).result
    assert len(list(tmp_path.iterdir())) == 1 + 3
    whole = next(findings([replace(cell, rule="plain+gated")], Workspace(tmp_path))).result
    assert len(list(tmp_path.iterdir())) == 1 + 3 + 3
    assert list(plain["contamination"]) == list(PLAIN)
    assert list(whole["contamination"]) == [*PLAIN, "gated"]
    assert whole["epochs"] == [1, 2, 3, 4]
    # Scored at epoch 2: the last epoch is all that sums over epochs see, the second what snapshots.
    for rule, at in (("rank_variance", 1), ("el2n", 1), ("aum", 3), ("forgetting", 3)):
        assert whole["by_epoch"][rule][at] == whole["contamination"][rule]
