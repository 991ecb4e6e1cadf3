"""CIFAR-10 under the targeted attack, three ways: what gets through, and what each costs.

    python -m experiments.studies.cifar10_ways --data FOLDER [--only heads,cnns,paper]

A quarter of the labels of 20,000 images is flipped by the paper's attacker (a small CNN here, ten
epochs), and every way learns from all of them. Then the quarter of the examples that DR-IS and AUM
keep is looked at, for

- heads: EfficientNet-Lite0's features (extra `images`), then three stacked proxies × four folds;
- cnns: three small CNNs × two folds, each stopped by the loss on its held-out half, trained in
  bfloat16 where the processor multiplies it (measured in float32, as always);
- paper: the paper's three networks. Two epochs of each are timed on a fifth of the examples and
  multiplied up to the recipe's forty on all of them; what gets through with twenty epochs on
  20,000 is recorded in results/reproduction/contamination.md.

Processor time of this process, one thread. What a way printed is kept in the store and printed from
there when the command is run again. About half an hour of one core in all, most of it "cnns".
"""

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dris import SCORES, Dynamics, keep_top, targeted_noise, train_proxies
from experiments.dris_internals import Recipe
from experiments.recipes import CIFAR_PROXY
from experiments.spec import Source
from experiments.workspace import Workspace, load_examples

RULES = {"DR-IS": "rank_variance", "AUM": "aum"}
THREE = (
    "resnet20",
    "experiments.networks.mobilenet:mobilenet_v2_x0_5",
    "experiments.networks.shufflenet:shufflenet_v2_x0_5",
)


def main() -> None:
    """Attack, train each way, print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="heads,cnns,paper")
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--store", type=Path, default=Path("bench-out/cifar10-ways"))
    asked = parser.parse_args()
    result = load_examples(Source("cifar10", asked.examples), Workspace(asked.store, asked.data))
    x, y = result.x, result.y
    recipe = Recipe(10, 128, 0.05, scored_epoch=10)
    noisy = targeted_noise(x, y, 0.25, model="small_cnn", recipe=recipe, store=asked.store)
    print(f"{len(y):,} images, {noisy.flipped.mean():.0%} of the labels flipped", flush=True)
    ways = {"heads": heads, "cnns": cnns, "paper": paper}
    for name in asked.only.split(","):
        said = asked.store / f"{name}-{len(y)}.txt"
        if not said.exists():
            text = "\n".join(ways[name](x, noisy.given, noisy.flipped)) + "\n"
            said.with_suffix(".part").write_text(text, encoding="utf-8")
            said.with_suffix(".part").rename(said)
        print(said.read_text(encoding="utf-8"), end="", flush=True)


def heads(x: NDArray[np.uint8], given: NDArray[np.int64], flipped: NDArray[np.bool_]) -> list[str]:
    """Frozen features, then stacked heads."""
    from experiments.dris_torch import extract_features, installed_encoder

    encoder = installed_encoder()
    if encoder is None:
        sys.exit("heads: the extra images is not installed")
    begin = time.process_time()
    features = extract_features(encoder[1], x, batch_size=64)
    first = time.process_time() - begin
    plain = train_proxies(features, given, workers=1)
    whole = time.process_time() - begin
    told = [tell("heads, the paper's recipe (no folds, epoch 10 of 20)", plain, flipped, whole)]
    begin = time.process_time()
    how = {"cross_fit": 4, "scored_epoch": "held_out", "patience": 4}
    folded = train_proxies(features, given, workers=1, **how)
    after = time.process_time() - begin
    what = f"heads, stopped at epoch {folded.epochs[-1]}, scored at {folded.scored_epoch}"
    told.append(tell(f"{what}, in fold", folded, flipped, first + after))
    told.append(tell(f"{what}, out of fold", folded.require_out_of_fold(), flipped, first + after))
    return [*told, f"  of which the features take {first:.0f} s, once"]


def cnns(x: NDArray[np.uint8], given: NDArray[np.int64], flipped: NDArray[np.bool_]) -> list[str]:
    """Small CNNs that stop by themselves."""
    fast = "avx512_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    recipe = Recipe(20, 128, 0.05, mixed_precision="everywhere" if fast else False)
    begin = time.process_time()
    how = {"cross_fit": 2, "scored_epoch": "held_out", "patience": 3, "recipe": recipe}
    folded = train_proxies(x, given, model="small_cnn", workers=1, **how)
    cost = time.process_time() - begin
    what = f"3 × 2 small CNNs, stopped at epoch {folded.epochs[-1]}, scored at"
    what += f" {folded.scored_epoch}" + ", in bfloat16" * fast
    return [
        tell(f"{what}, in fold", folded, flipped, cost),
        tell(f"{what}, out of fold", folded.require_out_of_fold(), flipped, cost),
    ]


def paper(x: NDArray[np.uint8], given: NDArray[np.int64], flipped: NDArray[np.bool_]) -> list[str]:
    """The paper's three networks: an epoch of each, times forty."""
    told = []
    some = np.arange(len(x) // 5)
    recipe = replace(CIFAR_PROXY, scored_epoch=1, stop_epoch=2)
    for name in THREE:
        begin = time.process_time()
        train_proxies(
            x[some], given[some], proxies=1, model=name, recipe=recipe, record="scored", workers=1
        )
        each = (time.process_time() - begin) / 2 * len(x) / len(some)
        told.append(f"{name}: {each:.0f} s an epoch, {40 * each:.0f} s for 40")
    return told


def tell(what: str, dynamics: Dynamics, flipped: NDArray[np.bool_], cost: float) -> str:
    """What is corrupt in the quarter that each rule keeps, and the cost."""
    said = []
    for title, score in RULES.items():
        kept = keep_top(SCORES[score](dynamics), fraction=0.25, ids=dynamics.ids).indices
        said.append(f"{title} {flipped[kept].mean():.3f}")
    return f"{what}: corrupt {', '.join(said)}; {cost:.0f} s of processor time"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
