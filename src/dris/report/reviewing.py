"""What a person ticked, in terms of the data: positions, classes, trusted labels."""

from collections.abc import Sequence

import numpy as np

from dris.core.errors import InputError
from dris.core.review import NO_LABEL, Review
from dris.data.files import listed, one_line
from dris.data.labelled import LabelledData
from dris.report.ticks import Tick


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
                "review the data itself, with the same --id"
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
