"""How many proxies: rank variance of nested ensembles as K doubles (paper, figure 1; item 3).

    python -m experiments kablation --scale cpu

K copies of one network, so that they are draws from one distribution as Theorem 1 asks, on the
first data set under targeted 10 %; smaller K are the first of them. K goes to 32 at paper
(ResNet-20), to 16 at cpu (the small CNN), to 4 at smoke; one proxy has no variance and is drawn as
zero. Cost: seconds at smoke; at cpu about 7 minutes of one core per seed; at paper 32 proxies per
seed. No target is trained.
Claims tested: clean examples disagree more than corrupted ones from K = 2 on, the gap outgrows the
McDiarmid radius, all of the data show two modes from K = 8, a quarter by rank variance already
rejects at K = 2; and ours, that corrected by K/(K − 1) the gap does not grow.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.kinds.ensemble_cell import EDGES
from experiments.paper.breakdown import attack, ensemble_cell_of
from experiments.records import Records
from experiments.results.claims import Claim, above, together, untestable, within
from experiments.results.figures import CLEAN, CORRUPTED, save_png_and_svg
from experiments.results.reading import Result, constant, ensemble_values
from experiments.results.statistics import mean_std
from experiments.results.table import Table
from experiments.scales import Scale
from experiments.spec import Cell

RATE = 0.1
COLUMNS = {
    "gap": "gap, clean − corrupted",
    "corrected": "gap · K/(K − 1)",
    "paper": "radius (paper's)",
    "tight": "radius (tighter)",
    "contamination": "corrupt in DR-IS's quarter",
    "auroc": "AUROC of clean",
}


def cells(scale: Scale) -> list[Cell]:
    """One large ensemble per seed."""
    setup = scale.setups[0]
    ensemble = replace(setup.ensemble, models=setup.ensemble.models[:1], count=scale.proxies)
    return [
        ensemble_cell_of(replace(setup, ensemble=ensemble), attack(RATE), seed, "plain")
        for seed in range(scale.seeds)
    ]


def sizes(records: Records) -> list[int]:
    """Every K that was measured."""
    return sorted({k for row in records.rows for k in row["result"]["nested"]["proxies"]})


def at(records: Records, what: str, k: int) -> dict[int, Any]:
    """One measure of the first k proxies, by seed."""

    def pick(result: Result) -> Any:
        return result["nested"][what][result["nested"]["proxies"].index(k)]

    return ensemble_values(records, pick)


def tables(records: Records) -> Sequence[Table]:
    """The gap and the radii by K, and what rank variance then does."""
    return [
        Table(
            f"{attack(RATE)}: nested ensembles, one proxy counted as zero",
            [f"K = {k}" for k in sizes(records)],
            list(COLUMNS.values()),
            {
                (f"K = {k}", title): [v for v in at(records, what, k).values() if v is not None]
                for k in sizes(records)
                for what, title in COLUMNS.items()
            },
            best=None,
            percent=False,
            digits=4,
        )
    ]


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Histograms by K, seeds added up, and the gap against both radii."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5), layout="constrained", dpi=90)
    shown = sizes(records)
    parts: Any = figure.subfigures(1, 2, width_ratios=(3, 2))
    left, right = parts
    grid = left.subplots(2, (len(shown) + 1) // 2, sharex=True, sharey=True, squeeze=False)
    for axes, k in zip(grid.flat, shown, strict=False):
        _histograms(axes, records, k)
    for upper, below in zip(grid[0], grid[1], strict=True):
        if not below.lines and not below.patches:
            below.set_visible(False)
            upper.tick_params(labelbottom=True)
    for axes in grid[:, 0]:
        axes.set_ylabel("share of the group (log)")
    left.supxlabel("rank variance (last bin: all above)", fontsize="medium")
    grid.flat[0].legend(frameon=False)
    _gap(right.subplots(), records, shown)
    return [save_png_and_svg(figure, folder / "kablation.png")]


def _histograms(axes: Any, records: Records, k: int) -> None:
    looks: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("clean", CLEAN, {"fill": True, "alpha": 0.5}),
        ("corrupted", CORRUPTED, {"linewidth": 1.5}),
    )
    for group, colour, look in looks:
        counts = [sum(column) for column in zip(*at(records, group, k).values(), strict=True)]
        shares = [count / sum(counts) for count in counts]
        axes.stairs(shares, EDGES, color=colour, label=group, **look)
    axes.set(yscale="log", ylim=(1e-4, 1.5), title=f"K = {k}")


def _gap(axes: Any, records: Records, shown: Sequence[int]) -> None:
    lines = (
        ("gap", "gap, raw", "o-", CLEAN),
        ("corrected", "gap · K/(K − 1)", "s--", CLEAN),
        ("paper", "McDiarmid radius, paper's", "--", "#333333"),
        ("tight", "McDiarmid radius, tighter", ":", "#333333"),
    )
    for what, label, form, colour in lines:
        drawn = shown if what == "gap" else [k for k in shown if k > 1]
        stats = [mean_std(list(at(records, what, k).values())) for k in drawn]
        means, stds = [m for m, _ in stats], [s for _, s in stats]
        axes.errorbar(drawn, means, yerr=stds, fmt=form, color=colour, label=label, ms=4)
    axes.axhline(0.25, color=CORRUPTED, linewidth=1, label="largest variance a rank can have")
    axes.set_xscale("log", base=2)
    axes.set_xticks(shown, [str(k) for k in shown])
    axes.set_yscale("symlog", linthresh=0.01)
    ticks = [0, 0.005, 0.01, 0.03, 0.1, 0.3, 1, 3]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.set(xlabel="K, proxies", title="gap of mean rank variance, clean − corrupted")
    axes.set_ylim(bottom=1.3 * min(0.0, axes.dataLim.y0) - 0.001)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize="small", loc="center")


def claims(records: Records) -> Sequence[Claim]:
    """The paper's reading of figure 1."""
    several = [k for k in sizes(records) if k > 1]
    largest = several[-1]

    def depth(k: int) -> dict[int, float]:
        clean, corrupted = at(records, "clean", k), at(records, "corrupted", k)
        return {
            s: valley([a + b for a, b in zip(clean[s], corrupted[s], strict=True)]) for s in clean
        }

    gap, dirt = at(records, "gap", largest), at(records, "contamination", 2)
    zero = constant(0.0, gap)
    bimodal = "all of the data show two modes at K = 8 (a valley a tenth below the lower)"
    ratio = {
        s: v / at(records, "corrected", 2)[s] for s, v in at(records, "corrected", largest).items()
    }
    return [
        together(
            "mean rank variance of clean above that of corrupted from K = 2 on",
            [above(f"K = {k}", at(records, "gap", k), zero, unit="") for k in several],
        ),
        above(
            f"K = {largest}: the gap outpaces the McDiarmid radius (no rank variance exceeds 0.25)",
            gap,
            at(records, "paper", largest),
            unit="",
        ),
        above(bimodal, depth(8), constant(0.1, gap), unit="")
        if 8 in several
        else untestable(bimodal, f"K goes to {largest}"),
        above("K = 2 already keeps less corruption than chance", constant(RATE, dirt), dirt),
        within(
            f"ours: the gap times K/(K − 1) does not grow, K = {largest} over K = 2 within 25 %",
            ratio,
            constant(1.0, ratio),
            0.25,
        ),
    ]


def valley(counts: Sequence[int]) -> float:
    """How far the deepest valley lies below the lower of its two peaks, as a share of that peak.

    Peaks under a twentieth of the highest are noise; zero means one mode. Counts are smoothed
    over three bins first, and the last bin, which holds all above, is left out.

    >>> valley([9, 9, 9, 1, 1, 1, 6, 6, 6, 0]), valley([9, 8, 7, 5, 3, 2, 1, 0])
    (0.8333333333333334, 0.0)
    """
    inner = counts[:-1]
    smooth = [
        sum(part) / len(part) for i in range(len(inner)) if (part := inner[max(0, i - 1) : i + 2])
    ]
    deepest = 0.0
    for i in range(1, len(smooth) - 1):
        peak = min(max(smooth[:i]), max(smooth[i + 1 :]))
        if peak >= 0.05 * max(smooth):
            deepest = max(deepest, 1 - smooth[i] / peak)
    return deepest
