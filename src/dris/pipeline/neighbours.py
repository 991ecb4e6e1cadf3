"""Rows that nearly copy each other, and rows far from all others: listed, and dropped if asked."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dris.core.checks.neighbours import Neighbours, find_neighbours
from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.stack import as_features
from dris.pipeline.ensemble import Ensemble, scaling

if TYPE_CHECKING:
    from dris.pipeline.decision import Decision

Positions = NDArray[np.int64]
MAX_VALUES = 1 << 28  # of a table; larger ones are not compared row by row
LIST, KEEP_ONE = "list", "keep-one"


def check_near_duplicates(how: str) -> None:
    """Refuse, before anything trains, what is no way to treat near-duplicates."""
    if how not in (LIST, KEEP_ONE):
        raise InputError(f"`near_duplicates` must be {LIST} or {KEEP_ONE}, got {how!r}")


def neighbours_of(ensemble: Ensemble) -> Neighbours | None:
    """What distances between rows show, in what the proxies learn from; None without columns."""
    x, data = ensemble.table, ensemble.data
    if x.ndim == 4:
        x = x.reshape(len(x), -1)
    if not x.shape[1] or x.size > MAX_VALUES:
        return None
    table = as_features(Data(x, data.labels), scaling(data, ensemble.features)).x
    rng = rng_for(ensemble.settings.seed, "neighbours")
    return find_neighbours(np.asarray(table, dtype=np.float32), data.copies, rng=rng)


def duplicate_groups(found: Neighbours, labels: NDArray[np.int64]) -> list[Positions]:
    """The groups of near-copies: those with different labels first, then the largest."""
    order = np.argsort(found.groups, kind="stable")
    order = order[found.groups[order] >= 0]
    ends = np.flatnonzero(np.diff(found.groups[order])) + 1
    groups = np.split(order, ends) if order.size else []
    return sorted(groups, key=lambda rows: (len(set(labels[rows])) == 1, -len(rows), rows[0]))


def keep_one(decision: "Decision") -> "Decision":
    """The decision with one row of each group of near-duplicates, the least likely wrong."""
    gone = np.zeros(len(decision), dtype=np.bool_)
    for rows in decision.near_duplicates:
        there = rows[decision.mask[rows] & ~decision.data.trusted[rows]]
        kept = np.setdiff1d(rows[decision.mask[rows]], there)  # a person vouches for these
        best = there[np.argsort(decision.p_wrong[there], kind="stable")]
        gone[best if kept.size else best[1:]] = True
    if not gone.any():
        return decision
    count = int(gone.sum())
    note = f"{count:,} near-duplicates of a row that is kept were dropped; no limit covers the rest"
    kept = np.flatnonzero(decision.mask & ~gone)
    return replace(decision, kept=kept, limits=(), notes=(*decision.notes, note))


def neighbour_lines(decision: "Decision") -> list[tuple[object, ...]]:
    """A line for each near-duplicate, group by group, then one for each outlier."""
    data, found = decision.data, decision.neighbours
    lines: list[tuple[object, ...]] = [
        ("kind", "group", "id", "given", "p_wrong", "distance", "kept")
    ]
    if found is None:
        return lines

    def line(kind: str, group: object, row: int, distance: float) -> tuple[object, ...]:
        label, kept = data.names[data.labels[row]], "yes" if decision.mask[row] else "no"
        numbers = (f"{decision.p_wrong[row]:.4f}", f"{distance:.4g}")
        return (kind, group, data.ids[row], label, *numbers, kept)

    for number, rows in enumerate(decision.near_duplicates, 1):
        torn = len(set(data.labels[rows])) > 1
        kind = "near-duplicate, labels differ" if torn else "near-duplicate"
        lines += [line(kind, number, row, found.nearest[row]) for row in rows.tolist()]
    lines += [line("outlier", "", row, found.distance[row]) for row in decision.outliers.tolist()]
    return lines
