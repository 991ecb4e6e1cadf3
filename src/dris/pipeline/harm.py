"""Whether following a decision helps, told without the truth.

The decision is made again inside each training fold, on that fold alone; models trained on what it
keeps and models trained on everything then predict the rows that were held out. Accuracy on *given*
labels is all there is to compare by. It follows the truth unless wrong labels can be predicted from
the features: whoever repeats the errors agrees with them then. Agreement beyond chance (peer
prediction) is not taken in by errors that favour a class.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.large.mapped import release
from dris.core.streams import rng_for
from dris.learn.trainers.folds import copies_in, folds_of
from dris.learn.trainers.stacked.head import Head, predict_after
from dris.pipeline.wording import CONDITION, held_out_change

Labels = NDArray[np.int64]
Positions = NDArray[np.int64]
Says = Literal["helps", "harms", "cannot tell"]
FOLDS = 4
MAX_HARM_CHECK_ROWS = 8_000  # beyond, a sample of as many answers
HEADS = {"linear": Head(), "hidden layer": Head(hidden=64)}
ERRORS_EACH_SIDE = 1.645  # standard errors: each end is passed by chance in 5 % of cases
REPEATS = ((400, 3), (2_000, 2))  # with fewer rows than these the folds are drawn so often
MIN_POINTS = 0.05  # less is not printed


@dataclass(frozen=True, slots=True, eq=False)
class Relabelled:
    """Rows to train on as they are, and rows to train on with other labels."""

    kept: Positions
    changed: Positions
    labels: Labels


# Positions to train on, of those given; made anew for each fold.
Kept = Positions | Relabelled
Again = Callable[[Positions], Kept]


@dataclass(frozen=True, slots=True)
class Change:
    """A difference in points (of 100), and its standard error."""

    points: float
    error: float

    @property
    def below_zero(self) -> bool:
        """True if the whole interval lies below zero: the one meaning of "worse"."""
        return self.points + ERRORS_EACH_SIDE * self.error < 0

    @property
    def above_zero(self) -> bool:
        """True if the whole interval lies above zero."""
        return self.points - ERRORS_EACH_SIDE * self.error > 0

    def __str__(self) -> str:
        return f"{self.points:+.1f} ± {self.error:.1f}"


@dataclass(frozen=True, slots=True)
class Harm:
    """What changes on held-out rows when models train on what is kept instead of everything."""

    agreement: Change  # the change in accuracy on the given labels
    beyond_chance: Change  # the same, less what independent labels with these class shares agree by
    models: dict[str, Change]  # `beyond_chance` of each model by name
    classes: dict[str, float]  # change in accuracy among the examples given each class
    rows: int  # how many rows were held out in turn
    kept: float  # share of the rows that the decisions inside the folds kept, on average
    # `beyond_chance` against random subsets of the same size; None for clean
    against_random: Change | None = None
    # `agreement` where models train on the very rows that were kept, for a decision by imported
    # models, which cannot be made again in a fold. They know the held-out labels, so it flatters
    as_decided: Change | None = None

    @property
    def says(self) -> Says:
        """Whether following the decision helps; where either measure is worse, it harms.

        What models lose by, as far as can be told, does not help, whatever is beyond chance.
        """
        both = (self.agreement, self.beyond_chance)
        if any(change.below_zero for change in (*both, self.as_decided) if change is not None):
            return "harms"
        helps = any(change.above_zero for change in both) and not self.loses
        return "helps" if helps else "cannot tell"

    @property
    def loses(self) -> bool:
        """Whether models lose by it, as far as can be told: by plain agreement.

        Agreement beyond chance favours whoever gives rare classes more than their due, and was
        wrong far more often. Less than a twentieth of a point is nothing.
        """
        flattered = self.as_decided is not None and self.as_decided.points < -MIN_POINTS
        return flattered or self.agreement.points < -MIN_POINTS

    @property
    def disagree(self) -> bool:
        """Whether the two measures point different ways: the errors favour a class then."""
        plain, chance = self.agreement, self.beyond_chance
        return (plain.below_zero and chance.above_zero) or (plain.above_zero and chance.below_zero)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {**asdict(self), "says": self.says, "loses": self.loses, "condition": CONDITION}

    def __str__(self) -> str:
        return held_out_change(self)


def measure_harm(
    x: Any,
    given: Labels,
    names: Sequence[str],
    again: Again,
    *,
    as_decided: Again | None = None,
    random_too: bool = False,
    seed: int = 0,
    estimators: dict[str, Any] | None = None,
) -> Harm | None:
    """Make the decision again in each of four folds, and compare what models learn from it.

    None where so many rows are copies of each other that there are no four folds. Where rows are
    few, folds are drawn two or three times and the answers averaged: which rows fall together
    matters then; the errors are those of one draw, for the rows are the same.

    Args:
        x: Features on one scale, float32, dense or sparse.
        given: The given labels, 0..C-1.
        names: What the classes are called.
        again: Decides anew on some of the positions: which of them to train on.
        as_decided: Which of them the decision at hand trains on, where it cannot be made anew.
        random_too: Also compare with a random subset of the size that was kept.
        seed: Of folds, orders and weights.
        estimators: Further models to compare, scikit-learn classifiers by name.
    """
    n = len(given)
    repeats = next((times for rows, times in REPEATS if n < rows), 1)
    chosen, copies = np.arange(n), copies_in(x)
    if n > MAX_HARM_CHECK_ROWS:  # from here on only the rows that answer, at their places
        chosen = np.sort(rng_for(seed, "harm", "rows").permutation(n)[:MAX_HARM_CHECK_ROWS])
        whole, x, given, copies = x, x[chosen], given[chosen], copies[chosen]
        release(whole)
    choices = [again] if as_decided is None else [again, as_decided]
    measured = []
    for draw in range(repeats):
        fold = folds_of(given, copies, FOLDS, rng=rng_for(seed, "harm", "folds", draw))
        if np.bincount(fold, minlength=FOLDS).max() > (len(chosen) + 1) // 2:
            return None
        # Of each fold: everything, what is kept, what the decision at hand keeps, as many drawn.
        arms: list[list[Positions]] = []
        rows, labels = [np.arange(len(given))], [given]
        for f in range(FOLDS):
            inside = np.flatnonzero(fold != f)
            arms.append([inside])
            for choice in choices:
                kept = choice(chosen[inside])
                if isinstance(kept, Relabelled):  # as rows of their own, behind the others
                    behind = sum(map(len, rows)) + np.arange(len(kept.changed))
                    rows.append(np.searchsorted(chosen, kept.changed))
                    labels.append(kept.labels)
                    arms[f].append(np.append(np.searchsorted(chosen, kept.kept), behind))
                else:
                    arms[f].append(np.searchsorted(chosen, kept))
            if random_too:
                drawn = rng_for(seed, "harm", "random", draw, f).permutation(inside)
                arms[f].append(np.sort(drawn[: len(arms[f][-1])]))
        every = x if len(rows) == 1 else x[np.concatenate(rows)]
        predictions = _predict(every, np.concatenate(labels), arms, fold, len(names), seed)
        for name, model in (estimators or {}).items():
            predictions[name] = _fit_and_predict(model, every, np.concatenate(labels), arms, fold)
        harm = _compare(predictions, names, given, fold, random_too, as_decided is not None)
        share = float(np.mean([len(arm[1]) / len(arm[0]) for arm in arms]))
        measured.append(replace(harm, kept=share))
    return _mean(measured)


def _predict(
    x: Any, labels: Labels, arms: list[list[Positions]], fold: Positions, classes: int, seed: int
) -> dict[str, Labels]:
    """What the heads of each arm predict for the rows that their fold held out, (arm, row)."""
    rows = [at for arm in arms for at in arm]
    predictions = {}
    for name, head in HEADS.items():
        every = predict_after(x, labels, classes, rows, head=head, seed=seed)
        by_fold = every.reshape(FOLDS, len(arms[0]), -1)[:, :, : len(fold)]
        held_out = np.take_along_axis(by_fold, fold[None, None], axis=0)[0]
        predictions[name] = np.asarray(held_out, dtype=np.int64)
    return predictions


def _fit_and_predict(
    model: Any, x: Any, labels: Labels, arms: list[list[Positions]], fold: Positions
) -> Labels:
    """The same with a classifier of scikit-learn."""
    from sklearn.base import clone

    predictions = np.empty((len(arms[0]), len(fold)), dtype=np.int64)
    for f, arm in enumerate(arms):
        for a, at in enumerate(arm):
            fitted = clone(model).fit(x[at], labels[at])
            predictions[a, fold == f] = fitted.predict(x[np.flatnonzero(fold == f)])
    return predictions


def _compare(
    predictions: dict[str, Labels],
    names: Sequence[str],
    given: Labels,
    fold: Positions,
    random_too: bool,
    decided_too: bool,
) -> Harm:
    """Models that trained on everything and on what is kept, beside the given labels."""
    every = np.stack(list(predictions.values()))  # (model, arm, row)
    before, after, classes = every[:, 0], every[:, 1], len(names)
    decided = every[:, 2] if decided_too else after
    agreed = (after == given).astype(np.float64) - (before == given)
    return Harm(
        agreement=_change(after == given, before == given, fold),
        beyond_chance=_beyond(after, before, given, fold, classes),
        models={
            name: _beyond(one[1][None], one[0][None], given, fold, classes)
            for name, one in predictions.items()
        },
        classes={
            names[c]: 100 * float(agreed[:, given == c].mean()) for c in np.unique(given).tolist()
        },
        rows=given.size,
        kept=1.0,
        against_random=(
            _beyond(decided, every[:, -1], given, fold, classes) if random_too else None
        ),
        as_decided=_change(decided == given, before == given, fold) if decided_too else None,
    )


def _mean(draws: Sequence[Harm]) -> Harm:
    """The mean of several draws of folds."""
    first = draws[0]
    if len(draws) == 1:
        return first

    def mean(name: str) -> Change | None:
        changes = [getattr(one, name) for one in draws]
        return None if changes[0] is None else _mean_change(changes)

    return replace(
        first,
        agreement=_mean_change([one.agreement for one in draws]),
        beyond_chance=_mean_change([one.beyond_chance for one in draws]),
        models={name: _mean_change([one.models[name] for one in draws]) for name in first.models},
        classes={name: float(np.mean([o.classes[name] for o in draws])) for name in first.classes},
        kept=float(np.mean([one.kept for one in draws])),
        against_random=mean("against_random"),
        as_decided=mean("as_decided"),
    )


def _mean_change(changes: Sequence[Change]) -> Change:
    points, errors = zip(*((change.points, change.error) for change in changes), strict=True)
    return Change(float(np.mean(points)), float(np.mean(errors)))


def _change(after: NDArray[Any], before: NDArray[Any], fold: Positions) -> Change:
    """The mean of paired differences (model, row), with the larger of two standard errors.

    One counts rows as independent, the other folds: a decision that came out differently in one
    fold moves all of its rows together.
    """
    paired = (after.astype(np.float64) - before.astype(np.float64)).mean(axis=0)
    by_row = paired.std(ddof=1) / np.sqrt(paired.size)
    means = np.array([paired[fold == f].mean() for f in range(FOLDS)])
    by_fold = means.std(ddof=1) / np.sqrt(FOLDS)
    return Change(100 * float(paired.mean()), 100 * float(max(by_row, by_fold)))


def _beyond(
    after: Labels,
    before: Labels,
    given: Labels,
    fold: Positions,
    classes: int,
) -> Change:
    """The change in P(f = g) − Σ_c P(f = c)·P(g = c), over models (model, row)."""
    return _change(
        np.stack([_influence(f, given, classes) for f in after]),
        np.stack([_influence(f, given, classes) for f in before]),
        fold,
    )


def _influence(guess: Labels, given: Labels, classes: int) -> NDArray[np.float64]:
    """What each row adds to agreement beyond chance: their mean is it, their spread its error."""
    predicted = np.bincount(guess, minlength=classes) / guess.size
    real = np.bincount(given, minlength=classes) / given.size
    chance = float(predicted @ real)
    return np.asarray((guess == given) - real[guess] - predicted[given] + chance, dtype=np.float64)
