"""Rows that belong together: those of one patient, user, session or document.

A model that trained on some of them knows the others' given label, so they stay in one fold.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dris.core.errors import parameter
from dris.data.files import listed, one_line
from dris.data.labelled import NO_GROUP, Leak, ReadOptions
from dris.data.tables.rows import bad_column, is_text, plain

Codes = NDArray[np.int64]
_UNIT = re.compile(
    r"(^|[_\W])(patient|subject|participant|person|user|customer|client|member|household|session|"
    r"document|speaker)[_\W]*(ids?|nr|nbr|no|number|code|key)?$",
    re.IGNORECASE,
)
_ID = re.compile(r"(^|[_\W])(?i:ids?|uuid|guid|nr|nbr)$|[a-z]I[dD]$")
MIN_UNITS, MIN_IDS = 10, 50  # different values, above which a column of that name is one
MIN_CLASS_ROWS, MIN_CLASS_GROUPS = 20, 4  # of so many rows of a class, groups for every fold


@dataclass(frozen=True, slots=True)
class Groups:
    """The group of each row, and the columns that name groups, which are not learned from."""

    codes: Codes | None = None
    column: str | None = None
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    leaks: tuple[Leak, ...] = ()


def may_name_groups(names: Sequence[str], options: ReadOptions) -> list[str]:
    """The columns whose names say that they do; those asked for as features do not."""
    if options.labels_only:
        return []
    taken = {*options.special(options.label or "label"), *(options.features or ())}
    return [
        name for name in names if name not in taken and (_UNIT.search(name) or _ID.search(name))
    ]


def read_groups(
    column: Callable[[str], Any], names: Sequence[str], labels: Codes, options: ReadOptions
) -> Groups:
    """The groups that were asked for, or those of the one column among `names` that has some.

    Of several columns the one counts whose groups hold all others, as patients hold visits.
    """
    found = {name: codes for name in names if (codes := _shared(name, column(name))) is not None}
    if options.group not in (None, NO_GROUP):
        name = str(options.group)
        return Groups(codes_of(column(name), name), name, tuple(found))
    widest = [n for n in found if all(_holds(found[n], other) for other in found.values())]
    name = widest[0] if widest else ""
    if options.group is None and name and _every_class_is_spread(found[name], labels):
        note = (
            f"rows with the same {one_line(name)!r} stay in one fold ({found[name].max() + 1:,} "
            f"groups); {parameter('group', NO_GROUP)} spreads them over folds"
        )
        return Groups(found[name], name, tuple(found), (note,))
    leaks = [Leak(listed(list(found), 4), 1.0, False, shared=True)] if found else []
    return Groups(columns=tuple(found), leaks=tuple(leaks))


def codes_of(cells: Any, name: str) -> Codes:
    """A number for each value; a row without one is a group of its own."""
    array = plain(cells)
    kind = array.type
    if is_text(kind):
        array = pc.utf8_trim_whitespace(array)
        array = pc.if_else(pc.equal(array, ""), None, array)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        rule = "a group is a whole number or text; name another column with `group`"
        raise bad_column(name, f"holds {one_line(kind)}, and {rule}")
    encoded = pc.dictionary_encode(array)
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy().copy()
    alone = np.flatnonzero(codes < 0)
    codes[alone] = len(encoded.dictionary) + np.arange(len(alone))
    if codes.max() < 1:
        raise bad_column(name, "puts all rows into one group; name another with `group`")
    return np.asarray(codes, dtype=np.int64)


def _shared(name: str, cells: Any) -> Codes | None:
    """The groups of a column of ids, of which several rows have the same; None if it is none."""
    array = plain(cells)
    there = array.drop_null()
    if is_text(array.type):
        if not len(there) or pc.mean(pc.count_substring_regex(there, r"\S+")).as_py() > 1.5:
            return None
    elif pa.types.is_floating(array.type):
        if not pc.all(pc.equal(there, pc.floor(there))).as_py():
            return None
    elif not pa.types.is_integer(array.type):
        return None
    different = pc.count_distinct(there).as_py()
    least = MIN_UNITS if _UNIT.search(name) and 2 * different <= len(there) else MIN_IDS
    return codes_of(array, name) if least < different < len(there) else None


def _holds(wide: Codes, narrow: Codes) -> bool:
    """True if every group of one lies within a group of the other."""
    pairs = np.unique(np.stack([narrow, wide]), axis=1)
    return bool(pairs.shape[1] == len(np.unique(narrow)))


def _every_class_is_spread(groups: Codes, labels: Codes) -> bool:
    """False where a class of many rows has too few groups to be known in every fold."""
    there = labels >= 0
    pairs = np.unique(np.stack([labels[there], groups[there]]), axis=1)
    within = np.bincount(pairs[0])
    return bool((within[np.bincount(labels[there]) >= MIN_CLASS_ROWS] >= MIN_CLASS_GROUPS).all())
