"""The labels a person should look at first, and what the person said, read back as trusted."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.core.frozen import read_only, same_value
from dris.core.ids import Positions
from dris.core.select.selection import top_mask
from dris.core.validate import checked_count, checked_ids, checked_labels, checked_score

VERDICTS = ("right", "wrong", "unsure")
NO_LABEL = -1  # a label is wrong, but nobody said which is right


@dataclass(frozen=True, slots=True, eq=False)
class ReviewQueue:
    """Positions to look at, the most suspicious first, with the given and the suggested label."""

    positions: NDArray[np.int64]
    given: NDArray[np.int64]
    suggested: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in ("positions", "given", "suggested"):
            object.__setattr__(self, name, read_only(getattr(self, name), np.int64))

    def __len__(self) -> int:
        return self.positions.size

    def __eq__(self, other: object) -> bool:
        return same_value(self, other)


def review_queue(
    score: ArrayLike,
    labels: ArrayLike,
    suggested: ArrayLike,
    n: int,
    *,
    skip: ArrayLike | None = None,
    seed: int = 0,
) -> ReviewQueue:
    """The n labels that look most wrong, lowest score first.

    Args:
        score: Larger for cleaner, as every score here.
        labels: The given labels, not the planted ones: a person should not correct canaries.
        suggested: The label the proxies would give, one per example.
        n: How many to queue; fewer come back when `skip` leaves fewer.
        skip: True for labels that need no look: those already trusted, and canaries, whose
            scores are about the planted label.
        seed: Breaks ties between equal scores.

    >>> queue = review_queue([0.9, 0.1, 0.5], [0, 1, 0], [0, 0, 1], 2)
    >>> queue.positions.tolist(), queue.suggested.tolist()
    ([1, 2], [0, 1])
    """
    s, count = checked_score(score), checked_count(n, "n", at_least=1)
    y, other = checked_labels(labels, least=1), checked_labels(suggested, least=1)
    if not s.size == y.size == other.size:
        raise InputError(
            "score, labels and suggested must be one per example, "
            f"got {s.size}, {y.size} and {other.size}"
        )
    open_places = np.arange(s.size)
    if skip is not None:
        mask = np.asarray(skip)
        if mask.dtype != np.bool_ or mask.shape != s.shape:
            raise InputError(
                f"skip must be a boolean mask of {s.size} examples, "
                f"got {mask.dtype} of shape {mask.shape}"
            )
        open_places = np.flatnonzero(~mask)
    suspicion = -s[open_places]
    if count < open_places.size:
        chosen, _ = top_mask(suspicion, count, seed=seed, ids=open_places)
        open_places, suspicion = open_places[chosen], suspicion[chosen]
    order = open_places[np.argsort(-suspicion, kind="stable")]
    return ReviewQueue(order, y[order], other[order])


@dataclass(frozen=True, slots=True, eq=False)
class Review:
    """What a person said about some labels.

    Attributes:
        ids: Which examples.
        verdicts: "right", "wrong" or "unsure", one per id.
        corrected: The right label where the given one is wrong, -1 where nobody said.

    >>> Review(np.array([3, 5]), ("right", "wrong"), np.array([-1, 2])).wrong
    1
    """

    ids: NDArray[np.generic]
    verdicts: tuple[str, ...]
    corrected: NDArray[np.int64]

    def __post_init__(self) -> None:
        ids = checked_ids(self.ids, len(self.verdicts))
        corrected = np.asarray(self.corrected)
        if corrected.shape != ids.shape or corrected.dtype.kind not in "iu":
            raise InputError(
                f"corrected must be one whole number for each of {ids.size} ids, "
                f"got {corrected.dtype} of shape {corrected.shape}"
            )
        for name, verdict, label in zip(
            ids.tolist(), self.verdicts, corrected.tolist(), strict=True
        ):
            if verdict not in VERDICTS:
                raise InputError(
                    f"the verdict on {name} must be one of {', '.join(VERDICTS)}, got {verdict!r}"
                )
            if label < NO_LABEL or (label != NO_LABEL and verdict != "wrong"):
                raise InputError(
                    f"{name} is {verdict} and corrected to {label}; only a wrong label has a "
                    "correction, 0 or more, and -1 stands for none"
                )
        object.__setattr__(self, "ids", read_only(ids, ids.dtype))
        object.__setattr__(self, "verdicts", tuple(self.verdicts))
        object.__setattr__(self, "corrected", read_only(corrected, np.int64))

    def __eq__(self, other: object) -> bool:
        return same_value(self, other)

    @property
    def wrong(self) -> int:
        """How many are wrong."""
        return self.verdicts.count("wrong")


@dataclass(frozen=True, slots=True, eq=False)
class Reviewed:
    """Labels after a review.

    Attributes:
        labels: With the corrections made.
        trusted: True where a person vouches for the label: later runs never drop it.
        known_wrong: True where a person called the label wrong and gave no other: never keep it.
    """

    labels: NDArray[np.int64]
    trusted: NDArray[np.bool_]
    known_wrong: NDArray[np.bool_]

    def __eq__(self, other: object) -> bool:
        return same_value(self, other)


def apply_review(
    labels: ArrayLike, review: Review, *, ids: ArrayLike | None = None, classes: int | None = None
) -> Reviewed:
    """Write the corrections into the given labels; right and corrected ones become trusted.

    >>> review = Review(np.array([0, 2]), ("right", "wrong"), np.array([-1, 1]))
    >>> done = apply_review([0, 1, 0], review)
    >>> done.labels.tolist(), done.trusted.tolist()
    ([0, 1, 1], [True, False, True])
    """
    y = checked_labels(labels, classes, least=1)
    names = checked_ids(ids, y.size)
    try:
        at = Positions(names).of(review.ids)
    except InputError as error:
        raise InputError(f"the review is not of this data set: {error}") from None
    if classes is not None and review.corrected.size and review.corrected.max() >= classes:
        raise InputError(
            f"corrections must be below classes = {classes}, got {review.corrected.max()}"
        )
    verdicts = np.array(review.verdicts, dtype=np.str_)
    has_label = review.corrected != NO_LABEL
    y[at[has_label]] = review.corrected[has_label]
    trusted, known_wrong = np.zeros(y.size, dtype=np.bool_), np.zeros(y.size, dtype=np.bool_)
    trusted[at[has_label | (verdicts == "right")]] = True
    known_wrong[at[(verdicts == "wrong") & ~has_label]] = True
    return Reviewed(
        read_only(y, np.int64), read_only(trusted, np.bool_), read_only(known_wrong, np.bool_)
    )
