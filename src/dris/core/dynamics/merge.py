"""What has to agree before proxies trained apart can stand in one `Dynamics`."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.columns import PER_EXAMPLE, TRAJECTORIES
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.core.ids import alignment


def aligned_to(first: Dynamics, part: Dynamics, k: int) -> Dynamics:
    """`part` with its examples in the order of `first`; whatever differs is an error naming part k.

    >>> first, part = (Dynamics.from_losses([[1.0, 2.0]], ids=i) for i in (["a", "b"], ["b", "a"]))
    >>> aligned_to(first, part, 1).loss.tolist()
    [[[2.0, 1.0]]]
    """
    for what, a, b in (
        ("recorded epochs", part.epochs, first.epochs),
        ("scored epoch", part.scored_epoch, first.scored_epoch),
        ("epochs summed", part.totals_epochs, first.totals_epochs),
        ("form (summary or full)", part.is_summary, first.is_summary),
        ("columns", sorted(part.columns), sorted(first.columns)),
    ):
        if a != b:
            raise InputError(f"part {k} cannot be merged: its {what} {a} differ from part 0's {b}")
    order = alignment(part.ids, first.ids)
    if order is None:
        raise InputError(f"part {k} cannot be merged: its example ids are not those of part 0")
    part = reordered(part, order)
    for what, x, y in (
        ("labels", part.labels, first.labels),
        *((n, part.columns[n], first.columns[n]) for n in first.columns if n in PER_EXAMPLE),
    ):
        if (x is None) != (y is None) or (x is not None and not np.array_equal(x, np.asarray(y))):
            raise InputError(f"part {k} cannot be merged: its {what} differ from part 0's")
    return part


def reordered(part: Dynamics, order: NDArray[np.intp]) -> Dynamics:
    """The same dynamics with examples in another order: every column, label, id and total.

    >>> reordered(Dynamics.from_losses([[1.0, 2.0]]), np.array([1, 0])).ids.tolist()
    [1, 0]
    """
    totals = part.stored_totals
    return replace(
        part,
        columns={
            n: c[:, :, order] if n in TRAJECTORIES else c[order] for n, c in part.columns.items()
        },
        ids=part.ids[order],
        labels=None if part.labels is None else part.labels[order],
        stored_totals=None if totals is None else totals.pick((slice(None), order)),
    )
