"""The synthetic study in R^20 (paper, table 10): four samplers under four kinds of label noise.

    python -m dris.bench.paper.synthetic --out results

N = 2,000 with labels by a hyperplane, 1,000 test examples, 200 epochs of one-example steps, five
seeds; about a minute of one CPU core. Claims tested: uniform noise at 10 % costs the samplers
about ten points and DR-IS forty; targeted noise turns every separator around. What the paper
leaves open, and every reading tried: docs/decisions/15-synthetic-study.md.
"""

import argparse
import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dris
from dris.bench.figures import synthetic_figure
from dris.bench.paper_values import SYNTHETIC
from dris.bench.statistics import mean_std
from dris.core.diagnostics import contamination
from dris.core.noise import NoisyLabels, flip_labels
from dris.core.ranks import rank_variance
from dris.core.sampling import Importance, importance
from dris.core.selection import keep_top
from dris.core.streams import seed_for
from dris.data.synthetic import hyperplane_mixture
from dris.learn.hinge import (
    Floats,
    HingeRecipe,
    Plans,
    Visits,
    by_plan,
    descend,
    gradient_norms,
    in_passes,
    losses,
    margins,
    together,
)

PROXIES, KEEP, SMOOTHING = 4, 0.25, 0.1
# Column: the kind of noise and its rate. The paper's four first, then our second reading of
# "targeted": the longest x, which is the gradient norm of a model at zero.
COLUMNS: dict[str, tuple[str, float]] = {
    "clean": ("none", 0.0),
    "uniform 10 %": ("uniform", 0.1),
    "targeted 10 %": ("gradient", 0.1),
    "targeted 25 %": ("gradient", 0.25),
    "longest 10 %": ("length", 0.1),
    "longest 25 %": ("length", 0.25),
}
# The column of the paper's table that each of ours stands beside.
PRINTED = dict(zip(COLUMNS, (0, 1, 2, 3, 2, 3), strict=True))


@dataclass(frozen=True, slots=True)
class Runs:
    """All seeds × columns, stacked: x (run, example, feature), labels ±1, who is rare, streams."""

    x: Floats
    sign: Floats
    rare: NDArray[np.bool_]
    noisy: tuple[NoisyLabels, ...]
    seeds: tuple[int, ...]

    def streams(self, *names: str | int) -> list[int]:
        """A seed for each run, the same in all columns: methods differ in nothing else."""
        return [seed_for(seed, "synthetic", *names) for seed in self.seeds]


def make_runs(
    seeds: int, examples: int, recipe: HingeRecipe
) -> tuple[Runs, Floats, NDArray[np.int64], Floats]:
    """The runs, the test examples and labels of each seed, and each seed's attacker."""
    train = [hyperplane_mixture(examples, seed=s, split="train") for s in range(seeds)]
    test = [hyperplane_mixture(1000, seed=s, split="test") for s in range(seeds)]
    x = np.stack([m.x for m in train]).astype(np.float64)
    true = np.stack([m.y for m in train])
    order = [seed_for(s, "synthetic", "attacker") for s in range(seeds)]
    everything = [np.arange(examples)] * seeds
    sign: Floats = np.where(true == 1, 1.0, -1.0)
    attacker = descend(x, sign, in_passes(everything, examples, order), recipe=recipe)
    norms = {
        "gradient": gradient_norms(attacker, x, sign),
        "length": np.linalg.norm(x, axis=2),
    }
    noisy = [
        _noise(true[s], kind, rate, s, norms[kind][s] if kind in norms else None)
        for s in range(seeds)
        for kind, rate in COLUMNS.values()
    ]
    runs = Runs(
        np.repeat(x, len(COLUMNS), axis=0),
        np.stack([np.where(n.given == 1, 1.0, -1.0) for n in noisy]),
        np.repeat(np.stack([m.rare for m in train]), len(COLUMNS), axis=0),
        tuple(noisy),
        tuple(s for s in range(seeds) for _ in COLUMNS),
    )
    return runs, np.stack([m.x for m in test]), np.stack([m.y for m in test]), attacker


def _noise(
    y: NDArray[np.int64], kind: str, rate: float, seed: int, norms: Floats | None
) -> NoisyLabels:
    if kind == "none":
        return NoisyLabels(y, y, {"kind": "none"})
    if norms is None:
        return flip_labels(y, rate, kind=kind, seed=seed)
    return flip_labels(y, rate, kind="targeted", norms=norms, seed=seed)


