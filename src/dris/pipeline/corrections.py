"""What a person is asked about the data, and what they ticked, in terms of the data."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dris.core.checks.verdicts import NO_LABEL, Review, ReviewQueue, apply_review, review_queue
from dris.core.errors import InputError
from dris.core.parameters import parameter
from dris.data.display import looks
from dris.data.files import listed, one_line
from dris.data.interchange.scorefile import read_scores
from dris.data.labelled import LabelledData
from dris.data.outputs import write_data
from dris.data.writer import Writer
from dris.pipeline.answers import Tick, questions
from dris.pipeline.decision import Decision


def asked_by_proxies(decision: Decision, n: int) -> ReviewQueue:
    """The n most suspicious labels, but for trusted ones."""
    scored = decision.scored
    if scored is None:
        raise InputError(f"there is nothing to ask about: {'; '.join(decision.notes)}")
    return review_queue(
        -decision.suspicion, decision.data.labels, scored.suggested(), n, skip=decision.data.trusted
    )


def asked_by_scores(data: LabelledData, path: Path, n: int) -> tuple[ReviewQueue, int]:
    """The same from what `dris score` wrote about this data; also how many canaries it hides."""
    file = scores_in(path)
    scores = read_scores(file).aligned(data.ids)
    for name in ("given", "suggested"):
        if name not in scores.texts:
            raise InputError(f"{file} has no column {name!r}; score the data with dris score")
    given = data.given().astype(str)
    if not np.array_equal(scores.texts["given"], given):
        raise InputError(f"{file} is of other labels than the data has now; score the data again")
    number = {str(value): place for place, value in enumerate(data.classes)}
    suggested = [number[str(word)] for word in np.asarray(scores.texts["suggested"]).tolist()]
    hidden = np.asarray(scores.flags.get("canary", np.zeros(len(data), dtype=np.bool_)))
    skip = data.trusted | hidden
    # Files of before there was one suspicion hold the mean margin, which it negates.
    older = "suspicion" not in scores.scores
    clean = scores.score("aum_mean") if older else -scores.score("suspicion")
    queue = review_queue(clean, data.labels, suggested, n, skip=skip)
    return queue, int(hidden.sum())


def scores_in(path: Path) -> Path:
    """The score file that is meant by itself or by the folder of `dris score`."""
    return path / "scores.parquet" if path.is_dir() else path


def rows_of(data: LabelledData, queue: ReviewQueue) -> bytes:
    """The queue as a file to fill in."""
    rows = [
        (str(data.ids[at]), data.names[given], data.names[other])
        for at, given, other in zip(
            queue.positions.tolist(), queue.given.tolist(), queue.suggested.tolist(), strict=True
        )
    ]
    return questions(rows, looks(data, queue.positions))


def review_of(ticks: Sequence[Tick], data: LabelledData) -> Review:
    """The ticks as a review of this data; ids, given labels and corrections must be its own.

    >>> data = LabelledData.of(np.eye(2), [0, 1], classes=("cat", "dog"), ids=["a", "b"])
    >>> review_of([Tick("b", "dog", "cat", "wrong", "cat")], data).corrected.tolist()
    [0]
    """
    if not ticks:
        raise InputError("the review holds no verdict; write right, wrong or unsure into some rows")
    places = {str(name): place for place, name in enumerate(data.ids.tolist())}
    numbers = {str(value): number for number, value in enumerate(data.classes)}
    numbers = {**{name: number for number, name in enumerate(data.names)}, **numbers}
    at, corrected = [], []
    for tick in ticks:
        if tick.id not in places:
            raise InputError(
                f"the review names {one_line(repr(tick.id))}, which is no id of this data; "
                "review the data itself, with the same `id`"
            )
        place = places[tick.id]
        if numbers.get(tick.given) != data.labels[place]:
            raise InputError(
                f"the review calls the given label of {one_line(tick.id)} "
                f"{one_line(repr(tick.given))}, in the data it is "
                f"{one_line(repr(data.names[data.labels[place]]))}; review this data"
            )
        at.append(place)
        corrected.append(_correction(tick, int(data.labels[place]), numbers, data))
    return Review(
        data.ids[np.array(at)],
        tuple(tick.verdict for tick in ticks),
        np.array(corrected, dtype=np.int64),
    )


def _correction(tick: Tick, given: int, numbers: dict[str, int], data: LabelledData) -> int:
    if not tick.corrected:
        return NO_LABEL
    who, label = one_line(tick.id), one_line(repr(tick.corrected))
    if tick.verdict != "wrong":
        raise InputError(
            f"{who} is {tick.verdict} and corrected to {label}; only a wrong label has a correction"
        )
    if tick.corrected not in numbers:
        raise InputError(
            f"{who} is corrected to {label}, which is no class of this data; "
            f"its classes are {listed(data.names)}"
        )
    if numbers[tick.corrected] == given:
        raise InputError(
            f"{who} is wrong and corrected to {label}, the label it has; "
            "call it right, or give another label"
        )
    return numbers[tick.corrected]


@dataclass(frozen=True, slots=True)
class Applied:
    """What a review changed: labels corrected, rows dropped, trusted in all, unsure left alone.

    `column` is the name of the column that says what is trusted.
    """

    corrected: int
    trusted: int
    dropped: int
    unsure: int
    column: str

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values, ready for JSON."""
        return asdict(self)


def write_reviewed(
    data: LabelledData,
    ticks: Sequence[Tick],
    path: Path,
    *,
    trusted: str | None = None,
    unseen: Collection[str] = (),
    force: bool = False,
    writer: Writer | None = None,
) -> Applied:
    """Write the data with corrected labels and a column of trusted ones.

    A row that is wrong and has no other label is left out: no later run may keep it, and a mark
    in a column would be one more thing that such a run has to know. Unsure rows stay as they are.

    Args:
        data: What was reviewed.
        ticks: What was said.
        path: A file to write.
        trusted: The data's own column of trusted labels, if it was read; it is brought up to date.
        unseen: Ids whose correction nobody looked at: made, but not trusted.
        force: Replace a file that dris wrote.
        writer: Decides in place of `force`.
    """
    review = review_of(ticks, data)
    done = apply_review(data.labels, review, ids=data.ids, classes=len(data.classes))
    seen = np.ones(len(data), dtype=np.bool_)
    if unseen:
        seen[np.isin(data.ids.astype(np.str_), sorted(unseen))] = False
    vouched = (data.trusted | (done.trusted & seen)) & ~done.known_wrong
    kept = np.flatnonzero(~done.known_wrong)
    column = trusted or "trusted"
    if trusted is None and column in data.origin.columns:
        raise InputError(
            f"the data has a column {column!r} already; pass {parameter('trusted', column)} to add "
            "to it"
        )
    marks = {column: vouched}
    write_data(
        data,
        path,
        positions=kept,
        columns=None if trusted else marks,
        replaced=marks if trusted else None,
        labels=done.labels,
        unlabelled=True,
        force=force,
        writer=writer,
    )
    return Applied(
        corrected=int((done.labels != data.labels).sum()),
        trusted=int(vouched.sum()),
        dropped=len(data) - kept.size,
        unsure=review.verdicts.count("unsure"),
        column=column,
    )
