"""Columns of numbers looked at once: gaps, infinities, constants, ids and copies."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.data.files import one_line
from dris.data.labelled import How
from dris.data.tables.numbers.word_columns import LeftOut, gaps_filled

if TYPE_CHECKING:
    from dris.data.tables.numbers.encoding import Rows

_CELLS = 1 << 22  # at once
_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|key|nr|index|idx|row|rownames?|no)$", re.I)
_OF_OTHERS = re.compile(r"(^|[_\W])(id|ids|uuid|guid|nr)$", re.I)
MANY = 50  # values, from which on a column that is called an id is one though they repeat
ONE_BY_ONE = 3  # columns with gaps that have a note each
ENOUGH = 20  # rows, before a run of whole numbers is taken for a numbering
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(slots=True)
class NumberSurvey:
    """What each column of numbers holds; `hash` tells columns apart that are no copies."""

    names: list[str]
    kinds: dict[str, Any]
    rows: int
    gaps: dict[str, int] = field(default_factory=dict)
    infinite: dict[str, int] = field(default_factory=dict)
    first_gap: dict[str, int] = field(default_factory=dict)
    low: dict[str, float] = field(default_factory=dict)
    high: dict[str, float] = field(default_factory=dict)
    ids: dict[str, bool] = field(default_factory=dict)
    groups: dict[str, bool] = field(default_factory=dict)
    hash: dict[str, int] = field(default_factory=dict)

    def how(self, name: str) -> How:
        """How the column is encoded."""
        return "yes/no" if pa.types.is_boolean(self.kinds[name]) else "number"

    def left_out(self) -> list[LeftOut]:
        """Columns that tell nothing: constants, ids, copies of one before."""
        found: list[LeftOut] = []
        seen: dict[int, str] = {}
        for name in self.names:
            if self.gaps[name] == self.rows:
                found.append(LeftOut(name, "is empty in every row"))
            elif self.low[name] == self.high[name] and not self.gaps[name]:
                found.append(LeftOut(name, f"is {self.low[name]:g} in every row"))
            elif self.ids[name]:
                found.append(LeftOut(name, "is an id", names_rows=True))
            elif self.groups[name]:
                found.append(LeftOut(name, "is an id that several rows share"))
            elif self.hash[name] in seen:
                found.append(LeftOut(name, f"is a copy of {seen[self.hash[name]]!r}"))
            else:
                seen[self.hash[name]] = name
        return found if len(found) < len(self.names) or self.rows >= ENOUGH else []

    def refuse_gaps(
        self, rows: "Rows", used: Sequence[str], others: Mapping[str, tuple[int, int]]
    ) -> None:
        """Name every column with gaps, these and `others`, and the first row of each."""
        gaps = {n: (self.gaps[n], self.first_gap[n]) for n in used if self.gaps.get(n)} | {**others}
        bad = list(gaps)
        if not bad:
            return
        told = "; ".join(
            f"{gaps[name][0]:,} in column {one_line(name)!r}, the first in "
            f"{rows.place(gaps[name][1])}"
            for name in bad[:6]
        )
        more = f" and in {len(bad) - 6} more columns" if len(bad) > 6 else ""
        raise InputError(
            f"numbers are missing or not finite: {told}{more}; fill them in, leave the columns out "
            "with `without`, or let them be filled and marked with `missing='mark'`"
        )

    def notes(self, rows: "Rows", used: Sequence[str], *, marked: bool) -> list[str]:
        """What was filled in, a sentence a column; a sum of the rest when there are many."""
        bad = [name for name in used if self.gaps.get(name)]
        if len(bad) <= ONE_BY_ONE:
            return [
                f"{name}: {gaps_filled(self.gaps[name], marked, self.infinite[name])}"
                for name in bad
            ]
        told = [f"{self.gaps[name]:,} in {name}" for name in bad[:8]]
        more = f" and in {len(bad) - 8} more columns" if len(bad) > 8 else ""
        total, wild = (sum(of[name] for name in bad) for of in (self.gaps, self.infinite))
        return [f"{gaps_filled(total, marked, wild)}: {', '.join(told)}{more}"]


def survey_numbers(rows: "Rows", names: Sequence[str]) -> NumberSurvey:
    """Look at every column of numbers once, a block at a time."""
    every = dict(zip(rows.schema.names, rows.schema.types, strict=True))
    kinds = {name: every[name] for name in names}
    survey = NumberSurvey(list(names), kinds, rows.count)
    if not names:
        return survey
    width = len(names)
    gaps, infinite = np.zeros(width, np.int64), np.zeros(width, np.int64)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    whole, digest = np.ones(width, np.bool_), np.zeros(width, np.uint64)
    first = np.full(width, -1, np.int64)
    begin = 0
    for begin, block in number_blocks(rows, names):
        fine = np.isfinite(block)
        gone = ~fine
        if gone.any():
            new = (first < 0) & gone.any(axis=0)
            first[new] = begin + gone.argmax(axis=0)[new]
            gaps += gone.sum(axis=0)
            infinite += np.isinf(block).sum(axis=0)
        low = np.minimum(low, np.where(fine, block, np.inf).min(axis=0))
        high = np.maximum(high, np.where(fine, block, -np.inf).max(axis=0))
        with np.errstate(invalid="ignore"):
            whole &= (block == np.floor(block)).all(axis=0)
        each = np.arange(begin + 1, begin + len(block) + 1, dtype=np.uint64) * _ODD
        bits = (block + 0.0).view(np.uint64)
        mixed = (bits ^ (bits >> np.uint64(29))) * _ODD
        digest += (mixed * (each ^ (each >> np.uint64(31)))[:, None]).sum(axis=0, dtype=np.uint64)
        begin += len(block)
    if begin != rows.count:
        raise InputError(
            f"{rows.files[0] if rows.files else 'the table'} says {rows.count} rows and holds "
            f"{begin}; get it again"
        )
    for i, name in enumerate(names):
        survey.gaps[name], survey.infinite[name] = int(gaps[i]), int(infinite[i])
        survey.first_gap[name] = int(first[i])
        survey.low[name], survey.high[name] = float(low[i]), float(high[i])
        survey.hash[name] = int(digest[i])
        numbered = high[i] - low[i] + 1 == rows.count
        named = bool(_ID_NAME.search(name))
        candidate = bool(whole[i]) and not gaps[i] and rows.count >= ENOUGH and (numbered or named)
        survey.ids[name] = candidate and _different(rows, name) == rows.count
        again = bool(whole[i]) and not survey.ids[name] and bool(_OF_OTHERS.search(name))
        survey.groups[name] = again and _different(rows, name) > MANY
    return survey


def number_blocks(rows: "Rows", names: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Blocks (rows, columns) of float64, NaN where a cell is missing, with their first row.

    What does not fit into float32 is infinite.
    """
    begin = 0
    step = max(1, _CELLS // max(1, len(names)))
    for batch in rows.batches(names) if names else ():
        for at in range(0, len(batch), step):
            part = batch.slice(at, step)
            block = np.empty((len(part), len(names)), dtype=np.float64)
            for i, cells in enumerate(part.columns):
                block[:, i] = _numbers(cells)
            with np.errstate(invalid="ignore"):
                block[np.abs(block) > np.finfo(np.float32).max] = np.inf
            yield begin, block
            begin += len(part)


def _numbers(cells: Any) -> NDArray[Any]:
    kind = cells.type
    if pa.types.is_decimal(kind):
        cells = cells.cast(pa.float64())
    elif pa.types.is_boolean(kind):
        cells = cells.cast(pa.uint8())
    return np.asarray(cells.to_numpy(zero_copy_only=False))


def _different(rows: "Rows", name: str) -> int:
    values = np.concatenate([block[:, 0] for _, block in number_blocks(rows, [name])])
    return len(np.unique(values))
