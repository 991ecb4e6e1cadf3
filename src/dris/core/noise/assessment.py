"""What the ensemble thinks of every label, computed once after training: whatever decides reads it.

Canaries carry two labels, so there are two sides: `shown`, the labels that the proxies were asked
about, by which rows are chosen and limits computed, and `given`, the data's own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.hypotheses.by_class import uniform_matrix
from dris.core.noise.posterior import NoisePosterior, NoiseRate, fit_posterior, fitting_order
from dris.core.noise.views import Views, proxy_views
from dris.core.scores.formulas import aum_mean, consensus
from dris.core.scores.ranks import normalized_ranks

Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
SUSPECT = 0.5  # a label whose P(wrong) is above is a suspect
NO_SUGGESTION = -1
STEP = 1e-12  # between probabilities that would all be one
IN_FOLD = 0.25  # weight of the rank by margin beside that by P(wrong)


@dataclass(frozen=True, slots=True, eq=False)
class LabelSide:
    """One label per example, and how likely it is wrong."""

    labels: Labels | None  # 0..C-1
    wrong: Floats  # P(wrong)

    @property
    def suspects(self) -> Mask:
        """True where the label is more likely wrong than right."""
        return np.asarray(self.wrong > SUSPECT)


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """What the ensemble thinks of every label."""

    shown: LabelSide  # of the labels that the proxies were asked about: of canaries the flipped
    given: LabelSide  # of the data's own labels
    suggested: Labels  # the likeliest true label, 0..C-1; -1 where that is unknown
    p_suggested: Floats  # how likely it is the true one
    other: Labels  # the likeliest label besides the given one; -1 where that is unknown
    against: Labels  # how many proxies give another label than the given one
    contradicted: Mask  # another class is likelier out of fold than the given: hard, or wrong
    training_weights: Floats  # how much each example should count in training, 1 for most
    planted: Mask  # true for canaries
    # below is None without folds, where P(wrong) only orders the labels
    noise_rate: NoiseRate | None = None
    posterior: NoisePosterior | None = None
    guess: Labels | None = None  # the class that the models find likeliest out of fold
    certainty: Floats | None = None  # how likely they find it on average
    views: Views | None = None  # what each model says of each row
    truth: Floats | None = None  # P(true class) of each column of the views, (N, S)

    @property
    def calibrated(self) -> bool:
        """Whether P(wrong) is a probability, not only an order."""
        return self.posterior is not None

    def likeliest(self, rows: Labels, count: int) -> tuple[Labels, Floats]:
        """The likeliest true classes of some rows, and their probabilities, (rows, count)."""
        if self.views is None or self.truth is None:
            raise InputError("class probabilities need proxies with folds; train with folds")
        views, truth = self.views.take(rows), self.truth[rows]
        single = truth if views.columns is None else truth[:, :-1]
        order = np.argsort(-single, axis=1, kind="stable")[:, :count]
        classes = order if views.columns is None else np.take_along_axis(views.columns, order, 1)
        return classes.astype(np.int64), np.take_along_axis(single, order, axis=1)

    def noise_matrix(self, classes: int) -> Floats:
        """P(given | true) by the posterior, (true, given); many classes share the rate evenly."""
        rate = 0.0 if self.noise_rate is None else self.noise_rate.likely
        even = uniform_matrix(rate, classes)
        own = self.given.labels
        if self.truth is None or own is None or self.truth.shape[1] != classes:
            return even
        counts = np.zeros((classes, classes))
        np.add.at(counts.T, own, self.truth)
        return np.asarray((counts + even) / (counts.sum(axis=1, keepdims=True) + 1))


def assess(
    dynamics: Dynamics,
    *,
    given: Labels | None = None,
    planted: Mask | None = None,
    trusted: Mask | None = None,
    trained_on_given: bool = False,
    classes: int | None = None,
    trees: NDArray[np.floating] | None = None,
    rank: Labels | None = None,
) -> Assessment:
    """Compute what the ensemble thinks of every label.

    `given` are the data's own labels, where they are not those of the dynamics; `planted` marks
    canaries, `trusted` labels that a person vouches for. `trained_on_given`: the proxies trained on
    the given labels. `trees` are out-of-fold probabilities of boosted trees beside the proxies' (N,
    C); `rank` is each class's place where they stand in an order, as grades do.

    >>> d = Dynamics.from_logits(np.array([[[3.0, 0.0], [0.0, 2.0]]]), labels=[0, 0])
    >>> assess(d).given.suspects.tolist()
    [False, True]
    """
    n, shown = dynamics.examples, dynamics.labels
    own = shown if given is None else given
    nobody = np.zeros(n, dtype=np.bool_)
    canary = nobody if planted is None else planted
    sure = nobody if trusted is None else trusted
    right = _right(dynamics, canary, own)
    against = np.zeros(n, dtype=np.int64) if right is None else (~right).sum(axis=0)
    views = None
    if shown is not None and own is not None:
        views = proxy_views(dynamics, labels=(own, shown), trees=trees, classes=classes)
    if views is None or shown is None or own is None:
        return _without_folds(dynamics, own, canary, sure, right, against)
    taught = own if trained_on_given else shown
    order = fitting_order(dynamics.ids, sure)
    posterior = fit_posterior(views, taught, order, rank=rank)
    belief = posterior.of(views, own)
    wrong = np.where(sure, 0.0, belief.wrong)
    shown_wrong = wrong.copy()  # out of fold only, where a canary is a row like any other
    if canary.any():
        at = np.flatnonzero(canary)
        shown_wrong[at] = posterior.of(views.take(at), shown[at]).wrong
    if "margin" in dynamics.columns:
        wrong = _order_by_margin(wrong, early_margin(dynamics), ~canary & ~sure)
    mean = (views.values / views.spread).mean(axis=0)
    guess, own_column = mean.argmax(axis=1), views.column_of(own)
    truth = _follow(belief.truth, belief.wrong, wrong, own_column)
    best = truth / views.spread
    column = best.argmax(axis=1)
    others = best.copy()
    others[np.arange(n), own_column] = -1.0
    if views.columns is not None:
        others[:, -1] = -1.0  # which of them is not known
    return Assessment(
        shown=LabelSide(shown, shown_wrong),
        given=LabelSide(own, wrong),
        suggested=views.class_of(column),
        p_suggested=np.take_along_axis(best, column[:, None], axis=1)[:, 0],
        other=views.class_of(others.argmax(axis=1)),
        against=against,
        contradicted=np.asarray(guess != own_column),
        training_weights=np.where(sure, 1.0, belief.weights),
        planted=canary,
        noise_rate=_rate_of_all(posterior.rate, wrong, canary, sure, trained_on_given),
        posterior=posterior,
        guess=views.class_of(guess),
        certainty=mean.max(axis=1),
        views=views,
        truth=truth,
    )


def _rate_of_all(
    rate: NoiseRate, wrong: Floats, canary: Mask, sure: Mask, trained_on_given: bool
) -> NoiseRate:
    """The mean of P(wrong), and the range of the fitted labels as one of all given labels.

    Trusted labels were not fitted to, and canaries count as errors where proxies trained on them.
    """
    likely, planted = float(wrong[~canary].mean()), 0.0 if trained_on_given else canary.mean()
    low, high = ((end - planted) * (1 - sure.mean()) for end in (rate.low, rate.high))
    return NoiseRate(float(np.clip(low, 0, likely)), float(max(high, likely)), likely)


def _order_by_margin(wrong: Floats, margin: Floats, some: Mask) -> Floats:
    """The same probabilities, dealt out with an eye on how well the label was learned in fold.

    Out of fold a model errs where classes overlap, in fold where it memorises, seldom both.
    Suspects and the others are ordered apart, so that nobody changes sides. A canary has no margin
    of its own.
    """
    ordered = wrong.copy()
    for side in (wrong > SUSPECT, wrong <= SUSPECT):
        at = np.flatnonzero(side & some)
        if at.size:
            score = normalized_ranks(wrong[at]) + IN_FOLD * normalized_ranks(-margin[at])
            order = np.lexsort((-margin[at], wrong[at], score))  # in whatever order the rows stand
            below_one = 1 - STEP * np.arange(at.size)[::-1]  # certain ones keep an order too
            ordered[at[order]] = np.minimum(np.sort(wrong[at]), below_one)
    return ordered


def _follow(truth: Floats, before: Floats, wrong: Floats, own: Labels) -> Floats:
    """P(true class) such that a label has what P(wrong) leaves, the others in their proportions."""
    scaled = truth * (wrong / np.maximum(before, 1e-12))[:, None]
    np.put_along_axis(scaled, own[:, None], 1 - wrong[:, None], axis=1)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def _without_folds(
    dynamics: Dynamics,
    own: Labels | None,
    canary: Mask,
    sure: Mask,
    right: Mask | None,
    against: Labels,
) -> Assessment:
    """By what proxies record of their own training rows: an order of the labels, no probability."""
    n, suggested = dynamics.examples, np.full(dynamics.examples, NO_SUGGESTION, dtype=np.int64)
    rivals = "rival" in dynamics.columns
    if rivals and dynamics.labels is not None:
        suggested = suggested_labels(dynamics)
    shown_suspects = given_suspects = np.zeros(n, dtype=np.bool_)
    if "correct" in dynamics.columns:
        shown_suspects = contradicted_by_most(dynamics.snapshot("correct"))
    if right is not None:
        given_suspects = contradicted_by_most(right)
    doubt = -early_margin(dynamics) if "margin" in dynamics.columns else consensus(dynamics)
    of_given = doubt
    if canary.any() and own is not None and rivals:
        of_given = doubt.copy()
        margin = np.abs(dynamics.snapshot("margin")[:, canary].astype(np.float64))
        agrees = guesses(dynamics)[:, canary] == own[canary]
        of_given[canary] = -np.where(agrees, margin, -margin).mean(axis=0)
    wrong = np.where(sure, 0.0, _ordered(of_given, given_suspects))
    return Assessment(
        shown=LabelSide(dynamics.labels, _ordered(doubt, shown_suspects)),
        given=LabelSide(own, wrong),
        suggested=suggested,
        p_suggested=np.full(n, np.nan),
        other=np.where(suggested == own, NO_SUGGESTION, suggested),
        against=against,
        contradicted=given_suspects,
        training_weights=np.ones(n),
        planted=canary,
    )


def _ordered(doubt: Floats, suspects: Mask) -> Floats:
    """Numbers in (0, 1) in the order of the doubt, those of suspects above one half."""
    ranks = normalized_ranks(doubt) * (1 - 1e-9)
    return np.where(suspects, 0.5 + ranks / 2, ranks / 2)


def _right(dynamics: Dynamics, canary: Mask, given: Labels | None) -> Mask | None:
    """Whether each proxy gives the given label, (K, N); out of fold where there are folds."""
    side = dynamics if dynamics.out_of_fold is None else dynamics.out_of_fold
    if "correct" not in side.columns:
        return None
    right = np.array(side.snapshot("correct"))
    if canary.any() and given is not None:
        right[:, canary] = guesses(side)[:, canary] == given[canary]
    return right


def early_margin(dynamics: Dynamics) -> Floats:
    """The margin, mean over proxies and epochs to the scored one; larger: learned early."""
    if not dynamics.is_summary:
        return aum_mean(dynamics.until(dynamics.scored_epoch))
    if dynamics.totals().margin is None:
        return np.asarray(dynamics.snapshot("margin").mean(axis=0), dtype=np.float64)
    return aum_mean(dynamics)


def guesses(dynamics: Dynamics) -> Labels:
    """What each proxy would give at the scored epoch, (K, N)."""
    labels = np.asarray(dynamics.labels, dtype=np.int64)
    rival = dynamics.snapshot("rival").astype(np.int64)
    return np.where(dynamics.snapshot("correct"), labels, rival)


def suggested_labels(dynamics: Dynamics) -> Labels:
    """The class that most proxies would give at the scored epoch, one per example.

    Between equally many votes the larger summed margin decides, then the smaller number.
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


def contradicted_by_most(right: Mask) -> Mask:
    """Where at least half of the proxies give another label: a suspect where there are no folds."""
    return np.asarray(right.mean(axis=0) <= 0.5)
