"""What the page's script reads: numbers and text as JSON, small and never markup."""

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.noise.assessment import SUSPECT, Assessment
from dris.core.streams import hashed_order
from dris.report_page.content import NO_LABEL, Details, Page

MAX_DRAWN = 100_000
MAX_ID_BYTES = 2_000_000
_NO_LABEL = 65535  # in the page's script
_TYPES = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array"}
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


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
        "clearest": [place[p] for p in page.clearest.tolist()],
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
    asked = np.array([], dtype=np.int64) if page.sample is None else page.sample.drawn
    wanted = {*page.queue.tolist(), *asked.tolist(), *page.details.shown}
    for position in page.suspects.tolist():
        if len(wanted) >= MAX_DRAWN:
            break
        wanted.add(position)
    first = np.fromiter(wanted, dtype=np.int64, count=len(wanted))
    rest = np.argsort(hashed_order(page.data.ids, seed=0), kind="stable")
    rest = rest[~np.isin(rest, first)]
    return np.sort(np.concatenate([first, rest[: MAX_DRAWN - first.size]]))


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
    """Whole numbers as the base64 of the smallest JavaScript typed array that holds them.

    >>> pack(np.array([1, 2, 255]))
    {'type': 'Uint8Array', 'data': 'AQL/'}
    """
    top = int(values.max()) if values.size else 0
    return _encode(values, next(code for code in _TYPES if top <= np.iinfo(code).max))


def quantise(values: NDArray[np.float64], top: float) -> dict[str, str]:
    """Numbers in [0, top] in 65,536 steps: finer than any screen."""
    share = values / top if top > 0 else np.zeros_like(values)
    return _encode(np.round(share * 65535), "u2")


def pack_text(words: Sequence[str], *, budget: int) -> dict[str, Any]:
    """Words without the beginning they share; cut in the middle where they exceed the budget.

    >>> pack_text(["img/1.png", "img/22.png"], budget=100)
    {'prefix': 'img/', 'words': ['1.png', '22.png'], 'cut': False}
    """
    low, high = (min(words), max(words)) if len(words) > 1 else ("", "")
    shared = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    rest = [word[shared:] for word in words]
    room = max(budget // max(len(rest), 1), 12)
    over = sum(map(_weight, rest)) > budget
    if over:
        rest = [_cut(word, room) for word in rest]
    return {"prefix": low[:shared], "words": rest, "cut": over}


def script_json(value: Any) -> str:
    """JSON that may stand inside a <script> element: no character that HTML could act on."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
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
_BINS = 48


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values laid over a range of pixels, with round numbers to mark."""

    label: str
    low: float
    high: float
    start: float
    end: float
    percent: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value, to a tenth."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Four or so pixels with the round numbers that stand there.

        >>> Axis("x", 0, 10, 100, 200).ticks()
        [(100.0, '0'), (125.0, '2.5'), (150.0, '5'), (175.0, '7.5'), (200.0, '10')]
        """
        step = _round_step((self.high - self.low) / 4)
        first, last = math.ceil(self.low / step), math.floor(self.high / step + 1e-9)
        values = [s * step for s in range(first, last + 1)]
        return [(self.at(v), f"{100 * v:.6g} %" if self.percent else f"{v:.6g}") for v in values]


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars and lines inside two axes, and the same numbers as a table for those who listen."""

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
    rest = _shares(page.rank_variance[~canary], top)
    marked = _shares(page.rank_variance[canary], top)
    beyond = float((page.rank_variance > top).mean())
    label = (
        f"rank variance ({beyond:.1%} lie beyond, in the last bar)" if beyond else "rank variance"
    )
    x = Axis(label, 0.0, top, LEFT, WIDTH - RIGHT)
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
        (f"{q:.0%} lie below", *(_quantile(page.rank_variance[m], q) for m in (~canary, canary)))
        for q in quantiles
    ]
    return Chart(x, y, ("", "examples", "canaries"), table, bars=bars, lines=lines)


def contamination(page: Page) -> Chart | None:
    """The upper limit on wrong labels over keep fractions, if there is any."""
    pairs = [(step.fraction, step.limit) for step in page.steps if step.limit is not None]
    if not pairs:
        return None
    x = Axis("keep fraction α", 0.0, 1.0, LEFT, WIDTH - RIGHT, percent=True)
    y = _upright("wrong labels, at most", max(*(limit for _, limit in pairs), 0.02) * 1.05)
    sizes = (f"{int(s.kept.sum()):,}" for s in page.steps if s.limit is not None)
    table = [(f"{f:.0%}", size, f"{v:.1%}") for (f, v), size in zip(pairs, sizes, strict=True)]
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

    A canary's flipped label is wrong, unless its own was: those whose own label is a suspect are
    left out. If errors are as random as the flips, a share ε F of all labels is wrong and in the
    bin, with F the share of canaries there; divided by the share of labels in the bin that is how
    often they are wrong.
    """
    assessed, rate = _assessment(page), page.decision.noise_rate
    canary = (page.canary > 0) & ~page.suspected
    if assessed is None or rate is None or canary.sum() < MIN_CANARIES:
        return None
    given, flipped = page.decision.p_wrong, assessed.shown.wrong[canary]
    x = Axis("P(wrong), as stated", 0.0, 1.0, LEFT, WIDTH - RIGHT, percent=True)
    y = Axis("wrong, by canaries", 0.0, 1.0, HEIGHT - BOTTOM, TOP, percent=True)
    dots, table = [], []  # of each range of P(wrong)
    for low, high in pairwise(RELIABILITY_BINS):
        there = (given > low) & (given <= high)
        caught = int(((flipped > low) & (flipped <= high)).sum())
        if not there.any():
            continue
        stated = float(given[there].mean())
        measured = min(1.0, rate.likely * caught / len(flipped) / float(there.mean()))
        dots.append((x.at(stated), y.at(measured), "raw"))
        bin_ = f"{low:.0%}–{high:.0%}".replace("%", " %")
        numbers = (f"{100 * stated:.1f} %", f"{100 * measured:.1f} %", f"{caught:,}")
        table.append((bin_, f"{int(there.sum()):,}", *numbers))
    header = ("P(wrong)", "labels", "stated", "by canaries", "canaries")
    lines = [(_path(x, y, [(0.0, 0.0), (1.0, 1.0)]), "corrected")]
    chart = Chart(x, y, header, table, lines=lines, dots=dots)
    return Reliability(chart, len(flipped), int((flipped > SUSPECT).sum()))


def _upright(label: str, high: float) -> Axis:
    return Axis(label, 0.0, high, HEIGHT - BOTTOM, TOP, percent=True)


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
