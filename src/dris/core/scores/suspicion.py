"""How much a label looks wrong: one number per example, behind every door.

Two views are joined by their ranks. *Out of fold*, how probable the proxies that did not train on
an example find its label; *in fold*, how surely and how early the others learned it, as the margin
averaged up to the scored epoch. The first errs where classes overlap, the second where labels are
learned by heart, seldom both. Proxies that foretell labels better count for more.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.scores.formulas import Score, aum_mean, consensus
from dris.core.scores.ranks import normalized_ranks

_ROUNDS = 50  # of raising and lowering weights; they hardly move after twenty
ODDS = 1.5  # by which another class is likelier before a label is more likely wrong than right
_EVEN = 0.5  # of all weight is shared out evenly: weights fitted to few rows are not trusted whole
_REMEMBERED = 4  # losses whose weights are remembered, by their bytes
_FITTED: dict[tuple[object, ...], NDArray[np.float64]] = {}


def suspicion(dynamics: Dynamics) -> Score:
    """How much the label that the proxies were shown looks wrong, in (0, 1]; larger is more.

    The mean of the ranks by unseen confidence and by early margin, each reversed, the second a
    mean over proxies by their weight. Without out-of-fold values the margin alone, without
    margins the mean loss rank.

    >>> d = Dynamics.from_arrays(loss=[[0.1, 2.0, 0.5]], margin=[[3.0, -1.0, 1.0]])
    >>> suspicion(d).round(2).tolist()
    [0.33, 1.0, 0.67]
    """
    if "margin" not in dynamics.columns:
        return normalized_ranks(consensus(dynamics))
    confident = unseen_confidence(dynamics)
    if confident is None:
        return normalized_ranks(-early_margin(dynamics))
    early = dynamics if dynamics.is_summary else dynamics.until(dynamics.scored_epoch)
    weights = proxy_weights(dynamics)
    by_margin = sum(
        weight * normalized_ranks(-aum_mean(early.only([k]))) for k, weight in enumerate(weights)
    )
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


def proxy_weights(dynamics: Dynamics) -> NDArray[np.float64]:
    """How much each proxy counts, K numbers that add up to 1.

    Half is shared out evenly, half so that the mixture finds the shown labels most probable out of
    fold (the maximum likelihood weights of a mixture, by expectation maximization). Equal without
    out-of-fold values.

    >>> good, bad = np.log(1 / np.array([[0.9, 0.9], [0.5, 0.5]]))
    >>> d = Dynamics.from_losses([good, bad])
    >>> twin = Dynamics(d.columns, d.ids, d.epochs, 1, out_of_fold=d)
    >>> proxy_weights(twin).round(2).tolist()
    [0.75, 0.25]
    """
    weights = np.full(dynamics.proxies, 1 / dynamics.proxies)
    if dynamics.out_of_fold is None:
        return weights
    loss = np.ascontiguousarray(dynamics.out_of_fold.snapshot("loss"))
    # A decision asks half a dozen times, and to look the answer up costs a hundredth.
    key = (*loss.shape, loss.dtype.str, hashlib.sha256(loss.data).digest())
    if key not in _FITTED:
        own = np.exp(-loss.astype(np.float64)) + 1e-9
        own = own[:, np.lexsort(own)]  # so that no bit depends on the order of the examples
        fitted = weights
        for _ in range(_ROUNDS):
            shares = fitted[:, None] * own
            fitted = (shares / shares.sum(axis=0)).mean(axis=1)
        while len(_FITTED) >= _REMEMBERED:
            _FITTED.pop(next(iter(_FITTED)), None)
        _FITTED[key] = _EVEN * weights + (1 - _EVEN) * fitted
    return _FITTED[key].copy()


def unseen_confidence(dynamics: Dynamics) -> Score | None:
    """How probable proxies that did not train on an example find its shown label; None if unknown.

    >>> unseen_confidence(Dynamics.from_losses(np.eye(2))) is None
    True
    """
    if dynamics.out_of_fold is None:
        return None
    loss = dynamics.out_of_fold.snapshot("loss").astype(np.float64)
    weights = proxy_weights(dynamics)[:, None]
    return np.asarray((weights * np.exp(-loss)).sum(axis=0))  # a product of BLAS rounds by place


def unseen_probabilities(
    dynamics: Dynamics, classes: int | None = None
) -> NDArray[np.float64] | None:
    """Class probabilities out of fold, (N, C), mean over proxies by weight; None if unknown.

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
    for k, weight in enumerate(proxy_weights(dynamics)):
        lost = loss[k].astype(np.float64)
        own = np.exp(-lost)
        # As one exponent: of a row far from all others the label's may be 0, the rival's 1.
        other = np.minimum(np.exp(np.minimum(-lost - margin[k], 0)), 1 - own)
        rest = np.maximum(1 - own - other, 0) / max(classes - 2, 1)
        one = np.repeat(rest[:, None], classes, axis=1)
        one[at, labels] = own
        one[at, rival[k]] = other
        found += weight * one
    return found


