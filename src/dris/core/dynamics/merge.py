"""Join proxies that were trained separately into one `Dynamics`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dris.core.dynamics.columns import PER_EXAMPLE, TRAJECTORIES
from dris.core.dynamics.dynamics import Dynamics
from dris.core.dynamics.trajectories import Totals
from dris.core.errors import InputError
from dris.core.validate import alignment


def merge(parts: Sequence[Dynamics]) -> Dynamics:
    """The proxies of all parts, examples matched by id; see `Dynamics.merge`."""
    if not parts:
        raise InputError("merge needs at least one Dynamics, got none")
    first, *others = parts
    aligned = [first, *(_align(first, part, k) for k, part in enumerate(others, 1))]
    outside = [part.out_of_fold for part in aligned if part.out_of_fold is not None]
    columns = {
        name: np.concatenate([part.columns[name] for part in aligned])
        if name in TRAJECTORIES
        else column
        for name, column in first.columns.items()
    }
    return replace(
        first,
        columns=columns,
        provenance={**first.provenance, "proxies": [e for part in aligned for e in part.made()]},
        stored_totals=Totals.join([part.totals() for part in aligned])
        if first.is_summary
        else None,
        out_of_fold=merge(outside) if outside else None,
    )


def _align(first: Dynamics, part: Dynamics, k: int) -> Dynamics:
    """`part` with its examples in the order of `first`; whatever differs is an error."""
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
    part = part.reorder(order)
    for what, x, y in (
        ("labels", part.labels, first.labels),
        *((n, part.columns[n], first.columns[n]) for n in first.columns if n in PER_EXAMPLE),
    ):
        if (x is None) != (y is None) or (x is not None and not np.array_equal(x, np.asarray(y))):
            raise InputError(f"part {k} cannot be merged: its {what} differ from part 0's")
    return part
