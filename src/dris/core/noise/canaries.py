"""Canaries: labels flipped on purpose before the proxies train, to measure what gets past.

Each kind imitates one attacker: what is read off its canaries holds for the truly corrupted if
nothing but our record tells the two apart. It says nothing about an attacker who hides better.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core import validate
from dris.core.errors import InputError
from dris.core.subset import Subset, top_mask

Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """Labels with canaries, and the record of which were planted; proxies train on `planted`."""

    planted: Labels  # the labels to train proxies on, read-only
    given: Labels  # the labels as they were, read-only
    positions: Labels  # sorted positions of all canaries
    certifies: Mask  # one entry per canary: True in the certifying part, False in the choosing part
    # one entry per example: -1 where `avoid` was set; those of equal value were equally likely
    stratum: Labels
    uncounted_chance: float  # the largest chance that a canary on a wrong label does not count
    kind: str  # the attacker
    parameters: Mapping[str, Any]  # what it was given, as values that JSON can hold

    def __post_init__(self) -> None:
        for name in ("planted", "given", "positions", "stratum", "certifies"):
            dtype = np.bool_ if name == "certifies" else np.int64
            object.__setattr__(self, name, validate.read_only(getattr(self, name), dtype))
        object.__setattr__(self, "parameters", dict(self.parameters))

    def __len__(self) -> int:
        return self.positions.size

    __eq__ = validate.same_value

    def mask(self) -> Mask:
        """True for every canary, one entry per example."""
        mask = np.zeros(self.given.size, dtype=np.bool_)
        mask[self.positions] = True
        return mask

    def reorder(self, order: Labels) -> "Canaries":
        """The same canaries for the examples in another order."""
        moved = np.argsort(order)[self.positions]
        at = np.argsort(moved)
        every = {name: getattr(self, name)[order] for name in ("planted", "given", "stratum")}
        return replace(self, **every, positions=moved[at], certifies=self.certifies[at])

    @property
    def choosing(self) -> Labels:
        """Positions of those to choose detector, cut, rule, epoch and α by; no limit reads them."""
        return validate.read_only(self.positions[~self.certifies], np.int64)

    @property
    def certifying(self) -> Labels:
        """Positions of those that limits count; nothing may be chosen by looking at them."""
        return validate.read_only(self.positions[self.certifies], np.int64)


def without_canaries(subset: Subset, canaries: Canaries) -> Subset:
    """The subset without any canary: what may be trained on."""
    left = subset.indices[~canaries.mask()[subset.indices]]
    if left.size == 0:
        raise InputError(f"all {len(subset)} chosen examples are canaries; keep more")
    return Subset(left, subset.rule, subset.parameters, subset.total)


def plant_canaries(
    labels: ArrayLike,
    *,
    share: float = 0.04,
    kind: str = "uniform",
    rng: np.random.Generator,
    classes: int | None = None,
    choosing: float = 0.5,
    avoid: ArrayLike | None = None,
    gap: ArrayLike | None = None,
    hardest: float | None = None,
    top_two: ArrayLike | None = None,
    matrix: ArrayLike | None = None,
) -> Canaries:
    """Flip a known random ⌊share·N⌋ of the given labels, each to another class.

    Args:
        labels: The given labels, whole numbers from 0; some may be wrong already.
        share: Of the examples that may become canaries.
        kind: The attacker to imitate. `uniform`: random examples, a random other class. `hard`:
            random among the `hardest` examples by `gap`, a random other class. `confusable`:
            random examples, the runner-up of `top_two`, or the top class where the runner-up is
            the given label. `matrix`: each class hit by the odds of its row, to the class drawn
            from the row's off-diagonal.
        rng: Draws places, labels and the two parts, in this order.
        classes: How many there are, when the labels may not show them all.
        choosing: Share of the canaries set apart for choosing; 0 when nothing is chosen by them.
        avoid: True where no canary may fall: labels known to be right, canaries of another kind.
        gap: Top-two gap of a pilot ensemble's mean prediction, one per example. Never a gradient
            norm of the given label: that would find the already corrupted.
        hardest: The share that counts as hard, for `hard`.
        top_two: (N, 2), the pilot's likeliest class and its runner-up.
        matrix: Row-stochastic, (class, class), with a positive diagonal.

    >>> canaries = plant_canaries([0, 1, 2, 3] * 100, rng=np.random.default_rng(0))
    >>> len(canaries), int((canaries.planted != canaries.given).sum())
    (16, 16)
    """
    if kind not in CANARY_KINDS:
        raise InputError(f"kind must be one of {', '.join(CANARY_KINDS)}, got {kind!r}")
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng must be a NumPy generator, got {rng!r}; pass rng_for(seed, ...)")
    needs, plant = CANARY_KINDS[kind]
    offered = {"gap": gap, "hardest": hardest, "top_two": top_two, "matrix": matrix}
    for name, value in offered.items():
        if (name in needs) != (value is not None):
            verb = "needs" if name in needs else "does not use"
            raise InputError(f"{kind} canaries: the kind {verb} {name}")
    if classes is None and matrix is not None and np.ndim(matrix) == 2:
        classes = np.shape(matrix)[0]
    y = validate.check_labels(labels, classes)
    c = int(y.max()) + 1 if classes is None else int(classes)
    task = _Task(y, c, _open(avoid, y.size), share, rng)
    at, new, stratum, chance = plant(task, **{name: offered[name] for name in needs})
    order, planted = np.argsort(at), y.copy()
    positions = at[order]
    planted[positions] = new[order]
    certifies = np.ones(positions.size, dtype=np.bool_)
    chooses = validate.part_of(choosing, positions.size, "choosing")
    certifies[rng.choice(positions.size, chooses, replace=False)] = False
    parameters = {"share": float(share), "classes": c, "choosing": float(choosing)}
    if hardest is not None:
        parameters["hardest"] = float(hardest)
    return Canaries(planted, y, positions, certifies, stratum, chance, kind, parameters)


def _open(avoid: ArrayLike | None, n: int) -> Mask:
    mask = np.zeros(n, dtype=np.bool_) if avoid is None else np.asarray(avoid)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        raise InputError(
            f"avoid must be a boolean mask of {n} examples, got {mask.dtype} of shape {mask.shape}"
        )
    if mask.all():
        raise InputError(f"avoid marks all {n} examples; leave some for canaries")
    return ~mask


# Where canaries fall, their labels in the same order, every example's stratum, `uncounted_chance`.
_Plan = tuple[Labels, Labels, Labels, float]


@dataclass(frozen=True, slots=True)
class _Task:
    labels: Labels
    classes: int
    open: Mask
    share: float
    rng: np.random.Generator

    def count(self) -> int:
        count = validate.count_of(self.share, int(self.open.sum()), "share")
        if count == self.open.sum():
            raise InputError(f"share must be below 1, got {self.share}; most labels must stay")
        return count

    def draw(self, places: Mask) -> Labels:
        """Draw the canaries' places uniformly among these."""
        count = self.count()
        if places.sum() < count:
            raise InputError(
                f"share = {self.share} asks for {count} canaries, but only {places.sum()} "
                "examples qualify; plant fewer, or let more qualify"
            )
        return self.rng.choice(np.flatnonzero(places), count, replace=False)

    def to_others(self, places: Mask) -> _Plan:
        """Uniform among these places, each to a random other class."""
        at = self.draw(places)
        steps = self.rng.integers(1, self.classes, size=at.size)
        moved = (self.labels[at] + steps) % self.classes
        return at, moved, self.strata(places), 1 / (self.classes - 1)

    def strata(self, places: Mask) -> Labels:
        """-1 where canaries must not fall, 0 where none happens to, 1 where all alike may."""
        return np.where(self.open, places.astype(np.int64), -1)


