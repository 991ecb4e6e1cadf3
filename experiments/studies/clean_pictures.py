"""The pictures of results/clean.md."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.studies.clean_noise import NOISES
from experiments.studies.clean_runs import Runs, bins_of, checks, gains

COLOURS = dict(
    zip(NOISES, ("#777777", "#08519c", "#d94801", "#238b45", "#6a51a3", "#ce1256"), strict=True)
)


def draw(runs: Runs, folder: Path) -> None:
    """Gains, reliability and harm checks of the sets that did not choose."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {"gain": (_gain, 7.5), "reliability": (_reliability, 3.6), "harm": (_harm, 3.6)}
    for name, (paint, width) in pictures.items():
        _save(paint, runs, (width, 3.4), folder / f"clean-{name}.png")


def _save(paint: Callable[[Runs, Any], None], runs: Runs, size: Any, file: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=size, layout="constrained")
    axes.grid(alpha=0.3)
    paint(runs, axes)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=6, ncols=2 if size[0] > 4 else 1)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _gain(runs: Runs, axes: Any) -> None:
    """A point a set and noise: clean less the better of everything and cleanlab's best."""
    names = runs.sets()
    for place, noise in enumerate(NOISES):
        some = {s: min(pair) for (s, n), pair in gains(runs, "clean").items() if n == noise}
        if not some:
            continue
        at = [names.index(s) + (place - 2.5) / 9 for s in some]
        axes.plot(at, list(some.values()), "o", ms=4, color=COLOURS[noise], label=NOISES[noise][0])
    axes.axhline(0, color="black", lw=0.8)
    axes.axhline(-1, color="black", lw=0.8, ls=":")
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=7)
    axes.set_ylabel("points, clean less the better of\neverything and cleanlab's best", fontsize=8)


def _reliability(runs: Runs, axes: Any) -> None:
    """Share wrong against the mean of P(wrong), by tenths of it."""
    for noise in NOISES:
        count, total, wrong = bins_of(runs.where(lambda _, n, noise=noise: n == noise))  # type: ignore[misc]
        there = count >= 20
        if not there.any():
            continue
        x, y = total[there] / count[there], wrong[there] / count[there]
        axes.plot(x, y, "o-", ms=3, lw=1, color=COLOURS[noise], label=NOISES[noise][0])
    axes.plot([0, 1], [0, 1], color="black", lw=0.8, ls=":")
    axes.set_xlabel("mean P(wrong)", fontsize=8)
    axes.set_ylabel("share wrong", fontsize=8)


def _harm(runs: Runs, axes: Any) -> None:
    """What the check said, with its error, against what was true."""
    for noise in NOISES:
        said = np.array(checks(runs.where(lambda _, n, noise=noise: n == noise)))  # type: ignore[misc]
        if said.size:
            how = {"fmt": "o", "ms": 3, "lw": 0.6, "color": COLOURS[noise]}
            axes.errorbar(said[:, 2], said[:, 0], said[:, 1], **how, label=NOISES[noise][0])
    axes.axline((0, 0), slope=1, color="black", lw=0.8, ls=":")
    axes.set_xlabel("true change in accuracy, points", fontsize=8)
    axes.set_ylabel("said by the harm check", fontsize=8)
