"""A table without some words of its texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from dris.data.findings.telltale import without_words
from dris.data.tables.label_columns import plain
from dris.data.tables.numbers.encoding import Rows


@dataclass(frozen=True, slots=True)
class Reworded:
    """The rows of a table, its columns of texts without the words that are named for them."""

    rows: Rows
    words: Mapping[str, Sequence[str]]

    @property
    def files(self) -> tuple[Path, ...]:
        """Those of the table."""
        return self.rows.files

    @property
    def format(self) -> str:
        """That of the table."""
        return self.rows.format

    @property
    def schema(self) -> Any:
        """That of the table, texts as large strings."""
        return pa.schema(
            [
                pa.field(f.name, pa.large_string()) if f.name in self.words else f
                for f in self.rows.schema
            ]
        )

    @property
    def count(self) -> int:
        """N, the number of rows."""
        return self.rows.count

    def place(self, row: int) -> str:
        """Where a row stands, in words."""
        return self.rows.place(row)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Record batches with the named columns, in order, without the words."""
        for batch in self.rows.batches(columns):
            found = [
                without_words(plain(cells), self.words[name]) if name in self.words else cells
                for name, cells in zip(columns, batch.columns, strict=True)
            ]
            yield pa.record_batch(found, schema=pa.schema([self.schema.field(n) for n in columns]))
