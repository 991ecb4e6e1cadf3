"""Figures of several panels: bars by column, courses over epochs, lines against a parameter."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.records import Records
from experiments.results.figures import CLEAN, CORRUPTED, PALETTE, save_png_and_svg
from experiments.results.statistics import mean_std
from experiments.results.table import Table
from experiments.rules import SAMPLERS
from experiments.spec import Noise

Lines = Mapping[str, Mapping[float, Sequence[float]]]


def bar_panels(table: Table, label: str, path: Path, *, wide: int = 3) -> Path:
    """A panel per column of a table, a bar per row with its seeds, the paper's as marks."""
    from matplotlib.figure import Figure

    rows, scale = list(table.rows)[::-1], 100 if table.percent else 1
    high = -(-len(table.columns) // wide)
    size = (10, high * (0.9 + 0.26 * len(rows)))
    figure = Figure(figsize=size, layout="constrained", dpi=100)
    panels = figure.subplots(high, min(wide, len(table.columns)), squeeze=False, sharey=True)
    flat = panels.ravel()
    for axes, column in zip(flat, table.columns, strict=False):
        for at, row in enumerate(rows):
            values = [scale * v for v in table.values.get((row, column), ())]
            if values:
                axes.barh(at, float(np.mean(values)), color=CLEAN, alpha=0.6)
                axes.plot(values, [at] * len(values), ".", color="black", markersize=3)
            if (row, column) in table.paper:
                axes.plot(table.paper[row, column][0], at, "D", color=CORRUPTED, markersize=5)
        axes.set_yticks(range(len(rows)), rows)
        axes.set(title=column, xlabel=label)
        axes.set_xlim(0, 100 if table.percent else None)
    for axes in flat[len(table.columns) :]:
        axes.set_visible(False)
    flat[0].barh(0, 0, color=CLEAN, alpha=0.6, label="ours, mean")
    flat[0].plot([], [], ".", color="black", markersize=3, label="one seed")
    if table.paper:
        flat[0].plot([], [], "D", color=CORRUPTED, markersize=5, label="the paper")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return save_png_and_svg(figure, path)


def course_panels(
    records: Records, noises: Sequence[Noise], plans: Mapping[str, str], path: Path
) -> Path:
    """Test accuracy and concentration size over epochs, a row of panels per noise that was run.

    Lines are means over seeds, solid for unbiased weights, dashed for none. A run that diverged
    leaves the mean where it ends.
    """
    from matplotlib.figure import Figure

    noises = [noise for noise in noises if records.where(noise=noise)]
    figure = Figure(figsize=(10, 3.2 * len(noises)), layout="constrained", dpi=90)
    panels = figure.subplots(len(noises), 2, squeeze=False, sharex=True)
    colours = dict(zip(plans, ("#000000", *PALETTE, "#8c6d31"), strict=False))
    drawn, weighted = set[str](), set[bool]()
    for (left, right), noise in zip(panels, noises, strict=True):
        for row in dict.fromkeys(r["rule"] for r in records.where(noise=noise)):
            sampler = SAMPLERS[row]
            plan, weighs = sampler.plan, sampler.weight_exponent > 0
            if plan not in plans:
                continue
            look = {
                "color": colours[plan],
                "linestyle": "-" if weighs else "--",
                "linewidth": 1.3,
            }
            drawn.add(plan)
            weighted.add(weighs)
            result = [r["result"] for r in records.where(noise=noise, rule=row)]
            left.plot(*_mean_line([f["accuracy_by_epoch"] for f in result], 100), **look)
            right.plot(*_mean_line([f["concentration_by_epoch"] for f in result], 1), **look)
        left.set(ylabel="test accuracy, %", title=f"{noise}: accuracy")
        right.set(ylabel="examples (log)", yscale="log", title=f"{noise}: concentration size")
        low, high = right.get_ylim()
        ticks = [m * 10.0**e for e in range(7) for m in (1, 2, 5) if low <= m * 10.0**e <= high]
        right.set_yticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        right.set_yticks([], minor=True)
    for axes in panels[-1]:
        axes.set(xlabel="epoch")
    for plan in (plan for plan in plans if plan in drawn):
        panels[0, 0].plot([], [], color=colours[plan], label=plans[plan])
    if len(weighted) > 1:
        panels[0, 0].plot([], [], color="#777777", linestyle="-", label="weights 1/(Nq)")
        panels[0, 0].plot([], [], color="#777777", linestyle="--", label="no weights")
    figure.legend(loc="outside lower center", ncols=5, frameon=False)
    return save_png_and_svg(figure, path)


def _mean_line(
    runs: Sequence[Sequence[float]], scale: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Epochs from 1, and the mean over the runs that reached each."""
    longest = max(map(len, runs))
    reached = [[run[e] for run in runs if e < len(run)] for e in range(longest)]
    return np.arange(1, longest + 1), np.array([scale * float(np.mean(v)) for v in reached])


def line_panels(
    panels: Mapping[str, tuple[Lines, Mapping[str, Sequence[float]]]],
    x_label: str,
    y_label: str,
    path: Path,
    *,
    scale: float = 1,
) -> Path:
    """Lines with their spread against a parameter, levels as horizontal bands, a panel per title.

    Args:
        panels: By title: lines (name → parameter → values by seed) and levels (name → values).
        x_label: What the parameter is, on a logarithmic axis.
        y_label: What the values are.
        path: Where to write the PNG; an SVG goes beside it.
        scale: The values are drawn times this.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(panels), 3.4), layout="constrained", dpi=100)
    for axes, (title, (lines, levels)) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        for colour, (name, points) in zip(PALETTE, lines.items(), strict=False):
            drawn = {x: mean_std([scale * v for v in values]) for x, values in points.items()}
            means, spreads = zip(*drawn.values(), strict=True)
            axes.errorbar(list(drawn), means, spreads, fmt="o-", color=colour, label=name)
        for name, values in levels.items():
            mean, std = mean_std([scale * v for v in values])
            axes.axhline(mean, color="#777777", linestyle="--", label=name)
            axes.axhspan(mean - std, mean + std, color="#777777", alpha=0.2)
        ticks: list[Any] = sorted({x for points in lines.values() for x in points})
        axes.set(xscale="log", title=title, xlabel=x_label, ylabel=y_label)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return save_png_and_svg(figure, path)


def histogram_panels(
    histograms: Mapping[str, Mapping[str, Any]],
    label: str,
    path: Path,
    *,
    wide: int,
    log: bool = True,
) -> Path:
    """A panel per title: shares of the clean and of the corrupted by bin, on a log axis if asked.

    A histogram is what `kinds.proxytypes.histogram` records: its ends and both shares.
    """
    from matplotlib.figure import Figure

    high = -(-len(histograms) // wide)
    figure = Figure(figsize=(3.6 * wide, 2.8 * high), layout="constrained", dpi=100)
    panels = figure.subplots(high, wide, squeeze=False, sharey="row")
    for axes, (title, drawn) in zip(panels.ravel(), histograms.items(), strict=True):
        edges = np.linspace(drawn["low"], drawn["high"], len(drawn["clean"]) + 1)
        axes.stairs(drawn["clean"], edges, fill=True, color=CLEAN, alpha=0.5, label="clean")
        axes.stairs(drawn["corrupted"], edges, color=CORRUPTED, linewidth=1.6, label="corrupted")
        axes.set(title=title, xlabel=label, yscale="log" if log else "linear")
    for axes in panels[:, 0]:
        axes.set(ylabel="share of the group")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return save_png_and_svg(figure, path)
