"""Three alike against three different proxies (paper, table 7 and figure 3; item 9).

    python -m experiments diversity --scale cpu

K1 is three ResNet-20, K2 three MobileNetV2 ×0.5, K3 one of each and a ShuffleNetV2 ×0.5, on the
first data set under targeted 25 %, keep fraction 0.25; seven networks train, for K3 takes one from
each of the others. At cpu they see the shared 16-pixel images for 4 epochs of an 8-epoch cosine
and are scored there; at paper 40 epochs, scored at 20; at smoke fully connected and linear
networks stand in for them.
Cost: seconds at smoke; at cpu about 12 minutes of one core per seed; at paper seven proxies and
four targets of 25 GPU-minutes per seed.
Claims tested: every configuration works (DR-IS above Random, contamination far below ε), they do
equally well, K1 has the largest boundary disagreement, the intervals overlap, the largest
disagreement of a corrupted example exceeds the boundary's median, train accuracies are alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from experiments.dris_internals import Recipe
from experiments.paper.breakdown import ensemble_cell_of
from experiments.paper.pruning import ATTACK, static
from experiments.records import Records
from experiments.results.claims import Claim, Outcome, above, together, untestable, within
from experiments.results.figures import PALETTE, save_png_and_svg
from experiments.results.paper_values import DIVERSITY
from experiments.results.reading import Result, constant, ensemble_values, pick_at
from experiments.results.statistics import mean_std
from experiments.results.table import Table
from experiments.scales import SCALES, Scale, Setup
from experiments.spec import Cell

CUTS = {
    "cpu": "8,000 of the 50,000 training images at 16 × 16 pixels and 5,000 test images; the "
    "paper's networks as proxies for 4 epochs of an 8-epoch cosine, scored there, in place of 40; "
    "small CNNs for attacker (6 epochs) and targets (8 epochs of steps, without augmentation) in "
    "place of the paper's networks (20 and 160 epochs)",
}
CONFIGURATIONS = ("K1", "K2", "K3")
CPU_RECIPE = Recipe(8, 128, 0.05, scored_epoch=4, stop_epoch=4)


def cells(scale: Scale) -> list[Cell]:
    """DR-IS with each ensemble, the ensembles themselves, and Random."""
    setup = scale.setups[0]
    return [
        cell
        for seed in range(scale.seeds)
        for cell in [
            static(setup, ATTACK, "random", seed),
            *(
                cell
                for made in setups(scale)
                for cell in (
                    ensemble_cell_of(made, ATTACK, seed, "plain"),
                    static(made, ATTACK, "rank_variance", seed),
                )
            ),
        ]
    ]


def setups(scale: Scale) -> list[Setup]:
    """The first setup with K1, K2 and K3 in place of its proxies."""
    setup = scale.setups[0]
    first, second, _ = scale.heterogeneous
    recipe = CPU_RECIPE if scale.name == "cpu" else setup.ensemble.recipe
    return [
        replace(setup, ensemble=replace(setup.ensemble, models=models, count=3, recipe=recipe))
        for models in ((first,), (second,), scale.heterogeneous)
    ]


def ensembles(records: Records) -> dict[str, str]:
    """K1, K2 and K3 as the rows call them."""
    made = setups(SCALES[records.scale])
    return {name: str(setup.ensemble) for name, setup in zip(CONFIGURATIONS, made, strict=True)}


def reached(records: Records, proxies: str) -> dict[int, float]:
    """Accuracy of DR-IS with these proxies."""
    return records.by_seed("accuracy", rule="rank_variance", proxies=proxies)


MEASURES: Mapping[str, Callable[[Result], float]] = {
    "corrupt in the subset": pick_at("contamination", "rank_variance"),
    "τ̂²_corr": pick_at("tau2_corrupted"),
    "τ̂²_bdry": lambda result: result["tau2_boundary"][0],
    "τ̂²_bdry, 95 % from": lambda result: result["tau2_boundary"][1],
    "to": lambda result: result["tau2_boundary"][2],
    "proxies' training accuracy": pick_at("fits"),
    "proxies' test accuracy": pick_at("test_accuracy"),
}
_SHARES = list(MEASURES)[-2:]


def tables(records: Records) -> Sequence[Table]:
    """What the configurations reach in per cent, then the measures of their ensembles."""
    known = ensembles(records)
    result = {
        (name, what): list(ensemble_values(records, pick, proxies=proxies).values())
        for name, proxies in known.items()
        for what, pick in MEASURES.items()
    }
    accuracy = {(n, "test accuracy"): list(reached(records, p).values()) for n, p in known.items()}
    random = {("Random", "test accuracy"): records.values("accuracy", rule="random")}
    printed = {
        (name, what): value
        for name in CONFIGURATIONS
        for what, value in zip(
            ("test accuracy", *list(MEASURES)[:3], _SHARES[0]), DIVERSITY[name], strict=True
        )
        if value is not None
    }
    told = "; ".join(f"{name} = {proxies}" for name, proxies in known.items())
    return [
        Table(
            f"DR-IS's targets and the proxies, {ATTACK} (%); {told}",
            [*CONFIGURATIONS, "Random"],
            ["test accuracy", *_SHARES],
            {**accuracy, **result, **random},
            printed,
            best=None,
        ),
        Table(
            "The ensembles' measures; the interval is a bootstrap's, its ends averaged over seeds",
            CONFIGURATIONS,
            [what for what in MEASURES if what not in _SHARES],
            result,
            printed,
            best=None,
            percent=False,
            digits=4,
        ),
    ]


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Boundary disagreement with its intervals, seed by seed, and accuracy against Random's."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained", dpi=90)
    left, right = figure.subplots(1, 2)
    known = ensembles(records)
    for at, (name, proxies) in enumerate(known.items()):
        rows = records.where(kind="ensemble", proxies=proxies)
        for shift, row in zip(_spread(len(rows)), rows, strict=True):
            mid, low, high = row["result"]["tau2_boundary"]
            left.errorbar(
                at + shift, mid, [[mid - low], [high - mid]], fmt="o", color=PALETTE[0], capsize=3
            )
        points = [100 * value for value in reached(records, proxies).values()]
        if points:
            mean, std = mean_std(points)
            right.bar(at, mean, 0.6, yerr=std, color=PALETTE[0], alpha=0.6)
            right.plot([at] * len(points), points, "k.", markersize=5)
        for axes, mark in ((left, DIVERSITY[name][3]), (right, DIVERSITY[name][0])):
            axes.plot(at + 0.36, (mark or (0,))[0], "D", color="black", mfc="none")
    right.plot([], [], "D", color="black", mfc="none", label="paper")
    random = records.values("accuracy", rule="random")
    if random:
        right.axhline(100 * mean_std(random)[0], color=PALETTE[1], ls="--", label="Random, here")
    for axes in (left, right):
        axes.set_xticks(range(3), known)
    left.set(title="boundary disagreement", ylabel="τ̂²_bdry, 95 % bootstrap interval")
    left.set_ylim(bottom=0)
    right.set(title="DR-IS", ylabel="test accuracy, %")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return [save_png_and_svg(figure, folder / "diversity.png")]


def _spread(n: int) -> list[float]:
    return [0.12 * (i - (n - 1) / 2) for i in range(n)]


def claims(records: Records) -> Sequence[Claim]:
    """The paper's findings of the ablation."""
    known = ensembles(records)
    random = records.by_seed("accuracy", rule="random")
    accuracy = {name: reached(records, proxies) for name, proxies in known.items()}

    def measure(what: str, name: str) -> dict[int, float]:
        return ensemble_values(records, MEASURES[what], proxies=known[name])

    dirt = {name: measure("corrupt in the subset", name) for name in known}
    return [
        together(
            "DR-IS above Random in every configuration",
            [above(name, accuracy[name], random) for name in known],
        ),
        together(
            "every configuration keeps less than half of chance, 12.5 % (paper: 6.4 to 7.7 %)",
            [above(name, constant(0.125, dirt[name]), dirt[name]) for name in known],
        ),
        together(
            "homogeneous ensembles reach what the heterogeneous one does, within 2.5 points",
            [
                within(f"{name} and K3", accuracy[name], accuracy["K3"], 0.025)
                for name in ("K1", "K2")
            ],
        ),
        together(
            "K1 has the largest boundary disagreement",
            [
                above(f"over {name}", measure("τ̂²_bdry", "K1"), measure("τ̂²_bdry", name), unit="")
                for name in ("K2", "K3")
            ],
        ),
        overlap(records, known),
        together(
            "the largest disagreement of a corrupted example exceeds the boundary's median",
            [
                above(name, measure("τ̂²_corr", name), measure("τ̂²_bdry", name), unit="")
                for name in known
            ],
        ),
        within(
            "the proxies of K1 and K2 reach training accuracies within 2.3 points",
            measure(_SHARES[0], "K1"),
            measure(_SHARES[0], "K2"),
            0.023,
        ),
    ]


def overlap(records: Records, known: Mapping[str, str]) -> Claim:
    """Whether the bootstrap intervals of every two configurations overlap, seed by seed."""
    text = "the intervals of boundary disagreement overlap"
    ends = {
        name: {
            row["seed"]: row["result"]["tau2_boundary"][1:]
            for row in records.where(kind="ensemble", proxies=proxies)
        }
        for name, proxies in known.items()
    }
    pairs = [
        ends[a][seed][0] <= ends[b][seed][1] and ends[b][seed][0] <= ends[a][seed][1]
        for a, b in combinations(known, 2)
        for seed in set(ends[a]) & set(ends[b])
    ]
    if not pairs:
        return untestable(text, "no two configurations under one seed")
    outcome: Outcome = "undecided"
    if all(pairs) or not any(pairs):
        outcome = "reproduced" if all(pairs) else "contradicted"
    return Claim(text, outcome, f"{sum(pairs)} of {len(pairs)} pairs of intervals overlap")
