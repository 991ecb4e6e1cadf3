from dataclasses import replace

import numpy as np
import pytest

from dris import Dynamics
from experiments.dris_internals import check_model
from experiments.kinds.proxytypes_cell import histogram, measured, sizes
from experiments.paper.proxytypes import NAMES
from experiments.setups import TYPES


def test_shares_add_up_to_one_for_both_groups():
    rng = np.random.default_rng(0)
    result = histogram(rng.random(50), np.arange(50) < 10)
    assert sum(result["clean"]) == pytest.approx(1, abs=1e-3)
    assert sum(result["corrupted"]) == pytest.approx(1, abs=1e-3)
    assert result["low"] < result["high"]


def test_what_is_recorded_of_an_ensemble_grows_with_it():
    rng = np.random.default_rng(0)
    dynamics = Dynamics.from_logits(rng.normal(size=(5, 40, 3)), rng.integers(0, 3, 40))
    made = {"proxies": [{"test_accuracy": 0.5}, {"test_accuracy": 0.7}]}
    result = measured(replace(dynamics, provenance=made), np.arange(40) < 8, 0.25, 0)
    assert len(result["gap"]) == len(result["gap_corrected"]) == len(result["radius"]) == 5
    assert result["gap"][0] == 0
    assert result["gap_corrected"][4] == pytest.approx(result["gap"][4] * 5 / 4)
    assert list(result["histograms"]) == ["2", "4"]
    assert result["proxy_accuracy"] == pytest.approx(0.6)
    assert set(result["contamination"]) == set(result["auroc_of_clean"])


def test_every_ensemble_is_the_same_kinds_of_model_at_every_scale():
    for name in NAMES:
        assert len({types[name][1].models for types in TYPES.values()}) == 1
    assert sizes(TYPES["paper"][NAMES[0]][1].count) == [2, 4, 8, 16, 32]


def test_every_model_can_be_a_proxy():
    pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    for _, ensemble in TYPES["cpu"].values():
        for model in ensemble.models:
            check_model(model)
