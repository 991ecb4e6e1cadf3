"""How much a label looks wrong, one number per example, and the label that proxies would give.

Two views are joined by their ranks. *Out of fold*, how probable the proxies that did not train on
an example find its label; *in fold*, how surely and how early the others learned it, as the margin
averaged up to the scored epoch. The first errs where classes overlap, the second where labels are
memorised, seldom both. Proxies with a smaller out-of-fold loss count for more.
"""

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import Score, aum_mean, consensus
from dris.core.scores.ranks import normalized_ranks

_ROUNDS = 50  # of expectation maximization; weights hardly move after twenty
_EVEN_SHARE = 0.5  # of all weight is shared out evenly: weights fitted to few rows are not trusted


def proxy_weights(dynamics: Dynamics) -> NDArray[np.float64]:
    """How much each proxy counts, K numbers that sum to 1.

    Half is shared out evenly, half so that the mixture finds the labels most probable out of fold
    (the maximum likelihood weights of a mixture). Equal without out-of-fold values.
    """
    even = np.full(dynamics.proxies, 1 / dynamics.proxies)
    if dynamics.out_of_fold is None:
        return even
    own = np.exp(-dynamics.out_of_fold.snapshot("loss").astype(np.float64)) + 1e-9
    own = own[:, np.lexsort(own)]  # so that no bit depends on the order of the examples
    fitted = even
    for _ in range(_ROUNDS):
        shares = fitted[:, None] * own
        fitted = (shares / shares.sum(axis=0)).mean(axis=1)
    return _EVEN_SHARE * even + (1 - _EVEN_SHARE) * fitted


def suspicion(dynamics: Dynamics, weights: NDArray[np.float64]) -> Score:
    """How much the label that the proxies were asked about looks wrong, in (0, 1].

    Larger is more suspicious. The mean of the ranks by out-of-fold confidence and by early margin,
    each reversed, the second a mean over proxies by their weight. Without out-of-fold values the
    margin alone, without margins the mean loss rank.
    """
    if "margin" not in dynamics.columns:
        return normalized_ranks(consensus(dynamics))
    confident = out_of_fold_confidence(dynamics, weights)
    if confident is None:
        return normalized_ranks(-early_margin(dynamics))
    early = dynamics if dynamics.is_summary else dynamics.until(dynamics.scored_epoch)
    by_margin = sum(
        weight * normalized_ranks(-aum_mean(early.only([k]))) for k, weight in enumerate(weights)
    )
    return np.asarray((normalized_ranks(-confident) + by_margin) / 2)


def early_margin(dynamics: Dynamics) -> Score:
    """The margin averaged over proxies and over the epochs up to the scored one.

    Larger: learned early and surely. A summary holds the sum over all epochs only.
    """
    if dynamics.is_summary:
        return aum_mean(dynamics)
    return aum_mean(dynamics.until(dynamics.scored_epoch))


def out_of_fold_confidence(dynamics: Dynamics, weights: NDArray[np.float64]) -> Score | None:
    """How probable proxies that did not train on an example find its label; None without folds."""
    if dynamics.out_of_fold is None:
        return None
    loss = dynamics.out_of_fold.snapshot("loss").astype(np.float64)
    # A product of BLAS would round by place.
    return np.asarray((weights[:, None] * np.exp(-loss)).sum(axis=0))


def out_of_fold_probabilities(
    dynamics: Dynamics, weights: NDArray[np.float64], classes: int | None = None
) -> NDArray[np.float64] | None:
    """Class probabilities out of fold, (N, C), mean over proxies by weight; None if unknown.

    Of each proxy the label and its rival are known exactly, from loss and margin; what is left is
    spread evenly over the other classes.
    """
    side, labels = dynamics.out_of_fold, dynamics.labels
    if side is None or labels is None or "rival" not in side.columns:
        return None
    loss, margin, rival = (side.snapshot(name) for name in ("loss", "margin", "rival"))
    if classes is None:
        classes = 1 + max(int(labels.max()), int(rival.max()))
    mean = np.zeros((dynamics.examples, classes))
    at = np.arange(dynamics.examples)
    for k, weight in enumerate(weights):
        lost = loss[k].astype(np.float64)
        own = np.exp(-lost)
        # As one exponent: of a row far from all others the label's may be 0, the rival's 1.
        other = np.minimum(np.exp(np.minimum(-lost - margin[k], 0)), 1 - own)
        rest = np.maximum(1 - own - other, 0) / max(classes - 2, 1)
        one = np.repeat(rest[:, None], classes, axis=1)
        one[at, labels] = own
        one[at, rival[k]] = other
        mean += weight * one
    return mean


def guesses(dynamics: Dynamics) -> NDArray[np.int64]:
    """What each proxy would give at the scored epoch, (K, N)."""
    labels = np.asarray(dynamics.labels, dtype=np.int64)
    rival = dynamics.snapshot("rival").astype(np.int64)
    return np.where(dynamics.snapshot("correct"), labels, rival)


def suggested_labels(dynamics: Dynamics) -> NDArray[np.int64]:
    """The class that most proxies would give at the scored epoch, one per example.

    A proxy gives the label where it is right and the label's rival where not. Between classes
    with equally many votes the larger summed margin decides, then the smaller number. Needs
    labels and the column rival.
    """
    if dynamics.labels is None:
        raise InputError("suggestions need labels, these dynamics hold none; pass labels=")
    guess = guesses(dynamics)
    strength = np.abs(dynamics.snapshot("margin").astype(np.float64))
    best = np.full(dynamics.examples, -1, dtype=np.int64)
    most, strongest = np.zeros(best.size), np.zeros(best.size)
    for own in guess:
        same = guess == own
        votes, summed = same.sum(axis=0), np.where(same, strength, 0.0).sum(axis=0)
        level = (votes == most) & (summed == strongest)
        wins = (votes > most) | ((votes == most) & (summed > strongest)) | (level & (own < best))
        best[wins], most[wins], strongest[wins] = own[wins], votes[wins], summed[wins]
    return best


def contradicted_by_most(right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where at least half of the proxies give another label: a suspect where there are no folds."""
    return np.asarray(right.mean(axis=0) <= 0.5)
