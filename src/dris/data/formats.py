"""THE registry of what is read and written: one entry a format, and everything reads it from here.

A new format is one file with its functions and one entry below. In reading order an entry says:
what files it is (suffixes), how they become rows (open) or examples (read), how a file with fewer
rows is written (write, and how that is called: written), and what a person is shown (look).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dris.core.errors import InputError
from dris.data.files import listed
from dris.data.images.image_files import image_column, read_image_folder, read_image_table
from dris.data.images.image_list import write_images
from dris.data.labelled import LabelledData
from dris.data.options import ReadOptions
from dris.data.tables.copies import Change, write_csv, write_npz, write_parquet, write_saved
from dris.data.tables.csvfile import open_csv
from dris.data.tables.excel import open_excel, write_excel
from dris.data.tables.jsonlines import open_jsonlines, write_jsonlines
from dris.data.tables.labelled_table import labelled_table, open_parquet, read_labels_only
from dris.data.tables.numbers.encoding import Rows
from dris.data.tables.numpy_files import read_npy, read_npz
from dris.data.tables.saved_dataset import open_saved, with_names

Open = Callable[..., Rows]
Read = Callable[[Sequence[Path], ReadOptions], LabelledData]


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of data.

    Attributes:
        name: As `Origin.format` says it.
        title: As people call it.
        suffixes: How its files end; none for a kind of folder.
        written: How a file may be called that `write` writes, the usual ending first.
        write: Writes the data with a change.
        open: Files to rows, for tables; `as_text` names columns to leave as they are written.
        read: Files to examples; tables need none of their own.
        several: Whether several files are read one after the other.
        look: The rows as a person is shown them; those of `open` unless given.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    written: tuple[str, ...]
    write: Callable[[LabelledData, Change, Path], None]
    open: Open | None = None
    read: Read | None = None
    several: bool = False
    look: Callable[[LabelledData], Rows | None] | None = None

    def examples(self, files: Sequence[Path], options: ReadOptions) -> LabelledData:
        """The examples in the files."""
        if len(files) > 1 and not self.several:
            raise InputError(
                f"several files are read together only as {_together()}, got {listed(files)}; "
                "name one"
            )
        if self.read is not None:
            return self.read(files, options)
        if self.open is None:
            raise InputError(f"{self.title} cannot be read; name another file")
        special = options.special(options.label or "label")
        return table_examples(self.open(files, as_text=special), options)

    def rows(self, data: LabelledData) -> Rows | None:
        """What a person is shown of data of this format; None where there are no columns."""
        if self.look is not None:
            return self.look(data)
        return None if self.open is None else self.open(data.origin.files)


def table_examples(rows: Rows, options: ReadOptions) -> LabelledData:
    """The examples of any table: images where a column holds them, else all columns."""
    column = image_column(rows, options)
    if column is not None:
        data = read_image_table(rows, options, column)
    else:
        data = (
            read_labels_only(rows, options)
            if options.labels_only
            else labelled_table(rows, options)
        )
    names = getattr(rows, "names", {})
    found = names.get(data.origin.label) if isinstance(names, dict) else None
    return data if found is None else with_names(data, found)


def _csv_look(data: LabelledData) -> Rows:
    """Every cell as it is written."""
    return open_csv(data.origin.files, as_text=data.origin.columns).as_written()


def _saved(files: Sequence[Path], *, as_text: Sequence[str] = ()) -> Rows:
    folder = files[0]
    return open_saved(folder if folder.is_dir() else folder.parent)


def _parquet(files: Sequence[Path], *, as_text: Sequence[str] = ()) -> Rows:
    return open_parquet(files)


def _npz(files: Sequence[Path], options: ReadOptions) -> LabelledData:
    return read_npz(files[0], options)


def _npy(files: Sequence[Path], options: ReadOptions) -> LabelledData:
    return read_npy(files[0], options)


def _images(files: Sequence[Path], options: ReadOptions) -> LabelledData:
    return read_image_folder(files[0], options)


_LINES = (".csv", ".tsv", ".txt")
_PACKED = tuple(s + p for p in (".gz", ".zip") for s in _LINES)
_JSON = (".jsonl", ".ndjson")

FORMATS: tuple[Format, ...] = (
    Format(
        "parquet",
        "Parquet",
        (".parquet", ".pq"),
        (".parquet", ".pq"),
        write_parquet,
        _parquet,
        several=True,
    ),
    Format(
        "csv",
        "CSV",
        (*_LINES, *_PACKED, ".zip"),
        _LINES,
        write_csv,
        open_csv,
        several=True,
        look=_csv_look,
    ),
    Format(
        "jsonlines",
        "JSON lines",
        (*_JSON, *(s + ".gz" for s in _JSON)),
        _JSON,
        write_jsonlines,
        open_jsonlines,
        several=True,
    ),
    Format("excel", "Excel", (".xlsx", ".xlsm"), (".xlsx",), write_excel, open_excel),
    Format("npz", "NPZ", (".npz",), (".npz",), write_npz, read=_npz),
    Format("npy", "NPY", (".npy",), (".npz",), write_npz, read=_npy),
    Format(
        "huggingface", "a saved Hugging Face data set", (), (".parquet", ".pq"), write_saved, _saved
    ),
    Format("images", "a folder of images by class", (), (".csv",), write_images, read=_images),
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
    """The format that a file's name ends as.

    >>> format_of(Path("people.csv.gz")).name, format_of(Path("x.npy")).name
    ('csv', 'npy')
    """
    name = path.name.lower()
    for entry in FORMATS:
        if name.endswith(entry.suffixes or "\0"):
            return entry
    if name.endswith(".json"):
        raise InputError(
            f"{path} is JSON, of which lines are read; write one object a line, as "
            f"{path.stem}.jsonl (jq -c '.[]' does so)"
        )
    raise InputError(f"{path} is of no kind that is read; read are {TITLES}")


def suffix_for(data: LabelledData) -> str:
    """How a file with some of this data's rows is usually called: .csv, .parquet, ...

    As the file itself where that has one of the format's names, so that tabs stay in a .tsv.
    """
    entry = BY_NAME.get(data.origin.format)
    if entry is None:
        return ".csv"
    own = data.origin.files[0].suffix.lower() if data.origin.files else ""
    return own if own in entry.written else entry.written[0]


def _together() -> str:
    return " or ".join(entry.title for entry in FORMATS if entry.several)
