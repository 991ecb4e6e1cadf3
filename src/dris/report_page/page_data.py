"""What the page is made of: one frozen noun that whatever decides fills and `page` draws."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.checks.diagnostics import Check, Gap
from dris.core.errors import InputError
from dris.core.frozen import read_only
from dris.core.validate import checked_ids, checked_labels, checked_score, exact

DECISIONS = ("kept", "dropped", "suspected", "trusted", "canary")
KEPT, DROPPED, SUSPECTED, TRUSTED, CANARY = range(5)
NO_LABEL = -1
MOST_STEPS = 32  # membership is one bit per step in a 32-bit word

_MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"RIFF")


@dataclass(frozen=True, slots=True)
class Advice:
    """The verdict in plain words, and the numbers it stands on.

    Attributes:
        headline: What was found, in one sentence that a person who reads nothing else should read.
        doing: What to do about it, in one sentence.
        changing: What that would change, with the numbers of the harm check.
        promise: How much may still be wrong and under which condition, or why nothing is promised.
        regime: The kind of corruption recognised, in a few words.
        rule: The recommended rule.
        reason: Why that rule.
        todo: What to do next, one sentence each.
        checks: Assumptions and what became of them.
        certificate: Name and value pairs, as they are to be shown.
        noticed: What was left out, filled in or found in the data, a sentence each.
        confidence: Of every limit on the page.
    """

    headline: str
    regime: str
    rule: str
    reason: str
    doing: str = ""
    changing: str = ""
    promise: str = ""
    todo: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    certificate: tuple[tuple[str, str], ...] = ()
    noticed: tuple[str, ...] = ()
    confidence: float = 0.95

    def tally(self) -> str:
        """How many checks hold, fail and cannot tell, in one line.

        >>> Advice("", "", "", "").tally()
        'no checks were made'
        """
        if not self.checks:
            return "no checks were made"
        found = [check.outcome for check in self.checks]
        said = [f"{found.count('holds')} of {len(found)} checks hold"]
        for outcome, words in (("fails", "fail"), ("cannot tell", "cannot tell")):
            if outcome in found:
                said.append(f"{found.count(outcome)} {words}")
        return ", ".join(said)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The subset at one keep fraction: a mask over all examples, and how corrupted it may be.

    `estimate` and `limit` are None where nothing measures them.
    """

    fraction: float
    kept: NDArray[np.bool_]
    estimate: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table by position, as text ready to be shown; `left_out` counts columns."""

    columns: tuple[str, ...]
    values: Mapping[int, tuple[str, ...]]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Pictures:
    """PNG, JPEG or WebP bytes by position, for the examples that the page can show.

    `beside` is what the table says of them, where they came with one.
    """

    images: Mapping[int, bytes]
    beside: Rows | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Kept examples drawn at random, for a person to check on the page.

    Attributes:
        drawn: Their positions, in the order of the draw.
        limits: The largest share of the kept that may be wrong if 0, 1, … of the drawn are.
        sealed: What was drawn from what, as `dris audit read` wants it beside the answers.
    """

    drawn: NDArray[np.int64]
    limits: tuple[float, ...]
    sealed: str


