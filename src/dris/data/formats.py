"""The registry of what is read and written: everything reads one entry a format from here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from dris.core.errors import InputError
from dris.data.files import digests_of, listed, one_line
from dris.data.images.image_files import read_image_folder, read_image_table, write_images
from dris.data.labelled import Change, LabelledData, ReadOptions
from dris.data.tables.csvfile import open_csv, show_csv, write_csv
from dris.data.tables.excel import open_excel, write_excel
from dris.data.tables.jsonlines import open_jsonlines, write_jsonlines
from dris.data.tables.label_columns import read_columns
from dris.data.tables.numpy_files import read_npy, read_npz, write_npz
from dris.data.tables.parquet import open_parquet, write_parquet
from dris.data.tables.rows import Rows, holds_images
from dris.data.tables.saved_dataset import name_classes, open_saved, write_saved


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of data."""

    name: str  # as `Origin.format` says it
    title: str  # as people call it
    suffixes: tuple[str, ...]  # how its files end; none for a kind of folder
    written: tuple[str, ...]  # how a file may be called that `write` writes, the usual ending first
    write: Callable[[LabelledData, Change, Path], None]  # writes the data with a change
    # files to rows, for tables; `as_text` names columns to leave as they are written
    open: Callable[..., Rows] | None = None
    # files to examples; tables need none of their own
    read: Callable[[Sequence[Path], ReadOptions], LabelledData] | None = None
    several: bool = False  # whether several files are read one after the other
    # the rows as a person is shown them; those of `open` by default
    show: Callable[[LabelledData], Rows] | None = None

    def examples(self, files: Sequence[Path], options: ReadOptions) -> LabelledData:
        """The examples in the files."""
        if len(files) > 1 and not self.several:
            together = " or ".join(e.title for e in FORMATS if e.several and e.suffixes)
            raise InputError(
                f"several files are read together only as {together}, got {listed(files)}; name one"
            )
        if self.read is not None:
            if options.annotators:
                raise InputError(
                    f"`annotators` are columns of a table or a file of answers, and {files[0]} is "
                    f"{self.title}; write a table of the same rows"
                )
            return self.read(files, options)
        how: dict[str, str] = {} if options.encoding is None else {"encoding": options.encoding}
        if how and self.name != "csv":
            raise InputError(f"`encoding` says how a CSV file is written, not {self.title}")
        digests = digests_of(files)
        open_table = cast(Callable[..., Rows], self.open)
        rows = open_table(files, as_text=options.special(options.label or "label"), **how)
        return read_table(replace(rows, digests=digests), options)

    def rows(self, data: LabelledData) -> Rows | None:
        """What a person is shown of data of this format; None where there are no columns."""
        if self.show is not None:
            return self.show(data)
        return None if self.open is None else self.open(data.origin.files)


def read_table(rows: Rows, options: ReadOptions) -> LabelledData:
    """The examples of any table: images where a column holds them, else all columns."""
    label, chosen = options.resolve(rows.schema.names, rows.where)
    images = next((name for name in chosen if holds_images(rows, name)), None)
    if images is not None and options.features and len(chosen) > 1:
        raise InputError(
            f"column {one_line(images)!r} of {rows.where} holds images, which are learned from "
            "alone; name it alone, or not at all, in `features`"
        )
    if images is None:
        data = read_columns(rows, label, chosen, options)
    else:
        data = read_image_table(rows, label, chosen, images, options)
    names = rows.class_names.get(label)
    return data if names is None else name_classes(data, names)


_LINES = (".csv", ".tsv", ".txt")
_JSON = (".jsonl", ".ndjson")
_PACKED_LINES = (*(s + p for p in ("", ".gz", ".zip") for s in _LINES), ".zip")
_PACKED = (*_JSON, *(s + ".gz" for s in _JSON))
_SAVED = "a saved Hugging Face data set"
_FOLDER = "a folder of images by class"
_PARQUET = (".parquet", ".pq")

FORMATS: tuple[Format, ...] = (
    Format("parquet", "Parquet", _PARQUET, _PARQUET, write_parquet, open_parquet, several=True),
    Format("csv", "CSV", _PACKED_LINES, _LINES, write_csv, open_csv, several=True, show=show_csv),
    Format(
        "jsonlines", "JSON lines", _PACKED, _JSON, write_jsonlines, open_jsonlines, several=True
    ),
    Format("excel", "Excel", (".xlsx", ".xlsm"), (".xlsx",), write_excel, open_excel),
    Format("npz", "NPZ", (".npz",), (".npz",), write_npz, read=read_npz),
    Format("npy", "NPY", (".npy",), (".npz",), write_npz, read=read_npy),
    Format("huggingface", _SAVED, (), _PARQUET, write_saved, open_saved, several=True),
    Format("images", _FOLDER, (), (".csv",), write_images, read=read_image_folder),
)
BY_NAME = {entry.name: entry for entry in FORMATS}
TITLES = ", ".join(entry.title for entry in FORMATS)
# In a folder, notes beside the data (.txt) and archives of whatever (.zip) are not the data.
GATHERED = tuple(
    tuple(s for s in entry.suffixes if not s.startswith(".txt") and s != ".zip")
    for entry in FORMATS
    if entry.suffixes and entry.name != "npy"
)


def format_of(path: Path) -> Format:
    """The format that a file's name ends as."""
    name = path.name.lower()
    for entry in FORMATS:
        if name.endswith(entry.suffixes):
            return entry
    if name.endswith(".json"):
        lines = f"write one object a line, as {path.stem}.jsonl (jq -c '.[]' does so)"
        raise InputError(f"{path} is JSON, of which lines are read; {lines}")
    raise InputError(f"{path} is of no kind that is read; read are {TITLES}")


def suffix_for(data: LabelledData) -> str:
    """How a copy of this data is usually called: as its file, so that tabs stay in a .tsv."""
    entry = BY_NAME.get(data.origin.format)
    if entry is None:
        return ".csv"
    own = data.origin.files[0].suffix.lower() if data.origin.files else ""
    return own if own in entry.written else entry.written[0]
