"""An experiment's results as a page, LaTeX tables and figures, all from its records alone."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dris.bench.claims import Claim, Outcome
from dris.bench.experiment import experiment_of
from dris.bench.records import Records, write_records
from dris.bench.scales import SCALES
from dris.core.arrayfile import made_folder, write_atomically

_SIGNS: dict[Outcome, str] = {
    "reproduced": "✔ reproduced",
    "contradicted": "✘ contradicted",
    "undecided": "· undecided",
    "not testable at this scale": "– not testable at this scale",
}


def write_page(name: str, records: Records, folder: Path, *, images: str = "") -> Path:
    """Page, LaTeX tables, figures, claims and compact records of one experiment, in a folder.

    `images` names a folder below it for the figures. Returns the page's path.
    """
    experiment = experiment_of(name)
    made_folder(folder / images)
    drawn = experiment.figures(records, folder / images)
    tables, claims = experiment.tables(records), experiment.claims(records)
    lines = [
        f"# {experiment.TITLE}",
        "",
        f"    dris reproduce {name} --scale {records.scale}",
        "",
        f"{_first_sentence(experiment.__doc__)} Scale {records.scale}: "
        f"{SCALES[records.scale].cut}. Mean ± sample standard deviation (number of seeds); the "
        "paper's own numbers stand small in brackets. Written by the command above from its "
        f"records, made with {', '.join(f'{n} {v}' for n, v in records.versions.items())}.",
    ]
    for table in tables:
        lines += ["", f"## {table.title}", "", table.markdown()]
    for path in drawn:
        lines += ["", f"![{path.stem}]({path.relative_to(folder).as_posix()})"]
    lines += ["", "## Claims", "", *claim_lines(claims), ""]
    latex = "\n\n".join(table.latex() for table in tables) + "\n"
    _write(folder / f"{name}.tex", latex)
    _write(folder / f"{name}-claims.json", json.dumps([asdict(c) for c in claims], indent=1) + "\n")
    write_records(records, folder / f"{name}-records.json")
    return _write(folder / f"{name}.md", "\n".join(lines))


def claim_lines(claims: Sequence[Claim]) -> list[str]:
    """The claims one by one, after how many ended in which way.

    >>> claim_lines([Claim("a > b", "undecided", "p = 0.2")])[-1]
    '- · undecided: a > b (p = 0.2)'
    """
    counts = Counter(claim.outcome for claim in claims)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _SIGNS if counts[outcome])
    head = f"{len(claims)} claims, paired over seeds, one-sided at 0.05: {told}."
    return [head, "", *(f"- {_SIGNS[c.outcome]}: {c.text} ({c.evidence})" for c in claims)]


def _first_sentence(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _write(path: Path, text: str) -> Path:
    return write_atomically(path, [text.encode()])
