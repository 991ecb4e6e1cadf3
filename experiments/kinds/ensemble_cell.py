"""What an ensemble makes of the noise: compact measures of the proxies, without any target.

A cell's rule says how far the measures go: "plain" stops at the rules that need no canaries,
"plain+gated" adds the default gated rule, whose proxies have to be trained for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris import SCORES, Dynamics, certify, keep_top
from experiments.assumptions import boundary_disagreement, contamination, corrupted_disagreement
from experiments.dris_internals import (
    TRAJECTORIES,
    NothingPassesError,
    auroc,
)
from experiments.kinds.shared import Ensembles, Finding, prepare_group, record_time
from experiments.spec import Cell
from experiments.workspace import Workspace

PLAIN = (
    "random",
    "el2n",
    "forgetting",
    "forgetting_unlearned",
    "consensus",
    "aum",
    "rank_variance",
)
EDGES = np.linspace(0, 0.1, 41)
"""Of the histograms of rank variance; the last bin also holds everything above."""

Mask = NDArray[np.bool_]


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """The measures of every cell of one group."""
    shared: dict[str, float] = {}
    _, noisy, ensembles = prepare_group(cells, workspace, shared)
    bad = noisy.flipped
    for cell in cells:
        seconds = dict(shared)
        with record_time(seconds, "proxies"):
            dynamics = ensembles.plain()
        with record_time(seconds, "measuring"):
            result = {
                **measures(dynamics, bad),
                "auroc": {rule: auroc(SCORES[rule](dynamics), ~bad) for rule in PLAIN},
                "nested": nested(dynamics, bad, cell.keep, cell.seed),
                **_by_rule(cell, ensembles, bad),
            }
        yield Finding(cell, result, seconds)


def measures(dynamics: Dynamics, bad: Mask) -> dict[str, Any]:
    """The paper's τ̂² with their interval, and what each proxy learned.

    Accuracy on the training set is that on the given labels, at the scored epoch.
    """
    boundary = boundary_disagreement(dynamics, bad)
    right = dynamics.snapshot("correct")
    return {
        "tau2_corrupted": corrupted_disagreement(dynamics, bad),
        "tau2_boundary": [boundary.median, boundary.low, boundary.high],
        "test_accuracy": [made["test_accuracy"] for made in dynamics.provenance["proxies"]],
        "fits": right.mean(axis=1).tolist(),
        "fits_clean": right[:, ~bad].mean(axis=1).tolist(),
        "fits_corrupted": right[:, bad].mean(axis=1).tolist(),
    }


def nested(dynamics: Dynamics, bad: Mask, keep: float, seed: int) -> dict[str, list[Any]]:
    """The first 1, 2, 4, … and all K proxies: how far rank variance separates (paper, fig. 1).

    One proxy has no variance: it counts as zero everywhere, and chooses nothing.
    """
    result: dict[str, list[Any]] = {"proxies": sizes_up_to(dynamics.proxies)}
    for k in result["proxies"]:
        variance = np.zeros(dynamics.examples)
        one: dict[str, Any] = {"contamination": None, "auroc": None, "paper": None, "tight": None}
        if k > 1:
            variance = SCORES["rank_variance"](dynamics.only(range(k)))
            kept = keep_top(variance, fraction=keep, seed=seed, ids=dynamics.ids)
            paper, tight = radii(dynamics.examples, k)
            one = {"contamination": contamination(kept.indices, bad), "paper": paper}
            one |= {"auroc": auroc(variance, ~bad), "tight": tight}
        one["gap"] = float(variance[~bad].mean() - variance[bad].mean())
        one["corrected"] = one["gap"] * k / (k - 1) if k > 1 else 0.0
        one |= {"clean": histogram(variance[~bad]), "corrupted": histogram(variance[bad])}
        for name, value in one.items():
            result.setdefault(name, []).append(value)
    return result


def sizes_up_to(proxies: int) -> list[int]:
    """Powers of two below K, then K.

    >>> sizes_up_to(16), sizes_up_to(3)
    ([1, 2, 4, 8, 16], [1, 2, 3])
    """
    return [*(2**i for i in range((proxies - 1).bit_length())), proxies]


def radii(n: int, k: int) -> tuple[float, float]:
    """McDiarmid's radius, the paper's and the tighter one; they depend on N and K alone.

    >>> [round(r, 2) for r in radii(50_000, 3)]
    [1.56, 1.01]
    """
    result = certify(
        n=n,
        k=k,
        tau=0,
        gamma=0,
        tau_bdry=0.5,
        boundary=0,
        keep=1,
        epsilon=0,
        alpha_trim=0,
        v_tail=0,
    )
    return result.paper.radius, result.tight.radius


def histogram(variance: NDArray[np.float64]) -> list[int]:
    """Counts between `EDGES`.

    >>> histogram(np.array([0.0, 0.001, 0.2]))[0], sum(histogram(np.array([0.2])))
    (2, 1)
    """
    counts: list[int] = np.histogram(np.minimum(variance, EDGES[-1]), EDGES)[0].tolist()
    return counts


def _by_rule(cell: Cell, ensembles: Ensembles, bad: Mask) -> dict[str, Any]:
    """Each rule's contamination, and the same had the proxies been looked at after epoch s.

    None where nothing passes a rule's gate.
    """
    dynamics = ensembles.plain()
    rules = (*PLAIN, "gated") if cell.rule == "plain+gated" else PLAIN

    def dirt(rule: str, seen: Ensembles) -> float | None:
        try:
            return contamination(seen.subset(rule, cell.keep, cell.seed).indices, bad)
        except NothingPassesError:
            return None

    def seen(epoch: int) -> Ensembles:
        return replace(
            ensembles,
            plain=lambda: until(dynamics, epoch),
            planted=lambda: until(ensembles.planted(), epoch),
        )

    return {
        "contamination": {rule: dirt(rule, ensembles) for rule in rules},
        "epochs": list(dynamics.epochs),
        "by_epoch": {rule: [dirt(rule, seen(e)) for e in dynamics.epochs] for rule in rules},
    }


def until(dynamics: Dynamics, epoch: int) -> Dynamics:
    """The dynamics as if training had stopped after an epoch and been scored there.

    >>> until(Dynamics.from_arrays(loss=np.ones((2, 4, 3))), 2)
    Dynamics(2 proxies, 2 epochs, 3 examples; loss; scored at epoch 2)
    """
    last = dynamics.epochs.index(epoch) + 1
    columns = {
        name: column[:, :last] if name in TRAJECTORIES else column
        for name, column in dynamics.columns.items()
    }
    return replace(dynamics, columns=columns, epochs=dynamics.epochs[:last], scored_epoch=epoch)
