"""Small real trainings, one for each regime that the verdict has to recognise.

`python tests/regimes.py 0 1 2` prints the number behind every check for these seeds: the table of
docs/decisions/17-verdict.md, from which the thresholds were read.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier

import dris
from dris.core.certify.limits import data_limits, subset_limits
from dris.core.checks.judgement import judge
from dris.core.noise.assessment import assess
from dris.core.noise.canaries import Canaries, plant_canaries, without_canaries
from dris.core.streams import rng_for
from experiments.datasets.mixture import two_cluster_mixture

KEEP = 0.25


@dataclass(frozen=True)
class Case:
    """What proxies said of planted labels, the record of what was planted, and the truth."""

    dynamics: dris.Dynamics
    canaries: Canaries
    true: np.ndarray


def network(step=0.05, width=64, batch=64):
    """The library's `mlp`, with the mini-batches inside one call per epoch: far less overhead."""
    return MLPClassifier(
        (width,), solver="sgd", learning_rate_init=step, momentum=0.9, batch_size=batch
    )


def trained(x, given, true, seed, *, model=None, proxies=3, epochs=10, share=0.08, **more) -> Case:
    """Plant uniform canaries, train on the planted labels; all examples are one call's batch."""
    canaries = plant_canaries(given, share=share, rng=rng_for(seed, "canaries"))
    dynamics = dris.train_proxies(
        x,
        canaries.planted,
        model=model or network(),
        proxies=proxies,
        epochs=epochs,
        seed=seed,
        batch_size=len(x),
        workers=1,
        **more,
    )
    return Case(dynamics, canaries, true)


def digits(seed=0, n=1797):
    x, y = load_digits(return_X_y=True)
    drawn = rng_for(seed, "draw").permutation(len(y))[:n]
    return x[drawn], y[drawn]


def clean(seed):
    x, y = digits()
    return trained(x, y, y, seed)


def small_clean(seed):
    """A quick clean draw of its own, for counting false alarms."""
    x, y = digits(seed, 900)
    return trained(x, y, y, seed, model=network(0.1, 32), epochs=10)


def uniform(seed, rate):
    x, y = digits()
    return trained(x, dris.flip_labels(y, rate, seed=seed).given, y, seed)


def targeted(seed, rate):
    x, y = digits()
    attacker = network(batch="auto")  # here a call is a mini-batch
    noisy = dris.targeted_noise(x, y, rate, model=attacker, epochs=10, seed=seed)
    return trained(x, noisy.given, y, seed)


def confusable(seed, rate):
    """Flips where a timid pilot model doubts, to the classes it considers instead."""
    x, y = digits()
    pilot = LogisticRegression(C=1e-3, max_iter=300).fit(x, y)
    noisy = dris.flip_labels(
        y, rate, kind="instance", probabilities=pilot.predict_proba(x), seed=seed
    )
    return trained(x, noisy.given, y, seed)


def heavy_tailed(seed, rate=0.1):
    """The paper's R^20 study: linear squared-hinge proxies, which the rare cluster throws about."""
    data = two_cluster_mixture(seed=seed, split="train")
    given = dris.flip_labels(data.y, rate, seed=seed).given
    linear = SGDClassifier(loss="squared_hinge", alpha=1e-3)
    return trained(
        data.x, given, data.y, seed, model=linear, proxies=4, epochs=20, standardize=False
    )


def easy(seed):
    y = np.arange(1000) % 4
    x = 8.0 * np.eye(4, 10)[y] + rng_for(seed, "clusters").normal(size=(1000, 10))
    return trained(x, y, y, seed)


def memorised(seed):
    x, y = digits(seed, 700)
    return trained(x, y, y, seed, model=network(0.1, 200), epochs=60, scored_epoch=60)


def copies(seed):
    x, y = digits(seed, 900)
    case = trained(x, y, y, seed, proxies=2)
    return Case(case.dynamics.only([0, 0, 1]), case.canaries, y)


def small_class(seed):
    x, y = digits()
    kept = np.sort(np.r_[np.flatnonzero(y != 3), np.flatnonzero(y == 3)[:12]])
    return trained(x[kept], y[kept], y[kept], seed)


REGIMES: dict[str, tuple[Callable[[int], Case], str]] = {
    "clean": (clean, "clean"),
    "uniform 10 %": (lambda seed: uniform(seed, 0.1), "moderate noise"),
    "uniform 25 %": (lambda seed: uniform(seed, 0.25), "moderate noise"),
    "uniform 40 %": (lambda seed: uniform(seed, 0.4), "heavy noise"),
    "targeted 10 %": (lambda seed: targeted(seed, 0.1), "moderate noise"),
    "targeted 25 %": (lambda seed: targeted(seed, 0.25), "moderate noise"),
    "targeted 40 %": (lambda seed: targeted(seed, 0.4), "heavy noise"),
    "confusable 25 %": (lambda seed: confusable(seed, 0.25), "natural noise"),
    "R^20, uniform 10 %": (heavy_tailed, "inverted"),
    "too easy": (easy, "too easy"),
    "memorised": (memorised, "memorised"),
    "copies": (copies, "proxies unusable"),
    "a class of twelve": (small_class, "small class"),
}


def limits_of(dynamics, kinds: Sequence[Canaries], subset):
    """The limits on a subset and on all of the data, one of each per kind of canaries."""
    corruption = data_limits(-assess(dynamics).shown.wrong, kinds)
    return subset_limits(subset, kinds, corruption), corruption


def row(name: str, seed: int, build: Callable[[int], Case]) -> str:
    """One line of the table: a mark and a number for every check."""
    case = build(seed)
    result = judge(case.dynamics, case.canaries, keep=KEEP)
    mark = {"holds": "", "fails": " ✗", "cannot tell": " ?"}
    numbers = [f"{c.number:.3g}{mark[c.outcome]}" for c in result.checks.values()]
    wrong = case.dynamics.labels != case.true
    left = limit = most = ""
    if result.subset is not None:
        limits, corruption = limits_of(case.dynamics, (case.canaries,), result.subset)
        left = f"{wrong[without_canaries(result.subset, case.canaries).indices].mean():.3f}"
        limit, most = f"{limits[0].share:.3f}", f"{corruption[0].share:.2f}"
    cells = [name, seed, result.regime, result.rule, f"{result.suspect_share:.3f}", *numbers]
    return "| " + " | ".join(map(str, [*cells, left, limit, most])) + " |"


if __name__ == "__main__":
    for regime, (build, _) in REGIMES.items():
        for number in map(int, sys.argv[1:]):
            print(row(regime, number, build), flush=True)  # noqa: T201
