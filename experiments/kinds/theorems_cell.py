"""What the paper's theorems need and promise, measured on an ensemble of K trained proxies.

A cell's ensemble is looked at whole and in parts: for each K its proxies are dealt into disjoint
ensembles, so that their numbers say how much one ensemble of K tells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dris import SCORES, Dynamics, keep_top
from experiments.assumptions import boundary_set, contamination, estimate_assumptions
from experiments.dris_internals import (
    auroc,
    part_of,
    rng_for,
    trainer_of,
)
from experiments.kinds.ensemble_cell import radii
from experiments.kinds.shared import Finding, corrupt_cell, proxies_of, record_time
from experiments.kinds.theorem_formulas import aum_auroc, magnitude_mass
from experiments.spec import Cell
from experiments.workspace import Loaded, Workspace, load_examples

Mask = NDArray[np.bool_]
Numbers = dict[str, float | None]
TRIM = 0.1
BOUNDARY = 0.2
"""Of the clean, by the smallest mean margin: the paper's boundary set."""
WIDE = 0.34
"""A boundary set that, up to 25 % noise, is larger than the quarter kept, as equation 6 asks."""
MAGNITUDES = ("el2n", "loss", "grand")
_MOST = 16
_PAIRS = 2_000


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """The three theorems on every cell of one group, which is one ensemble."""
    for cell in cells:
        seconds: dict[str, float] = {}
        data = load_examples(cell.source, workspace)
        if all(trainer_of(m).trains_together for m in cell.ensemble.models):
            data = flat(data)
        with record_time(seconds, "attacker"):
            noisy = corrupt_cell(cell, data, workspace)
        with record_time(seconds, "proxies"):
            dynamics = proxies_of(cell, data, noisy.given, workspace, cell.ensemble.count)
        bad = noisy.flipped
        with record_time(seconds, "measuring"):
            right = [made["test_accuracy"] for made in dynamics.provenance["proxies"]]
            result = {
                "test_accuracy": float(np.mean(right)),
                "separation": separation(dynamics, bad, cell.keep, cell.seed),
                "mass": {rule: masses(SCORES[rule](dynamics), bad) for rule in MAGNITUDES},
                "aum": aum_bound(dynamics, bad, cell.seed),
            }
        yield Finding(cell, result, seconds)


def flat(data: Loaded) -> Loaded:
    """Images as rows of numbers from 0 to 1, which stacked heads read; tables as they are."""
    if data.x.ndim == 2:
        return data
    x, test_x = (part.reshape(len(part), -1) / np.float32(255) for part in (data.x, data.test_x))
    return replace(data, x=x, test_x=test_x)


def sizes(proxies: int) -> list[int]:
    """Every K that is looked at: the paper's three, and powers of two.

    >>> sizes(16)
    [2, 3, 4, 8, 16]
    """
    return sorted({3, *(2**i for i in range(1, proxies.bit_length()))} & set(range(proxies + 1)))


