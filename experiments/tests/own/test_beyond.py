"""The study of gated rules: its cells, and what its tables and claims say of made-up records."""

from dataclasses import replace

import numpy as np
import pytest

from dris import InputError
from experiments.dris_internals import NoisyLabels, Subset
from experiments.kinds.static_cell import train_on_subset
from experiments.own import beyond
from experiments.records import Records
from experiments.registry import EXPERIMENTS
from experiments.reproduction import Selection
from experiments.rules import title_of
from experiments.scales import SCALES

SMOKE = beyond.SETUPS["smoke"][0]
RULES = (*beyond.UNGATED, *beyond.GATED)
LOST = beyond.Column(beyond.TABLE[3], 0.5)


def made_up(*, default_wins):
    """Three seeds of every rule in every column; the default is best, or third in one column."""
    rows = []
    for column in beyond.COLUMNS:
        for i, rule in enumerate(RULES):
            for seed in range(3):
                accuracy = 0.5 + 0.01 * i + 0.001 * seed * (i + 1)
                if rule == "gated":
                    lost = not default_wins and column == LOST
                    accuracy = 0.505 if lost else 0.9 + 0.002 * seed
                rows.append(
                    {
                        "kind": "static",
                        "data": SMOKE.source.name,
                        "examples": SMOKE.source.examples,
                        "noise": str(column.noise),
                        "proxies": str(SMOKE.ensemble),
                        "rule": rule,
                        "keep": column.keep,
                        "seed": seed,
                        "result": {"accuracy": accuracy, "contamination": 0.1},
                    }
                )
    return Records("beyond", "smoke", tuple(rows))


def row_of(table, name):
    return [table.values[name, column][0] for column in table.columns]


def test_the_study_states_where_the_default_loses_and_only_there():
    claims = beyond.claims(made_up(default_wins=False))
    assert len(claims) == len(beyond.COLUMNS) == 19
    lost = [claim for claim in claims if claim.outcome != "reproduced"]
    (claim,) = lost
    assert claim.outcome == "contradicted"
    assert claim.text == (
        "ours: Digits, targeted 25 %, α = 0.5: gated above the better of DR-IS and AUM"
    )
    assert "-6.20 points" in claim.evidence
    won = beyond.claims(made_up(default_wins=True))
    assert {claim.outcome for claim in won} == {"reproduced"}


def test_columns_are_counted_against_the_rivals_and_against_all():
    behind, gated, _ = beyond.tables(made_up(default_wins=False))[:3]
    assert row_of(gated, "Digits") == [19, 18, 18, 0, 1, 1, 1, 0]
    assert row_of(behind, "gated") == pytest.approx([15.0 / 19, 15.0, 18], abs=0.01)
    behind, gated, _ = beyond.tables(made_up(default_wins=True))[:3]
    assert row_of(gated, "Digits") == [19, 19, 19, 0, 0, 0, 0, 0]
    assert row_of(behind, "gated") == [0, 0, 19]
    assert row_of(behind, "Random") == pytest.approx([40.1, 40.1, 0])


def test_tables_show_mean_and_spread():
    table = next(t for t in beyond.tables(made_up(default_wins=True)) if "0.25: test" in t.title)
    text = table.markdown()
    assert "| gated | **90.2 ± 0.2 (3)** |" in text
    assert "| Random | 50.1 ± 0.1 (3) |" in text


def test_a_part_of_the_rules_and_columns_can_be_shown(tmp_path):
    whole = made_up(default_wins=True)
    few = [r for r in whole.rows if r["rule"] in ("aum", "rank_variance", "gated")]
    part = replace(whole, rows=tuple(r for r in few if not r["noise"].startswith("uniform")))
    assert all("Random" not in table.rows for table in beyond.tables(part))
    assert all(path.exists() for path in beyond.figures(part, tmp_path))


def test_every_rule_has_a_title_of_its_own():
    every = (*RULES, *beyond.VARIANTS)
    assert len({title_of(rule) for rule in every}) == len(every)


def test_other_gates_run_only_where_two_fractions_are_kept():
    cells = [c for c in beyond.cells(SCALES["cpu"]) if c.source.name == "digits"]
    per_seed = len(cells) // SCALES["cpu"].seeds
    everywhere = len(RULES) + len(beyond.SHIPPED)
    assert per_seed == 19 * everywhere + (4 + 2) * 2 * len(beyond.VARIANTS)
    assert {c.keep for c in cells if c.rule in beyond.VARIANTS} == {0.25, 0.5}


# -- a part of an experiment ------------------------------------------------------------------


def selected(scale="cpu", **only):
    return Selection(scale, **only).cells(EXPERIMENTS["beyond"])


def test_a_part_is_named_by_data_rule_and_noise():
    part = selected(
        data=["fashion-mnist:1500"], rules=["random", "default"], noises=["targeted:0.25"]
    )
    assert {c.rule for c in part} == {"random", "gated"}
    assert {str(c.noise) for c in part} == {"targeted 25 %"}
    assert {c.source.examples for c in part} == {1_500}
    assert len(part) == 3 * 3 * 2
    assert selected() == beyond.cells(SCALES["cpu"])


def test_fewer_examples_and_another_backbone_are_other_cells():
    cells = beyond.cells(SCALES["cpu"])
    fewer = selected(data=["cifar10"], examples=500, backbone="a.b:c")
    assert {(c.source.examples, c.source.backbone) for c in fewer} == {(500, "a.b:c")}
    assert not {c.key for c in fewer} & {c.key for c in cells}
    tables = selected(data=["digits"], backbone="a.b:c")
    assert {c.source.backbone for c in tables} == {None}


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"data": ["imagenet"]}, "data must be one of digits"),
        ({"rules": ["random", "best"]}, r"rule must be one of recommended, .*, got 'best'"),
        ({"noises": ["uniform:0.3"]}, r"noise must be one of clean, uniform:0\.1"),
    ],
)
def test_an_unknown_part_is_refused_by_name(how, says):
    with pytest.raises(InputError, match=says):
        selected(**how)


def test_a_network_is_a_target_too(tmp_path):
    pytest.importorskip("torch")
    from experiments.workspace import Loaded, Workspace

    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 255, (60, 1, 12, 12)).astype(np.uint8), np.arange(60) % 3
    x[y == 1, :, :6] = 0
    x[y == 2, :, 6:] = 0
    cell = selected("paper", data=["cifar10:10000"])[-1]
    assert cell.target.model == "small_cnn"
    recipe = replace(cell.target.recipe, epochs=8, batch_size=20, augment=False)
    cell = replace(cell, target=replace(cell.target, recipe=recipe))
    every = Subset(np.arange(60), "all", {}, 60)
    data, noisy = Loaded(x, y, x, y, 3), NoisyLabels(y, y, {})
    assert train_on_subset(cell, data, noisy.given, every, Workspace(tmp_path)).accuracy > 0.6
