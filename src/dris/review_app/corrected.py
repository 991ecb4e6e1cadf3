"""The data with people's answers in it: labels corrected, what they vouch for marked as trusted."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dris.core.errors import InputError
from dris.core.files import make_folder
from dris.data.labelled import LabelledData
from dris.data.outputs import write_data
from dris.data.writer import Writer
from dris.review_app.state import Answer
from dris.review_app.worklist import NO_LABEL


@dataclass(frozen=True, slots=True)
class Corrections:
    """What a review changed, in rows; `column` names the column of trusted labels."""

    corrected: int
    trusted: int
    dropped: int
    unsure: int
    column: str

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values, ready for JSON."""
        return asdict(self)


def write_corrected(
    data: LabelledData,
    answers: Mapping[int, Answer],
    path: Path,
    *,
    trusted: str | None = None,
    writer: Writer | None = None,
) -> Corrections:
    """Write the data with corrected labels and a column of trusted ones.

    A row that is wrong and has no other label is left out; unsure rows stay as they are. A
    correction that nobody saw is made, but not trusted.

    Args:
        data: What was reviewed.
        answers: One for each position that people answered; what they dispute is unsure.
        path: A file to write.
        trusted: The data's own column of trusted labels, if it was read; it is brought up to date.
        writer: Decides which files may be replaced.
    """
    labels, vouched = data.labels.copy(), data.trusted.copy()
    known_wrong = np.zeros(len(data), dtype=np.bool_)
    for at, answer in answers.items():
        if answer.kind == "wrong" and answer.label == NO_LABEL:
            known_wrong[at] = True
        elif answer.kind == "wrong":
            labels[at] = answer.label
        if answer.kind != "unsure" and answer.seen:
            vouched[at] = True
    vouched &= ~known_wrong
    column = trusted or "trusted"
    if trusted is None and column in data.origin.columns:
        raise InputError(
            f"the data has a column {column!r} already; pass {column!r} as trusted to add to it"
        )
    marks = {column: vouched}
    make_folder(path.parent)
    write_data(
        data,
        path,
        positions=np.flatnonzero(~known_wrong),
        columns=None if trusted else marks,
        replaced=marks if trusted else None,
        labels=labels,
        unlabelled=True,
        writer=writer,
    )
    return Corrections(
        corrected=int((labels != data.labels).sum()),
        trusted=int(vouched.sum()),
        dropped=int(known_wrong.sum()),
        unsure=sum(answer.kind == "unsure" for answer in answers.values()),
        column=column,
    )
