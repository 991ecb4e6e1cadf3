"""What an ensemble's disagreement looks like as it grows, beside the AUM of one proxy."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris import SCORES, Dynamics, keep_top, rank_variance
from experiments.assumptions import contamination, empirical_gap
from experiments.dris_internals import auroc
from experiments.kinds.shared import Finding, corrupt_cell, proxies_of, record_time
from experiments.spec import Cell
from experiments.workspace import Workspace, load_examples

RULES = ("random", "el2n", "consensus", "aum", "rank_variance")
BINS = 40


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """Gap and histograms for growing K, contamination of each rule's subset, of each ensemble."""
    for cell in cells:
        seconds: dict[str, float] = {}
        data = load_examples(cell.source, workspace)
        noisy = corrupt_cell(cell, data, workspace)
        with record_time(seconds, "proxies"):
            dynamics = proxies_of(cell, data, noisy.given, workspace, cell.ensemble.count)
        yield Finding(cell, measured(dynamics, noisy.flipped, cell.keep, cell.seed), seconds)


def measured(dynamics: Dynamics, bad: NDArray[np.bool_], keep: float, seed: int) -> dict[str, Any]:
    """What a record keeps of an ensemble under a known corruption."""
    gap = empirical_gap(dynamics, bad)
    losses = dynamics.snapshot("loss")
    scores = {rule: SCORES[rule](dynamics) for rule in RULES}
    accuracy = [made["test_accuracy"] for made in dynamics.provenance["proxies"]]
    return {
        "gap": gap.raw.tolist(),
        "gap_corrected": gap.corrected.tolist(),
        "radius": gap.radius.tolist(),
        "histograms": {
            str(k): histogram(rank_variance(losses[:k]), bad) for k in sizes(len(losses))
        },
        "aum_histogram": histogram(scores["aum"], bad),
        "aum_spread": float(scores["aum"].std()),
        "contamination": {
            rule: contamination(keep_top(score, fraction=keep, seed=seed).indices, bad)
            for rule, score in scores.items()
        },
        "auroc_of_clean": {rule: auroc(score, ~bad) for rule, score in scores.items()},
        "proxy_accuracy": float(np.mean(accuracy)),
    }


def sizes(largest: int) -> list[int]:
    """The ensemble sizes that are drawn: powers of two from 2 on.

    >>> sizes(8)
    [2, 4, 8]
    """
    return [2**power for power in range(1, largest.bit_length()) if 2**power <= largest]


def histogram(score: NDArray[np.float64], bad: NDArray[np.bool_]) -> dict[str, Any]:
    """Shares of the clean and of the corrupted by bin, and the ends of the bins.

    What lies past the 0.1 and 99.9 % quantiles counts in the first and last bin.

    >>> histogram(np.array([0.0, 1.0, 1.0]), np.array([True, False, False]))["clean"][-1]
    1.0
    """
    score = np.clip(score, *np.quantile(score, [0.001, 0.999]))
    edges = np.histogram_bin_edges(score, BINS)
    shares = {
        name: (np.histogram(score[mask], edges)[0] / max(int(mask.sum()), 1)).round(5).tolist()
        for name, mask in (("clean", ~bad), ("corrupted", bad))
    }
    return {"low": float(edges[0]), "high": float(edges[-1]), **shares}
