"""The pages in docs/results are what their records say, to the letter: nobody typed them."""

from pathlib import Path

import pytest

from dris.bench.experiment import EXPERIMENTS, experiment_of
from dris.bench.records import read_records
from dris.bench.results.pages import claim_lines, write_index

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def said(name):
    """Every line of tables and claims that the record of an experiment gives."""
    records = read_records(RESULTS / "reproduction" / "records" / f"{name}.json")
    experiment = experiment_of(name)
    lines = [line for t in experiment.tables(records) for line in t.markdown().splitlines()]
    return lines + list(claim_lines(experiment.claims(records)))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_page_that_says_what_its_record_says(name):
    text = (RESULTS / "reproduction" / f"{name}.md").read_text().splitlines()
    lines = said(name)
    assert len(lines) > 5
    assert not set(lines) - set(text)
    typed = [line.replace("1", "2") for line in text]
    assert set(lines) - set(typed)


def test_the_index_counts_the_claims_of_all_pages(tmp_path):
    folder = RESULTS / "reproduction"
    (tmp_path / "claims").mkdir()
    for path in (folder / "claims").iterdir():
        (tmp_path / "claims" / path.name).write_bytes(path.read_bytes())
    write_index(tmp_path, "cpu")
    assert (tmp_path / "README.md").read_text() == (folder / "README.md").read_text()
