"""The three pictures of docs/how-it-works.md: python tools/how_it_works.py (seconds)."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dris
from dris.core.streams import rng_for

IMAGES = Path(__file__).parents[1] / "docs" / "images"
CLEAN, WRONG, CANARY = "#3b7a9e", "#c8553d", "#e0a030"


def main() -> None:
    """Train on digits of which a fifth is flipped, and draw."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    noisy = dris.flip_labels(y, 0.2, seed=0)
    canaries = dris.plant_canaries(noisy.given, share=0.1, rng=rng_for(0, "pictures"))
    plain = dris.train_proxies(x, noisy.given, proxies=3, epochs=20, seed=0)
    planted = dris.train_proxies(x, canaries.planted, proxies=3, epochs=20, seed=0, cross_fit=4)
    twin = planted.out_of_fold
    assert twin is not None
    margin = twin.column("margin").mean(axis=(0, 1))
    flipped, canary = noisy.flipped, canaries.mask()
    variance = dris.SCORES["rank_variance"](plain)
    _histogram(
        "how-rank-variance.png",
        "rank variance over three proxies",
        {"clean": (variance[~flipped], CLEAN), "flipped": (variance[flipped], WRONG)},
    )
    _histogram(
        "how-canaries.png",
        "mean margin by proxies that never saw the example",
        {
            "clean": (margin[~flipped & ~canary], CLEAN),
            "flipped, unknown to dris": (margin[flipped & ~canary], WRONG),
            "canaries, planted by dris": (margin[canary], CANARY),
        },
    )
    _gate(margin, canary)


def _axes(label: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained", dpi=100)
    axes = figure.subplots()
    axes.set_xlabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _histogram(name: str, label: str, groups: dict[str, tuple[NDArray[np.float64], str]]) -> None:
    figure, axes = _axes(label)
    every = np.concatenate([values for values, _ in groups.values()])
    bins = np.linspace(*np.quantile(every, [0, 0.97]), 50)
    for title, (values, colour) in groups.items():
        axes.hist(values, bins, density=True, color=colour, alpha=0.6, label=title)
    axes.set_yticks([])
    axes.set_ylabel("density")
    axes.legend(frameon=False)
    figure.savefig(IMAGES / name)


def _gate(margin: NDArray[np.float64], canary: NDArray[np.bool_]) -> None:
    figure, axes = _axes("cut on the margin")
    cuts = np.linspace(*np.quantile(margin, [0.01, 0.99]), 200)
    for mask, colour, title in ((~canary, CLEAN, "everything else"), (canary, CANARY, "canaries")):
        passed = [(margin[mask] > cut).mean() for cut in cuts]
        axes.plot(cuts, passed, color=colour, label=f"{title} above the cut")
    gate = float(np.quantile(margin[canary], 0.95))
    axes.axvline(gate, color="grey", linestyle=":", label="stops 95 % of the canaries")
    axes.set_ylabel("share that passes")
    axes.set_ylim(0, 1)
    axes.legend(frameon=False)
    figure.savefig(IMAGES / "how-gate.png")


if __name__ == "__main__":
    main()
