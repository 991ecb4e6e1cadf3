"""Proxies trained separately: joined into one `Dynamics`, and which of their epochs to score."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dris.core.dynamics.class_probabilities import ClassProbabilities
from dris.core.dynamics.columns import Totals
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.validate import alignment


def merge(parts: Sequence[Dynamics]) -> Dynamics:
    """The proxies of all parts, examples matched by id; see `Dynamics.merge`."""
    if not parts:
        raise InputError("merge needs at least one Dynamics, got none")
    first, *others = parts
    aligned = [first, *(_align(first, part, k) for k, part in enumerate(others, 1))]
    outside = [part.out_of_fold for part in aligned if part.out_of_fold is not None]
    whole = first.is_summary
    return replace(
        first,
        columns={
            name: np.concatenate([part.columns[name] for part in aligned]) for name in first.columns
        },
        provenance={**first.provenance, "proxies": [e for part in aligned for e in part.made()]},
        stored_totals=Totals.join([part.totals() for part in aligned]) if whole else None,
        out_of_fold=merge(outside) if outside else None,
        probabilities=ClassProbabilities.join([part.probabilities for part in aligned]),
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
    if not np.array_equal(order, np.arange(len(order))):  # else nothing is copied
        part = part.reorder(order)
    x, y = part.labels, first.labels
    if (x is None) != (y is None) or (x is not None and not np.array_equal(x, np.asarray(y))):
        raise InputError(f"part {k} cannot be merged: its labels differ from part 0's")
    return part


def best_epoch(dynamics: Dynamics) -> int:
    """The epoch with the smallest mean out-of-fold loss over all proxies and examples.

    Later epochs memorise wrong labels; earlier ones have not learned the right ones.
    """
    loss = dynamics.require_out_of_fold().loss
    if dynamics.is_summary:
        raise InputError(
            "a summary holds one epoch, so there is none to pick; train with "
            'scored_epoch="held_out", which picks it as it goes'
        )
    means = [loss[:, e].mean(dtype=np.float64) for e in range(loss.shape[1])]
    return dynamics.epochs[int(np.argmin(means))]


def held_from(dynamics: Dynamics, epoch: int, last: int) -> Dynamics:
    """Repeat an epoch for all later ones up to `last`, as if training had stopped there.

    Proxies with different best epochs can then be merged. A summary holds only the scored epoch: it
    is added to the totals once more each.

    >>> d = Dynamics.from_arrays(loss=[[[3.0], [1.0], [2.0]]])
    >>> held_from(d, 2, 4).loss.tolist(), held_from(d, 2, 4).scored_epoch
    ([[[3.0], [1.0], [1.0], [1.0]]], 4)
    """
    epochs = (last,) if dynamics.is_summary else tuple(range(1, last + 1))
    outside = dynamics.out_of_fold
    changes: dict[str, Any] = {
        "epochs": epochs,
        "scored_epoch": last,
        "out_of_fold": None if outside is None else held_from(outside, epoch, last),
    }
    if dynamics.is_summary:
        totals = dynamics.totals()
        more = max(0, last - totals.epochs)
        if totals.margin is not None and more:
            totals = replace(totals, margin=totals.margin + more * dynamics.snapshot("margin"))
        return replace(dynamics, stored_totals=replace(totals, epochs=last), **changes)
    if dynamics.epochs == epochs and dynamics.scored_epoch == epoch == last:
        return dynamics
    at = np.minimum(np.arange(last), epoch - 1)
    columns = {name: column[:, at] for name, column in dynamics.columns.items()}
    return replace(dynamics, columns=columns, **changes)
