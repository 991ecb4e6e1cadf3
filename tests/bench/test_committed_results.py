"""The pages in docs/results are what their records say, to the letter: nobody typed them."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dris.bench.experiment import EXPERIMENTS, experiment_of
from dris.bench.records import read_records
from dris.bench.results.pages import page_text, write_index
from rename_rules import renamed

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_page_that_is_what_its_record_says_to_the_letter(name):
    folder = RESULTS / "reproduction"
    records, experiment = read_records(folder / "records" / f"{name}.json"), experiment_of(name)
    tables, claims = experiment.tables(records), experiment.claims(records)
    text = (folder / f"{name}.md").read_text()
    images = re.findall(r"^!\[.*\]\(images/(.*)\)$", text, re.M)
    assert images
    assert all((folder / "images" / image).is_file() for image in images)
    assert page_text(name, records, tables, claims, images) == text
    # The twin: another number in a record is another page.
    scale = [
        replace(table, values={k: [v + 1 for v in vs] for k, vs in table.values.items()})
        for table in tables
    ]
    assert page_text(name, records, scale, claims, images) != text
    latex = (folder / "tables" / f"{name}.tex").read_text()
    assert latex == "\n\n".join(table.latex() for table in tables) + "\n"
    told = json.loads((folder / "claims" / f"{name}.json").read_text())
    assert told["claims"] == [asdict(claim) for claim in claims]


def test_no_old_rule_name_is_left_in_the_records():
    for path in (RESULTS / "reproduction" / "records").iterdir():
        if path.name.endswith(".time.json"):
            continue
        rows = read_records(path).rows
        assert renamed(list(rows)) == list(rows), path.name
    assert renamed([{"rule": "gate+el2n"}]) != [{"rule": "gate+el2n"}]


def test_the_index_counts_the_claims_of_all_pages(tmp_path):
    folder = RESULTS / "reproduction"
    (tmp_path / "claims").mkdir()
    for path in (folder / "claims").iterdir():
        (tmp_path / "claims" / path.name).write_bytes(path.read_bytes())
    write_index(tmp_path, "cpu")
    assert (tmp_path / "README.md").read_text() == (folder / "README.md").read_text()
