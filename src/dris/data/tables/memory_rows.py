"""A table that is in memory as a whole: a frame, a sheet, lines of JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dris.core.errors import InputError
from dris.data.files import listed, one_line

_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class MemoryRows:
    """Rows of an Arrow table; `names` are those of columns with whole numbers for classes.

    >>> import pyarrow as pa
    >>> rows = MemoryRows(pa.table({"x": [1, 2, 3]}))
    >>> rows.count, rows.place(2)
    (3, 'row 2 (the first is 0) of the table')
    """

    table: Any
    files: tuple[Path, ...] = ()
    format: str = "memory"
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first: int = 0  # what a person calls the first row

    def __post_init__(self) -> None:
        names = self.table.schema.names
        twice = sorted({n for n in names if names.count(n) > 1}) if len(names) < 5000 else []
        where = self.files[0] if self.files else "the table"
        if twice:
            raise InputError(f"{where} has several columns named {listed(twice)}; rename some")
        if not len(self.table):
            raise InputError(f"{where} has no rows; at least two are needed")

    @property
    def schema(self) -> Any:
        """The Arrow schema of all columns."""
        return self.table.schema

    @property
    def count(self) -> int:
        """N, the number of rows."""
        return len(self.table)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with the named columns, in order."""
        yield from self.table.select(list(columns)).to_batches(_BATCH)

    def place(self, row: int) -> str:
        """The row in the table."""
        if self.first:
            return f"row {row + self.first} of {self.files[0]}"
        where = one_line(self.files[0], 200) if self.files else "the table"
        return f"row {row} (the first is 0) of {where}"
