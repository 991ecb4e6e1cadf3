"""The experiments off the shared grid, end to end at smoke scale, and their claims."""

import subprocess
import sys
from typing import get_args

import pytest

from dris.bench.claims import Outcome
from dris.bench.costs import cost_of
from dris.bench.experiment import EXPERIMENTS, experiment_of
from dris.bench.paper import food, online, synthetic
from dris.bench.paper_values import CIFAR10_ONLINE, FOOD
from dris.bench.records import Records, write_records
from dris.bench.scales import scale_of

NAMES = ("food", "online", "proxytypes", "smoothing", "synthetic")


@pytest.mark.parametrize("name", NAMES)
def test_every_table_is_full_and_every_claim_has_an_outcome(smoke, name):
    records, experiment = smoke(name), experiment_of(name)
    for table in experiment.tables(records):
        for row in table.rows:
            for column in table.columns:
                # Two seeds; the last table of online counts the runs of all three noises.
                expected = 6 if column in ("alarm", "collapsed", "diverged") else 2
                assert len(table.values[row, column]) == expected, (table.title, row, column)
        assert table.markdown().count("\n") == len(table.rows) + 1
        assert table.latex().count(r"\\") == len(table.rows) + 1
    claims = experiment.claims(records)
    assert len({claim.text for claim in claims}) == len(claims) > 5
    assert {claim.outcome for claim in claims} <= set(get_args(Outcome))
    assert all("not testable" not in claim.outcome for claim in claims)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_testable_without_rows(smoke, name):
    one = smoke(name)
    alone = Records(name, "smoke", tuple(row for row in one.rows if row["seed"] == 0))
    outcomes = {claim.outcome for claim in experiment_of(name).claims(alone)}
    assert outcomes == {"not testable at this scale"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", ["cpu", "paper"])
def test_the_larger_scales_have_cells_a_cost_and_say_how_they_are_cut(name, scale, tmp_path):
    experiment = experiment_of(name)
    cells = experiment.cells(scale_of(scale))
    assert len({cell.key for cell in cells}) == len(cells)
    assert cost_of(cells, tmp_path, device="cuda" if scale == "paper" else "cpu").seconds > 0
    assert ("nothing is cut" in experiment.CUTS[scale]) == (scale == "paper" or name == "synthetic")
    assert f"dris reproduce {name} --scale cpu" in experiment.__doc__
    assert name in EXPERIMENTS


def test_tables_are_made_without_torch(smoke, tmp_path):
    for name in NAMES:
        write_records(smoke(name), tmp_path / f"{name}.json")
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from dris.bench.experiment import experiment_of\n"
        "from dris.bench.records import read_records\n"
        "for name in sys.argv[2:]:\n"
        "    records = read_records(Path(sys.argv[1]) / f'{name}.json')\n"
        "    print(name, len(experiment_of(name).tables(records)))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), *NAMES],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split()[::2] == list(NAMES)


# -- the paper's own numbers must reproduce the paper's claims -------------------------------------

JITTER = {0: -0.001, 1: 0.0, 2: 0.001}


def outcomes(experiment, rows):
    claims = experiment.claims(Records("", "paper", tuple(rows)))
    return {claim.text: claim.outcome for claim in claims if not claim.text.startswith("ours")}


def online_rows(accuracy, sizes):
    return [
        {
            "rule": "uniform" if plan == "uniform" else f"{plan}:1",
            "noise": str(noise),
            "seed": seed,
            "found": {
                "accuracy": accuracy[plan][noise.rate][0] / 100 + jitter,
                "smallest_concentration": sizes.get(plan, 500) + 1000 * jitter,
            },
        }
        for plan in CIFAR10_ONLINE
        for noise in online.NOISES
        for seed, jitter in JITTER.items()
    ]


def test_the_papers_online_numbers_reproduce_its_claims_and_swapped_ones_do_not():
    told = outcomes(online, online_rows(CIFAR10_ONLINE, {"dr_is": 4_000}))
    assert set(told.values()) == {"reproduced"}
    swapped = CIFAR10_ONLINE | {
        "dr_is": CIFAR10_ONLINE["standard_is"],
        "standard_is": CIFAR10_ONLINE["dr_is"],
    }
    told = outcomes(online, online_rows(swapped, {"dr_is": 4_000}))
    assert told["targeted 25 %: DR-IS-online above Uniform SGD"] == "contradicted"
    assert told["targeted 25 %: Standard IS at chance, within 2 points"] == "contradicted"


def food_rows(printed):
    return [
        {
            "rule": rule,
            "noise": str(noise),
            "seed": seed,
            "found": {
                "accuracy": values[0][0] / 100 + jitter,
                "candidates": values[1][0],
                "contamination": values[1][0],
                "candidates_in_data": 0.25,
            },
        }
        for noise, setting in ((food.CLEAN, "E1"), (food.ATTACK, "E2"))
        for rule, values in printed[setting].items()
        for seed, jitter in JITTER.items()
    ]


def test_the_papers_food_numbers_reproduce_its_claims_and_swapped_ones_do_not():
    assert set(outcomes(food, food_rows(FOOD)).values()) == {"reproduced"}
    swapped = {
        setting: rows | {"rank_variance": rows["el2n"], "el2n": rows["rank_variance"]}
        for setting, rows in FOOD.items()
    }
    told = outcomes(food, food_rows(swapped))
    assert told["E2: DR-IS above Random"] == "contradicted"
    assert told["E2: Random above EL2N"] == "contradicted"
    assert told["E1: DR-IS within 2 points of Random (the paper: 0.37 above)"] == "contradicted"


def synthetic_rows(enriched):
    return [
        {
            "seed": seed,
            "found": {
                "accuracy": {
                    method: {
                        str(c): (synthetic.printed(method, c) or (50.0, 0))[0] / 100 + jitter
                        for c in synthetic.COLUMNS
                    }
                    for method in synthetic.METHODS
                },
                "disagreement": {
                    str(c): {
                        "corrupted in the data": 0.1,
                        "corrupted in DR-IS's quarter": enriched + jitter,
                    }
                    for c in synthetic.COLUMNS
                },
            },
        }
        for seed, jitter in JITTER.items()
    ]


def test_the_papers_synthetic_numbers_reproduce_its_claims_and_a_cleaner_quarter_does_not():
    assert set(outcomes(synthetic, synthetic_rows(0.3)).values()) == {"reproduced"}
    told = outcomes(synthetic, synthetic_rows(0.05))
    text = "uniform 10 %: DR-IS's quarter holds more corruption than the data"
    assert [name for name, outcome in told.items() if outcome != "reproduced"] == [text]
