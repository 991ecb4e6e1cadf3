"""How much a label looks wrong: one number per example, behind every door.

Two views are joined by their ranks. *Out of fold*, how probable the proxies that did not train on
an example find its label; *in fold*, how surely and how early the others learned it, as the margin
averaged up to the scored epoch. The first errs where classes overlap, the second where labels are
learned by heart, seldom both.
"""

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.history import Dynamics
from dris.core.scores.formulas import Score, aum_mean, consensus
from dris.core.scores.ranks import normalized_ranks

ODDS = 2.0  # how much likelier another class has to be before a label is called wrong


def suspicion(dynamics: Dynamics) -> Score:
    """How much the label that the proxies were shown looks wrong, in (0, 1]; larger is more.

    The mean of the ranks by unseen confidence and by early margin, each reversed. Without
    out-of-fold values the margin alone, without margins the mean loss rank.

    >>> d = Dynamics.from_arrays(loss=[[0.1, 2.0, 0.5]], margin=[[3.0, -1.0, 1.0]])
    >>> suspicion(d).round(2).tolist()
    [0.33, 1.0, 0.67]
    """
    if "margin" not in dynamics.columns:
        return normalized_ranks(consensus(dynamics))
    by_margin = normalized_ranks(-early_margin(dynamics))
    confident = unseen_confidence(dynamics)
    if confident is None:
        return by_margin
    return np.asarray((normalized_ranks(-confident) + by_margin) / 2)


def early_margin(dynamics: Dynamics) -> Score:
    """The margin averaged over proxies and over the epochs up to the scored one.

    Larger: learned early and surely. A summary holds the sum over all epochs only.

    >>> margin = np.array([[[0.0], [2.0], [9.0]]])
    >>> d = Dynamics.from_arrays(loss=np.ones((1, 3, 1)), margin=margin, scored_epoch=2)
    >>> early_margin(d).tolist()
    [1.0]
    """
    if dynamics.is_summary:
        return aum_mean(dynamics)
    return aum_mean(dynamics.until(dynamics.scored_epoch))


def unseen_confidence(dynamics: Dynamics) -> Score | None:
    """How probable proxies that did not train on an example find its shown label; None if unknown.

    >>> unseen_confidence(Dynamics.from_losses(np.eye(2))) is None
    True
    """
    if dynamics.out_of_fold is None:
        return None
    loss = dynamics.out_of_fold.snapshot("loss").astype(np.float64)
    return np.asarray(np.exp(-loss).mean(axis=0))


def unseen_probabilities(
    dynamics: Dynamics, classes: int | None = None
) -> NDArray[np.float64] | None:
    """Class probabilities out of fold, (N, C), mean over proxies; None where they are unknown.

    Of each proxy the shown label and its rival are known exactly, from loss and margin; what is
    left is spread evenly over the other classes.

    >>> d = Dynamics.from_arrays(loss=[[np.log(2)]], margin=[[np.log(2)]], rival=[[2]], labels=[0])
    >>> twin = Dynamics(d.columns, d.ids, d.epochs, 1, d.labels, out_of_fold=d)
    >>> unseen_probabilities(twin, 4).round(3).tolist()
    [[0.5, 0.125, 0.25, 0.125]]
    """
    twin, labels = dynamics.out_of_fold, dynamics.labels
    if twin is None or labels is None or "rival" not in twin.columns:
        return None
    loss, margin, rival = (twin.snapshot(name) for name in ("loss", "margin", "rival"))
    if classes is None:
        classes = 1 + max(int(labels.max()), int(rival.max()))
    found = np.zeros((dynamics.examples, classes))
    at = np.arange(dynamics.examples)
    for k in range(dynamics.proxies):
        own = np.exp(-loss[k].astype(np.float64))
        other = np.minimum(own * np.exp(-margin[k].astype(np.float64)), 1 - own)
        rest = np.maximum(1 - own - other, 0) / max(classes - 2, 1)
        one = np.repeat(rest[:, None], classes, axis=1)
        one[at, labels] = own
        one[at, rival[k]] = other
        found += one
    return found / dynamics.proxies


def unlikely_labels(
    probabilities: NDArray[np.floating],
    labels: NDArray[np.int64],
    shown: NDArray[np.int64],
    *,
    odds: float = ODDS,
) -> NDArray[np.bool_]:
    """Where another class is more than `odds` times as likely as the label, out of fold.

    Both relative to what is usual for their class, see `relative_to_class`.

    Args:
        probabilities: (N, C), of proxies that did not train on the example.
        labels: The labels to judge.
        shown: The labels that the proxies were shown, by which the means are taken.
        odds: How much likelier another class has to be.

    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]])
    >>> unlikely_labels(p, np.array([0, 0, 0, 1]), np.array([0, 0, 0, 1])).tolist()
    [False, True, False, False]
    """
    scaled = relative_to_class(probabilities, shown)
    given = np.take_along_axis(scaled, labels[:, None], axis=1)[:, 0].copy()
    np.put_along_axis(scaled, labels[:, None], -np.inf, axis=1)
    return np.asarray(scaled.max(axis=1) > odds * given)


def relative_to_class(
    probabilities: NDArray[np.floating], shown: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Probabilities (N, C), each divided by its class's mean over the examples shown as it.

    A class that proxies are shy of is not blamed for it. No mean counts for less than half of
    chance.

    >>> relative_to_class(np.array([[0.8, 0.2], [0.6, 0.4]]), np.array([0, 1])).round(2).tolist()
    [[1.0, 0.5], [0.75, 1.0]]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    count = p.shape[1]
    sizes = np.bincount(shown, minlength=count)
    own = np.take_along_axis(p, shown[:, None], axis=1)[:, 0]
    mean = np.bincount(shown, weights=own, minlength=count) / np.maximum(sizes, 1)
    return np.asarray(p / np.maximum(np.where(sizes > 0, mean, 1.0), 0.5 / count))
