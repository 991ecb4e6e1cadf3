"""An experiment's results as a page, LaTeX tables and figures, all from its records alone."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from experiments.dris_internals import OWN, Writer, make_folder
from experiments.records import Records, write_records
from experiments.registry import Experiment, experiment_of
from experiments.results.claims import Claim
from experiments.results.figures import drawing_folder
from experiments.results.leads import lead_row, lead_table
from experiments.results.table import Table
from experiments.results.tally import claim_lines
from experiments.results.unfinished import describe_unfinished
from experiments.scales import SCALES

_OLDER = (
    "In these records all canaries set the gates of gated rules. What ships sets them by half of "
    "the canaries and certifies by the others, of which the records say nothing."
)
_NOTES = Path(__file__).parents[2] / "results" / "notes"
"""What a person wrote about an experiment's numbers, for its page."""
_NUMBERS = (
    "Mean ± sample standard deviation (number of seeds); the paper's own numbers stand small in "
    "brackets."
)


def page_files(name: str, folder: Path) -> list[Path]:
    """What `write_page` writes, but for figures and the records themselves."""
    return [folder / part for part in (f"{name}.md", f"tables/{name}.tex", f"claims/{name}.json")]


def write_page(name: str, records: Records, folder: Path, *, writer: Writer = OWN) -> Path:
    """An experiment's page, with LaTeX tables, figures, claims and records in folders below.

    Returns the page's path. All of it comes from the records: no run is needed.
    """
    experiment = experiment_of(name)
    for part in ("images", "tables", "claims", "records"):
        make_folder(folder / part)
    with drawing_folder(folder / "images", writer) as scratch:
        drawn = [path.name for path in experiment.figures(records, scratch)]
    tables, claims = experiment.tables(records), experiment.claims(records)
    page, latex, outcomes = page_files(name, folder)
    leads = lead_rows(experiment, records)
    told = {
        "title": experiment.title,
        "leads": leads,
        "claims": [asdict(claim) for claim in claims],
    }
    texts = {
        latex: "\n\n".join(table.latex() for table in tables) + "\n",
        outcomes: json.dumps(told, indent=1) + "\n",
        page: page_text(name, records, tables, claims, drawn, leads),
    }
    write_records(records, folder / f"records/{name}.json", writer=writer)
    for path, text in texts.items():
        writer.write(path, [text.encode()])
    return page


def page_text(
    name: str,
    records: Records,
    tables: Sequence[Table],
    claims: Sequence[Claim],
    images: Sequence[str],
    leads: Sequence[Sequence[str]] = (),
) -> str:
    """The page as Markdown, every letter of it."""
    experiment = experiment_of(name)
    lines = [
        f"# {experiment.title}",
        "",
        f"    python -m experiments {name} --scale {records.scale}",
        "",
        f"{_first_sentence(experiment.module.__doc__)} Scale {records.scale}: "
        f"{_cut(experiment, records.scale)}. {experiment.optional('NUMBERS', _NUMBERS)} Written by "
        "the command above from "
        f"[its records](records/{name}.json), made with {_made(records)}; "
        f"[the tables as LaTeX](tables/{name}.tex).",
    ]
    for paragraph in experiment.optional("words", lambda records: ())(records):
        lines += ["", paragraph]
    note = _NOTES / f"{name}.md"
    if note.is_file():
        lines += ["", note.read_text("utf-8").rstrip()]
    if len(records.rows) < records.cells:
        cells = experiment.cells(SCALES[records.scale])
        keys = {row["key"] for row in records.rows if "key" in row}
        known = len(cells) == records.cells and len(keys) == len(records.rows)
        bare = f"{len(records.rows)} of its {records.cells} cells were run."
        lines += ["", describe_unfinished(cells, keys) if known else bare]
    if any(row.get("gate_set_by") == "all canaries" for row in records.rows):
        lines += ["", _OLDER]
    if leads:
        lines += ["", "## Who leads", "", *lead_table(leads)]
    for table in tables:
        lines += ["", f"## {table.title}", "", table.markdown()]
    for image in images:
        lines += ["", f"![{Path(image).stem}](images/{image})"]
    return "\n".join([*lines, "", "## Claims", "", *claim_lines(claims), ""])


def lead_rows(experiment: Experiment, records: Records) -> list[list[str]]:
    """Who leads each column, of experiments whose module offers `races`; at smoke nobody does."""
    races = experiment.optional("races", lambda records: ())(records)
    return [] if records.scale == "smoke" else [lead_row(race) for race in races]


def _made(records: Records) -> str:
    """Versions and machines of the rows, with how many of them where they differ."""
    told = Counter(
        ", ".join(f"{n} {v}" for n, v in row.get("made", {}).items()) or "unrecorded versions"
        for row in records.rows
    )
    if len(told) == 1:
        return next(iter(told))
    return "; ".join(f"{words} ({n} rows)" for words, n in told.items()) or "nothing yet"


def _cut(experiment: Experiment, scale: str) -> str:
    """How the scale differs from the paper; an experiment off the shared grid says it itself."""
    cuts: dict[str, str] = experiment.optional("CUTS", {})
    return cuts.get(scale, SCALES[scale].cut)


def _first_sentence(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())
