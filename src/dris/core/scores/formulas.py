"""Every score: one float64 per example, larger is kept first, without exception.

To add one: a function of `Dynamics` here, an entry in `SCORES`, a loop version in
tests/oracles.py; the contract suite tests it from there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores import ranks
from dris.core.streams import hashed_order

Score = NDArray[np.float64]


def rank_variance(dynamics: Dynamics) -> Score:
    """DR-IS: variance over proxies of the loss rank at the scored epoch (paper, eq. 2).

    >>> rank_variance(Dynamics.from_losses([[0.1, 0.2, 0.9], [0.9, 0.2, 0.1]])).round(4).tolist()
    [0.1111, 0.0, 0.1111]
    """
    return ranks.rank_variance(dynamics.snapshot("loss"))


def consensus(dynamics: Dynamics) -> Score:
    """Mean over proxies of the loss rank; larger: all find it hard, so the corrupted first.

    >>> consensus(Dynamics.from_losses([[0.1, 0.2, 0.9], [0.9, 0.2, 0.1]])).round(4).tolist()
    [0.6667, 0.6667, 0.6667]
    """
    rows = dynamics.snapshot("loss")
    doubled = sum(ranks.doubled_ranks(row).astype(np.float64) for row in rows)  # whole, so exact
    return np.asarray(doubled / (2.0 * rows.shape[0] * rows.shape[1]))


def loss(dynamics: Dynamics) -> Score:
    """Mean over proxies of the loss at the scored epoch; larger: harder.

    >>> loss(Dynamics.from_losses([[0.0, 1.0], [1.0, 2.0]])).tolist()
    [0.5, 1.5]
    """
    return _mean_over_proxies(dynamics.snapshot("loss"))


def el2n(dynamics: Dynamics) -> Score:
    """Mean of ‖p − onehot(label)‖ at the scored epoch (Paul et al. 2021); larger: harder, or wrong.

    >>> el2n(Dynamics.from_logits([[[9.0, -9.0], [-9.0, 9.0]]], [0, 0])).round(3).tolist()
    [0.0, 1.414]
    """
    return _mean_over_proxies(dynamics.snapshot("error_norm"))


def grand(dynamics: Dynamics) -> Score:
    """Mean of the last-layer gradient norm at the scored epoch (GraNd); larger: a larger step.

    >>> grand(Dynamics.from_arrays(loss=np.eye(2), gradient_norm=[[1.0, 0.0], [3.0, 0.0]])).tolist()
    [2.0, 0.0]
    """
    return _mean_over_proxies(dynamics.snapshot("gradient_norm"))


def aum(dynamics: Dynamics) -> Score:
    """The first proxy's margin averaged over epochs (Pleiss et al. 2020); larger: learned early.

    >>> aum(Dynamics.from_arrays(loss=np.ones((1, 2, 1)), margin=[[[1.0], [4.0]]])).tolist()
    [2.5]
    """
    return aum_mean(dynamics.only([0]))


def aum_mean(dynamics: Dynamics) -> Score:
    """AUM averaged over all proxies; larger: learned early and surely.

    >>> margin = [[[1.0], [4.0]], [[0.0], [0.0]]]
    >>> aum_mean(Dynamics.from_arrays(loss=np.ones((2, 2, 1)), margin=margin)).tolist()
    [1.25]
    """
    dynamics.column("margin")
    totals = dynamics.totals()
    return _mean_over_proxies(_present(totals.margin)) / totals.epochs


def forgetting(dynamics: Dynamics) -> Score:
    """How often the example was right, then wrong, mean over proxies; the never-learned count 0.

    >>> right = [[[True, False], [False, False], [True, False]]]
    >>> forgetting(Dynamics.from_arrays(loss=np.ones((1, 3, 2)), correct=right)).tolist()
    [1.0, 0.0]
    """
    dynamics.column("correct")
    return _mean_over_proxies(_present(dynamics.totals().forgotten))


def forgetting_unlearned(dynamics: Dynamics) -> Score:
    """Forgetting as Toneva et al. (2019) count it: the never-learned as forgotten in every epoch.

    >>> right = [[[True, False], [False, False], [True, False]]]
    >>> forgetting_unlearned(Dynamics.from_arrays(loss=np.ones((1, 3, 2)), correct=right)).tolist()
    [1.0, 3.0]
    """
    dynamics.column("correct")
    totals = dynamics.totals()
    counts = np.where(_present(totals.learned), _present(totals.forgotten), totals.epochs)
    return _mean_over_proxies(counts)


def self_confidence(dynamics: Dynamics) -> Score:
    """Mean over proxies of the probability given to the label; larger: the label looks right.

    >>> self_confidence(Dynamics.from_probabilities([[[0.8, 0.2]]], [0])).round(3).tolist()
    [0.8]
    """
    return _mean_over_proxies(np.exp(-dynamics.snapshot("loss").astype(np.float64)))


def confident_learning(dynamics: Dynamics) -> Score:
    """Self-confidence less its mean over the same given label (Northcutt et al. 2021).

    Larger: the label looks right. Meant for out-of-fold predictions.

    >>> p = [[[0.8, 0.2], [0.6, 0.4], [0.5, 0.5]]]
    >>> confident_learning(Dynamics.from_probabilities(p, [0, 0, 1])).round(3).tolist()
    [0.1, -0.1, 0.0]
    """
    if dynamics.labels is None:
        raise InputError("class thresholds need labels, these dynamics hold none; pass labels=")
    confidence = self_confidence(dynamics)
    score = confidence.copy()
    for label in np.unique(dynamics.labels):
        same = dynamics.labels == label
        score[same] -= np.sort(confidence[same]).mean()  # sorted: no trace of the order
    return score


def hybrid(dynamics: Dynamics, *, beta: float = 0.5, scaled: bool = False) -> Score:
    """β·gradient norm + (1 − β)·rank variance (paper, appendix "Hybrid score ablation").

    Larger: a larger step or more disagreement. β = 0 is DR-IS. `scaled` brings the norms to the
    variance's range first, so that neither drowns the other.

    >>> d = Dynamics.from_arrays(loss=[[0.0, 1.0], [1.0, 0.0]], gradient_norm=np.ones((2, 2)))
    >>> hybrid(d, beta=0.5).tolist()
    [0.53125, 0.53125]
    """
    if not 0 <= beta <= 1:
        raise InputError(f"beta must be in [0, 1], got {beta}")
    norm, variance = grand(dynamics), rank_variance(dynamics)
    if scaled and norm.max() > 0:
        norm = norm * (variance.max() / norm.max())
    return beta * norm + (1 - beta) * variance


def random(dynamics: Dynamics, *, seed: int = 0) -> Score:
    """A number in [0, 1) from (seed, id): the control, the same wherever the example stands.

    >>> random(Dynamics.from_losses(np.eye(2), ids=["a", "b"])).round(2).tolist()
    [0.42, 0.35]
    """
    return (hashed_order(dynamics.ids, seed) >> np.uint64(11)).astype(np.float64) * 2.0**-53


SCORES: dict[str, Callable[..., Score]] = {
    score.__name__: score
    for score in (
        *(rank_variance, consensus, loss, el2n, grand, aum, aum_mean),
        *(forgetting, forgetting_unlearned, self_confidence, confident_learning),
        *(hybrid, random),
    )
}
"""Every score by its name: a function of a `Dynamics`, one number per example, larger kept first.

    dris.SCORES["rank_variance"](dynamics)
"""


EXTRA_COLUMNS = {"grand": "gradient_norm", "hybrid": "gradient_norm"}
"""The column that a score needs beyond what proxies record by default."""


def _mean_over_proxies(values: NDArray[np.generic]) -> Score:
    """The mean of (K, N) over K, sorted and added row by row: no trace of the proxies' order."""
    ordered = np.sort(values.astype(np.float64), axis=0)
    total = np.zeros(ordered.shape[1])
    for row in ordered:
        total += row
    return total / len(ordered)


def _present(total: NDArray[Any] | None) -> NDArray[Any]:
    if total is None:
        raise InputError("these dynamics hold no totals for this score; record every epoch")
    return total