def separation(
    dynamics: Dynamics, bad: Mask, keep: float, seed: int
) -> dict[str, dict[str, list[float | None]]]:
    """Theorem 1's numbers by K, one of each for every disjoint ensemble, sixteen at most."""
    result: dict[str, dict[str, list[float | None]]] = {}
    for k in sizes(dynamics.proxies):
        parts = [
            one_ensemble(dynamics.only(range(at * k, at * k + k)), bad, keep, seed)
            for at in range(min(_MOST, dynamics.proxies // k))
        ]
        result[str(k)] = {name: [part[name] for part in parts] for name in parts[0]}
    return result


def one_ensemble(dynamics: Dynamics, bad: Mask, keep: float, seed: int) -> Numbers:
    """Assumptions as estimated, Δ', equation 6's bound and what it bounds; None: cannot tell.

    Rank variances are unbiased, K/(K − 1)·σ̂². Assumption 3 is about every boundary example, the
    paper reads it as the median, which half of the set does not reach; both are here, the median
    of a wide boundary set too. `bulk_measured`, the largest variance of the least variant of the
    corrupted, is chosen and measured on the same proxies, which flatters it. `bulk_counted` is the
    least τ²/4 + γ that counting allows: no more than τN + 1 examples rank in the top τ, so that
    τ ≥ ((1 − γ)B − 1)/N for a bulk of B.
    """
    k = dynamics.proxies
    shrunk = 1 - 1 / k
    variance = SCORES["rank_variance"](dynamics)
    unbiased = variance / shrunk
    kept = keep_top(variance, fraction=keep, seed=seed, ids=dynamics.ids).indices
    corrupted = np.sort(unbiased[bad])
    bulk = len(corrupted) - part_of(TRIM, len(corrupted), "trim")
    bulk_measured = float(corrupted[:bulk].max())
    paper, tight = radii(dynamics.examples, k)
    result: Numbers = {
        "bulk_measured": bulk_measured,
        "bulk_counted": ((bulk - 1) / len(bad)) ** 2 / 4,
        "corrupted_most": float(corrupted[-1]),
        "twice_radius": 2 * paper,
        "twice_tight": 2 * tight,
        "contamination": contamination(kept, bad),
        "rejected": 1 - float(bad[kept].sum() / bad.sum()),
        **_assumed(dynamics, bad, keep),
    }
    disputed = unbiased[boundary_set(dynamics, bad, share=BOUNDARY)]
    levels = {
        "boundary": float(np.median(disputed)),
        "boundary_least": float(disputed.min()),
        "wide": float(np.median(unbiased[boundary_set(dynamics, bad, share=WIDE)])),
    }
    ceiling = result["bulk"]
    gaps = {
        f"delta_{name}": None if ceiling is None else shrunk * (level - ceiling)
        for name, level in levels.items()
    }
    measured = shrunk * (levels["boundary"] - bulk_measured)
    return {**result, **levels, **gaps, "delta_measured": measured}


def _assumed(dynamics: Dynamics, bad: Mask, keep: float) -> Numbers:
    """τ, γ and v_tail, and equation 6 at them, whether its condition is met or not."""
    guess = estimate_assumptions(dynamics, bad, trim=TRIM)
    if guess.outcome == "cannot tell":
        return dict.fromkeys(("tau", "gamma", "v_tail", "bulk", "eq6"))
    bulk = guess.tau**2 / 4 + guess.gamma
    escaping = min(1.0, guess.v_tail / bulk if bulk else 1.0)
    return {
        "tau": guess.tau,
        "gamma": guess.gamma,
        "v_tail": guess.v_tail,
        "bulk": bulk,
        "eq6": TRIM * float(bad.mean()) / keep * escaping,
    }


def masses(score: NDArray[np.float64], bad: Mask) -> dict[str, float]:
    """Theorem 2 on one magnitude score: the corrupted share of the draws and its floors."""
    result = magnitude_mass(score, bad)
    return {
        "epsilon": result.epsilon,
        "mass": result.mass,
        "mass_floor": result.mass_floor,
        "ratio": result.ratio,
        "ratio_floor": result.ratio_floor,
        "alignment": result.alignment,
    }


def aum_bound(dynamics: Dynamics, bad: Mask, seed: int) -> dict[str, float]:
    """Theorem 3: AUM's AUROC in one run, and its bound from the spreads over examples and runs.

    A sub-Gaussian scale is at least the standard deviation and at most half of the range. Both
    are estimated from these runs and some pairs, and a range only grows with more of them: what
    comes of the first is too high a bound, what comes of the second an estimate of one.
    """
    values = np.stack([SCORES["aum"](dynamics.only([k])) for k in range(dynamics.proxies)])
    mean = values.mean(axis=0)
    gap = float(mean[~bad].mean() - mean[bad].mean())
    rng = rng_for(seed, "pairs")
    pairs = (rng.choice(np.flatnonzero(part), _PAIRS) for part in (~bad, bad))
    clean, wrong = (values[:, at] - mean[at] for at in pairs)
    noise = clean - wrong
    result: dict[str, float] = {
        "auroc": float(np.mean([auroc(value, ~bad) for value in values])),
        "gap": gap,
        "spread": max(float(mean[part].std()) for part in (bad, ~bad)),
        "trajectory": float(noise.std()),
        "runs": len(values),
    }
    half = max(float(np.ptp(mean[part])) / 2 for part in (bad, ~bad))
    moves = float(np.ptp(noise, axis=0).max()) / 2
    if gap <= 0:  # the theorem speaks of a positive gap only
        return {**result, "guess": 0.0, "bound": 0.0}
    guess = aum_auroc(gap, result["spread"], result["trajectory"])
    return {**result, "guess": guess, "bound": aum_auroc(gap, half, moves)}
