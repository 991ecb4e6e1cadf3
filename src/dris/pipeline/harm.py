"""Whether following the advice helps, told without the truth.

The decision is made again inside each training fold, on that fold alone; models trained on what it
keeps and models trained on everything are then asked about the rows that were held out. Agreement
with *given* labels is all there is to compare by. It follows the truth unless wrong labels can be
predicted from the features: then who repeats the errors agrees with them. Agreement beyond chance
(peer prediction) is not taken in by errors that favour a class.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.large.mapped import let_go
from dris.core.streams import rng_for
from dris.learn.trainers.folds import copies_in, folds_of
from dris.learn.trainers.stacked.head import Head
from dris.learn.trainers.stacked.row_models import predict_after
from dris.pipeline.wording import CONDITION, held_out_change

Positions = NDArray[np.int64]
Says = Literal["helps", "harms", "cannot tell"]
FOLDS, MOST = 4, 8_000  # rows beyond which a sample answers
HEADS = {"linear": Head(), "hidden layer": Head(hidden=64)}
SURE = 1.645  # standard errors on either side: each end is passed by chance in 5 % of cases
REPEATS = ((400, 3), (2_000, 2))  # with fewer rows than these the folds are drawn so often
NOTHING = 0.05  # points: what is less is not printed


@dataclass(frozen=True, slots=True, eq=False)
class Relabelled:
    """Rows to train on as they are, and rows to train on with other labels."""

    kept: Positions
    changed: Positions
    labels: NDArray[np.int64]


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
        """Whether the whole interval is: the one meaning of "worse"."""
        return self.points + SURE * self.error < 0

    @property
    def above_zero(self) -> bool:
        """Whether the whole interval is."""
        return self.points - SURE * self.error > 0

    def __str__(self) -> str:
        return f"{self.points:+.1f} ± {self.error:.1f}"


@dataclass(frozen=True, slots=True)
class Harm:
    """What changes on held-out rows when models train on what is kept instead of everything.

    Attributes:
        agreement: With the given labels.
        beyond_chance: The same less what two strangers with these class shares would agree by.
        models: `beyond_chance` of each model by name.
        classes: Change in agreement among the examples given each class.
        rows: How many held-out rows were asked about.
        kept: Share of the rows that the decisions inside the folds kept, on average.
        against_random: `beyond_chance` against random subsets of the same size; None for clean.
        as_decided: `agreement` where models train on the very rows that were kept, for a decision
            by imported models, which cannot be made again in a fold. They know the labels that
            are asked about, so it flatters.
    """

    agreement: Change
    beyond_chance: Change
    models: dict[str, Change]
    classes: dict[str, float]
    rows: int
    kept: float
    against_random: Change | None = None
    as_decided: Change | None = None

    @property
    def says(self) -> Says:
        """Whether following the advice helps; where either measure is worse, it harms.

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
        flattered = self.as_decided is not None and self.as_decided.points < -NOTHING
        return flattered or self.agreement.points < -NOTHING

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
    given: NDArray[np.int64],
    names: Sequence[str],
    again: Again,
    *,
    as_decided: Again | None = None,
    random_too: bool = False,
    seed: int = 0,
    estimators: dict[str, Any] | None = None,
    tick: Callable[[], None] = lambda: None,
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
        estimators: Further models to ask, scikit-learn classifiers by name.
        tick: Called after every decision and every epoch.
    """
    repeats = next((times for rows, times in REPEATS if len(given) < rows), 1)
    found = [
        _measured(
            x, given, names, (again, as_decided), random_too, seed, draw, estimators or {}, tick
        )
        for draw in range(repeats)
    ]
    whole = [one for one in found if one is not None]
    return _mean_of(whole) if len(whole) == repeats else None


def _mean_of(found: Sequence[Harm]) -> Harm:
    """The mean of several draws of folds."""
    if len(found) == 1:
        return found[0]

    def mean(changes: Sequence[Change]) -> Change:
        return Change(
            float(np.mean([c.points for c in changes])), float(np.mean([c.error for c in changes]))
        )

    first = found[0]
    random, decided = (
        [change for change in changes if change is not None]
        for changes in zip(*((one.against_random, one.as_decided) for one in found), strict=True)
    )
    return replace(
        first,
        agreement=mean([one.agreement for one in found]),
        beyond_chance=mean([one.beyond_chance for one in found]),
        models={name: mean([one.models[name] for one in found]) for name in first.models},
        classes={
            name: float(np.mean([one.classes[name] for one in found])) for name in first.classes
        },
        kept=float(np.mean([one.kept for one in found])),
        against_random=mean(random) if random else None,
        as_decided=mean(decided) if decided else None,
    )


def _measured(
    x: Any,
    given: NDArray[np.int64],
    names: Sequence[str],
    choices: tuple[Again, Again | None],
    random_too: bool,
    seed: int,
    draw: int,
    estimators: dict[str, Any],
    tick: Callable[[], None],
) -> Harm | None:
    """The check with one draw of folds."""
    n, classes = len(given), len(names)
    chosen = np.arange(n)
    if n > MOST:
        chosen = np.sort(rng_for(seed, "harm", "rows").permutation(n)[:MOST])
    fold = folds_of(
        given[chosen], copies_in(x)[chosen], FOLDS, rng=rng_for(seed, "harm", "folds", draw)
    )
    if np.bincount(fold, minlength=FOLDS).max() > (len(chosen) + 1) // 2:
        return None
    if n > MOST:  # from here on only the rows that answer, at their places among themselves
        whole, x, given = x, x[chosen], given[chosen]
        let_go(whole)
    # Of each fold: everything, what is kept, what the decision at hand keeps, as many by lot.
    arms: list[list[Positions]] = []
    rows_again, labels_again = [np.arange(len(given))], [given]
    for f in range(FOLDS):
        inside = np.flatnonzero(fold != f)
        arms.append([inside])
        for choice in choices:
            if choice is None:
                continue
            kept = _among(chosen, choice(chosen[inside]))
            if isinstance(kept, Relabelled):  # as rows of their own, behind the others
                at = sum(map(len, rows_again)) + np.arange(len(kept.changed))
                rows_again.append(kept.changed)
                labels_again.append(kept.labels)
                kept = np.concatenate((kept.kept, at))
            arms[-1].append(kept)
        tick()
        if random_too:
            lot = rng_for(seed, "harm", "random", draw, f).permutation(inside)
            arms[-1].append(np.sort(lot[: len(arms[-1][-1])]))
    if len(rows_again) > 1:
        x, given = x[np.concatenate(rows_again)], np.concatenate(labels_again)
    width = len(arms[0])
    rows = [at for arm in arms for at in arm]
    guesses: dict[str, NDArray[np.int64]] = {}
    for name, head in HEADS.items():
        said = predict_after(x, given, classes, rows, head=head, seed=seed, tick=tick)
        guesses[name] = _held_out(said, fold, width)
    for name, model in estimators.items():
        guesses[name] = _fitted(model, x, given, arms, fold)
    every = np.stack(list(guesses.values()))  # (model, arm, row)
    share = float(np.mean([len(arm[1]) / len(arm[0]) for arm in arms]))
    g = given[: len(chosen)]
    found = _compared(every, list(guesses), names, g, fold, share)
    decided = every[:, 1 if choices[1] is None else 2]
    if random_too:
        by_lot = _beyond(decided, every[:, -1], g, fold, classes)
        found = replace(found, against_random=by_lot)
    if choices[1] is not None:
        found = replace(found, as_decided=_change(decided == g, every[:, 0] == g, fold))
    return found


def _compared(
    every: NDArray[np.int64],
    models: Sequence[str],
    names: Sequence[str],
    g: NDArray[np.int64],
    fold: Positions,
    share: float,
) -> Harm:
    """What models say that trained on everything, and by a rule, beside the given labels."""
    before, after = every[:, 0], every[:, 1]
    classes, agreed = len(names), (after == g).astype(np.float64) - (before == g)
    return Harm(
        agreement=_change(after == g, before == g, fold),
        beyond_chance=_beyond(after, before, g, fold, classes),
        models={
            name: _beyond(one[1][None], one[0][None], g, fold, classes)
            for name, one in zip(models, every, strict=True)
        },
        classes={names[c]: 100 * float(agreed[:, g == c].mean()) for c in np.unique(g).tolist()},
        rows=g.size,
        kept=share,
    )


def _among(chosen: Positions, kept: Kept) -> Kept:
    """Positions of the data as places among those chosen."""
    if isinstance(kept, Relabelled):
        places = [np.searchsorted(chosen, at) for at in (kept.kept, kept.changed)]
        return Relabelled(places[0], places[1], kept.labels)
    return np.asarray(np.searchsorted(chosen, kept), dtype=np.int64)


def _held_out(found: NDArray[np.int64], fold: Positions, arms: int) -> NDArray[np.int64]:
    """What the models of each arm say of the rows that their fold held out, (arm, row)."""
    by_fold = found.reshape(FOLDS, arms, -1)[:, :, : len(fold)]
    found_there = np.take_along_axis(by_fold, fold[None, None], axis=0)
    return np.asarray(found_there[0], dtype=np.int64)


def _fitted(
    model: Any,
    x: Any,
    given: NDArray[np.int64],
    arms: list[list[Positions]],
    fold: Positions,
) -> NDArray[np.int64]:
    from sklearn.base import clone

    found = np.empty((len(arms[0]), len(fold)), dtype=np.int64)
    for f, arm in enumerate(arms):
        for a, at in enumerate(arm):
            fitted = clone(model).fit(x[at], given[at])
            found[a, fold == f] = fitted.predict(x[np.flatnonzero(fold == f)])
    return found


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
    after: NDArray[np.int64],
    before: NDArray[np.int64],
    given: NDArray[np.int64],
    fold: Positions,
    classes: int,
) -> Change:
    """The change in P(f = g) − Σ_c P(f = c)·P(g = c), over models (model, row)."""
    return _change(
        np.stack([_influence(f, given, classes) for f in after]),
        np.stack([_influence(f, given, classes) for f in before]),
        fold,
    )


def _influence(
    guess: NDArray[np.int64], given: NDArray[np.int64], classes: int
) -> NDArray[np.float64]:
    """What each row adds to agreement beyond chance: their mean is it, their spread its error."""
    said = np.bincount(guess, minlength=classes) / guess.size
    real = np.bincount(given, minlength=classes) / given.size
    chance = float(said @ real)
    return np.asarray((guess == given) - real[guess] - said[given] + chance, dtype=np.float64)
