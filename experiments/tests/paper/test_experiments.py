"""What every experiment owes: cells, full tables, figures, claims, and records that read back."""

import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from dris import InputError
from experiments.costs import cost_of
from experiments.paper import online
from experiments.records import Records, gather, read_records, write_records
from experiments.registry import EXPERIMENTS, experiment_of
from experiments.scales import SCALES

pytest.importorskip("torch")
OFF_THE_GRID = ("food", "online", "proxytypes", "smoothing", "synthetic")
SLOW = ("augmentation", "beyond", "breakdown", "hybrid", "keep")  # seconds each
FAST = [name for name in EXPERIMENTS if name not in SLOW]
RUN = [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
UNTESTED = {"waiting for seeds", "not testable at this scale"}
AGREE = {"two seeds agree", "two seeds oppose"}
OUTCOMES = {"reproduced", "contradicted", "undecided", *AGREE, *UNTESTED}


@pytest.fixture(scope="module", params=RUN)
def done(request, smoke):
    """An experiment and its records at smoke; cells that another has run are read back."""
    return experiment_of(request.param), smoke(request.param)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("scale", SCALES)
def test_cells_are_distinct_and_so_are_their_keys(name, scale):
    cells = experiment_of(name).cells(SCALES[scale])
    assert len(cells) == len({cell.key for cell in cells}) > 0


@pytest.mark.parametrize("name", OFF_THE_GRID)
@pytest.mark.parametrize("scale", ["cpu", "mid", "paper"])
def test_the_larger_scales_have_a_cost_and_say_how_they_are_cut(name, scale, tmp_path):
    experiment = experiment_of(name)
    cells = experiment.cells(SCALES[scale])
    assert cost_of(cells, tmp_path, device="cuda" if scale == "paper" else "cpu").seconds > 0
    assert ("nothing is cut" in experiment.module.CUTS[scale]) == (
        scale == "paper" or name == "synthetic"
    )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_docstring_gives_the_command_the_cost_and_the_claims(name):
    told = experiment_of(name).module.__doc__ or ""
    assert f"    python -m experiments {name} --scale cpu\n" in told
    assert re.search(r"\b[Cc]osts?\b", told)
    assert "Claims tested:" in told


def test_a_wrong_name_is_told_the_right_ones():
    with pytest.raises(InputError, match=r"one of pruning, .*, got 'prunning'"):
        experiment_of("prunning")


def test_every_row_and_column_of_every_table_has_a_number(done):
    experiment, records = done
    tables = experiment.tables(records)
    assert tables
    for table in tables:
        filled = [pair for pair, values in table.values.items() if len(values)]
        assert {row for row, _ in filled} >= set(table.rows), table.title
        assert {column for _, column in filled} >= set(table.columns), table.title
        lines = table.markdown().splitlines()
        assert {line.count("|") for line in lines} == {len(table.columns) + 2}
        assert table.latex().count(r"\\") == len(table.rows) + 1


def runs_of(name, row, column):
    """How many runs a number is of: two seeds, but online has plans that not every noise has."""
    if name != "online":
        return 2
    ends = column in ("alarm", "collapsed", "diverged", "rescued")  # counted over all noises
    cells = [cell for cell in online.cells(SCALES["smoke"]) if online.RULES[cell.rule] == row]
    return sum(ends or column == str(cell.noise) for cell in cells)


@pytest.mark.parametrize("name", OFF_THE_GRID)
def test_off_the_grid_every_number_is_of_both_seeds_and_every_claim_is_tested(smoke, name):
    records, experiment = smoke(name), experiment_of(name)
    for table in experiment.tables(records):
        for row in table.rows:
            for column in table.columns:
                expected = runs_of(name, row, column)
                assert len(table.values[row, column]) == expected, (table.title, row, column)
    claims = experiment.module.claims(records)
    assert len(claims) > 5
    assert all(claim.outcome not in UNTESTED for claim in claims)
    # On the page of two seeds of a few digits none of them is tested.
    assert {claim.outcome for claim in experiment.claims(records)} == {"not testable at this scale"}


def test_an_empty_table_would_be_noticed(done):
    experiment, records = done
    none = gather(records.experiment, records.scale, [])
    tables = [] if records.experiment == "times" else experiment.tables(none)
    assert not any(len(values) for table in tables for values in table.values.values())


def test_figures_are_png_and_svg_and_not_empty(done, tmp_path):
    experiment, records = done
    paths = experiment.figures(records, tmp_path)
    for path in paths:
        pixels = np.asarray(Image.open(path).convert("L"))
        assert (pixels < 128).mean() > 0.002
        assert min(pixels.shape) > 200
        assert path.with_suffix(".svg").read_text(encoding="utf-8").count("<path") > 5


def test_claims_come_out_with_one_of_the_outcomes_and_evidence(done):
    experiment, records = done
    claims = experiment.module.claims(records)
    assert claims
    assert {claim.outcome for claim in claims} <= OUTCOMES
    assert all(claim.evidence for claim in claims)
    assert len({claim.text for claim in claims}) == len(claims)


@pytest.mark.parametrize("name", RUN)
def test_no_claim_reads_the_accuracy_of_a_target_that_was_imputed(smoke, name):
    """Accuracies that would decide anything, of rows that all say they are guesses."""
    records, experiment = smoke(name), experiment_of(name)

    def guess(result, at):
        return {**result, "accuracy": at / 1000, "imputed": True}

    def spoilt(at):
        rows = []
        for number, row in enumerate(records.rows):
            result, mine = row["result"], number * at
            if "rules" in result:  # of several targets
                result = {
                    **result,
                    "rules": {n: guess(f, mine) for n, f in result["rules"].items()},
                }
            elif isinstance(result.get("accuracy"), float):
                result = guess(result, mine)
            rows.append({**row, "result": result})
        return Records(records.experiment, records.scale, tuple(rows))

    rising, falling = (list(map(str, experiment.module.claims(spoilt(at)))) for at in (1, -1))
    assert rising == falling


def test_records_read_back_give_the_same_tables_and_claims(done, tmp_path):
    experiment, records = done
    path = write_records(records, tmp_path / "records.json")
    again = read_records(path)
    for one, other in zip(experiment.tables(records), experiment.tables(again), strict=True):
        assert one.markdown() == other.markdown()
    assert list(map(str, experiment.claims(records))) == list(map(str, experiment.claims(again)))
    assert max(map(len, path.read_text(encoding="utf-8").splitlines())) < 20_000


def test_with_one_seed_no_claim_of_the_paper_is_decided(done):
    experiment, records = done
    alone = Records(
        records.experiment, "smoke", tuple(row for row in records.rows if row["seed"] == 0)
    )
    told = experiment.module.claims(alone)
    measured = [c for c in told if "counted in multiply-adds" not in c.text]
    outcomes = {claim.outcome for claim in measured}
    assert outcomes <= {"undecided", *UNTESTED}
    if records.experiment in OFF_THE_GRID:
        assert outcomes == {"waiting for seeds"}


def test_tables_are_made_without_torch(smoke, tmp_path):
    for name in FAST:
        write_records(smoke(name), tmp_path / f"{name}.json")
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from experiments.registry import experiment_of\n"
        "from experiments.records import read_records\n"
        "for name in sys.argv[2:]:\n"
        "    records = read_records(Path(sys.argv[1]) / f'{name}.json')\n"
        "    print(name, len(experiment_of(name).tables(records)))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), *FAST],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert told.stdout.split()[::2] == FAST