def _hard(task: _Task, gap: ArrayLike, hardest: float) -> _Plan:
    size = validate.check_score(gap)
    if size.size != task.labels.size or size.min() < 0:
        raise InputError(
            f"gap must be one number from 0 up for each of {task.labels.size} labels, "
            f"got {size.size} with a smallest of {size.min():.6g}"
        )
    candidates = np.flatnonzero(task.open)
    count = validate.count_of(hardest, candidates.size, "hardest")
    ties = int(task.rng.integers(2**31))
    pool = np.zeros_like(task.open)
    pool[candidates[top_mask(-size[candidates], count, seed=ties, ids=None)]] = True
    return task.to_others(pool)


def _confusable(task: _Task, top_two: ArrayLike) -> _Plan:
    pairs = np.asarray(top_two)
    if pairs.shape != (task.labels.size, 2) or pairs.dtype.kind not in "iu":
        raise InputError(
            f"top_two must be whole numbers of shape ({task.labels.size}, 2), "
            f"got {pairs.dtype} of shape {pairs.shape}"
        )
    if pairs.min() < 0 or pairs.max() >= task.classes or (pairs[:, 0] == pairs[:, 1]).any():
        raise InputError(f"top_two must hold two different classes of 0..{task.classes - 1} each")
    positions = task.draw(task.open)
    top, second = pairs[positions].astype(np.int64).T
    labels = np.where(second == task.labels[positions], top, second)
    # This attacker's own wrong labels are runners-up, so that flipping one restores the truth.
    return positions, labels, task.strata(task.open), 1.0


