"""Curves of means over seeds with their spread, a panel per quantity, the paper's as marks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.results.figures import PALETTE, save_png_and_svg
from experiments.results.statistics import mean_std
from experiments.rules import title_of

Curves = Mapping[str, Mapping[float, Sequence[float]]]
"""By name and position, one number per seed."""

_RULES = ("random", "el2n", "forgetting", "consensus", "aum", "rank_variance", "gated")
COLOURS = dict(zip((title_of(rule) for rule in _RULES), ("#777777", *PALETTE), strict=True))
"""A rule has the same colour in every figure; the order is that of static pruning's bars."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity: its curves, and what the paper prints of them."""

    title: str
    across: str
    label: str
    curves: Curves
    paper: Mapping[str, Mapping[float, float]] = field(default_factory=dict)


def curve_panels(panels: Sequence[Panel], path: Path, *, wide: int | None = None) -> Path:
    """Panels side by side, or `wide` a row; a curve keeps its colour. PNG, and SVG beside it."""
    from matplotlib.figure import Figure

    across = len(panels) if wide is None else min(wide, len(panels))
    high = -(-len(panels) // across)
    size = (4.2 * across, 4 if high == 1 else 3.4 * high)
    figure = Figure(figsize=size, layout="constrained", dpi=90 if high == 1 else 60)
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    others = [name for name in names if name not in COLOURS]
    colours = {**COLOURS, **dict(zip(others, ("#000000", *PALETTE), strict=False))}
    grid = figure.subplots(high, across, squeeze=False).ravel()
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes, panel in zip(grid, panels, strict=False):
        for name, curve in panel.curves.items():
            at = [x for x in sorted(curve) if len(curve[x])]
            means, stds = zip(*(mean_std(curve[x]) for x in at), strict=True) if at else ((), ())
            axes.errorbar(at, means, yerr=stds, fmt="o-", color=colours[name], ms=4, capsize=2)
        for name, marks in panel.paper.items():
            look = {"color": colours[name], "mfc": "none", "linewidth": 1, "alpha": 0.7}
            axes.plot(list(marks), list(marks.values()), "D:", **look)
        axes.set(title=panel.title, xlabel=panel.across, ylabel=panel.label)
        axes.grid(alpha=0.3)
    first = figure.axes[0]
    drawn = [n for panel in panels for n, c in panel.curves.items() if any(map(len, c.values()))]
    there = {*drawn, *(name for panel in panels for name in panel.paper)}
    shown = [first.plot([], [], "o-", color=colours[n], label=n)[0] for n in names if n in there]
    if any(panel.paper for panel in panels):
        shown += first.plot([], [], "D:", color="#333333", mfc="none", label="paper")
    figure.legend(handles=shown, loc="outside lower center", ncols=2 * across, frameon=False)
    return save_png_and_svg(figure, path)
