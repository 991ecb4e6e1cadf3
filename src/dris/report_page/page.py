"""Write the page: one HTML file that opens offline, asks no host for anything, and explains."""

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.noise.assessment import SUSPECT, Assessment
from dris.core.streams import hashed_order
from dris.data.writer import Writer
from dris.pipeline.decision import Decision
from dris.pipeline.lists import annotator_lines, neighbour_lines, opinion_lines
from dris.pipeline.wording import kind_of_noise, sentences, sure
from dris.report_page.content import (
    MAX_HARD_LISTED,
    NO_LABEL,
    OUTCOMES,
    TRUSTED,
    Details,
    Page,
    column_summaries,
    hard_rows,
    page_of,
)

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
    Panel("plane", "plane-section", "Plane", "proxies"),
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
    """Write the page, whole or not at all."""
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
        "histogram": histogram(page),
        "contamination": contamination(page),
        "reliability": reliability(page),
        "hard": hard_rows(page),
        "columns": column_summaries(page.data),
        "near": near_rows(page),
        "people": annotator_lines(page.decision)[1 : 1 + MAX_HARD_LISTED],
        "opinions": opinion_lines(page.decision)[1 : 1 + MAX_HARD_LISTED],
        "box": BOX,
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
    """What is set, as pairs of dotted name (proxy.model) and text, in its own order."""
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            pairs += _flatten(value, f"{before}{name}.")
        elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
            for place, one in enumerate(value[:MAX_LISTED]):
                each = "; ".join(f"{part} {text}" for part, text in _flatten(one))
                pairs.append((f"{before}{name}.{place}", each))
        elif value is not None and value != [] and value != ():
            pairs.append((f"{before}{name}", _as_words(value)))
    return pairs


def _as_words(value: Any) -> str:
    """A setting: a list by its first values, lists of numbers by their count."""
    if not isinstance(value, list | tuple):
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    if value and isinstance(value[0], list | tuple):
        return f"{len(value):,} lists of {len(value[0]):,} values"
    more = [f"{len(value) - MAX_LISTED:,} more"] if len(value) > MAX_LISTED else []
    return ", ".join([*(str(one) for one in value[:MAX_LISTED]), *more])


def _share(value: float) -> str:
    """A share in percent with few digits: 25 %, 1.2 %."""
    return f"{100 * value:.2g}\u00a0%" if value < 0.1 else f"{100 * value:.3g}\u00a0%"


def _number(value: float) -> str:
    """A number to three digits, large ones in full: 0.0423, 1,791."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def part(name: str) -> str:
    """A file of `page_files` as it is."""
    return files("dris.report_page").joinpath("page_files", name).read_text(encoding="utf-8")


def one_script(texts: Iterable[str]) -> str:
    """Scripts that share names with each other and with nobody else."""
    return "'use strict';\n(() => {\n" + "".join(texts) + "})();\n"


# -- what the script reads, and charts -------------------------------------------------------------

MAX_DRAWN = 100_000
MAX_ID_BYTES = 2_000_000
_NO_LABEL = 65535  # in the script
_TYPES = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array"}


def payload(page: Page) -> dict[str, Any]:
    """The page's data as JSON values; counts are of all examples, points of the drawn ones."""
    data, drawn = page.data, drawn_positions(page)
    place = {p: i for i, p in enumerate(drawn.tolist())}
    top = float(page.rank_variance.max())
    flags = (
        page.suspected.astype(np.uint8)
        | (data.trusted.astype(np.uint8) << 1)
        | (page.canary.astype(np.uint8) << 2)
    )
    bits = np.zeros(len(data), dtype=np.uint32)
    for s, step in enumerate(page.steps):
        bits |= step.kept.astype(np.uint32) << np.uint32(s)
    suggested = np.where(page.suggested == NO_LABEL, _NO_LABEL, page.suggested)
    assessed = _assessment(page)
    p_suggested = np.zeros(len(data)) if assessed is None else assessed.p_suggested

    def items(positions: NDArray[np.int64]) -> list[dict[str, Any]]:
        return [{"at": place[p], "id": str(data.ids[p])} for p in positions.tolist()]

    sample = page.sample and {
        "items": items(page.sample.drawn),
        "limits": list(page.sample.limits),
        "sealed": page.sample.sealed,
    }
    return {
        "title": page.title,
        "n": len(data),
        "drawn": len(drawn),
        "classes": list(data.names),
        "kinds": list(page.canary_kinds),
        "top": top,
        "chosen": page.chosen,
        "steps": _steps(page),
        "ids": pack_text([str(i) for i in data.ids[drawn].tolist()], budget=MAX_ID_BYTES),
        "x": quantise(page.mean_rank[drawn], 1.0),
        "y": quantise(page.rank_variance[drawn], top),
        "label": pack(data.labels[drawn]),
        "suggested": pack(suggested[drawn]),
        "flags": pack(flags[drawn]),
        "kept": pack(bits[drawn]),
        "p_wrong": quantise(page.decision.p_wrong[drawn], 1.0),
        "p_suggested": quantise(p_suggested[drawn], 1.0),
        "calibrated": assessed is not None,
        "before": np.bincount(data.labels, minlength=len(data.names)).tolist(),
        "clearest": [place[p] for p in page.suspects[:3].tolist()],
        "suspects": pack(np.array([place[p] for p in page.suspects.tolist() if p in place])),
        "confusion": sorted(page.decision.suspects.pairs()) if page.decision.suspects else [],
        "queue": items(page.queue),
        "sample": sample,
        "details": _details(page.details, place),
    }