@dataclass(frozen=True, slots=True, eq=False)
class ReportData:
    """Everything on the page. Arrays have one entry per example, in the user's order.

    Attributes:
        title: What the data are called.
        ids: The user's names of the examples.
        class_names: One per class; labels are positions in it.
        labels: The given labels (a canary's: the planted one).
        proxies: K.
        mean_rank: Mean over proxies of the loss rank, in (0, 1]; larger is harder.
        rank_variance: Its variance over proxies, in [0, 1/4]; larger is more disputed.
        suspicion: Larger is more suspicious; the review queue runs down from its top.
        suspected: Labels that look wrong.
        trusted: Labels known to be right.
        canary: 0, or 1 + the position in `canary_kinds` of a planted example's kind.
        canary_kinds: Names of the kinds of canaries.
        suggested: The label the proxies would give, `NO_LABEL` (-1) where there is none.
        steps: Subsets at growing keep fractions, the chosen one among them.
        keep: The chosen keep fraction.
        queue: Positions of the labels to review, most suspicious first.
        advice: The verdict.
        sample: Kept examples to check, for a limit without assumptions; None for none.
        gap: How the empirical gap grows with K; None without known corruption.
        details: Pictures or rows of the examples that can be shown.
        recipe: Everything needed to do it again.
        environment: Versions and machine, as plain values.
    """

    title: str
    ids: NDArray[Any]
    class_names: tuple[str, ...]
    labels: NDArray[np.int64]
    proxies: int
    mean_rank: NDArray[np.float64]
    rank_variance: NDArray[np.float64]
    suspicion: NDArray[np.float64]
    suspected: NDArray[np.bool_]
    trusted: NDArray[np.bool_]
    canary: NDArray[np.uint8]
    canary_kinds: tuple[str, ...]
    suggested: NDArray[np.int64]
    steps: tuple[Step, ...]
    keep: float
    queue: NDArray[np.int64]
    advice: Advice
    sample: Sample | None = None
    gap: Gap | None = None
    details: Pictures | Rows | None = None
    recipe: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, c = len(self.labels), len(self.class_names)
        labels = checked_labels(self.labels, max(c, 2), least=1)
        checked = {
            "ids": checked_ids(self.ids, n),
            "labels": labels,
            "mean_rank": _numbers(self.mean_rank, "mean_rank", n, 1.0),
            "rank_variance": _numbers(self.rank_variance, "rank_variance", n, 0.25),
            "suspicion": _numbers(self.suspicion, "suspicion", n, None),
            "suspected": _mask(self.suspected, "suspected", n),
            "trusted": _mask(self.trusted, "trusted", n),
            "canary": _whole(self.canary, "canary", n, 0, len(self.canary_kinds)),
            "suggested": _whole(self.suggested, "suggested", n, NO_LABEL, c - 1),
            "queue": _positions(self.queue, "queue", n),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, read_only(value, value.dtype))
        if int(labels.max()) >= c:
            raise InputError(f"class_names has {c} names, but a label is {labels.max()}")
        if len(self.canary_kinds) > 15:
            raise InputError(f"canary_kinds must be at most 15, got {len(self.canary_kinds)}")
        _check_steps(self.steps, self.keep, n)
        _check_details(self.details, n)
        if self.sample is not None:
            drawn = _positions(self.sample.drawn, "the sample", n)
            if not self.steps[self.chosen].kept[drawn].all():
                raise InputError("the sample must be drawn from what is kept; draw it again")

    @property
    def examples(self) -> int:
        """N, the number of examples."""
        return len(self.labels)

    @property
    def chosen(self) -> int:
        """Which step has the chosen keep fraction."""
        return [step.fraction for step in self.steps].index(self.keep)

    @property
    def clearest(self) -> NDArray[np.int64]:
        """The three labels that look wrong most of all."""
        return self.queue[self.suspected[self.queue]][:3]

    @property
    def suspects(self) -> NDArray[np.int64]:
        """Positions of the labels that look wrong, the most suspicious first."""
        at = np.flatnonzero(self.suspected)
        return at[np.argsort(-self.suspicion[at], kind="stable")]

    def confusion(self) -> list[tuple[int, int, int]]:
        """How many suspects have each given and each other suggested label."""
        at = self.suspects
        at = at[(self.suggested[at] != NO_LABEL) & (self.suggested[at] != self.labels[at])]
        pairs = np.stack((self.labels[at], self.suggested[at]), axis=1).reshape(-1, 2)
        values, counts = np.unique(pairs, axis=0, return_counts=True)
        return [(int(a), int(b), int(n)) for (a, b), n in zip(values, counts, strict=True)]

    def decision(self) -> NDArray[np.uint8]:
        """What became of each example, as a position in `DECISIONS`.

        A canary is a canary first, then trusted or suspected, and only then kept or dropped.
        """
        code = np.where(self.steps[self.chosen].kept, KEPT, DROPPED).astype(np.uint8)
        code[self.suspected] = SUSPECTED
        code[self.trusted] = TRUSTED
        code[self.canary > 0] = CANARY
        return code


