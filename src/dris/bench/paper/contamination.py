"""Subset contamination on CIFAR-10 under 25 % targeted noise (paper, table 2), paper's proxies.

    python -m dris.bench.paper.contamination --examples 20000 --store runs --out results

Attacker: ResNet-20, 20 epochs on the true labels. Proxies: ResNet-20, MobileNetV2 ×0.5 and
ShuffleNetV2 ×0.5 on the attacked labels, the paper's 40-epoch recipe stopped at epoch 20, where
they are scored. Cost on 2 CPU cores at 20,000 examples: more than two hours; killed, the same
command goes on. Claims tested: EL2N and consensus keep mostly corrupted examples, AUM
almost none, DR-IS few.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from dris.bench.figures import contamination_figure
from dris.bench.paper_values import CIFAR10_TARGETED_25
from dris.core.diagnostics import (
    auroc,
    boundary_disagreement,
    contamination,
    corrupted_disagreement,
)
from dris.core.dynamics import Dynamics
from dris.core.noise import NoisyLabels
from dris.core.scores import SCORES
from dris.core.selection import keep_top
from dris.core.streams import rng_for
from dris.data.known import load
from dris.learn.attack import targeted_noise
from dris.learn.proxies import train_proxies
from dris.learn.recipe import PAPER_CIFAR_ATTACKER, PAPER_CIFAR_PROXY

RULES = ("random", "el2n", "consensus", "forgetting", "aum", "aum_mean", "rank_variance")
MODELS = ("resnet20", "mobilenet_v2_x0_5", "shufflenet_v2_x0_5")


def run(
    *,
    examples: int,
    epochs: int,
    seed: int,
    store: Path,
    models: Sequence[str] = MODELS,
    data_dir: Path | None = None,
    device: str = "cpu",
    progress: Any = None,
) -> dict[str, Any]:
    """Attack, train the three proxies, and measure every rule's subset."""
    data = load("cifar10", data_dir=data_dir)
    chosen = np.sort(rng_for(seed, "cifar10", "examples").permutation(len(data.train_y))[:examples])
    x, y = data.train_x[chosen], data.train_y[chosen]
    begin = time.monotonic()
    attack = replace(PAPER_CIFAR_ATTACKER, epochs=min(epochs, 20), scored_epoch=min(epochs, 20))
    noisy = targeted_noise(
        x,
        y,
        0.25,
        model="resnet20",
        recipe=attack,
        seed=seed,
        device=device,
        store=store,
        progress=progress,
    )
    recipe = replace(PAPER_CIFAR_PROXY, scored_epoch=epochs, stop_epoch=epochs)
    dynamics = train_proxies(
        x,
        noisy.given,
        proxies=len(models),
        model=list(models),
        recipe=recipe,
        record="scored",
        seed=seed,
        test=(data.test_x, data.test_y),
        device=device,
        store=store,
        progress=progress,
    )
    found = measure(dynamics, noisy, seed)
    return {
        "examples": examples,
        "epochs": epochs,
        "seed": seed,
        "attacker": asdict(attack),
        "recipe": asdict(recipe),
        "seconds": round(time.monotonic() - begin),
        **found,
    }


def measure(dynamics: Dynamics, noisy: NoisyLabels, seed: int) -> dict[str, Any]:
    """Contamination of each rule's quarter, how well each score finds the clean, τ̂²."""
    bad = noisy.flipped
    rules = {}
    for rule in RULES:
        score = SCORES[rule](dynamics)
        subset = keep_top(score, fraction=0.25, seed=seed)
        paper = CIFAR10_TARGETED_25.get(rule, (None, None))[0]
        rules[rule] = {
            "contamination": contamination(subset.indices, bad),
            "paper": paper,
            "auroc_of_clean": auroc(score, ~bad),
        }
    right = dynamics.snapshot("correct")
    proxies = [
        {
            "model": made["model"],
            "test_accuracy": made["test_accuracy"],
            "fits_clean": float(right[k, ~bad].mean()),
            "fits_corrupted": float(right[k, bad].mean()),
        }
        for k, made in enumerate(dynamics.provenance["proxies"])
    ]
    boundary = boundary_disagreement(dynamics, bad)
    return {
        "rules": rules,
        "proxies": proxies,
        "tau2_corrupted": corrupted_disagreement(dynamics, bad),
        "tau2_boundary": [boundary.median, boundary.low, boundary.high],
    }


def table(found: dict[str, Any]) -> str:
    """The result as Markdown, the paper's full-size row beside ours."""
    lines = [
        f"N = {found['examples']:,} of 50,000, scored at epoch {found['epochs']}, "
        f"seed {found['seed']}, {found['seconds'] / 60:.0f} minutes",
        "",
        "| rule | corrupt in subset | paper (N = 50,000) | AUROC of clean |",
        "|---|---:|---:|---:|",
    ]
    for rule, row in found["rules"].items():
        paper = "" if row["paper"] is None else f"{row['paper']:.3f}"
        lines.append(
            f"| {rule} | {row['contamination']:.3f} | {paper} | {row['auroc_of_clean']:.3f} |"
        )
    lines += [
        "",
        "| proxy | clean test accuracy | fits clean | fits corrupted |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {p['model']} | {100 * p['test_accuracy']:.1f} % | {100 * p['fits_clean']:.1f} % "
        f"| {100 * p['fits_corrupted']:.1f} % |"
        for p in found["proxies"]
    ]
    return "\n".join(lines)


def main() -> None:
    """Run from the command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, default=Path("runs"))
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    found = run(
        examples=asked.examples,
        epochs=asked.epochs,
        seed=asked.seed,
        store=asked.store,
        models=asked.models,
        data_dir=asked.data_dir,
        device=asked.device,
    )
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / f"contamination-{asked.examples}-{asked.epochs}-{asked.seed}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    contamination_figure(found["rules"], path.with_suffix(".png"))
    print(table(found))  # noqa: T201
    print(f"\nwrote {path}")  # noqa: T201


if __name__ == "__main__":
    main()
