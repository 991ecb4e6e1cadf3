"""The study's figures, drawn from the records."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dris.bench.beyond.records import Column, Results
from dris.bench.beyond.setting import KEEPS, SWEEP, TABLE
from dris.bench.results.figures import PALETTE, saved
from dris.bench.results.statistics import mean_std
from dris.bench.rules import DEFAULT, NAMES

SHOWN = ("random", "el2n", "aum", "confident_learning", "rank_variance", DEFAULT)
OUTCOMES = {
    "above": (PALETTE[0], "decided above"),
    "undecided": ("#999999", "undecided"),
    "below": (PALETTE[1], "decided below"),
}


def difference_figure(gaps: Mapping[str, Mapping[str, tuple[float, str]]], path: Path) -> Path:
    """For each column, the default's accuracy less that of the better of DR-IS and AUM."""
    from matplotlib.figure import Figure

    every = list(dict.fromkeys(column for columns in gaps.values() for column in columns))
    place = {column: len(every) - 1 - i for i, column in enumerate(every)}
    size = (3.4 * len(gaps), 0.27 * len(every) + 1.2)
    figure = Figure(figsize=size, layout="constrained", dpi=90)
    for axes, (name, columns) in zip(
        _row(figure, len(gaps), sharey=True), gaps.items(), strict=True
    ):
        for outcome, (colour, label) in OUTCOMES.items():
            here = [
                (place[column], gap) for column, (gap, found) in columns.items() if found == outcome
            ]
            if here:
                axes.barh([y for y, _ in here], [gap for _, gap in here], color=colour, label=label)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_yticks(list(place.values()), every)
        axes.set(title=name, xlabel="points above the better one")
    handles = [_patch(*look) for look in OUTCOMES.values()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return saved(figure, path)


def rate_figure(studies: Mapping[str, Results], path: Path) -> Path:
    """Accuracy over the noise rate at keep fraction 0.25, clean data at zero."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.2 * len(studies) + 0.5), layout="constrained", dpi=90)
    grid = figure.subplots(len(studies), 2, squeeze=False, sharex=True)
    for row, (name, s) in zip(grid, studies.items(), strict=True):
        for axes, kind in zip(row, ("uniform", "targeted"), strict=True):
            noises = [TABLE[0], *(noise for noise in SWEEP if noise.kind == kind)]
            columns = [Column(noise, 0.25) for noise in noises]
            _lines(axes, s, columns, [100 * noise.rate for noise in noises])
            axes.set(title=f"{name}, {kind} noise", ylim=(0, 100))
        row[0].set_ylabel("test accuracy, %")
    for axes in grid[-1]:
        axes.set_xlabel("labels flipped, %")
    _legend(figure, grid[0][0])
    return saved(figure, path)


def keep_figure(studies: Mapping[str, Results], path: Path) -> Path:
    """Accuracy over the keep fraction, one panel per column of the paper's table 1."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 2.8 * len(studies) + 0.5), layout="constrained", dpi=90)
    grid = figure.subplots(len(studies), len(TABLE), squeeze=False, sharex=True, sharey="row")
    for row, (name, s) in zip(grid, studies.items(), strict=True):
        for axes, noise in zip(row, TABLE, strict=True):
            _lines(axes, s, [Column(noise, keep) for keep in KEEPS], KEEPS)
            axes.set(title=f"{name}\n{noise}", xticks=KEEPS)
            axes.title.set_fontsize(10)
        low = min(line.get_ydata().min() for a in row for line in _above_half(a))
        row[0].set(ylabel="test accuracy, %", ylim=(low - 3, None))
    for axes in grid[-1]:
        axes.set_xlabel("keep fraction α")
    _legend(figure, grid[0][0])
    return saved(figure, path)


def _above_half(axes: Any) -> list[Any]:
    """Lines that stay above 50 %: EL2N's collapse would flatten all others."""
    return [line for line in axes.lines if line.get_ydata().min() > 50]


def _lines(axes: Any, s: Results, columns: Sequence[Column], at: Sequence[float]) -> None:
    for rule, colour in zip(SHOWN, PALETTE, strict=True):
        values = [(x, s.values("accuracy", rule, c)) for x, c in zip(at, columns, strict=True)]
        found = [(x, *mean_std(v)) for x, v in values if v]
        if not found:
            continue
        where, mean, spread = np.array(found).T * [[1], [100], [100]]
        bold = rule == DEFAULT
        label = f"{NAMES[rule]} (default)" if bold else NAMES[rule]
        axes.plot(
            where,
            mean,
            "o-",
            color=colour,
            label=label,
            linewidth=2.5 if bold else 1.2,
            markersize=5 if bold else 3.5,
            zorder=3 if bold else 2,
        )
        axes.fill_between(
            where, mean - spread, mean + spread, color=colour, alpha=0.12, linewidth=0
        )
    axes.grid(alpha=0.25)


def _legend(figure: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)


def _row(figure: Any, count: int, **how: Any) -> Sequence[Any]:
    axes: Sequence[Any] = figure.subplots(1, count, squeeze=False, **how)[0]
    return axes


def _patch(colour: str, label: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(color=colour, label=label)
