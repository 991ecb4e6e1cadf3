"""What the ensemble thinks of every label, computed once after training: whatever decides reads it.

For each example: how much its label looks wrong, whether it is a suspect, and the label that the
ensemble would give. Canaries carry two labels, so there are two sides: `shown`, the labels that the
proxies were asked about, by which rows are chosen and limits computed, and `given`, the data's own,
by which people are told what looks wrong.

Two views are joined by their ranks. *Out of fold*, how probable the proxies that did not train on
an example find its label; *in fold*, how surely and how early the others learned it, as the margin
averaged up to the scored epoch. The first errs where classes overlap, the second where labels are
memorised, seldom both. Proxies with a smaller out-of-fold loss count for more.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.noise_rate import NoiseRate, estimate_noise_rate
from dris.core.scores.formulas import Score, aum_mean, consensus
from dris.core.scores.ranks import normalized_ranks

Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
SUSPECT_ODDS = 1.5  # by which another class must be likelier before a label is a suspect
NO_SUGGESTION = -1
_ROUNDS = 50  # of expectation maximization; weights hardly move after twenty
_EVEN_SHARE = 0.5  # of all weight is shared out evenly: weights fitted to few rows are not trusted


@dataclass(frozen=True, slots=True, eq=False)
class LabelSide:
    """One label per example and what the ensemble thinks of it."""

    labels: Labels | None  # 0..C-1
    # how much the label looks wrong, in (0, 1]; larger is more. A mean of ranks: it orders labels
    # and is no probability
    suspicion: Score
    suspects: Mask  # true where the label is more likely wrong than right


@dataclass(frozen=True, eq=False)
class Assessment:
    """What the ensemble thinks of every label."""

    # of the labels that the proxies were asked about; canaries carry a flipped one
    shown: LabelSide
    given: LabelSide  # of the data's own labels
    suggested: Labels  # the label that the ensemble would give, 0..C-1; -1 where that is unknown
    against: Labels  # how many proxies give another label than the given one
    planted: Mask  # true for canaries
    weights: Floats  # how much each proxy counts, K numbers that sum to 1
    probabilities: Floats | None  # out of fold, (N, C); None without folds

    @cached_property
    def noise_rate(self) -> NoiseRate | None:
        """The share of wrong labels as a range, canaries aside; None without folds."""
        if self.probabilities is None or self.given.labels is None:
            return None
        own = ~self.planted
        return estimate_noise_rate(self.probabilities[own], self.given.labels[own])

    @property
    def contradicted(self) -> Mask:
        """True where the ensemble finds another class likelier out of fold than the given label."""
        if self.probabilities is None:
            return np.zeros(self.planted.size, dtype=np.bool_)
        return np.asarray(self.probabilities.argmax(axis=1) != self.given.labels)


def assess(
    dynamics: Dynamics,
    *,
    view: Dynamics | None = None,
    given: Labels | None = None,
    planted: Mask | None = None,
    classes: int | None = None,
    odds: float = SUSPECT_ODDS,
) -> Assessment:
    """Compute what the ensemble thinks of every label.

    Args:
        dynamics: What the proxies recorded, out of fold as well where there are folds.
        view: What choosing may look at, where that is less.
        given: The data's own labels; those of the dynamics unless given.
        planted: True for canaries, whose given label is another one than the dynamics'.
        classes: C; by the largest label unless given.
        odds: See `find_suspects`.

    >>> d = Dynamics.from_logits(np.array([[[3.0, 0.0], [0.0, 2.0]]]), labels=[0, 0])
    >>> assess(d).given.suspects.tolist()
    [False, True]
    """
    seen = dynamics if view is None else view
    labels = dynamics.labels
    own = labels if given is None else given
    mark = np.zeros(dynamics.examples, dtype=np.bool_) if planted is None else planted
    weights = proxy_weights(dynamics)
    p = out_of_fold_probabilities(dynamics, weights, classes)
    of_shown = suspicion(seen, weights)
    of_given = of_shown if seen is dynamics else suspicion(dynamics, weights)
    right = _right(dynamics, mark, own)
    if p is not None and labels is not None and own is not None:
        suggested = np.asarray(p.argmax(axis=1), dtype=np.int64)
        shown_suspects = find_suspects(p, labels, labels, odds)
        given_suspects = find_suspects(p, own, labels, odds) if mark.any() else shown_suspects
    else:
        suggested = np.full(dynamics.examples, NO_SUGGESTION, dtype=np.int64)
        if "rival" in dynamics.columns:
            suggested = suggested_labels(dynamics)
        shown_suspects = given_suspects = np.zeros(dynamics.examples, dtype=np.bool_)
        if "correct" in seen.columns:
            shown_suspects = contradicted_by_most(seen.snapshot("correct"))
        if right is not None:
            given_suspects = contradicted_by_most(right)
    if mark.any() and own is not None and "rival" in dynamics.columns:
        of_given = _of_given_labels(of_given, dynamics, mark, own, p)
    against = np.zeros(dynamics.examples, dtype=np.int64)
    if right is not None:
        against = (~right).sum(axis=0)
    return Assessment(
        shown=LabelSide(labels, of_shown, shown_suspects),
        given=LabelSide(own, of_given, given_suspects),
        suggested=suggested,
        against=against,
        planted=mark,
        weights=weights,
        probabilities=p,
    )


def find_suspects(
    probabilities: NDArray[np.floating], labels: Labels, shown: Labels, odds: float = SUSPECT_ODDS
) -> Mask:
    """Where a label is more likely wrong than right.

    Out of fold another class is likelier. With more than two classes one must also be more than
    `odds` times as likely, each beside what it is among its own examples on average. With two the
    label must be among the least probable of its class, as many as are wrong there (`class_cuts`):
    so under heavy noise a label goes as soon as the other is likelier, and where nothing is wrong
    hard examples stay.

    Args:
        probabilities: (N, C), of proxies that did not train on the example.
        labels: The labels to assess.
        shown: The labels that the proxies were asked about, by which classes are compared.
        odds: Larger finds fewer; of no effect with two classes.

    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9], [0.3, 0.7], [0.2, 0.8]])
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> find_suspects(p, y, y).tolist()
    [False, False, True, False, False, False]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.shape[1] > 2:
        return find_outmatched(p, labels, shown, odds)
    given = np.take_along_axis(p, labels[:, None], axis=1)[:, 0]
    return _likelier_elsewhere(p, labels) & (given <= class_cuts(p, shown)[labels])


