"""Proxy types on MNIST, 20 % uniform noise: single-layer networks and scikit-learn's SGD.

    python -m dris.bench.paper.mnist_proxies --proxies 8 --out results

Each ensemble is one call of `train_proxies`, 10 epochs, as in the paper's appendix "Proxy type
selection" (its two multi-seed ensembles). About five minutes on 2 CPU cores at K = 8. Claims
tested: both kinds separate clean from corrupted (positive gap), and the kind matters little.
"""

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.bench.figures import gap_figure
from dris.bench.statistics import mean_std
from dris.core.diagnostics import auroc, contamination, empirical_gap
from dris.core.dynamics import Dynamics
from dris.core.noise import flip_labels
from dris.core.scores import SCORES
from dris.core.selection import keep_top
from dris.data.known import load
from dris.learn.proxies import train_proxies
from dris.learn.recipe import PAPER_MNIST_PROXY

RULES = ("random", "el2n", "consensus", "aum", "rank_variance")


def run(*, proxies: int, seed: int, data_dir: Path | None, out: Path) -> dict[str, Any]:
    """Train both ensembles on the same noisy labels and measure them."""
    data = load("mnist", data_dir=data_dir)
    noisy = flip_labels(data.train_y, 0.2, kind="uniform", seed=seed)
    found: dict[str, Any] = {"proxies": proxies, "seed": seed, "kinds": {}}
    gaps = {}
    for kind, model in (("single-layer network", "linear"), ("SGD, log loss", "sgd_log")):
        begin = time.monotonic()
        dynamics = train_proxies(
            data.train_x,
            noisy.given,
            proxies=proxies,
            model=model,
            recipe=PAPER_MNIST_PROXY,
            seed=seed,
            test=(data.test_x, data.test_y),
        )
        gaps[kind] = empirical_gap(dynamics, noisy.flipped)
        found["kinds"][kind] = {
            "seconds": round(time.monotonic() - begin),
            **measure(dynamics, noisy.flipped, seed),
        }
    gap_figure(gaps, out / "mnist-gap.png")
    return found


def measure(dynamics: Dynamics, bad: NDArray[np.bool_], seed: int) -> dict[str, Any]:
    """Gap, contamination of each rule's quarter, accuracy of the proxies."""
    gap = empirical_gap(dynamics, bad)
    rules = {}
    for rule in RULES:
        score = SCORES[rule](dynamics)
        kept = keep_top(score, fraction=0.25, seed=seed).indices
        rules[rule] = {
            "contamination": contamination(kept, bad),
            "auroc_of_clean": auroc(score, ~bad),
        }
    accuracy = [made["test_accuracy"] for made in dynamics.provenance["proxies"]]
    return {
        "gap": gap.raw.tolist(),
        "gap_corrected": gap.corrected.tolist(),
        "rules": rules,
        "test_accuracy": accuracy,
    }


def table(found: dict[str, Any]) -> str:
    """The result as Markdown."""
    kinds = found["kinds"].values()

    def row(name: str, cells: Iterable[str]) -> str:
        return f"| {name} | " + " | ".join(cells) + " |"

    def accuracy(values: list[float]) -> str:
        mean, std = mean_std(values)
        return f"{100 * mean:.1f} % ± {100 * std:.1f} ({len(values)})"

    return "\n".join(
        [
            row(f"K = {found['proxies']}", found["kinds"]),
            "|---|" + "---:|" * len(kinds),
            row("gap Δ̂_K", (f"{k['gap'][-1]:.4f}" for k in kinds)),
            row("gap · K/(K−1)", (f"{k['gap_corrected'][-1]:.4f}" for k in kinds)),
            *(
                row(
                    f"corrupt in {rule}'s quarter",
                    (f"{k['rules'][rule]['contamination']:.3f}" for k in kinds),
                )
                for rule in RULES
            ),
            row("test accuracy", (accuracy(k["test_accuracy"]) for k in kinds)),
            row("seconds", (str(k["seconds"]) for k in kinds)),
        ]
    )


def main() -> None:
    """Run from the command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--proxies", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--data-dir", type=Path, default=None)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    found = run(proxies=asked.proxies, seed=asked.seed, data_dir=asked.data_dir, out=asked.out)
    (asked.out / "mnist-proxies.json").write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))  # noqa: T201


if __name__ == "__main__":
    main()