def proxy_losses(runs: Runs, recipe: HingeRecipe) -> Floats:
    """(proxy, run, example) losses after half of the epochs; proxies differ in their order."""
    half = HingeRecipe(max(recipe.epochs // 2, 1), recipe.base_rate, recipe.regularization)
    total = runs.x.shape[1]
    everything = [np.arange(total)] * len(runs.x)
    visits = [in_passes(everything, total, runs.streams("proxy", k)) for k in range(PROXIES)]
    return np.stack([losses(margins(w, runs.x, runs.sign)) for w in train(runs, visits, half)])


def train(runs: Runs, visits: Sequence[Visits], recipe: HingeRecipe) -> Floats:
    """Weights (visits, run, feature) of one model per run and way of visiting, all at once."""
    x, sign = np.tile(runs.x, (len(visits), 1, 1)), np.tile(runs.sign, (len(visits), 1))
    weights = descend(x, sign, together(visits, len(runs.x)), recipe=recipe)
    return weights.reshape(len(visits), len(runs.x), -1)


def methods(runs: Runs, proxies: Floats) -> dict[str, Visits]:
    """Each row of the table by name: what its target visits."""
    total, seeds = runs.x.shape[1], runs.streams("target")
    variance = [rank_variance(proxies[:, r]) for r in range(len(runs.x))]
    of_losses = [proxies[:, r].var(axis=0) for r in range(len(runs.x))]

    def passes(scores: Sequence[Floats]) -> Visits:
        kept = [
            keep_top(s, fraction=KEEP, seed=seed).indices
            for s, seed in zip(scores, runs.seeds, strict=True)
        ]
        return in_passes(kept, total, seeds)

    def frozen(exponent: float) -> Plans:
        plans = [_plan(v, exponent) for v in variance]
        return lambda weights: plans

    def standard(exponent: float) -> Plans:
        return lambda weights: [
            _plan(s, exponent) for s in gradient_norms(weights, runs.x, runs.sign)
        ]

    def by_loss(exponent: float) -> Plans:
        return lambda weights: [
            _plan(s, exponent) for s in losses(margins(weights, runs.x, runs.sign))
        ]

    rows = {"uniform": in_passes([np.arange(total)] * len(runs.x), total, seeds)}
    for name, plans in (("standard_is", standard), ("loss_is", by_loss), ("dris_online", frozen)):
        rows[f"{name}, weighted"] = by_plan(plans(1.0), total, seeds)
        rows[f"{name}, unweighted"] = by_plan(plans(0.0), total, seeds)
    rows["dris_static"] = passes(variance)
    rows["loss_variance_static"] = passes(of_losses)
    return rows


def _plan(score: Floats, exponent: float) -> Importance:
    # When nothing is told apart any more, all margins at 1 or past it, draws are uniform.
    score = score if score.max() > 0 else np.ones_like(score)
    return importance(score, smoothing=SMOOTHING, weight_exponent=exponent)


def run(
    *,
    seeds: int = 5,
    examples: int = 2000,
    recipe: HingeRecipe | None = None,
    figure: Path | None = None,
) -> dict[str, Any]:
    """Every method on every column and seed; draws the figure where `figure` says."""
    recipe = recipe or HingeRecipe()
    runs, test_x, test_y, attacker = make_runs(seeds, examples, recipe)
    proxies = proxy_losses(runs, recipe)
    accuracy: dict[str, dict[str, list[float]]] = {}
    rows = methods(runs, proxies)
    for name, weights in zip(rows, train(runs, list(rows.values()), recipe), strict=True):
        each = weights.reshape(seeds, len(COLUMNS), -1)
        right = (np.einsum("snf,scf->scn", test_x, each) > 0) == (test_y[:, None] == 1)
        reached = 100 * right.mean(axis=2)
        accuracy[name] = {c: reached[:, j].tolist() for j, c in enumerate(COLUMNS)}
    if figure is not None:
        _draw(runs, attacker, accuracy, figure)
    return {
        "seeds": seeds,
        "examples": examples,
        "recipe": asdict(recipe),
        "proxies": PROXIES,
        "keep": KEEP,
        "smoothing": SMOOTHING,
        "accuracy": {n: {c: _summary(v) for c, v in row.items()} for n, row in accuracy.items()},
        "disagreement": disagreement(runs, proxies, attacker),
        "versions": {
            "dris": dris.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def disagreement(
    runs: Runs, proxies: Floats, attacker: Floats
) -> dict[str, dict[str, dict[str, Any]]]:
    """By noisy column: what was flipped, rank variance of clean and corrupted, both quarters."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for j, column in enumerate(COLUMNS):
        here: dict[str, list[float]] = {}
        for r in range(j, len(runs.x), len(COLUMNS)):
            bad, seed = runs.noisy[r].flipped, runs.seeds[r]
            if not bad.any():
                continue
            true = np.where(runs.noisy[r].true == 1, 1.0, -1.0)
            wrong = true * (runs.x[r] @ attacker[seed]) < 0
            variance, by_loss = rank_variance(proxies[:, r]), proxies[:, r].var(axis=0)
            values = {
                "corrupted in the data": float(bad.mean()),
                "rare among the corrupted": float(runs.rare[r, bad].mean()),
                "attacker wrong among the corrupted": float(wrong[bad].mean()),
                "corrupted in DR-IS's quarter": _contamination(variance, bad, seed),
                "corrupted in loss variance's quarter": _contamination(by_loss, bad, seed),
                "rank variance, clean": float(variance[~bad].mean()),
                "rank variance, corrupted": float(variance[bad].mean()),
            }
            for name, value in values.items():
                here.setdefault(name, []).append(value)
        if here:
            found[column] = {name: _summary(values) for name, values in here.items()}
    return found


def _contamination(score: Floats, bad: NDArray[np.bool_], seed: int) -> float:
    return contamination(keep_top(score, fraction=KEEP, seed=seed).indices, bad)


def _summary(values: Sequence[float]) -> dict[str, Any]:
    mean, std = mean_std(values)
    return {"mean": mean, "std": std, "n": len(values), "values": list(values)}


def printed(method: str, column: str) -> tuple[float, float] | None:
    """The paper's mean and standard deviation beside a cell of ours, where it has one."""
    if method == "loss_variance_static":
        return None
    row = "dris" if method.startswith("dris") else method.split(",")[0]
    return SYNTHETIC[row][PRINTED[column]]


def table(found: Mapping[str, Any]) -> str:
    """Two tables as Markdown: accuracies beside the paper's, and how the proxies disagree."""
    lines = [
        f"Test accuracy in %, mean ± std over {found['seeds']} seeds; the paper's in brackets.",
        "",
        "| method | " + " | ".join(COLUMNS) + " |",
        "|---|" + "---:|" * len(COLUMNS),
    ]
    for method, row in found["accuracy"].items():
        cells = []
        for column, cell in row.items():
            paper = printed(method, column)
            beside = "" if paper is None else f" [{paper[0]:.2f} ± {paper[1]:.2f}]"
            cells.append(f"{cell['mean']:.2f} ± {cell['std']:.2f} ({cell['n']}){beside}")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    columns = found["disagreement"]
    lines += ["", "| what is flipped, what is kept | " + " | ".join(columns) + " |"]
    lines.append("|---|" + "---:|" * len(columns))
    for name in next(iter(columns.values())):
        cells = [f"{c[name]['mean']:.4f} ± {c[name]['std']:.4f}" for c in columns.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _draw(
    runs: Runs, attacker: Floats, accuracy: Mapping[str, Mapping[str, list[float]]], path: Path
) -> None:
    """The first seed's data with what both attackers flip, and all accuracies."""
    columns = list(COLUMNS)
    x, distance = runs.x[0], runs.x[0] @ attacker[0] / np.linalg.norm(attacker[0])
    scatters = {
        column: (distance, np.linalg.norm(x, axis=1), runs.noisy[columns.index(column)].flipped)
        for column in ("targeted 10 %", "longest 10 %")
    }
    bars = {c: {m: row[c] for m, row in accuracy.items()} for c in COLUMNS}
    marks = {c: {m: p[0] for m in accuracy if (p := printed(m, c))} for c in COLUMNS}
    synthetic_figure(scatters, bars, marks, path)


def main() -> None:
    """Run from the command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results"))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    found = run(seeds=asked.seeds, figure=asked.out / "synthetic.png")
    (asked.out / "synthetic.json").write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))  # noqa: T201
    print(f"\n{time.monotonic() - begin:.0f} s, wrote {asked.out / 'synthetic.json'}")  # noqa: T201


if __name__ == "__main__":
    main()
