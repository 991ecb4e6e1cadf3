"""The page about scale says what was recorded, and nothing else."""

import json
from pathlib import Path

import pytest

from sharded_page import BEGIN, END, PAGE, RECORD, measured

ROOT = Path(__file__).parents[2]


@pytest.fixture
def record():
    return json.loads((ROOT / RECORD).read_text(encoding="utf-8"))


def test_the_page_holds_what_the_record_gives(record):
    said = (ROOT / PAGE).read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    assert said == measured(record)
    next(row for row in record["rows"] if row["way"] == "histograms")["cpu_seconds"] += 1
    assert said != measured(record)  # another number would be another page