def _numbers(values: Any, name: str, n: int, most: float | None) -> NDArray[np.float64]:
    a = checked_score(values)
    if a.size != n:
        raise InputError(f"{name} must have one entry per example: {n} examples, {a.size} entries")
    if most is not None and (a.min() < 0 or a.max() > most):
        raise InputError(f"{name} must be in [0, {most:g}], got {a.min():g} to {a.max():g}")
    return a


def _mask(values: Any, name: str, n: int) -> NDArray[np.bool_]:
    a = np.asarray(values)
    if a.dtype != np.bool_ or a.shape != (n,):
        raise InputError(
            f"{name} must be a boolean mask of {n} examples, got {a.dtype} of shape {a.shape}"
        )
    return a


def _whole(values: Any, name: str, n: int, low: int, high: int) -> NDArray[Any]:
    a = np.asarray(values)
    if a.dtype.kind not in "iu" or a.shape != (n,):
        raise InputError(f"{name} must be {n} whole numbers, got {a.dtype} of shape {a.shape}")
    if int(a.min()) < low or int(a.max()) > high:
        raise InputError(f"{name} must be in {low}..{high}, got {a.min()} to {a.max()}")
    return a


def _positions(values: Any, name: str, n: int) -> NDArray[np.int64]:
    a = np.asarray(values)
    if a.ndim != 1 or (a.size and a.dtype.kind not in "iu"):
        raise InputError(f"{name} must be positions, got {a.dtype} of shape {a.shape}")
    if a.size and (int(a.min()) < 0 or int(a.max()) >= n or np.unique(a).size < a.size):
        raise InputError(f"{name} must be positions in 0..{n - 1}, none of them twice")
    return a.astype(np.int64)


def _check_steps(steps: tuple[Step, ...], keep: float, n: int) -> None:
    fractions = [step.fraction for step in steps]
    if not 1 <= len(steps) <= MOST_STEPS:
        raise InputError(f"steps must be 1 to {MOST_STEPS} keep fractions, got {len(steps)}")
    inside = all(0 < exact(f, "fraction") <= 1 for f in fractions)
    if not inside or any(a >= b for a, b in pairwise(fractions)):
        raise InputError(f"steps must be at growing fractions in (0, 1], got {fractions}")
    if keep not in fractions:
        raise InputError(f"keep = {keep} must be one of the steps' fractions, {fractions}")
    for step in steps:
        _mask(step.kept, f"kept at {step.fraction:g}", n)
        for share in (step.estimate, step.limit):
            if share is not None and not (math.isfinite(share) and 0 <= share <= 1):
                raise InputError(f"contamination must be in [0, 1] or None, got {share}")


def _check_details(details: Pictures | Rows | None, n: int) -> None:
    if details is None:
        return
    if isinstance(details, Pictures):
        _check_details(details.beside, n)
    held: Mapping[int, Any] = details.images if isinstance(details, Pictures) else details.values
    outside = [p for p in held if not 0 <= p < n]
    if outside:
        raise InputError(f"details are given for position {outside[0]}, outside 0..{n - 1}")
    if isinstance(details, Pictures):
        for position, image in details.images.items():
            if not image.startswith(_MAGIC):
                raise InputError(f"the picture at position {position} is not PNG, JPEG or WebP")
    else:
        for position, row in details.values.items():
            if len(row) != len(details.columns):
                raise InputError(
                    f"the row at position {position} has {len(row)} cells for "
                    f"{len(details.columns)} columns"
                )
