"""A table of examples, from a file or from memory: typed columns, read a batch at a time."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from dris.core.errors import InputError
from dris.data.files import listed, one_line

_BEGINS = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"BM", b"RIFF", b"II*", b"MM\0*", b"P")  # of images
_BATCH = 1 << 16  # rows at once
_IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table, which every format opens as."""

    schema: Any  # the Arrow schema of all columns
    counts: tuple[int, ...]  # how many rows each file has; none where nobody asks
    # yields record batches with the named columns, in order
    batches: Callable[[Sequence[str]], Iterator[Any]]
    files: tuple[Path, ...] = ()  # the files in order; none for a table in memory
    digests: tuple[bytes, ...] = ()  # of the files, taken before anything was read
    format: str = "memory"  # the format's name
    # what whole-number labels mean, by column
    class_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    locate: Callable[[int], str] | None = None  # says where a row stands, if not by file and number
    notes: tuple[str, ...] = ()  # what is to be said of how it was opened
    decimal_comma: bool = False  # whether 1,234 is a decimal number and 1.234 a whole one

    def __post_init__(self) -> None:
        twice = [name for name, times in Counter(self.schema.names).items() if times > 1]
        if twice:
            names = listed(list(map(repr, twice)))
            raise InputError(f"{self.where} has several columns named {names}; rename some")
        if self.counts and not self.count:
            raise InputError(f"{self.where} has no rows; at least two are needed")

    @property
    def count(self) -> int:
        """N, the rows of all files."""
        return sum(self.counts)

    @property
    def where(self) -> Path | str:
        """What to call the table in a message."""
        return self.files[0] if self.files else "the table"

    def place(self, row: int) -> str:
        """Say where a row stands."""
        if self.locate is not None:
            return self.locate(row)
        for path, count in zip(self.files, self.counts, strict=False):
            if row < count:
                return f"row {row} (the first is 0) of {one_line(path, 200)}"
            row -= count
        return f"row {row} (the first is 0) of the table"

    def column(self, name: str) -> Any:
        """All cells of a column as one Arrow array, dictionaries decoded."""
        parts = [batch.column(0) for batch in self.batches([name])]
        return plain(pa.chunked_array(parts, self.schema.field(name).type))


def table_rows(table: Any, files: Sequence[Path] = (), **more: Any) -> Rows:
    """The rows of an Arrow table; `more` are attributes of `Rows`."""

    def batches(columns: Sequence[str]) -> Iterator[Any]:
        yield from table.select(list(columns)).to_batches(_BATCH)

    counts = more.pop("counts", (len(table),))
    return Rows(table.schema, counts, batches, tuple(files), **more)


def plain(column: Any) -> Any:
    """One Arrow array of simple values: chunks joined, dictionaries decoded, views made plain."""
    array = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if is_text(array.type):
        array = array.cast(pa.large_string())
    return array.combine_chunks()


def is_text(kind: Any) -> bool:
    """True if an Arrow type is text of any form."""
    view = getattr(pa.types, "is_string_view", lambda _: False)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or view(kind))


def is_number(kind: Any) -> bool:
    """True if an Arrow type is a number or yes/no."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def is_word(kind: Any) -> bool:
    """True if an Arrow type is text in any form, a date, a time or nothing at all."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    tests = (pa.types.is_null, pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)
    return is_text(kind) or any(test(kind) for test in tests)


def is_vector(kind: Any) -> bool:
    """True if an Arrow type is a list of numbers."""
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(test(kind) for test in tests):
        return False
    return is_number(kind.value_type) and not pa.types.is_boolean(kind.value_type)


def is_image_name(name: str) -> bool:
    """True if a file name ends as images do."""
    return name.lower().endswith(_IMAGES)


def bytes_field(kind: Any) -> str | None:
    """The field of a struct that holds encoded images, "" for a binary column, None for others."""
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return ""
    if pa.types.is_struct(kind):  # as Hugging Face keeps images
        names = [kind.field(i).name for i in range(kind.num_fields)]
        if "bytes" in names and pa.types.is_binary(kind.field(names.index("bytes")).type):
            return "bytes"
    return None


def holds_images(rows: Rows, name: str) -> bool:
    """True if the first cell of a column is an encoded image, or the name of one."""
    kind = rows.schema.field(name).type
    inner = bytes_field(kind)
    if inner is None and not is_text(kind):
        return False
    first = next(iter(rows.batches([name])), None)
    if first is None or not len(first):
        return False
    if inner is None:
        return is_image_name(str(first.column(0)[0].as_py()))
    cells = (first.column(0).field(inner) if inner else first.column(0)).drop_null()
    return not len(cells) or cells[0].as_py().startswith(_BEGINS)
