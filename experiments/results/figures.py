"""Figures, drawn without pyplot so that no global state or display is touched."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.assumptions import Gap
from experiments.dris_internals import Writer, temporary_folder
from experiments.results.statistics import mean_std
from experiments.results.table import Table

# Colour-blind safe (Okabe and Ito).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
CLEAN, CORRUPTED = PALETTE[:2]


def gap_figure(gaps: Mapping[str, Gap], path: Path) -> Path:
    """The empirical gap as K grows, raw and corrected, one pair of lines per ensemble."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.6), layout="constrained", dpi=120)
    axes = figure.subplots()
    for colour, (name, gap) in zip(PALETTE, gaps.items(), strict=False):
        axes.plot(gap.proxies, gap.raw, "o-", color=colour, label=f"{name}, raw")
        axes.plot(
            gap.proxies[1:], gap.corrected[1:], "--", color=colour, label=f"{name}, · K/(K − 1)"
        )
        axes.set_xticks(gap.proxies[:: -(-len(gap.proxies) // 16)])
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(
        xlabel="K, proxies",
        ylabel="rank variance, clean − corrupted",
        title="Empirical gap as the ensemble grows",
    )
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return save_png_and_svg(figure, path)


def grouped_bars(panels: Sequence[tuple[str, Table]], label: str, path: Path) -> Path:
    """A panel per table: its columns side by side, a bar per row with its spread, the paper's mark.

    Args:
        panels: Titles and tables.
        label: What the numbers are.
        path: Where to write the PNG; an SVG goes beside it.
    """
    from matplotlib.figure import Figure

    # A row keeps its colour where another panel lacks one above it.
    every = list(dict.fromkeys(row for _, table in panels for row in table.rows))
    colours = {row: _colour(i) for i, row in enumerate(every)}
    shown: dict[str, Any] = {}
    figure = Figure(figsize=(9, 3.2 * len(panels)), layout="constrained", dpi=90)
    for axes, (title, table) in zip(
        figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True
    ):
        width = 0.8 / len(table.rows)
        scale = 100 if table.percent else 1
        for i, row in enumerate(table.rows):
            shift = (i - (len(table.rows) - 1) / 2) * width
            for j, column in enumerate(table.columns):
                values = [scale * v for v in table.values.get((row, column), ())]
                if values:
                    mean, std = mean_std(values)
                    axes.bar(j + shift, mean, width, yerr=std, color=colours[row], ecolor="#333333")
                if (row, column) in table.paper:
                    mark = table.paper[row, column][0]
                    axes.plot(j + shift, mark, "D", color="black", markersize=3)
            axes.bar(0, 0, color=colours[row], label=row)
        if table.paper:
            axes.plot([], [], "D", color="black", markersize=3, label="paper")
        axes.set_xticks(range(len(table.columns)), table.columns)
        axes.set(title=title, ylabel=label)
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4, frameon=False)
    return save_png_and_svg(figure, path)


def paired_points(
    pairs: Mapping[str, Sequence[Sequence[float]]], names: Sequence[str], path: Path
) -> Path:
    """A panel per title: every seed's shares under two names, joined by a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(pairs), 3.4), layout="constrained", dpi=90)
    for axes, (title, values) in zip(
        figure.subplots(1, len(pairs), squeeze=False)[0], pairs.items(), strict=True
    ):
        for left, right in zip(*values, strict=False):
            axes.plot([0, 1], [100 * left, 100 * right], "o-", color=CLEAN, alpha=0.7)
        axes.set_xticks([0, 1], names)
        axes.set(title=title, ylabel="test accuracy, %", xlim=(-0.3, 1.3))
    return save_png_and_svg(figure, path)


def _colour(i: int) -> str:
    return ("#777777", *PALETTE, "#F0E442")[i % 8]


def save_png_and_svg(figure: Any, path: Path) -> Path:
    """Write the figure as PNG and, beside it, as SVG; returns the PNG's path."""
    save_figure(figure, path.with_suffix(".svg"))
    return save_figure(figure, path)


def save_figure(figure: Any, path: Path) -> Path:
    """Write the figure, without the name of what drew it; returns the path."""
    from matplotlib import rc_context

    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = {".png": {"Software": None}, ".svg": {"Date": None}}.get(path.suffix)
    with rc_context({"svg.hashsalt": "dris"}):  # the same bytes from the same numbers
        figure.savefig(path, metadata=drawn)
    return path


@contextmanager
def drawing_folder(folder: Path, writer: Writer) -> Iterator[Path]:
    """A temporary folder to draw into; at the end the writer puts each file into `folder`."""
    with temporary_folder() as scratch:
        yield scratch
        for path in sorted(scratch.iterdir()):
            writer.write(folder / path.name, [path.read_bytes()])
