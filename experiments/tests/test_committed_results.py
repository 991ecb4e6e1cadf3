"""The pages in results are what their records say, to the letter: nobody typed them."""

import json
import re
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rename_rules import renamed

from experiments.records import read_records
from experiments.registry import EXPERIMENTS, experiment_of
from experiments.results.causes import REASONS, UNSEEN, reason_of
from experiments.results.claims import Claim
from experiments.results.pages import page_text
from experiments.results.tally import write_index

RESULTS = Path(__file__).parents[2] / "results"
FOLDERS = {
    scale: RESULTS / name
    for scale, name in (("cpu", "reproduction"), ("mid", "mid"))
    if (RESULTS / name).is_dir()
}
PAGES = [
    (scale, path.stem)
    for scale, folder in FOLDERS.items()
    for path in sorted((folder / "claims").iterdir())
]


def test_every_experiment_has_a_page():
    assert {name for scale, name in PAGES if scale == "cpu"} == set(EXPERIMENTS)


@pytest.mark.parametrize(("scale", "name"), PAGES)
def test_a_page_is_what_its_record_says_to_the_letter(scale, name):
    folder = FOLDERS[scale]
    records, experiment = read_records(folder / "records" / f"{name}.json"), experiment_of(name)
    tables, claims = experiment.tables(records), experiment.claims(records)
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    images = re.findall(r"^!\[.*\]\(images/(.*)\)$", text, re.M)
    assert images
    assert all((folder / "images" / image).is_file() for image in images)
    assert page_text(name, records, tables, claims, images) == text
    # The twin: another number in a record is another page.
    other = [
        replace(table, values={k: [v + 1 for v in vs] for k, vs in table.values.items()})
        for table in tables
    ]
    assert page_text(name, records, other, claims, images) != text
    latex = (folder / "tables" / f"{name}.tex").read_text(encoding="utf-8")
    assert latex == "\n\n".join(table.latex() for table in tables) + "\n"
    told = json.loads((folder / "claims" / f"{name}.json").read_text(encoding="utf-8"))
    assert told["claims"] == [asdict(claim) for claim in claims]


def test_no_old_rule_name_is_left_in_the_records():
    for path in (RESULTS / "reproduction" / "records").iterdir():
        if path.name.endswith(".time.json"):
            continue
        rows = read_records(path).rows
        assert renamed(list(rows)) == list(rows), path.name
    assert renamed([{"rule": "gate+el2n"}]) != [{"rule": "gate+el2n"}]


def committed(folder):
    """Every claim of a folder's pages, with its experiment."""
    return [
        (path.stem, Claim(**claim))
        for path in sorted((folder / "claims").iterdir())
        for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]
    ]


@pytest.mark.parametrize("scale", FOLDERS)
def test_the_index_counts_the_claims_of_all_pages(scale, tmp_path):
    folder = FOLDERS[scale]
    (tmp_path / "claims").mkdir()
    for path in (folder / "claims").iterdir():
        (tmp_path / "claims" / path.name).write_bytes(path.read_bytes())
    write_index(tmp_path, scale)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == (folder / "README.md").read_text(
        encoding="utf-8"
    )


def shown_twice(claims):
    """Evidence that two counted claims share."""
    counts = Counter(claim.evidence for claim in claims if not claim.repeats)
    return [evidence for evidence, times in counts.items() if times > 1 and ", n = " in evidence]


@pytest.mark.parametrize("scale", FOLDERS)
def test_no_evidence_is_counted_twice(scale):
    claims = [claim for _, claim in committed(FOLDERS[scale])]
    assert shown_twice(claims) == []
    # The twin: what is marked as repeated would be.
    assert shown_twice([replace(claim, repeats="") for claim in claims])


def contradicted(claims):
    """The paper's own claims that came out the other way, by experiment."""
    return [
        (name, claim)
        for name, claim in claims
        if claim.outcome == "contradicted" and claim.whose == "the paper's"
    ]


def unexplained(claims, scale):
    return [n for n, claim in contradicted(claims) if reason_of(n, claim, scale)[1] == UNSEEN]


@pytest.mark.parametrize("scale", FOLDERS)
def test_every_contradicted_claim_of_the_paper_has_a_cause(scale):
    assert unexplained(committed(FOLDERS[scale]), scale) == []
    assert unexplained([("pruning", Claim("a new one", "contradicted", ""))], scale) == ["pruning"]


def test_every_cause_is_that_of_a_contradicted_claim():
    given = {
        reason_of(name, claim, scale)
        for scale, folder in FOLDERS.items()
        for name, claim in contradicted(committed(folder))
    }
    assert [reason for reason in REASONS if (reason.cause, reason.why) not in given] == []


def test_ours_and_the_papers_are_told_apart():
    owners = {
        name: {c.whose for n, c in committed(FOLDERS["cpu"]) if n == name} for name in EXPERIMENTS
    }
    assert owners["beyond"] == owners["verdict"] == owners["epoch"] == {"ours"}
    assert owners["synthetic"] == {"the paper's", "another reading"}
    assert owners["significance"] == {"the paper's"}
