"""The script for a GPU, run at smoke on the CPU: the same code path."""

import zipfile

import pytest

from experiments.gpu_day import NAMES, PACKED, costs, main, parts
from experiments.records import read_records
from experiments.reproduction import Machine, Selection, plan_of, reproduce
from experiments.runner import missing

pytest.importorskip("torch")


def test_its_parts_are_tables_1_to_3_of_the_paper_and_cost_what_they_say(tmp_path):
    told = costs("paper", tmp_path, "cuda")
    *each, whole = told.values()
    wanted = plan_of(NAMES, Selection("paper", paper_only=True)).every
    assert sum(cost.cells for cost in each) == whole.cells == len(wanted)
    assert sum(cost.seconds for cost in each[:2]) < 30 * 3600  # a first day and a bit
    assert 80 * 3600 < whole.seconds < 100 * 3600


@pytest.mark.slow
def test_it_runs_goes_on_and_packs_what_is_merged_by_known_records(tmp_path, capsys):
    out = tmp_path / "day"
    assert main(["--scale", "smoke", "--device", "cpu", "--seeds", "1", "--out", str(out)]) == 0
    assert str(out / PACKED) in capsys.readouterr().out
    for name, selection in parts("smoke", 1):
        assert missing(plan_of([name], selection).every, out / "smoke") == []
    with zipfile.ZipFile(out / PACKED) as archive:
        archive.extractall(tmp_path / "sent")
    sent = tmp_path / "sent/records"
    assert {row["made"]["device"] for row in read_records(sent / "pruning.json").rows} == {"cpu"}
    # Merged elsewhere: its cells are taken over, and nothing is left to run.
    some = Selection("smoke", 1, paper_only=True)
    plan = plan_of(NAMES, some)
    assert plan.adopt(sent, tmp_path / "here").cells == len(plan.every)
    again = reproduce(NAMES, some, out=tmp_path / "here", machine=Machine(1), run_missing=False)
    assert set(again.pages) == set(NAMES)
