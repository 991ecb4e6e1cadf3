"""Write the report: one HTML file that opens offline, asks no host for anything, and explains."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from dris.core.errors import InputError
from dris.data.writer import Writer
from dris.report_page import charts
from dris.report_page.inlined import one_script, part
from dris.report_page.packing import script_json
from dris.report_page.page_data import DECISIONS, Pictures, ReportData
from dris.report_page.payload import payload

_SCRIPTS = (  # the first three draw the review app as well
    *("elements", "looking", "heat"),
    *("basics", "examples", "suspects", "plane", "keep", "review", "main"),
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One section of the page.

    Attributes:
        name: Of its file, `page_files/panel_NAME.html`.
        anchor: Its id on the page.
        title: In the bar at the top; none for a panel that the one before it leads to.
        shown: Whether this data have it.

    >>> Panel("classes", "classes").file
    'panel_classes.html'
    """

    name: str
    anchor: str
    title: str = ""
    shown: Callable[[ReportData], bool] = lambda data: True

    @property
    def file(self) -> str:
        """Its template, which sees all that `render` hands to the page."""
        return f"panel_{self.name}.html"


# Every panel, in the order of the page: a new one is a file and a line here.
PANELS: tuple[Panel, ...] = (
    Panel("verdict", "verdict"),
    Panel("plane", "plane-section", "Plane", lambda data: data.proxies > 0),
    Panel("confusions", "confusions", "Confusions", lambda data: bool(data.suspected.any())),
    Panel("classes", "classes", "Classes"),
    Panel("review", "review", "Review"),
    Panel("check", "check", "Check", lambda data: data.sample is not None),
    Panel("how_much", "how-much", "How much", lambda data: data.proxies > 0),
    Panel("disagreement", "disagreement", shown=lambda data: data.proxies > 0),
    Panel("recipe", "recipe", "Recipe"),
)
_MEANINGS = {
    "kept": "in the subset",
    "dropped": "left out; the label looks right",
    "suspected": "the label looks wrong",
    "trusted": "label known to be right",
    "canary": "planted with a wrong label",
}


def write_report(
    data: ReportData, path: str | Path, *, force: bool = False, writer: Writer | None = None
) -> Path:
    """Write the page, whole or not at all; with `force` one that dris wrote is replaced.

    A `writer` decides in place of `force`, for a command that knows what it reads.

    >>> write_report(None, "/")
    Traceback (most recent call last):
    ...
    dris.core.errors.InputError: / is a folder; name a file, such as /report.html
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file, such as {path / 'report.html'}")
    writer = writer or Writer(force)
    writer.refuse(path)
    return writer.write(path, [render(data).encode("utf-8", "backslashreplace")])


def render(data: ReportData) -> str:
    """The page as text: the same data give the same bytes."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(part),
    )
    environment.filters["share"] = _share
    environment.filters["number"] = _number
    script = one_script(part(f"{name}.js") for name in _SCRIPTS)
    style = part("components.css") + part("page.css")
    body = script_json(payload(data))
    return environment.get_template("page.html").render(
        panels=[panel for panel in PANELS if panel.shown(data)],
        data=data,
        advice=data.advice,
        step=data.steps[data.chosen],
        counts=_counts(data),
        regions=_regions(data),
        meanings=_MEANINGS,
        histogram=charts.histogram(data),
        contamination=charts.contamination(data),
        gap=charts.gap(data),
        box=charts,
        shown=_shown(data),
        recipe=_flat(data.recipe),
        environment=_flat(data.environment),
        # Written by us or escaped by script_json: nothing of the data's text is in these as it is.
        payload=Markup(body),
        script=Markup(script),
        style=Markup(style),
        policy=_policy(script, style),
        key=hashlib.sha256(body.encode()).hexdigest()[:16],
    )


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


def _counts(data: ReportData) -> dict[str, int]:
    found = np.bincount(data.decision(), minlength=len(DECISIONS)).tolist()
    return dict(zip(DECISIONS, found, strict=True))


def _regions(data: ReportData) -> list[tuple[str, int, list[int], str]]:
    """The plane as a table: thirds of the mean rank, what became of each, how disputed it is."""
    decision = data.decision()
    third = np.minimum((data.mean_rank * 3).astype(np.int64), 2)
    found = []
    for t, name in enumerate(("easy (lowest third)", "middle", "hard (highest third)")):
        inside = third == t
        each = np.bincount(decision[inside], minlength=len(DECISIONS)).tolist()
        typical = f"{np.median(data.rank_variance[inside]):.4f}" if inside.any() else "none"
        found.append((name, int(inside.sum()), each, typical))
    return found


def _shown(data: ReportData) -> int:
    if data.details is None:
        return 0
    return len(data.details.images if isinstance(data.details, Pictures) else data.details.values)


_LISTED = 6  # of a long list in the recipe; the recipe's own file has all of it


def _short(value: Any) -> Any:
    """A long list without its middle.

    >>> _short(list(range(20)))
    [0, 1, 2, 3, 4, 5, '… and 14 more']
    """
    if isinstance(value, list | tuple) and len(value) > 2 * _LISTED:
        return [*value[:_LISTED], f"… and {len(value) - _LISTED:,} more"]
    return value


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Nested values as (dotted name, text) pairs, sorted by nothing: the recipe's own order.

    >>> _flat({"seed": 0, "proxy": {"model": "mlp"}})
    [('seed', '0'), ('proxy.model', 'mlp')]
    """
    found: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            found += _flat(value, f"{before}{name}.")
        else:
            text = (
                value
                if isinstance(value, str)
                else json.dumps(_short(value), default=str, ensure_ascii=False)
            )
            found.append((f"{before}{name}", text))
    return found


def _share(value: float | None) -> str:
    """A share in words; few digits, none of them zeros that say nothing.

    >>> _share(0.25), _share(0.0123), _share(0.0)
    ('25 %', '1.2 %', '0 %')
    """
    if value is None:
        return "not measured"
    return f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.3g} %"


def _number(value: float) -> str:
    """A number to three digits, whole ones and large ones in full.

    >>> _number(1791.0), _number(0.0423)
    ('1,791', '0.0423')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
