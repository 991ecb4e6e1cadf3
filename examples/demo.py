"""The main job on real digits: attack, score, select, train; `make demo`, seconds.

A quarter of the labels of scikit-learn's digits is flipped where it hurts most, by an attacker
model. Three small networks train on what is left, six rules each keep a quarter of the data by
what those networks say, and the same target trains on each subset for the same number of steps.

    python -m examples.demo [SEEDS]
"""

import sys
from dataclasses import dataclass
from statistics import mean, stdev

import dris
from experiments.datasets.catalogue import load  # digits, with a fixed test split
from experiments.networks.small_mlp import SmallMLP  # one hidden layer in NumPy
from experiments.targets.static import train_target  # as many steps as on all the data

RATE, KEEP, PROXIES = 0.25, 0.25, 3
PROXY, TARGET = SmallMLP(hidden=64, learning_rate=0.02), SmallMLP(hidden=128, learning_rate=0.05)
RULES = {  # title, and the paper's corrupt share and accuracy on CIFAR-10 with VGG-19
    "random": ("Random", "0.250", "74.7"),
    "el2n": ("EL2N", "0.866", "9.4"),
    "consensus": ("Consensus-loss", "0.871", "9.0"),
    "forgetting": ("Forgetting", "", "72.3"),
    "aum": ("AUM, top", "0.001", "79.7"),
    "rank_variance": ("DR-IS", "0.072", "81.9"),
}


@dataclass
class Result:
    """Of one rule under one seed: share of wrong labels kept, and the target's test accuracy."""

    corrupt: float
    accuracy: float


def attack(data, seed):
    """The training labels with a quarter flipped by an attacker that saw the true ones."""
    x, y = data.train_x, data.train_y
    return dris.targeted_noise(x, y, RATE, model=PROXY, epochs=20, seed=seed)


def run(data, noisy, seed):
    """Every rule's result under one seed."""
    x, n, test = data.train_x, len(data.train_y), (data.test_x, data.test_y)
    dynamics = dris.train_proxies(
        x,
        noisy.given,
        proxies=PROXIES,
        model=PROXY,
        epochs=20,
        seed=seed,
        ids=range(seed * n, (seed + 1) * n),  # so that ties are broken anew under each seed
        workers=1,
    )
    results = {}
    for rule in RULES:
        score = dris.SCORES[rule](dynamics)
        subset = dris.keep_top(score, fraction=KEEP, seed=seed, ids=dynamics.ids)
        target = train_target(TARGET, x, noisy.given, subset, epochs=30, seed=seed, test=test)
        results[rule] = Result(noisy.flipped[subset.indices].mean(), target.accuracy)
    return results


def show(results):
    """One row per rule: mean ± standard deviation over seeds, the paper's number beside it."""
    print(f"digits, targeted {RATE:.0%} label noise, K = {PROXIES} proxies, keep {KEEP:.0%};")
    print(f"mean ± std ({len(results)} seeds); paper: CIFAR-10 / VGG-19, same noise and keep\n")
    print("rule            corrupt in subset  paper  test accuracy, %  paper")
    for rule, (title, paper_corrupt, paper_accuracy) in RULES.items():
        corrupt = [seed[rule].corrupt for seed in results]
        accuracy = [100 * seed[rule].accuracy for seed in results]
        print(
            f"{title:14}      {mean(corrupt):.3f} ± {stdev(corrupt):.3f}  {paper_corrupt:>5}  "
            f"{mean(accuracy):9.1f} ± {stdev(accuracy):.1f}  {paper_accuracy:>5}"
        )


def main(seeds):
    """Attack, score, select and train under each seed; then what `dris.clean` makes of one."""
    data = load("digits")
    attacks = [attack(data, seed) for seed in range(seeds)]
    show([run(data, noisy, seed) for seed, noisy in enumerate(attacks)])
    noisy = attacks[0]
    decision = dris.clean(data.train_x, noisy.given, workers=1)
    print(
        f"\ndris.clean drops {len(noisy.given) - len(decision.kept)} of the same labels (seed 0): "
        f"{noisy.flipped.mean():.1%} of all are wrong, "
        f"{noisy.flipped[decision.kept].mean():.1%} of what it keeps."
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
