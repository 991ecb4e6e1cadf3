"""The page's still charts as plain geometry: a histogram, lines over α, the gap over K."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dris.report_page.content import Page

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
    whole: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value, to a tenth.

        >>> Axis("x", 0, 10, 100, 200).at(5)
        150.0
        """
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Four or so pixels with the round numbers that stand there.

        >>> Axis("x", 0, 10, 100, 200).ticks()
        [(100.0, '0'), (125.0, '2.5'), (150.0, '5'), (175.0, '7.5'), (200.0, '10')]
        """
        step = _round_step((self.high - self.low) / 4)
        if self.whole:
            step = math.ceil(step)
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
    table = [
        (f"{s.fraction:.0%}", f"{int(s.kept.sum()):,}", f"{s.limit:.1%}")
        for s in page.steps
        if s.limit is not None
    ]
    dots = [(x.at(f), y.at(v), "limit") for f, v in pairs]
    lines = [(_path(x, y, pairs), "limit")]
    return Chart(x, y, ("keep", "examples", "at most"), table, lines=lines, dots=dots)


def gap(page: Page) -> Chart | None:
    """The empirical gap for the first 2, …, K proxies, raw and freed of its K/(K − 1) bias."""
    if page.gap is None or len(page.gap.proxies) < 2:
        return None
    g = page.gap
    counts = g.proxies.tolist()
    low = min(0.0, float(g.raw.min()), float(g.corrected[1:].min()))
    high = max(0.001, float(g.raw.max()), float(g.corrected[1:].max()))
    x = Axis("number of proxies K", 1, counts[-1], LEFT, WIDTH - RIGHT, whole=True)
    y = Axis("gap", low, high * 1.08, HEIGHT - BOTTOM, TOP)
    raw = list(zip(counts, g.raw.tolist(), strict=True))
    corrected = list(zip(counts, g.corrected.tolist(), strict=True))[1:]
    lines = [(_path(x, y, raw), "raw"), (_path(x, y, corrected), "corrected")]
    dots = [
        (x.at(k), y.at(v), name)
        for name, pairs in (("raw", raw), ("corrected", corrected))
        for k, v in pairs
    ]
    table = [
        (str(k), f"{r:.4f}", "" if k == 1 else f"{c:.4f}", f"{radius:.3g}")
        for k, r, c, radius in zip(
            counts, g.raw.tolist(), g.corrected.tolist(), g.radius.tolist(), strict=True
        )
    ]
    return Chart(x, y, ("K", "gap", "corrected", "radius"), table, lines=lines, dots=dots)


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