def find_outmatched(
    probabilities: NDArray[np.floating], labels: Labels, shown: Labels, odds: float = 1.0
) -> Mask:
    """Where another class is likelier, as it is and `odds` times beside what is usual for either.

    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.45, 0.55], [0.3, 0.7]])
    >>> find_outmatched(p, np.array([0, 0, 0, 1]), np.array([0, 0, 0, 1])).tolist()
    [False, False, True, False]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    beside = _likelier_elsewhere(p / usual_confidence(p, shown), labels, odds)
    return _likelier_elsewhere(p, labels) & beside


def class_cuts(probabilities: NDArray[np.floating], shown: Labels) -> Floats:
    """Of each class, the probability up to which its label is called wrong; −1 for never.

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
    taken_for = np.where(sure, p, -1.0).argmax(axis=1)
    joint = np.zeros((classes, classes))
    np.add.at(joint, (shown[counted], taken_for[counted]), 1.0)
    right, in_all = np.diag(joint), joint.sum(axis=1)
    wrong = np.where(in_all > 0, 1 - right / np.maximum(in_all, 1), 0.0) * sizes
    cuts = np.full(classes, -1.0)
    for label in np.flatnonzero(np.rint(wrong) >= 1):
        count = min(int(np.rint(wrong[label])), int(sizes[label]) - 1)
        if count:
            cuts[label] = np.partition(own[shown == label], count - 1)[count - 1]
    return cuts


def usual_confidence(p: Floats, shown: Labels) -> Floats:
    """Of each class, how probable it is among the examples that carry it; infinite if none do."""
    sizes = np.bincount(shown, minlength=p.shape[1])
    own = np.take_along_axis(p, shown[:, None], axis=1)[:, 0]
    means = np.bincount(shown, weights=own, minlength=p.shape[1]) / np.maximum(sizes, 1)
    return np.where((sizes > 0) & (means > 0), means, np.inf)


def _likelier_elsewhere(values: Floats, labels: Labels, times: float = 1.0) -> Mask:
    """Where another class has more than so many times the label's value."""
    given = np.take_along_axis(values, labels[:, None], axis=1)[:, 0]
    others = values.copy()
    np.put_along_axis(others, labels[:, None], -np.inf, axis=1)
    return np.asarray(others.max(axis=1) > times * given)


def _right(dynamics: Dynamics, planted: Mask, given: Labels | None) -> Mask | None:
    """Whether each proxy gives the given label at the scored epoch, (K, N); None if unknown.

    Out of fold where there are folds.
    """
    side = dynamics if dynamics.out_of_fold is None else dynamics.out_of_fold
    if "correct" not in side.columns:
        return None
    right = np.array(side.snapshot("correct"))
    if planted.any() and given is not None:
        right[:, planted] = guesses(side)[:, planted] == given[planted]
    return right


def _of_given_labels(
    of_shown: Score, dynamics: Dynamics, planted: Mask, given: Labels, p: Floats | None
) -> Score:
    """The suspicion of the shown labels with that of canaries' own labels in its place.

    A canary's own label is judged by how likely it is out of fold, or without folds by whether the
    proxies give it at the scored epoch.
    """
    at, own = np.flatnonzero(planted), given[planted]
    if p is None:
        strength = np.abs(dynamics.snapshot("margin")[:, at].astype(np.float64))
        margin = np.where(guesses(dynamics)[:, at] == own, strength, -strength).mean(axis=0)
        others = early_margin(dynamics)[~planted]
    else:
        margin, others = p[at, own], p[~planted, given[~planted]]
    # The place it would take among the others, and the suspicion of who stands there: a mean of
    # two ranks is rarely near 1, so that a plain rank would put canaries above the rest.
    below = np.searchsorted(np.sort(others), margin, side="left")
    by_place = np.sort(of_shown[~planted])[::-1]
    whole = np.array(of_shown)
    whole[at] = by_place[np.minimum(below, by_place.size - 1)]
    return whole


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
