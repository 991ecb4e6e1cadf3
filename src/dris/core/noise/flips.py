"""Label noise on purpose: each kind flips an exact number of labels, from its own stream."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core import validate
from dris.core.errors import InputError
from dris.core.streams import check_seed, rng_for, seed_for
from dris.core.subset import top_mask

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyLabels:
    """Given and true labels; only evaluation may look at the true ones."""

    given: Labels  # the labels to train on, read-only
    true: Labels  # the labels before the corruption, read-only
    how: Mapping[str, Any]  # what was done, as values that JSON can hold
    flipped: NDArray[np.bool_] = field(init=False)  # where the two differ

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", validate.read_only(self.given, np.int64))
        object.__setattr__(self, "true", validate.read_only(self.true, np.int64))
        object.__setattr__(self, "how", dict(self.how))
        object.__setattr__(self, "flipped", validate.read_only(self.given != self.true, np.bool_))

    __eq__ = validate.same_value

    @property
    def rate(self) -> float:
        """The share of labels that differ from the truth, as realised."""
        return float(self.flipped.mean())


def flip_labels(
    labels: ArrayLike,
    rate: float | None = None,
    *,
    kind: str = "uniform",
    seed: int = 0,
    classes: int | None = None,
    norms: ArrayLike | None = None,
    matrix: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    features: ArrayLike | None = None,
) -> NoisyLabels:
    """Corrupt exactly ⌊νN⌋ labels (ν = rate), never back to the true class.

    Args:
        labels: Whole numbers from 0.
        rate: ν in [0, 1); for `transition` the matrix decides instead.
        kind: `uniform`: random examples, a random other class. `targeted`: the examples with the
            largest `norms`, a random other class (the paper's attack). `pair`: random examples,
            the next class. `transition`: every label redrawn from its row of `matrix`.
            `instance`: examples and classes that look alike to a pilot model's `probabilities`,
            or along random projections of `features` (Xia et al. 2020).
        seed: Each kind draws from a stream of its own under this seed.
        classes: How many there are, when the labels may not show them all.
        norms: Gradient norms, one per example.
        matrix: Row-stochastic, (class, class).
        probabilities: (example, class), rows sum to 1.
        features: (example, feature).

    >>> noisy = flip_labels([0, 1, 2, 0, 1, 2, 0, 1], 0.25, seed=0)
    >>> int(noisy.flipped.sum()), noisy.rate
    (2, 0.25)
    """
    if kind not in NOISE_KINDS:
        raise InputError(f"kind must be one of {', '.join(NOISE_KINDS)}, got {kind!r}")
    given = {"rate": rate, "norms": norms, "matrix": matrix}
    given |= {"probabilities": probabilities, "features": features}
    values = {name: value for name, value in given.items() if value is not None}
    needs, flip = _find_flip(kind, set(values))
    y, c = _check_classes(labels, classes, values)
    new = flip(_Task(y, c, check_seed(seed), rng_for(seed, "noise", kind)), **values)
    how = {"kind": kind, "seed": check_seed(seed), "classes": c}
    if rate is not None:
        how["rate"] = float(validate.exact(rate, "rate"))
    if "matrix" in values:
        how["matrix"] = validate.numeric(values["matrix"], "matrix").tolist()
    if kind == "instance":
        how["by"] = needs[-1]
    return NoisyLabels(new, y, how)


@dataclass(frozen=True, slots=True)
class _Task:
    labels: Labels
    classes: int
    seed: int
    rng: np.random.Generator

    def count(self, rate: float) -> int:
        if validate.exact(rate, "rate") == 1:
            raise InputError("rate must be below 1, got 1; some labels must stay true")
        return validate.part_of(rate, self.labels.size, "rate")

    def draw(self, rate: float) -> Labels:
        return self.rng.choice(self.labels.size, self.count(rate), replace=False)

    def shift(self, positions: Labels, steps: Labels | int) -> Labels:
        """The labels with those at the positions moved on by 1..C-1 classes, cyclically."""
        new = self.labels.copy()
        new[positions] = (new[positions] + steps) % self.classes
        return new

    def replace(self, positions: Labels) -> Labels:
        """The labels with those at the positions replaced by a random other class."""
        return self.shift(positions, self.rng.integers(1, self.classes, size=positions.size))

    def by_logits(self, positions: Labels, logits: Floats) -> Labels:
        """Those at the positions drawn by softmax from the others; uniform if none is likely."""
        new, rows, y = self.labels.copy(), np.arange(positions.size), self.labels[positions]
        others = logits.copy()
        others[rows, y] = -np.inf
        others[np.isneginf(others).all(axis=1)] = 0.0
        others[rows, y] = -np.inf
        # The largest of Gumbel-shifted logits is a draw from their softmax.
        new[positions] = np.argmax(others + self.rng.gumbel(size=logits.shape), axis=1)
        return new


def _targeted(task: _Task, rate: float, norms: ArrayLike) -> Labels:
    size = validate.check_score(norms)
    if size.size != task.labels.size:
        raise InputError(
            f"norms must be one per example: {task.labels.size} labels, {size.size} norms"
        )
    if size.min() < 0:
        raise InputError(f"norms must be 0 or more, got {size.min()}")
    ties = seed_for(task.seed, "noise", "targeted", "ties")
    mask = top_mask(size, task.count(rate), seed=ties, ids=None)
    return task.replace(np.flatnonzero(mask))


def _transition(task: _Task, matrix: ArrayLike) -> Labels:
    rows = validate.check_rows(matrix, "matrix", task.classes, task.classes)
    # Divided by its last entry each row ends at exactly 1, so no draw in [0, 1) falls outside.
    cumulative = np.cumsum(rows, axis=1)
    cumulative /= cumulative[:, -1:]
    draws = task.rng.random(task.labels.size)
    new = np.empty_like(task.labels)
    for c in range(task.classes):
        here = task.labels == c
        new[here] = np.searchsorted(cumulative[c], draws[here], side="right")
    return new


def _instance_by_model(task: _Task, rate: float, probabilities: ArrayLike) -> Labels:
    """Flip where the pilot model finds the label unlikely, to the classes it prefers."""
    y = task.labels
    p = validate.check_rows(probabilities, "probabilities", y.size, task.classes)
    # Summed over the other classes: 1 - p_y would lose what is below 1e-16.
    others = p.copy()
    others[np.arange(y.size), y] = 0.0
    chosen = _weighted_positions(others.sum(axis=1), task.count(rate), task.rng)
    with np.errstate(divide="ignore"):
        return task.by_logits(chosen, np.log(p[chosen]))


def _instance_by_features(task: _Task, rate: float, features: ArrayLike) -> Labels:
    """Flip by a random propensity, to classes scored by one random projection per true class."""
    y, x = task.labels, validate.numeric(features, "features")
    if x.ndim != 2 or x.shape[0] != y.size or x.shape[1] == 0:
        raise InputError(f"features must be ({y.size}, D), one row per example, got {x.shape}")
    if not np.isfinite(x).all() or np.abs(x).max() > 1e100:
        raise InputError("features must be finite and of a sane size; standardise them")
    count = task.count(rate)
    propensity = _truncated_normal(float(validate.exact(rate, "rate")), 0.1, y.size, task.rng)
    chosen = _weighted_positions(propensity, count, task.rng)
    logits = np.empty((chosen.size, task.classes))
    for c in range(task.classes):
        projection = task.rng.standard_normal((x.shape[1], task.classes))
        here = y[chosen] == c
        logits[here] = x[chosen[here]] @ projection
    return task.by_logits(chosen, logits)


def _weighted_positions(weight: Floats, count: int, rng: np.random.Generator) -> Labels:
    """Positions drawn one after the other in proportion to weight, by exponential clocks."""
    clock = rng.exponential(size=weight.size)
    with np.errstate(divide="ignore", over="ignore"):
        ring = np.where(weight > 0, clock / weight, clock)
    return np.lexsort((ring, weight == 0))[:count]


def _truncated_normal(mean: float, sd: float, n: int, rng: np.random.Generator) -> Floats:
    draws = rng.normal(mean, sd, size=n)
    while (outside := (draws < 0) | (draws > 1)).any():
        draws[outside] = rng.normal(mean, sd, size=np.count_nonzero(outside))
    return draws


# Each kind with the ways to ask for it: the arguments that it takes, all of them needed.
NOISE_KINDS: dict[str, dict[tuple[str, ...], Callable[..., Labels]]] = {
    "uniform": {("rate",): lambda task, rate: task.replace(task.draw(rate))},
    "targeted": {("rate", "norms"): _targeted},
    "pair": {("rate",): lambda task, rate: task.shift(task.draw(rate), 1)},
    "transition": {("matrix",): _transition},
    "instance": {
        ("rate", "probabilities"): _instance_by_model,
        ("rate", "features"): _instance_by_features,
    },
}


def _find_flip(kind: str, given: set[str]) -> tuple[tuple[str, ...], Callable[..., Labels]]:
    """The way to make this kind of noise that takes exactly the given arguments."""
    for needs, flip in NOISE_KINDS[kind].items():
        if set(needs) == given:
            return needs, flip
    ways = ", or ".join(" and ".join(needs) for needs in NOISE_KINDS[kind])
    unused = given.difference(*NOISE_KINDS[kind])
    if unused:
        raise InputError(f"{kind} noise does not use {' or '.join(sorted(unused))}; pass {ways}")
    got = " and ".join(sorted(given)) or "neither"
    raise InputError(f"{kind} noise needs {ways}; got {got}")


def _check_classes(
    labels: ArrayLike, classes: int | None, values: Mapping[str, Any]
) -> tuple[Labels, int]:
    """Labels and C: as given, else as wide as the matrix or probabilities, else as seen."""
    for name in ("matrix", "probabilities"):
        if classes is None and name in values and np.ndim(values[name]) == 2:
            classes = np.shape(values[name])[1]
    if classes is not None:
        classes = validate.check_count(classes, "classes", 2)
    y = validate.check_labels(labels, classes)
    return y, int(y.max()) + 1 if classes is None else classes
