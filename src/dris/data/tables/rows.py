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
    locate: Callable[[Path, int], str] | None = None  # says where a row of a file stands
    notes: tuple[str, ...] = ()  # what is to be said of how it was opened
    decimal_comma: bool = False  # whether 1,234 is a decimal number and 1.234 a whole one

    def __post_init__(self) -> None:
        refuse_twice(self.schema.names, self.where)
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
        for path, count in zip(self.files, self.counts, strict=False):
            if row < count:
                plain = f"row {row} (the first is 0) of {one_line(path, 200)}"
                return self.locate(path, row) if self.locate else plain
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


def refuse_twice(names: Sequence[str], where: Path | str) -> None:
    """Refuse columns of one name."""
    if twice := [repr(name) for name, times in Counter(names).items() if times > 1]:
        raise InputError(f"{where} has several columns named {listed(twice)}; rename some")


def bad_column(name: str, what: str) -> InputError:
    """What is wrong with a column, as an error."""
    return InputError(f"column {one_line(name)!r} {what}")


def is_text_id(kind: Any, name: str) -> bool:
    """True if ids of this Arrow type are text; refuse what is neither text nor whole numbers."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (is_text(kind) or pa.types.is_integer(kind)):
        rule = "an id is a whole number or text; name another column with `id`"
        raise bad_column(name, f"holds {one_line(kind)}, and {rule}")
    return is_text(kind)


def whole_ids(array: Any, name: str) -> Any:
    """Ids that are whole numbers as int64, and others as they are."""
    try:
        return array if is_text(array.type) else array.cast(pa.int64())
    except pa.ArrowInvalid:
        raise bad_column(name, "holds ids past 64 signed bits; write them as text") from None


def plain(column: Any) -> Any:
    """One Arrow array of simple values: chunks joined, dictionaries decoded, views made plain."""
    array = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if is_text(array.type):
        array = array.cast(pa.large_string())
    return array.combine_chunks()


def _is_any(kind: Any, *names: str) -> bool:
    return any(getattr(pa.types, f"is_{name}", lambda _: False)(kind) for name in names)


def is_text(kind: Any) -> bool:
    """True if an Arrow type is text of any form."""
    return _is_any(kind, "string", "large_string", "string_view")


def is_number(kind: Any) -> bool:
    """True if an Arrow type is a number or yes/no."""
    return _is_any(kind, "integer", "floating", "decimal", "boolean")


def is_word(kind: Any) -> bool:
    """True if an Arrow type is text in any form, a date, a time or nothing at all."""
    own = kind.value_type if pa.types.is_dictionary(kind) else kind
    return is_text(own) or _is_any(kind, "null", "date", "timestamp", "time")


def is_vector(kind: Any) -> bool:
    """True if an Arrow type is a list of numbers."""
    lists = _is_any(kind, "list", "large_list", "fixed_size_list")
    return lists and _is_any(kind.value_type, "integer", "floating", "decimal")


def is_image_name(name: str) -> bool:
    """True if a file name ends as images do."""
    return name.lower().endswith(_IMAGES)


def bytes_field(kind: Any) -> str | None:
    """The field of a struct that holds encoded images, "" for a binary column, None for others."""
    if _is_any(kind, "binary", "large_binary"):
        return ""
    inner = {field.name: field.type for field in kind} if pa.types.is_struct(kind) else {}
    return "bytes" if pa.types.is_binary(inner.get("bytes", pa.null())) else None  # Hugging Face


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