def drawn_positions(page: Page) -> NDArray[np.int64]:
    """All examples; past 100,000 what is asked about or shown, and a random part of the rest."""
    n = len(page.data)
    if n <= MAX_DRAWN:
        return np.arange(n)
    asked = () if page.sample is None else page.sample.drawn.tolist()
    first = [*page.queue.tolist(), *asked, *page.details.shown]
    at_random = np.argsort(hashed_order(page.data.ids, seed=0), kind="stable")
    first += [*page.suspects[:MAX_DRAWN].tolist(), *at_random[:MAX_DRAWN].tolist()]
    return np.sort(np.array(list(dict.fromkeys(first))[:MAX_DRAWN], dtype=np.int64))


def _steps(page: Page) -> list[dict[str, Any]]:
    """Per keep fraction: size, limit, and by class kept, kept suspects, dropped."""

    def by_class(mask: NDArray[np.bool_]) -> Any:
        return np.bincount(page.data.labels[mask], minlength=len(page.data.names)).tolist()

    steps = []
    for step in page.steps:
        kept = step.kept
        groups = (kept & ~page.suspected, kept & page.suspected, ~kept)
        steps.append(
            {
                "fraction": step.fraction,
                "size": int(step.kept.sum()),
                "kept": by_class(kept),
                "suspects": int((kept & page.suspected).sum()),
                "limit": step.limit,
                "byClass": [by_class(group) for group in groups],
            }
        )
    return steps


def _assessment(page: Page) -> Assessment | None:
    """What is thought of every label, where P(wrong) is a probability and not only an order."""
    ensemble = page.decision.ensemble
    return ensemble.assessment if ensemble and ensemble.assessment.calibrated else None


def _details(details: Details, place: dict[int, int]) -> dict[str, Any] | None:
    rows = details.columns and {
        "kind": "rows",
        "columns": list(details.columns),
        "leftOut": details.left_out,
        "by": {str(place[p]): list(row) for p, row in sorted(details.rows.items()) if p in place},
    }
    if not details.pictures:
        return rows or None
    pictures = {
        str(place[p]): base64.b64encode(image).decode()
        for p, image in sorted(details.pictures.items())
    }
    return {"kind": "pictures", "by": pictures, "beside": rows or None}


def pack(values: NDArray[Any]) -> dict[str, str]:
    """Whole numbers as the base64 of the smallest JavaScript typed array that holds them."""
    top = int(values.max()) if values.size else 0
    return _encode(values, next(code for code in _TYPES if top <= np.iinfo(code).max))


def quantise(values: NDArray[np.float64], top: float) -> dict[str, str]:
    """Numbers in [0, top] in 65,536 steps: finer than any screen."""
    share = values / top if top > 0 else np.zeros_like(values)
    return _encode(np.round(share * 65535), "u2")


