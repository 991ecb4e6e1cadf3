"""The pictures of clean.py, drawn from its record alone."""

from collections.abc import Sequence
from pathlib import Path

from experiments.studies.clean_cells import SLACK, Cell, behind, checks, grouped
from experiments.studies.clean_noise import NOISES
from experiments.studies.clean_sets import SETS

COLOURS = dict(
    zip(NOISES, ("#888888", "#9ecae1", "#4292c6", "#08519c", "#e6850e", "#b5179e"), strict=True)
)


def draw(cells: Sequence[Cell], folder: Path) -> None:
    """Both pictures, into a folder."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    _gain(cells, folder / "clean-gain.png")
    _harm(cells, folder / "clean-harm.png")


def _gain(cells: Sequence[Cell], file: Path) -> None:
    """Clean less the better of everything and cleanlab: a dot per set and noise."""
    from matplotlib import pyplot

    groups = grouped(cells)
    names = [name for name in SETS if any(name == key[0] for key in groups)]
    figure, axis = pyplot.subplots(figsize=(7.5, 0.36 * len(names) + 1.5), layout="constrained")
    axis.margins(y=0.01)
    axis.axvspan(-SLACK, 0, color="#eeeeee", zorder=0)
    axis.axvline(0, color="black", linewidth=0.8)
    for place, (noise, title) in enumerate(NOISES.items()):
        at = [(behind(groups[n, noise]), i) for i, n in enumerate(names) if (n, noise) in groups]
        # Side by side within a row: dots that agree would hide each other.
        heights = [i + 0.11 * (place - 2.5) for _, i in at]
        axis.scatter([x for x, _ in at], heights, s=22, color=COLOURS[noise], label=title, zorder=3)
    axis.set_yticks(range(len(names)), [f"{n} *" if SETS[n].chose else n for n in names])
    axis.invert_yaxis()
    axis.grid(axis="y", linewidth=0.3)
    axis.set_xlabel("dris clean less the better of everything and cleanlab, points of accuracy")
    axis.set_title("Grey: within a point below.  * chose the rules", fontsize=9, loc="left")
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def _harm(cells: Sequence[Cell], file: Path) -> None:
    """Said against true, plain on the left, beyond chance on the right."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.2), layout="constrained", sharey=True)
    titles = {"plain": "agreement with given labels", "chance": "agreement beyond chance"}
    for axis, (which, title) in zip(axes, titles.items(), strict=True):
        result = checks(cells, which)
        for noise, name in NOISES.items():
            some = [(said, true) for said, _, true, cell, _ in result if cell["noise"] == noise]
            axis.scatter(
                *zip(*some, strict=True), s=12, color=COLOURS[noise], label=name, alpha=0.7
            )
        axis.axhline(0, color="black", linewidth=0.7)
        axis.axvline(0, color="black", linewidth=0.7)
        axis.axline((0, 0), slope=1, color="black", linewidth=0.6, linestyle=":")
        axis.set_xlabel(f"said, by {title}, points")
    axes[0].set_ylabel("true change of test accuracy, points")
    axes[1].legend(fontsize=8, loc="lower right")
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
