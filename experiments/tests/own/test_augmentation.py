"""Both settings of the targets: what is shared with static pruning, and how rows are read."""

from pathlib import Path

import pytest

from experiments.own import augmentation
from experiments.own.augmentation import LONGER, RULES, Setting, claims, reached, tables
from experiments.paper import pruning
from experiments.records import Records, read_records
from experiments.registry import EXPERIMENTS
from experiments.scales import SCALES

MID = Path(__file__).parents[3] / "results" / "mid" / "records"


@pytest.mark.parametrize("scale", SCALES.values(), ids=list(SCALES))
def test_the_targets_that_the_scale_trains_are_those_of_static_pruning(scale):
    grid = {cell.key for cell in pruning.cells(scale)}
    cells = augmentation.cells(scale)
    assert {c.key for c in cells if c.kind == "static"} <= grid
    assert sum(c.kind == "static" for c in cells) == 6 * scale.seeds
    assert not any(EXPERIMENTS["augmentation"].is_printed(cell) for cell in cells)


def test_finished_records_of_mid_are_found():
    known = {row["key"] for row in read_records(MID / "pruning.json").rows}
    first = [c.key for c in augmentation.cells(SCALES["mid"]) if c.kind == "static" and not c.seed]
    assert len(set(first) & known) == 6


def test_at_mid_three_rules_train_longer_with_augmentation_and_all_as_long():
    cells = [c for c in augmentation.cells(SCALES["mid"]) if c.kind == "memory" and not c.seed]
    how = [(c.rule, c.target.recipe.augment, c.target.recipe.epochs) for c in cells]
    assert how == [
        *((rule, False, 16) for rule in LONGER),
        *((rule, True, 16) for rule in RULES),
        *((rule, True, epochs) for epochs in (32, 64) for rule in LONGER),
    ]


def row(kind, value, seed=0, **result):
    at = {"data": "cifar10", "rule": "random", "keep": 0.25}
    return {**at, "kind": kind, "seed": seed, "result": {"accuracy": value, **result}}


def test_rows_are_told_apart_by_how_their_targets_trained():
    rows = (
        row("static", 0.5),
        row("memory", 0.51, augmented=False, epochs=16, memorised=0.9),
        row("memory", 0.6, augmented=True, epochs=16, memorised=0.2),
        row("memory", 0.7, augmented=True, epochs=64, memorised=None),
    )
    records = Records("augmentation", "mid", rows)
    short, long = Setting(True), Setting(True, 4)
    assert reached(records, "accuracy", "random", Setting(False)) == {0: 0.5}  # pruning's own
    assert reached(records, "memorised", "random", Setting(False)) == {0: 0.9}
    assert reached(records, "accuracy", "random", short) == {0: 0.6}
    assert reached(records, "accuracy", "random", long) == {0: 0.7}
    assert reached(records, "memorised", "random", long) == {}  # nothing to memorise
    assert reached(records, "accuracy", "random", Setting(True, 2)) == {}
    accuracy = tables(records)[0]
    assert accuracy.values["Random", "with augmentation"] == [0.6]
    assert accuracy.paper["Random", "with augmentation"] == (74.66, 0.54)
    assert ("Random", "with augmentation, 4 ×") not in accuracy.paper


def test_claims_say_where_memorising_begins():
    heart = {(False, 16): 0.9, (True, 16): 0.1, (True, 32): 0.4, (True, 64): 0.8}
    rows = [
        row("memory", 0.5, seed, augmented=a, epochs=e, memorised=value + 0.01 * seed)
        for (a, e), value in heart.items()
        for seed in range(3)
    ]
    told = {c.text: c for c in claims(Records("augmentation", "mid", tuple(rows)))}
    most = "Random's target memorises most wrong labels"
    begun = {
        setting: told[f"ours: cifar10, {setting}: {most}"].outcome
        for setting in augmentation.settings(SCALES["mid"])
    }
    assert list(begun.values()) == ["reproduced", "contradicted", "contradicted", "reproduced"]
    assert all(claim.whose == "ours" for claim in told.values())
