"""What a target memorised: worked by hand, and on targets that did and that did not."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.dris_internals import NoisyLabels, Subset
from experiments.kinds import memory_cell, static_cell
from experiments.kinds.memory_cell import memory
from experiments.scales import scale_of
from experiments.spec import Cell, Noise
from experiments.targets.target_run import TargetRun
from experiments.workspace import Loaded, Workspace

TRUE = np.array([0, 0, 0, 0, 1, 1])
GIVEN = np.array([1, 1, 0, 0, 1, 0])
NOISY = NoisyLabels(GIVEN, TRUE, {})
SETUP = scale_of("smoke").setups[0]


def test_wrong_labels_kept_and_not_kept_and_right_ones_are_counted_apart():
    predicted = np.array([1, 0, 0, 1, 1, 0])  # wrong are 0, 1 and 5
    result = memory(predicted, NOISY, np.array([0, 1, 2, 3]))
    assert result == {"memorised": 0.5, "by_chance": 1.0, "fits_right": 0.5}


def test_who_knows_the_truth_has_nothing_memorised():
    assert memory(TRUE, NOISY, np.arange(6)) == {
        "memorised": 0.0,
        "by_chance": None,  # no wrong label was left out
        "fits_right": 1.0,
    }
    assert memory(GIVEN, NOISY, np.array([2, 3]))["memorised"] is None


def test_a_target_that_broke_is_not_asked():
    run = TargetRun("diverged", 0.1, (), {}, {}, None, broke=(1, 3))
    data = Loaded(np.zeros((6, 1)), TRUE, np.zeros((1, 1)), TRUE[:1], 2)
    subset = Subset(np.array([0, 1]), "random", {}, 6)
    result = memory_cell._remembered(run, data, NOISY, subset)
    assert set(result.values()) == {None}


def test_memory_is_measured_beside_what_static_finds_and_grows_with_the_steps(tmp_path):
    pytest.importorskip("torch")
    how = replace(SETUP.target.recipe, epochs=24)
    long = replace(SETUP.target, recipe=how)
    noise, workspace = Noise("uniform", 0.25), Workspace(tmp_path)

    def cell(kind, target):
        return Cell(kind, SETUP.source, noise, SETUP.ensemble, "random", 0.25, target, 0)

    (plain,) = static_cell.findings([cell("static", SETUP.target)], workspace)
    cells = [cell("memory", SETUP.target), cell("memory", long)]
    short, later = (finding.result for finding in memory_cell.findings(cells, workspace))
    assert plain.result == {name: short[name] for name in plain.result}
    assert (short["augmented"], short["epochs"], later["epochs"]) == (False, 4, 24)
    assert later["memorised"] > 0.9 > short["memorised"]
    assert later["by_chance"] < 0.3