def _matrix(task: _Task, matrix: ArrayLike) -> _Plan:
    rows = validate.check_rows(matrix, "matrix", task.classes, task.classes)
    if not (rows.diagonal() > 0).all():
        c = int(np.argmin(rows.diagonal()))
        raise InputError(f"matrix must leave some of each class right, class {c} keeps none")
    away = rows.copy()
    np.fill_diagonal(away, 0.0)
    # The attacker hits class c in proportion to what leaves it, and leaves the diagonal right:
    # among the right labels of the class, the odds make canaries as frequent as its wrong ones.
    odds = away.sum(axis=1) / rows.diagonal()
    weight = np.where(task.open, odds[task.labels], 0.0)
    places, count = np.flatnonzero(weight > 0), task.count()
    if places.size < count:
        raise InputError(
            f"share = {task.share} asks for {count} canaries, but the matrix flips only "
            f"{places.size} examples' classes; plant fewer"
        )
    # The earliest of exponential clocks: a weighted draw, uniform among equal weights.
    clocks = task.rng.exponential(size=places.size) / weight[places]
    positions = places[np.argpartition(clocks, count - 1)[:count]]
    cumulative = np.cumsum(away, axis=1)[task.labels[positions]]
    draws = task.rng.random(count) * cumulative[:, -1]
    labels = (cumulative <= draws[:, None]).sum(axis=1)
    return positions, labels, np.where(task.open, task.labels, -1), 1.0


# Each attacker with the arguments it needs.
CANARY_KINDS: dict[str, tuple[tuple[str, ...], Callable[..., _Plan]]] = {
    "uniform": ((), lambda task: task.to_others(task.open)),
    "hard": (("gap", "hardest"), _hard),
    "confusable": (("top_two",), _confusable),
    "matrix": (("matrix",), _matrix),
}

# What each of them means by "nothing but our record tells which we planted".
ATTACKERS: dict[str, str] = {
    "uniform": "wrong labels are a random set of examples, each with a random other class",
    "hard": "wrong labels are a random set of the examples with the smallest top-two gap, each "
    "with a random other class, and that gap does not depend on which they are",
    "confusable": "wrong labels are a random set of examples, each with the pilot's runner-up, "
    "and the pilot does not depend on which they are",
    "matrix": "wrong labels were made by the matrix, class by class, and are rare enough for "
    "given labels to show how large the classes are",
}


def conditions(kind: str) -> tuple[str, ...]:
    """What every statement from canaries of a kind assumes, as sentences."""
    return (
        f"the {kind} attacker is the true one ({ATTACKERS[kind]}), or wrong labels get past the "
        "detector no more easily than its canaries, and no feature was made from the given label",
        "scores and subset depend on the flipped labels, never on which of them are certifying "
        "canaries",
        "labels set apart as `avoid` are right, or not in the subset",
    )
