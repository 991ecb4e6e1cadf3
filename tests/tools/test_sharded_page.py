"""The page about scale says what was recorded, and nothing else."""

import json
from pathlib import Path

import pytest

from sharded_page import BEGIN, END, FIGURE, PAGE, RECORD, measured, write

ROOT = Path(__file__).parents[2]


@pytest.fixture
def record():
    return json.loads((ROOT / RECORD).read_text(encoding="utf-8"))


def test_the_page_holds_what_the_record_gives(record):
    said = (ROOT / PAGE).read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    assert said == measured(record)
    next(row for row in record["rows"] if row["way"] == "histograms")["cpu_seconds"] += 1
    assert said != measured(record)  # another number would be another page


def test_a_missing_row_is_left_out(record):
    record["rows"] = [row for row in record["rows"] if row["way"] != "keep"]
    assert "--keep 0.3" not in measured(record)


def test_a_sort_that_differs_from_memory_is_said_aloud(record):
    assert "NOT" not in measured(record)
    next(row for row in record["rows"] if row["way"] == "sort")["equals_memory"] = False
    assert "do NOT all equal" in measured(record)


def test_writing_changes_only_the_measured_part_and_draws_the_figure(record, tmp_path):
    (tmp_path / FIGURE).parent.mkdir(parents=True)
    for name in (RECORD, PAGE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    text = (tmp_path / PAGE).read_text(encoding="utf-8")
    (tmp_path / PAGE).write_text(text.split(BEGIN)[0] + BEGIN + "old\n" + END, encoding="utf-8")
    write(tmp_path)
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == text
    assert (tmp_path / FIGURE).stat().st_size < 200_000
