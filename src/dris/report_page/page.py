"""Write the page: one HTML file that opens offline, asks no host for anything, and explains."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from dris.core.errors import InputError
from dris.data.writer import Writer
from dris.pipeline.decision import Decision
from dris.pipeline.lists import annotator_lines, neighbour_lines, opinion_lines
from dris.pipeline.wording import kind_of_noise, sentences, sure
from dris.report_page import payload as charts
from dris.report_page.content import (
    MAX_HARD_LISTED,
    OUTCOMES,
    TRUSTED,
    Page,
    column_summaries,
    hard_rows,
    page_of,
)
from dris.report_page.payload import payload, script_json

_SCRIPTS = (  # the first four draw the review app as well
    *("elements", "keys", "looking", "heat"),
    *("basics", "examples", "suspects", "plane", "keep", "review", "main"),
)
MAX_LISTED = 6  # of a long list in the recipe; the recipe's own file has all of it


@dataclass(frozen=True, slots=True)
class Panel:
    """One section of the page."""

    name: str  # of its file, `page_files/panel_NAME.html`
    anchor: str  # its id on the page
    title: str = ""  # in the bar at the top; none for a panel that the one before it leads to
    needs: str = ""  # what `render` passes to templates that must not be empty

    @property
    def file(self) -> str:
        """Its template, which sees everything that `render` passes."""
        return f"panel_{self.name}.html"


# Every panel, in the order of the page: a new one is a file and a line here.
PANELS: tuple[Panel, ...] = (
    Panel("verdict", "verdict"),
    Panel("plane", "plane-section", "Plane", "proxies"),
    Panel("confusions", "confusions", "Confusions", "suspects"),
    Panel("classes", "classes", "Classes"),
    Panel("review", "review", "Review"),
    Panel("hard", "hard", "Hard", "hard"),
    Panel("annotators", "annotators", "Annotators", "people"),
    Panel("neighbours", "neighbours", "Neighbours", "near"),
    Panel("check", "check", "Check", "sample"),
    Panel("reliability", "reliability", "How sure", "reliability"),
    Panel("columns", "columns", "Columns", "columns"),
    Panel("how_much", "how-much", "How much", "proxies"),
    Panel("disagreement", "disagreement", needs="proxies"),
    Panel("recipe", "recipe", "Recipe"),
)


def report(decision: Decision, path: str | Path, *, title: str = "", force: bool = False) -> Path:
    """Write the page that shows a decision: one HTML file that opens offline.

    Args:
        decision: What `dris.clean`, `dris.prune` or `dris.weights` returned.
        path: Such as "report.html"; a file that dris did not write is never replaced.
        title: What to call the data; the name of its file unless given.
        force: Replace a page that dris wrote there before.

    >>> import tempfile
    >>> import dris
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 2
    >>> data = dris.read_data(rng.normal(size=(300, 2)) + 3 * y[:, None], y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(dris.clean(data, workers=1), folder + "/report.html")
    ...     page.stat().st_size > 10_000
    True
    """
    writer = Writer(force).reading(*decision.data.origin.files)
    return write_page(decision, path, title=title, recipe=decision.recipe(), writer=writer)


def write_page(
    decision: Decision, path: str | Path, *, title: str, recipe: Mapping[str, Any], writer: Writer
) -> Path:
    """Write the page, whole or not at all, with a recipe and a writer of one's own."""
    path, files = Path(path), decision.data.origin.files
    title = title or (files[0].name if files else "data")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file, such as {path / 'report.html'}")
    writer.refuse(path)
    text = render(page_of(decision, title=title, recipe=recipe), path.parent)
    return writer.write(path, [text.encode("utf-8", "backslashreplace")])


def render(page: Page, folder: Path | None = None) -> str:
    """The page as text, to be put into a folder: the same page gives the same bytes."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(part),
    )
    environment.filters.update(share=_share, sure=sure, number=_number, count="{:,}".format)
    script = one_script(part(f"{name}.js") for name in _SCRIPTS)
    style = part("components.css") + part("page.css")
    body = script_json(payload(page))
    judgement = page.decision.judgement
    values = {
        "page": page,
        "n": len(page.data),
        "decision": page.decision,
        "proxies": page.proxies,
        "suspects": page.suspects.size,
        "sample": page.sample,
        "checks": [] if judgement is None else list(judgement.checks.values()),
        "text": sentences(page.decision, page.title, folder),
        "kind_of_noise": kind_of_noise(page.decision),
        "counts": dict(zip(OUTCOMES, _outcome_counts(page, slice(None)), strict=True)),
        "regions": _regions(page),
        "histogram": charts.histogram(page),
        "contamination": charts.contamination(page),
        "reliability": charts.reliability(page),
        "hard": hard_rows(page),
        "columns": column_summaries(page.data),
        "near": near_rows(page),
        "people": annotator_lines(page.decision)[1 : 1 + MAX_HARD_LISTED],
        "opinions": opinion_lines(page.decision)[1 : 1 + MAX_HARD_LISTED],
        "box": charts,
        "recipe": _flatten(page.recipe),
        "environment": _flatten(page.environment),
        # Written by us or escaped by script_json: nothing of the data's text is in these as it is.
        "payload": Markup(body),
        "script": Markup(script),
        "style": Markup(style),
        "policy": _policy(script, style),
        "key": hashlib.sha256(body.encode()).hexdigest()[:16],
    }
    panels = [panel for panel in PANELS if not panel.needs or values[panel.needs]]
    return environment.get_template("page.html").render(values, panels=panels)


def near_rows(page: Page) -> list[tuple[object, ...]]:
    """The first near-duplicates and outliers."""
    lines = neighbour_lines(page.decision)[1:]
    far = [line for line in lines if line[0] == "outlier"]
    return [*lines[: len(lines) - len(far)][:MAX_HARD_LISTED], *far[:MAX_HARD_LISTED]]


def _policy(script: str, style: str) -> str:
    """Only our own script and style run, pictures come from the page itself, nothing else loads."""
    own = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (script, style)
    ]
    return (
        f"default-src 'none'; script-src {own[0]}; style-src {own[1]}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _outcome_counts(page: Page, inside: Any) -> list[int]:
    """How many were kept, dropped, or kept as suspects; of all these trusted ones and canaries."""
    counts = np.bincount(page.decided()[inside], minlength=len(OUTCOMES))
    marked = np.bincount(page.outcomes()[inside], minlength=len(OUTCOMES))
    counts[TRUSTED:] = marked[TRUSTED:]
    return [int(count) for count in counts]


def _regions(page: Page) -> list[tuple[str, int, list[int], str]]:
    """The plane as a table: thirds of the mean rank, what became of each, how disputed it is."""
    third = np.minimum((page.mean_rank * 3).astype(np.int64), 2)
    regions = []
    for t, name in enumerate(("easy (lowest third)", "middle", "hard (highest third)")):
        inside = third == t
        typical = f"{np.median(page.rank_variance[inside]):.4f}" if inside.any() else "none"
        regions.append((name, int(inside.sum()), _outcome_counts(page, inside), typical))
    return regions


def _flatten(values: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Nested values as pairs of dotted name (proxy.model) and text, in their own order."""
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            pairs += _flatten(value, f"{before}{name}.")
            continue
        if isinstance(value, list | tuple) and len(value) > 2 * MAX_LISTED:
            value = [*value[:MAX_LISTED], f"… and {len(value) - MAX_LISTED:,} more"]
        if not isinstance(value, str):
            value = json.dumps(value, default=str, ensure_ascii=False, sort_keys=True)
        pairs.append((f"{before}{name}", value))
    return pairs


def _share(value: float) -> str:
    """A share in percent with few digits: 25 %, 1.2 %."""
    return f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.3g} %"


def _number(value: float) -> str:
    """A number to three digits, large ones in full: 0.0423, 1,791."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def part(name: str) -> str:
    """A file of `page_files` as it is."""
    return files("dris.report_page").joinpath("page_files", name).read_text(encoding="utf-8")


def one_script(texts: Iterable[str]) -> str:
    """Scripts that share names with each other and with nobody else."""
    return "'use strict';\n(() => {\n" + "".join(texts) + "})();\n"