def class_cuts(
    probabilities: NDArray[np.floating], shown: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Of each class, how improbable its label may be before it is called wrong; −1 for never.

    First, how many of the examples that carry a class's label are wrong (confident learning,
    Northcutt et al. 2021): an example counts for the likeliest of the classes that it is at least
    as probably as their own examples are on average. Then the cut that as many lie below.

    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9], [0.3, 0.7], [0.2, 0.8]])
    >>> class_cuts(p, np.array([0, 0, 0, 1, 1, 1])).tolist()
    [0.2, -1.0]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    classes = p.shape[1]
    sizes = np.bincount(shown, minlength=classes)
    own = np.take_along_axis(p, shown[:, None], axis=1)[:, 0]
    sure = p >= usual_confidence(p, shown) - 1e-12
    counted = sure.any(axis=1)
    seen = np.where(sure, p, -1.0).argmax(axis=1)
    joint = np.zeros((classes, classes))
    np.add.at(joint, (shown[counted], seen[counted]), 1.0)
    right, looked = np.diag(joint), joint.sum(axis=1)
    wrong = np.where(looked > 0, 1 - right / np.maximum(looked, 1), 0.0) * sizes
    cuts = np.full(classes, -1.0)
    for label in np.flatnonzero(np.rint(wrong) >= 1):
        count = min(int(np.rint(wrong[label])), int(sizes[label]) - 1)
        if count:
            cuts[label] = np.partition(own[shown == label], count - 1)[count - 1]
    return cuts


def unlikely_labels(
    probabilities: NDArray[np.floating],
    labels: NDArray[np.int64],
    shown: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Where a label is more likely wrong than right.

    Out of fold another class is likelier. With more than two classes one must also be more than
    half as likely again, each beside what it is among its own examples on average. With two the
    label must be among the least probable of its class, as many as are wrong there (`class_cuts`):
    so under heavy noise a label goes as soon as the other is likelier, and where nothing is wrong
    hard examples stay.

    Args:
        probabilities: (N, C), of proxies that did not train on the example.
        labels: The labels to judge.
        shown: The labels that the proxies were asked about, by which classes are compared.

    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9], [0.3, 0.7], [0.2, 0.8]])
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> unlikely_labels(p, y, y).tolist()
    [False, False, True, False, False, False]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    contradicted = likelier_elsewhere(p, labels)
    if p.shape[1] > 2:
        return contradicted & likelier_elsewhere(p / usual_confidence(p, shown), labels, ODDS)
    given = np.take_along_axis(p, labels[:, None], axis=1)[:, 0]
    return contradicted & (given <= class_cuts(p, shown)[labels])


def doubtful_labels(
    probabilities: NDArray[np.floating],
    labels: NDArray[np.int64],
    shown: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Where another class is likelier, as it is and beside what is usual for either.

    Not yet more likely wrong than right, and no place to look for the hard and right.

    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.45, 0.55], [0.3, 0.7]])
    >>> doubtful_labels(p, np.array([0, 0, 0, 1]), np.array([0, 0, 0, 1])).tolist()
    [False, False, True, False]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    beside = likelier_elsewhere(p / usual_confidence(p, shown), labels)
    return likelier_elsewhere(p, labels) & beside


def likelier_elsewhere(
    values: NDArray[np.float64], labels: NDArray[np.int64], times: float = 1.0
) -> NDArray[np.bool_]:
    """Where another class has more than so many times the label's value."""
    given = np.take_along_axis(values, labels[:, None], axis=1)[:, 0]
    others = values.copy()
    np.put_along_axis(others, labels[:, None], -np.inf, axis=1)
    return np.asarray(others.max(axis=1) > times * given)


def usual_confidence(p: NDArray[np.float64], shown: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of each class, how probable it is among the examples that carry it; infinite if none do."""
    sizes = np.bincount(shown, minlength=p.shape[1])
    own = np.take_along_axis(p, shown[:, None], axis=1)[:, 0]
    means = np.bincount(shown, weights=own, minlength=p.shape[1]) / np.maximum(sizes, 1)
    return np.where((sizes > 0) & (means > 0), means, np.inf)
