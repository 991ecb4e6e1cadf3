"""What has to agree before proxies trained apart can stand in one `Dynamics`."""

import numpy as np

from dris.core.dynamics.columns import PER_EXAMPLE
from dris.core.dynamics.dynamics import Dynamics
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
        ("folds (values out of fold)", bool(part.out_of_fold), bool(first.out_of_fold)),
    ):
        if a != b:
            raise InputError(f"part {k} cannot be merged: its {what} {a} differ from part 0's {b}")
    order = alignment(part.ids, first.ids)
    if order is None:
        raise InputError(f"part {k} cannot be merged: its example ids are not those of part 0")
    part = part.reordered(order)
    for what, x, y in (
        ("labels", part.labels, first.labels),
        *((n, part.columns[n], first.columns[n]) for n in first.columns if n in PER_EXAMPLE),
    ):
        if (x is None) != (y is None) or (x is not None and not np.array_equal(x, np.asarray(y))):
            raise InputError(f"part {k} cannot be merged: its {what} differ from part 0's")
    return part
