"""The pages in results show what their records give: structure and numbers, not wording."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.records import read_records
from experiments.registry import EXPERIMENTS
from experiments.results.causes import CAUSES, UNSEEN, reason_of, reasons
from experiments.results.claims import Claim
from experiments.results.pages import lead_rows
from experiments.results.publish import DOCUMENTS, fill
from experiments.results.tally import AGAINST, count_outcomes

RESULTS = Path(__file__).parents[2] / "results"
FOLDERS = {"cpu": RESULTS / "reproduction", "mid": RESULTS / "mid"}
PAGES = [
    (scale, path.stem)
    for scale, folder in FOLDERS.items()
    for path in sorted((folder / "claims").iterdir())
]


def page_tables(text):
    """The numbers of each table below its title, row by row."""
    result = {}
    for title, body in re.findall(r"^## (.+)\n\n((?:\|.*\n)+)", text, re.M):
        result[title] = [re.findall(r"-?\d[\d,.]*", row) for row in body.splitlines()[2:]]
    return result


def claims_of(folder, name):
    page = json.loads((folder / "claims" / f"{name}.json").read_text(encoding="utf-8"))
    return [Claim(**claim) for claim in page["claims"]]


def committed(folder):
    """Every claim of a folder's pages, with its experiment."""
    names = [path.stem for path in sorted((folder / "claims").iterdir())]
    return [(name, claim) for name in names for claim in claims_of(folder, name)]


def test_every_experiment_has_a_page():
    assert {name for scale, name in PAGES if scale == "cpu"} == set(EXPERIMENTS)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_documents_say_of_results_is_what_the_records_say(name):
    text = (RESULTS.parent / name).read_text(encoding="utf-8")
    assert fill(text) == text
    block = text.partition("<!-- from records: ")[2].partition("<!-- end -->")[0]
    number = re.search(r"\d", block)
    assert number, f"{name} has no block"
    # The twin: another number is noticed.
    changed = text.replace(block, block.replace(number[0], "x", 1))
    assert fill(changed) == text != changed


@pytest.mark.parametrize("scale", FOLDERS)
def test_who_leads_is_told_by_the_index_as_by_the_pages(scale):
    index = (FOLDERS[scale] / "README.md").read_text(encoding="utf-8")
    for name in (name for at, name in PAGES if at == scale):
        records = read_records(FOLDERS[scale] / "records" / f"{name}.json")
        for row in lead_rows(EXPERIMENTS[name], records):
            assert f"| {' | '.join(row)} |" in index


@pytest.mark.parametrize(("scale", "name"), PAGES)
def test_a_page_has_the_tables_pictures_and_claims_of_its_records(scale, name):
    folder, experiment = FOLDERS[scale], EXPERIMENTS[name]
    records = read_records(folder / "records" / f"{name}.json")
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {experiment.title}\n")
    tables = experiment.tables(records)
    made = page_tables("\n".join(f"## {t.title}\n\n{t.markdown()}\n" for t in tables))
    assert made
    shown = page_tables(text)
    assert ("Who leads" in shown) == bool(lead_rows(experiment, records))
    assert {title: rows for title, rows in shown.items() if title != "Who leads"} == made
    # The twin: another number in a record is another page.
    other = [
        replace(t, values={k: [v + 1 for v in vs] for k, vs in t.values.items()}) for t in tables
    ]
    told = "\n".join(f"## {t.title}\n\n{t.markdown()}\n" for t in other)
    assert page_tables(told) != made
    images = re.findall(r"^!\[.*\]\(images/(.*)\)$", text, re.M)
    assert images
    assert all((folder / "images" / image).is_file() for image in images)
    latex = (folder / "tables" / f"{name}.tex").read_text(encoding="utf-8")
    assert latex.count(r"\begin{table}") == len(tables)
    claims = [(claim.text, claim.outcome) for claim in experiment.claims(records)]
    assert [(claim.text, claim.outcome) for claim in claims_of(folder, name)] == claims


@pytest.mark.parametrize("scale", FOLDERS)
def test_rows_with_a_key_are_cells_of_their_experiment(scale):
    from experiments.scales import SCALES

    for name in (name for at, name in PAGES if at == scale):
        records = read_records(FOLDERS[scale] / "records" / f"{name}.json")
        keys = {cell.key for cell in EXPERIMENTS[name].cells(SCALES[scale])}
        assert {row["key"] for row in records.rows if "key" in row} <= keys, name


@pytest.mark.parametrize("scale", FOLDERS)
def test_the_index_counts_the_claims_of_all_pages(scale):
    text = (FOLDERS[scale] / "README.md").read_text(encoding="utf-8")
    claims = [claim for _, claim in committed(FOLDERS[scale])]
    totals = re.findall(r"^\| in all \| (.*) \|$", text, re.M)
    by_owner = [
        count_outcomes(claims, whose) for whose in ("the paper's", "another reading", "ours")
    ]
    expected = [sum(counts.values()) for counts in by_owner if counts]
    assert [sum(map(int, row.split(" | "))) for row in totals] == expected


def shown_twice(claims):
    """Evidence that two counted claims share."""
    counts = Counter(claim.evidence for claim in claims if not claim.repeats)
    return [evidence for evidence, times in counts.items() if times > 1 and ", n = " in evidence]


@pytest.mark.parametrize("scale", FOLDERS)
def test_no_evidence_is_counted_twice(scale):
    # In beyond two of our rules may reach the same three accuracies on 355 digits.
    claims = [claim for name, claim in committed(FOLDERS[scale]) if name != "beyond"]
    assert shown_twice(claims) == []
    # The twin: what is marked as repeated would be.
    assert shown_twice([replace(claim, repeats="") for claim in claims])


def contradicted(scale):
    """The paper's own claims that came out the other way, by experiment."""
    return [
        (name, claim)
        for name, claim in committed(FOLDERS[scale])
        if claim.outcome in AGAINST and claim.whose == "the paper's"
    ]


@pytest.mark.parametrize("scale", FOLDERS)
def test_every_contradicted_claim_of_the_paper_has_a_cause(scale):
    assert [n for n, c in contradicted(scale) if reason_of(n, c, scale)[1] == UNSEEN] == []
    assert reason_of("pruning", Claim("a new one", "contradicted", ""), scale)[1] == UNSEEN


def test_every_cause_is_one_of_four_and_that_of_a_contradicted_claim():
    assert {reason.cause for reason in reasons()} <= set(CAUSES)
    given = {reason_of(n, c, scale) for scale in FOLDERS for n, c in contradicted(scale)}
    assert [reason for reason in reasons() if (reason.cause, reason.why) not in given] == []


def test_ours_and_the_papers_are_told_apart():
    owners = {
        name: {c.whose for n, c in committed(FOLDERS["cpu"]) if n == name} for name in EXPERIMENTS
    }
    assert owners["beyond"] == owners["verdict"] == owners["epoch"] == {"ours"}
    assert owners["synthetic"] == {"the paper's", "another reading"}
    assert owners["significance"] == {"the paper's"}