def pack_text(words: Sequence[str], *, budget: int) -> dict[str, Any]:
    """Words without the beginning they share; cut in the middle where they exceed the budget."""
    low, high = (min(words), max(words)) if len(words) > 1 else ("", "")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False))
    prefix = "".join(a for a, _ in same)
    rest = [word[len(prefix) :] for word in words]
    over = sum(map(_weight, rest)) > budget
    if over:
        rest = [_cut(word, max(budget // len(rest), 12)) for word in rest]
    return {"prefix": prefix, "words": rest, "cut": over}


def script_json(value: Any) -> str:
    """JSON that may stand inside a <script> element: no character that HTML could act on."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # File names need not be valid text; a lone surrogate cannot be written as UTF-8.
    return text.encode("utf-8", "backslashreplace").decode()


def _encode(values: NDArray[Any], code: str) -> dict[str, str]:
    data = values.astype(np.dtype(code).newbyteorder("<")).tobytes()
    return {"type": _TYPES[code], "data": base64.b64encode(data).decode()}


def _weight(word: str) -> int:
    """Bytes in the page: UTF-8, the quotes and the comma; escapes are rare enough."""
    return len(word.encode("utf-8", "surrogatepass")) + 3


def _cut(word: str, room: int) -> str:
    """The word in at most `room` bytes: its two ends with an ellipsis between them."""
    if _weight(word) <= room:
        return word
    half = (room - 6) // (2 if word.isascii() else 8)
    return f"{word[:half]}…{word[len(word) - half :]}" if half else "…"


MIN_CANARIES = 20  # of fewer, shares mean nothing
RELIABILITY_BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
WIDTH, HEIGHT = 480.0, 270.0
LEFT, RIGHT, TOP, BOTTOM = 60.0, 28.0, 16.0, 50.0
BOX = {"WIDTH": WIDTH, "HEIGHT": HEIGHT}
BOX |= {"LEFT": LEFT, "RIGHT": RIGHT, "TOP": TOP, "BOTTOM": BOTTOM}
_BINS = 48


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from 0 laid over a range of pixels, with round numbers to mark."""

    label: str
    high: float
    start: float = LEFT
    end: float = WIDTH - RIGHT
    percent: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value, to a tenth."""
        return round(self.start + value / self.high * (self.end - self.start), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Four or so pixels with the round numbers that stand there."""
        step = _round_step(self.high / 4)
        values = [s * step for s in range(math.floor(self.high / step + 1e-9) + 1)]
        return [(self.at(v), f"{100 * v:.6g} %" if self.percent else f"{v:.6g}") for v in values]


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars, lines and dots inside two axes, and their numbers as a table for those who listen."""

    x: Axis
    y: Axis
    header: tuple[str, ...]
    table: Sequence[tuple[str, ...]]
    bars: list[tuple[float, float, float, float]] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    dots: list[tuple[float, float, str]] = field(default_factory=list)


def histogram(page: Page) -> Chart:
    """Rank variance of all examples as bars, of the canaries as a line; shares of each group."""
    top = float(np.quantile(page.rank_variance, 0.99)) or float(page.rank_variance.max()) or 0.01
    canary = page.canary > 0
    rest, marked = (_shares(page.rank_variance[m], top) for m in (~canary, canary))
    beyond = float((page.rank_variance > top).mean())
    label = (
        f"rank variance ({100 * beyond:.1f} % lie beyond, in the last bar)"
        if beyond
        else "rank variance"
    )
    x = Axis(label, top)
    y = _upright("share of the group", max(float(rest.max()), float(marked.max()), 0.01))
    edges = np.linspace(0, top, _BINS + 1)
    base = y.at(0)
    bars = [
        (x.at(a), y.at(s), round(x.at(b) - x.at(a) - 0.6, 1), round(base - y.at(s), 1))
        for a, b, s in zip(edges[:-1], edges[1:], rest, strict=True)
        if s > 0
    ]
    lines = []
    if canary.any():
        points = [f"{x.at(0)},{base}"]
        for a, b, s in zip(edges[:-1], edges[1:], marked, strict=True):
            points += [f"{x.at(a)},{y.at(s)}", f"{x.at(b)},{y.at(s)}"]
        lines.append((" ".join([*points, f"{x.at(top)},{base}"]), "canary"))
    quantiles = (0.1, 0.25, 0.5, 0.75, 0.9)
    table = [
        (
            f"{100 * q:.0f} % lie below",
            *(_quantile(page.rank_variance[m], q) for m in (~canary, canary)),
        )
        for q in quantiles
    ]
    return Chart(x, y, ("", "examples", "canaries"), table, bars=bars, lines=lines)


def contamination(page: Page) -> Chart | None:
    """The upper limit on wrong labels over keep fractions, if there is any."""
    pairs = [(step.fraction, step.limit) for step in page.steps if step.limit is not None]
    if not pairs:
        return None
    x = Axis("keep fraction α", 1.0, percent=True)
    y = _upright("wrong labels, at most", max(*(limit for _, limit in pairs), 0.02) * 1.05)
    sizes = (f"{int(s.kept.sum()):,}" for s in page.steps if s.limit is not None)
    table = [
        (f"{100 * f:.0f} %", size, f"{100 * v:.1f} %")
        for (f, v), size in zip(pairs, sizes, strict=True)
    ]
    dots = [(x.at(f), y.at(v), "limit") for f, v in pairs]
    lines = [(_path(x, y, pairs), "limit")]
    return Chart(x, y, ("keep", "examples", "at most"), table, lines=lines, dots=dots)


@dataclass(frozen=True, slots=True)
class Reliability:
    """How often labels of a given P(wrong) are wrong, measured with canaries."""

    chart: Chart
    canaries: int
    caught: int  # canaries whose flipped label is a suspect


def reliability(page: Page) -> Reliability | None:
    """P(wrong) as it is stated beside the share of wrong labels that canaries imply.

    Canaries whose own label is a suspect are left out. If errors are as random as the flips, a
    share ε F of all labels is wrong and in the bin, with F the share of canaries there; divided by
    the share of labels in the bin that is how often they are wrong.
    """
    assessed, rate = _assessment(page), page.decision.noise_rate
    canary = (page.canary > 0) & ~page.suspected
    if assessed is None or rate is None or canary.sum() < MIN_CANARIES:
        return None
    given, flipped = page.decision.p_wrong, assessed.shown.wrong[canary]
    x = Axis("P(wrong), as stated", 1.0, percent=True)
    y = _upright("wrong, by canaries", 1.0)
    dots, table = [], []  # of each range of P(wrong)
    for low, high in pairwise(RELIABILITY_BINS):
        there = (given > low) & (given <= high)
        caught = int(((flipped > low) & (flipped <= high)).sum())
        if not there.any():
            continue
        stated = float(given[there].mean())
        measured = min(1.0, rate.likely * caught / len(flipped) / float(there.mean()))
        dots.append((x.at(stated), y.at(measured), "raw"))
        bin_ = f"{100 * low:.0f} %–{100 * high:.0f} %"
        numbers = (f"{100 * stated:.1f} %", f"{100 * measured:.1f} %", f"{caught:,}")
        table.append((bin_, f"{int(there.sum()):,}", *numbers))
    header = ("P(wrong)", "labels", "stated", "by canaries", "canaries")
    lines = [(_path(x, y, [(0.0, 0.0), (1.0, 1.0)]), "corrected")]
    chart = Chart(x, y, header, table, lines=lines, dots=dots)
    return Reliability(chart, len(flipped), int((flipped > SUSPECT).sum()))


def _upright(label: str, high: float) -> Axis:
    return Axis(label, high, HEIGHT - BOTTOM, TOP, percent=True)


def _path(x: Axis, y: Axis, pairs: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x.at(a)},{y.at(b)}" for a, b in pairs)


def _shares(values: NDArray[np.float64], top: float) -> NDArray[np.float64]:
    counts, _ = np.histogram(np.minimum(values, top), bins=_BINS, range=(0, top))
    return counts / max(values.size, 1)


def _quantile(values: NDArray[np.float64], q: float) -> str:
    return f"{np.quantile(values, q):.4g}" if values.size else "none"


def _round_step(rough: float) -> float:
    """The number of 1, 2, 2.5, 5 × 10^k whose ratio to the rough step is closest to one."""
    power = 10.0 ** math.floor(math.log10(rough))
    return min((m * power for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(math.log(s / rough)))
