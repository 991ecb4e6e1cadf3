"""What following a decision changes, measured without the truth.

The decision is made again inside each training fold; models trained on what it keeps and models
trained on everything then predict the held-out rows. Their given labels are noisy too, so each
prediction is credited by the inverse of the estimated noise matrix (true, given): on average over
errors like these that is accuracy on the true labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.large.mapped import release
from dris.core.streams import rng_for
from dris.learn.trainers.folds import folds_of, rows_together
from dris.learn.trainers.stacked.head import Head, predict_after

Labels = NDArray[np.int64]
Positions = NDArray[np.int64]
Floats = NDArray[np.float64]
Says = Literal["helps", "harms", "cannot tell"]
FOLDS = 4
MAX_HARM_CHECK_ROWS = 8_000  # beyond, a sample of as many answers
HEADS = {"linear": Head(), "hidden layer": Head(hidden=64)}
ERRORS_EACH_SIDE = 1.645  # standard errors: each end is passed by chance in 5 % of cases
REPEATS = ((400, 3), (1_000, 2))  # with fewer rows than these the folds are drawn so often


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """What to train on: positions, some of them more than once, and their labels."""

    rows: Positions
    labels: Labels


# What each way of following the decision trains on where a fold is held out, by name.
Again = Callable[[int], dict[str, Training]]


@dataclass(frozen=True, slots=True)
class Change:
    """A difference in points (of 100), and its standard error."""

    points: float
    error: float

    @property
    def says(self) -> Says:
        """Which side of zero the whole interval lies on, if any."""
        if self.points + ERRORS_EACH_SIDE * self.error < 0:
            return "harms"
        return "helps" if self.points - ERRORS_EACH_SIDE * self.error > 0 else "cannot tell"

    def __str__(self) -> str:
        return f"{round(self.points, 1) + 0.0:+.1f} ± {self.error:.1f}".replace("-", "−")


@dataclass(frozen=True, slots=True)
class Harm:
    """What changes on held-out rows when models follow the decision instead of using everything."""

    change: Change  # in accuracy on the true labels, by estimate
    others: dict[str, Change]  # the same by other ways of following it: "weights", "random"
    classes: dict[str, float]  # the change among the rows given each class, in points
    rows: int  # how many rows were held out in turn
    kept: float  # share of the rows that the decisions inside the folds kept, on average
    # the decision at hand was measured, which knows the held-out labels: it could not be made again
    flatters: bool = False
    other_classes: dict[str, dict[str, float]] = field(default_factory=dict)  # of the other ways
    over_random: Change | None = None  # how much better than a random subset of that size

    @property
    def says(self) -> Says:
        """Whether following the decision helps."""
        return self.change.says

    @property
    def worst(self) -> tuple[str, float]:
        """The class that gains least or loses most."""
        name = min(self.classes, key=lambda name: self.classes[name])
        return name, self.classes[name]

    def by(self, way: str, decided: str) -> "Harm":
        """The same measurement where another way is followed; what was decided stands beside."""
        others = {name: change for name, change in self.others.items() if name != way}
        classes = {name: of for name, of in self.other_classes.items() if name != way}
        return replace(
            self,
            change=self.others[way],
            classes=self.other_classes[way],
            others={decided: self.change, **others},
            other_classes={decided: self.classes, **classes},
            over_random=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {**asdict(self), "says": self.says}

    def __str__(self) -> str:
        return f"{self.change} points"


def measure_harm(
    x: Any,
    given: Labels,
    names: Sequence[str],
    prepare: Callable[[Positions, Positions], Again],
    *,
    credit: Floats,
    folds: Positions | None = None,
    groups: Positions | None = None,
    seed: int = 0,
    estimators: dict[str, Any] | None = None,
    flatters: bool = False,
) -> Harm | None:
    """Make the decision again in each of four folds, and compare what models learn from it.

    None where so many rows are copies of each other, or of one group, that there are no four folds.
    Where rows are few, two or three draws of folds are averaged; the errors are those of one draw,
    for the rows are the same.

    `x` are features on one scale, dense or sparse. `prepare` is given the positions that are looked
    at and the fold of each, and makes what decides anew inside each fold: the decision's own way
    first; its rows are places among those. `credit` is what predicting a class is worth where a
    label is given, (given, predicted). `folds` are those to begin with, such as the proxies' own.
    """
    n = len(given)
    repeats = next((times for rows, times in REPEATS if n < rows), 1)
    chosen, together = np.arange(n), rows_together(x, groups, n)
    if n > MAX_HARM_CHECK_ROWS:  # from here on only the rows that answer, at their places
        chosen = np.sort(rng_for(seed, "harm", "rows").permutation(n)[:MAX_HARM_CHECK_ROWS])
        whole, x, given, together = x, x[chosen], given[chosen], together[chosen]
        release(whole)
    measured = []
    for draw in range(repeats):
        if folds is not None and not draw:
            fold = folds[chosen].astype(np.int64)
        else:
            fold = folds_of(given, together, FOLDS, rng=rng_for(seed, "harm", "folds", draw))
        sizes = np.bincount(fold, minlength=FOLDS)
        if sizes.max() > (len(chosen) + 1) // 2 or not sizes.all():
            return None
        arms, again = [], prepare(chosen, fold)
        for f in range(FOLDS):
            inside = np.flatnonzero(fold != f)
            arms.append({"everything": Training(inside, given[inside]), **again(f)})
        predictions = _predict(x, given, arms, fold, len(names), seed)
        for name, model in (estimators or {}).items():
            predictions[name] = _fit_and_predict(model, x, arms, fold)
        own = list(arms[0])[1]
        kept = np.mean([np.unique(a[own].rows).size / len(a["everything"].rows) for a in arms])
        harm = _compare(predictions, list(arms[0]), names, given, fold, credit)
        measured.append(replace(harm, kept=float(kept), flatters=flatters))
    averaged: Harm = _mean(measured)
    return averaged


def _predict(
    x: Any, given: Labels, arms: list[dict[str, Training]], fold: Positions, classes: int, seed: int
) -> dict[str, Labels]:
    """What the heads of each arm predict for the rows that their fold held out, (arm, row).

    A row that is trained on with another label stands behind the others as a row of its own.
    """
    rows, labels, sets = np.arange(len(fold)), given, []
    for training in (training for arm in arms for training in arm.values()):
        changed = training.labels != given[training.rows]
        at = training.rows.copy()
        at[changed] = len(rows) + np.arange(changed.sum())
        rows = np.concatenate((rows, training.rows[changed]))
        labels = np.concatenate((labels, training.labels[changed]))
        sets.append(at)
    every, predictions = x if len(rows) == len(fold) else x[rows], {}
    for name, head in HEADS.items():
        answers = predict_after(every, labels, classes, sets, head=head, seed=seed)
        by_fold = answers.reshape(FOLDS, len(arms[0]), -1)[:, :, : len(fold)]
        held_out = np.take_along_axis(by_fold, fold[None, None], axis=0)[0]
        predictions[name] = np.asarray(held_out, dtype=np.int64)
    return predictions


def _fit_and_predict(
    model: Any, x: Any, arms: list[dict[str, Training]], fold: Positions
) -> Labels:
    from sklearn.base import clone

    predictions = np.empty((len(arms[0]), len(fold)), dtype=np.int64)
    for f, arm in enumerate(arms):
        for a, training in enumerate(arm.values()):
            fitted = clone(model).fit(x[training.rows], training.labels)
            predictions[a, fold == f] = fitted.predict(x[np.flatnonzero(fold == f)])
    return predictions


def _compare(
    predictions: dict[str, Labels],
    arms: Sequence[str],
    names: Sequence[str],
    given: Labels,
    fold: Positions,
    credit: Floats,
) -> Harm:
    """Models that trained on everything beside those that followed the decision in some way."""
    every = np.stack(list(predictions.values()))  # (model, arm, row)
    worth = credit[given[None, None], every]
    gained = {name: (worth[:, a] - worth[:, 0]).mean(axis=0) for a, name in enumerate(arms) if a}
    changes = {name: _change(rows, fold) for name, rows in gained.items()}
    classes = {
        name: {names[c]: 100 * float(rows[given == c].mean()) for c in np.unique(given).tolist()}
        for name, rows in gained.items()
    }
    over_random = None
    if "random" in gained:
        over_random = _change(gained[arms[1]] - gained["random"], fold)
    return Harm(
        change=changes.pop(arms[1]),
        others=changes,
        classes=classes.pop(arms[1]),
        rows=given.size,
        kept=1.0,
        other_classes=classes,
        over_random=over_random,
    )


def _change(paired: Floats, fold: Positions) -> Change:
    """The mean of paired differences, with the larger of the errors by row and by fold.

    A decision that came out differently in one fold moves all of its rows together.
    """
    by_row = paired.std(ddof=1) / np.sqrt(paired.size)
    means = np.array([paired[fold == f].mean() for f in range(FOLDS)])
    by_fold = means.std(ddof=1) / np.sqrt(FOLDS)
    return Change(100 * float(paired.mean()), 100 * float(max(by_row, by_fold)))


def _mean(draws: Sequence[Any]) -> Any:
    """The mean of what several draws of folds gave, number by number."""
    first = draws[0]
    if isinstance(first, Harm | Change):
        parts = {f.name: _mean([getattr(one, f.name) for one in draws]) for f in fields(first)}
        return replace(first, **parts)
    if isinstance(first, dict):
        return {name: _mean([one[name] for one in draws]) for name in first}
    return float(np.mean(draws)) if isinstance(first, float) else first


def resample(rows: Positions, weights: Floats) -> Positions:
    """As many rows, each about as often as its weight is of the mean weight."""
    ends = np.cumsum(weights) * (rows.size / weights.sum())
    times = np.diff(np.floor(ends + 0.5), prepend=0.0).astype(np.int64)
    return np.repeat(rows, times)
