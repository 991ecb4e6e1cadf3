"""The one door: whatever people have, a path or something in memory, as `LabelledData`."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.data.files import (
    PathLike,
    digests_of,
    files_of,
    in_order,
    listed,
    one_line,
    reading,
    refuse_endless,
)
from dris.data.findings import add_findings, row_keys
from dris.data.formats import BY_NAME, GATHERED, Format, format_of, read_table
from dris.data.images.image_files import decode_files, has_image_folders
from dris.data.labelled import (
    NO_GROUP,
    How,
    LabelFinding,
    LabelledData,
    ReadKeywords,
    ReadOptions,
    order_classes,
    refuse_changed,
    set_unlabelled_aside,
    to_float32,
)
from dris.data.tables.annotators import answers_in_columns
from dris.data.tables.groups import codes_of
from dris.data.tables.label_columns import consensus_of, labels_of, order_of
from dris.data.tables.numpy_files import channels_first, fill_gaps
from dris.data.tables.rows import is_image_name, table_rows
from dris.data.tables.saved_dataset import is_saved_dataset, saved_files

_ARROW = pa.Array | pa.ChunkedArray
_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)  # over odd values, by Arrow
_WIDE = 512  # columns of a sparse matrix, above which it becomes components
_COMPONENTS = 256
_ROWS = 12_000  # about as many rows of a sparse matrix have a say in its components


def read_data(data: Any, y: Any = None, **keywords: Unpack[ReadKeywords]) -> LabelledData:
    r"""Read examples and labels from a file, a folder, a frame, arrays or a data set.

    Rows stay in their order; those without a label are set aside as `unlabelled`. What was left
    out or filled in is in `notes`, what was seen in the labels in `findings`.

    Args:
        data: The path of a CSV, Parquet, JSON lines, Excel, NPZ or NPY file, several of them, a
            pattern such as "part-*.parquet", a folder, an address such as s3://bucket/a.csv; a
            pandas, polars or Arrow table; an array or a sparse matrix; a torch or Hugging Face
            data set; a list of texts or of paths of images.
        y: The labels of arrays, matrices and lists: numbers or strings, one a row.
        label: The column (or array) of given labels; "label" by default.
        annotators: In place of `label`, the columns of several people's labels, or a CSV or Parquet
            file of their answers (id, annotator, label), or beside data in memory a table (N,
            annotators), None or NaN for no answer. Their consensus becomes the given label.
        id: The column of ids, whole numbers or text; row numbers by default.
        group: The column of what rows belong to (patient, user, session, document), or a value for
            each row: rows of one group stay in one fold. By default a column that is plainly one
            is used, as a note says; "none" uses none.
        trusted: The column that says yes where the label is known to be right.
        features: The columns to learn from; every informative one by default. With [] only labels,
            ids and trust are read, enough where a model's probabilities come from elsewhere.
        without: Columns to leave out, in place of `features`.
        missing: Gaps in numbers and dates: fill in the median and "mark" them in a column of their
            own, fill in the "median" alone, or "refuse" them.
        text: Text becomes components of its "words", or an embedding of its "sentences" (extra
            `text`); "auto" is sentences where these are installed and the texts are not too many.
        merge_spellings: Treat labels that differ in case, spaces or invisible marks as one class.
        no_label: Labels that mean there is none, such as ["?"], beside empty ones.
        ordinal: All classes in their order, such as ["low", "middle", "high"]: an error is then
            likelier to the next class than to one further away. Ordered categoricals of pandas
            have their own.
        image_size: Side of the squares that images become; their own if all are alike and at most
            64 pixels wide, else 32.
        allow_outside: Let a table name images that do not lie below its own folder.
        encoding: How a CSV file is encoded; by default UTF-8 or UTF-16 that says so, else cp1252.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = "age,job,y\n31,cook,no\n44,cook,yes\n25,nurse,no\n60,nurse,yes\n"
    ...     _ = Path(folder, "a.csv").write_text(text)
    ...     data = read_data(folder + "/a.csv", label="y")
    >>> data, data.feature_names
    (LabelledData(4 examples × 3, 2 classes, 0 trusted), ('age', 'job=cook', 'job=nurse'))
    >>> read_data([[0.5, 1.0], [0.1, 2.0], [0.4, 3.0]], ["cat", "dog", "cat"]).classes
    ('cat', 'dog')
    """
    groups, people = keywords.get("group"), keywords.get("annotators")
    for name, other in {"y": y, "group": groups, "annotators": people}.items():
        _refuse_other_order(data, other, name)
    if groups is None or isinstance(groups, str):
        groups = None
    else:
        keywords["group"] = NO_GROUP
    columns = _annotator_columns(people)
    if columns is not None:
        if y is not None or _are_paths(data, y):
            raise InputError(
                "`annotators` as a table goes with data in memory, in place of `y`; of a file name "
                "its columns, or a file of answers"
            )
        keywords["annotators"], y = None, columns
    return read_with(ReadOptions.of(**keywords), data, y, groups)


class _AnswerColumns(dict[str, Any]):
    """The answers of several annotators, a column each, in place of labels."""


def _annotator_columns(table: Any) -> _AnswerColumns | None:
    """A table of answers as a column for each annotator; None for names, and for nothing."""
    names = isinstance(table, list | tuple) and all(isinstance(one, str) for one in table)
    if names or isinstance(table, str | os.PathLike | None):
        return None
    held = _as_table(table)
    if held is not None:
        return _AnswerColumns(zip(held.schema.names, held.columns, strict=True))
    array = _as_numpy(table)
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError(
            f"`annotators` is a table of two columns or more, a row for each example, got shape "
            f"{array.shape}"
        )
    people = enumerate(array.T, 1)
    return _AnswerColumns((f"annotator {i}", _values_array(own, len(array))) for i, own in people)


def read_with(options: ReadOptions, data: Any, y: Any = None, groups: Any = None) -> LabelledData:
    """Read data with options that were put together elsewhere, and groups of its rows."""
    if isinstance(data, LabelledData):
        return data
    if _are_paths(data, y):
        examples = _read_files(data, options, groups)
    else:
        examples = add_findings(_with_groups(read_source(data, y, options), groups))
    examples = order_classes(examples, options.ordinal) if options.ordinal else examples
    return replace(examples, origin=replace(examples.origin, reading=asdict(options)))


def _are_paths(data: Any, y: Any) -> bool:
    """Whether the data are files: a path, or a list of paths that came without labels."""
    several = data if y is None and isinstance(data, list | tuple) else [data]
    return all(isinstance(one, str | os.PathLike) for one in several)


def _with_groups(data: LabelledData, groups: Any) -> LabelledData:
    """The data with rows without a label aside, and groups, if given, instead of a column's."""
    if groups is not None:
        codes = codes_of(_values_array(groups, len(data), "groups"), "group")
        leaks = tuple(one for one in data.leaks if not one.shared)
        data = replace(data, groups=codes, leaks=leaks)
    return set_unlabelled_aside(data)


def _read_files(
    paths: PathLike | Sequence[PathLike], options: ReadOptions, groups: Any
) -> LabelledData:
    files = files_of(paths)
    if len(files) == 1 and files[0].is_dir():
        entry, files = _inside(files[0], options)
    else:
        entry = _kind_of(files)
    for path in files:
        refuse_endless(path)
    data = _with_groups(entry.examples(files, options), groups)
    refuse_changed(data)
    pa.default_memory_pool().release_unused()  # what decoding took; the proxies need it more
    return data if options.labels_only else add_findings(data, _same_files(files))


def _kind_of(files: Sequence[Path]) -> Format:
    """The format of the files, by how their names end."""
    folder = next((file for file in files if file.is_dir()), None)
    if folder is not None:
        raise InputError(f"{folder} is a folder; name it alone, or files only")
    kinds = {entry.name for entry in map(format_of, files)}
    if len(kinds) > 1:
        raise InputError(f"files read together must be of one kind, got {listed(files)}")
    return BY_NAME[kinds.pop()]


def _inside(folder: Path, options: ReadOptions) -> tuple[Format, tuple[Path, ...]]:
    """What a folder is: a saved data set, files of the first format it has any of, or images.

    Images in class folders with a table beside them are read by the table where it has the label.
    """
    if is_saved_dataset(folder):
        return BY_NAME["huggingface"], saved_files(folder)
    with reading(folder, "folder"):
        inside = [p for p in folder.iterdir() if not p.name.startswith((".", "_"))]
        for suffixes in GATHERED:
            parts = [p for p in inside if p.name.lower().endswith(suffixes) and not p.is_dir()]
            if parts:
                entry = format_of(parts[0])
                if options.label is None and entry.open is not None and has_image_folders(folder):
                    names = entry.open(in_order(parts)).schema.names
                    if "label" not in names:
                        break  # the folders are the labels
                return entry, tuple(in_order(parts))
    return BY_NAME["images"], (folder,)


def _same_files(files: Sequence[Path]) -> Iterator[LabelFinding]:
    """Files that hold the same bytes: the same rows, twice."""
    seen: dict[bytes, Path] = {}
    some = files if 1 < len(files) <= 10_000 else ()
    for path, key in zip(some, digests_of(some), strict=True):
        if (first := seen.setdefault(key, path)) is not path:
            text = f"{path} holds the same bytes as {first}: its rows are there twice"
            yield LabelFinding("same file", 1, text)


def read_source(source: Any, labels: Any, options: ReadOptions) -> LabelledData:
    """The examples in something that is not a path."""
    names: dict[str, tuple[str, ...]] = {}  # of ClassLabels
    if _is(source, "datasets", "Dataset"):
        for column, about in source.features.items():
            if type(about).__name__ == "ClassLabel" and about.names:
                names[column] = tuple(about.names)
        source = source.with_format("arrow")[:]
    elif _is(source, "datasets", "DatasetDict"):
        raise InputError(f"the data set has the splits {listed(list(source))}; pass one of them")
    source = _as_numpy(source) if hasattr(source, "detach") else source
    table = _as_table(source)
    if table is not None:
        return _from_table(table, labels, options, names)
    named = options.group not in (None, NO_GROUP)
    if options.label or options.id or named or options.features is not None or options.without:
        raise InputError(
            "`label`, `id`, `group`, `features` and `without` name columns, which "
            f"{type(source).__name__} has not; pass the labels as `y`, or a frame"
        )
    if any(base.__module__.startswith("torch.utils.data") for base in type(source).__mro__):
        source, labels = _from_torch(source, labels)
    if labels is None:
        raise InputError(f"{type(source).__name__} comes without labels; pass them as `y`")
    if hasattr(source, "tocsr"):
        return _from_sparse(source, labels, options)
    if isinstance(source, Iterator):
        source = list(source)
    texts = _texts(source)
    if texts is not None:
        if all(is_image_name(t) for t in texts[:100]):
            return _from_pictures(texts, labels, options)
        table = pa.table({"text": pa.array(texts, pa.large_string())})
        return _from_table(table, labels, options, {})
    return _from_array(source, labels, options)


def _refuse_other_order(source: Any, other: Any, name: str) -> None:
    """Refuse pandas objects that hold the same rows in different orders: by place or by index?"""
    if not all(_is(one, "pandas", "NDFrame") for one in (source, other)):
        return
    rows, own = source.index, other.index
    if len(rows) == len(own) and not rows.equals(own) and set(rows) == set(own):
        raise InputError(
            f"the data and `{name}` have the same index in different orders; pass "
            f"{name}.loc[data.index], or {name}.to_numpy() if its first row is the data's first"
        )


def _as_table(source: Any) -> Any:
    """An Arrow table of a frame of any kind, None for what is no frame."""
    if hasattr(source, "tocsr"):  # of which some are mappings
        return None
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if _is(source, "pandas", "DataFrame"):
        return _from_pandas(source)
    if isinstance(source, Mapping):
        return _from_columns({str(name): values for name, values in source.items()})
    if isinstance(source, list) and source and all(isinstance(row, Mapping) for row in source):
        names = dict.fromkeys(str(name) for row in source for name in row)
        return _from_columns({name: [row.get(name) for row in source] for name in names})
    if _is(source, "polars", "LazyFrame"):
        source = source.collect()
    if _is(source, "polars", "DataFrame"):
        return source.to_arrow()
    if hasattr(source, "__arrow_c_stream__") and not hasattr(source, "ndim"):
        return pa.table(source)
    return None


def _from_pandas(frame: Any) -> Any:
    """The frame as an Arrow table; numbers among words, and intervals, are read as words."""

    def table(names: Sequence[str]) -> Any:
        words = {n: frame[n].map(str, na_action="ignore").astype(object) for n in names}
        return pa.Table.from_pandas(frame.assign(**words) if names else frame, preserve_index=False)

    try:
        whole = table([])
        kinds = {f.name: f.type for f in whole.schema}
        kinds = {n: t.value_type if pa.types.is_dictionary(t) else t for n, t in kinds.items()}
        # What pandas makes of intervals and periods.
        odd = [name for name, kind in kinds.items() if isinstance(kind, pa.BaseExtensionType)]
        return table(odd) if odd else whole
    except _UNFIT:
        mixed = [name for name, kind in frame.dtypes.items() if kind == object]  # noqa: E721
    try:
        return table(mixed)
    except _UNFIT as error:
        raise InputError(
            f"the frame cannot be read ({one_line(error)}); give each column one kind of value"
        ) from None


def _from_columns(columns: Mapping[str, Any]) -> Any:
    """Columns by name as an Arrow table; one of numbers and words is read as its words."""
    held: dict[str, Any] = {}
    for name, values in columns.items():
        try:
            held[name] = pa.array(values, from_pandas=True)
        except _UNFIT:
            held[name] = pa.array([None if v is None else str(v) for v in values])
    if len({len(column) for column in held.values()}) > 1:
        sizes = listed([f"{name} has {len(column)}" for name, column in held.items()])
        raise InputError(f"columns must be equally long, and {sizes}; fill the short ones up")
    return pa.table(held)


def _from_table(
    table: Any, labels: Any, options: ReadOptions, names: dict[str, tuple[str, ...]]
) -> LabelledData:
    if isinstance(labels, _AnswerColumns):
        _refuse_other_length(labels, len(table))
        taken = [name for name in labels if name in table.schema.names]
        if taken:
            raise InputError(
                f"the table has columns {listed(taken)} already; name them in `annotators`"
            )
        for name, answers in labels.items():
            table = table.append_column(name, answers)
        options = replace(options, annotators=tuple(labels))
    elif labels is not None:
        if options.label is not None:
            raise InputError("labels are both `y` and in the column `label`; pass one of them")
        name = "given label" if "label" in table.schema.names else "label"
        table = table.append_column(name, _values_array(labels, len(table)))
        options = replace(options, label=name)
    return read_table(table_rows(table, class_names=names), options)


def _from_array(source: Any, labels: Any, options: ReadOptions) -> LabelledData:
    x = _as_numpy(source)
    if x.ndim == 1 and x.dtype.kind in "fiub":
        x = x[:, None]
    if x.dtype.kind not in "fiub" or x.ndim not in (2, 3, 4) or 0 in x.shape:
        raise InputError(
            f"examples must be numbers (N, D), images (N, C, H, W), texts or a frame, got "
            f"{x.dtype} of shape {x.shape}"
        )
    if x.ndim > 2 and x.dtype != np.uint8:
        raise InputError(
            f"images are bytes (uint8), got {x.dtype} of shape {x.shape}; scale them to 0..255, or "
            "flatten them to (N, D)"
        )
    if x.ndim > 2:
        return _data(channels_first(x), labels, options, "image", [])
    table = to_float32(x)
    table = table.copy() if np.may_share_memory(table, x) else table
    data = _data(table, labels, options, "vector", fill_gaps(table, options.missing, "x"))
    wide = x.dtype.kind != "b" and x.dtype.itemsize > 4
    return replace(data, copies=row_keys(x.astype(np.float64)).view(np.int64)) if wide else data


def _from_sparse(source: Any, labels: Any, options: ReadOptions) -> LabelledData:
    x, width = sparse_table(source), source.shape[1]
    if x.shape[1] == width:
        return _from_array(x, labels, options)
    note = f"the sparse matrix with {width:,} columns became {x.shape[1]} components"
    return _data(x, labels, options, "components", [note])


def sparse_table(source: Any) -> NDArray[np.float32]:
    """A sparse matrix of up to 512 columns as it is; a wider one, such as TF-IDF, as components."""
    from scipy.sparse import csr_array

    from dris.data.text.ngrams import main_axes

    matrix = csr_array(source.tocoo())
    n, width = matrix.shape
    if width <= _WIDE:
        return to_float32(matrix.toarray())
    matrix = matrix.astype(np.float32)
    size = min(_COMPONENTS, max(2, n // 4))
    order = np.lexsort((np.diff(matrix.indptr), np.asarray(matrix.sum(axis=1)).ravel()))
    drawn = order[:: max(1, len(order) // _ROWS)]
    return np.asarray(matrix @ main_axes(matrix[drawn], size), dtype=np.float32)


def _from_pictures(paths: Sequence[str], labels: Any, options: ReadOptions) -> LabelledData:
    absent = next((path for path in paths if not os.path.isfile(path)), None)
    if absent is not None:
        raise InputError(f"{one_line(absent)} is no file; name images that are there")
    decoded = decode_files(paths, Path(paths[0]), options)
    data = _data(decoded["x"], labels, options, "image", list(decoded["notes"]))
    return replace(data, paths=np.array(paths, dtype=np.str_))


def _from_torch(source: Any, labels: Any) -> tuple[Any, Any]:
    """Examples and labels of a map-style Dataset of pairs, read once."""
    if not hasattr(source, "__len__") or not len(source):
        raise InputError("the Dataset has no length or is empty; pass a map-style one")
    if tensors := getattr(source, "tensors", None):
        y = tensors[1] if labels is None and len(tensors) > 1 else labels
        return _as_numpy(tensors[0]), None if y is None else _as_numpy(y)
    items = [source[i] for i in range(len(source))]
    pairs = isinstance(items[0], tuple | list) and len(items[0]) >= 2
    if not pairs and labels is None:
        raise InputError("the Dataset gives no (example, label) pairs; pass the labels as `y`")
    x = [item[0] if pairs else item for item in items]
    y = [_plain(v) for v in ([item[1] for item in items] if labels is None else labels)]
    return x if isinstance(x[0], str) else np.stack([_as_numpy(one) for one in x]), y


def _data(
    x: NDArray[Any], labels: Any, options: ReadOptions, how: How, notes: list[str]
) -> LabelledData:
    place, answers, rank = "row {} (the first is 0)".format, None, None
    more: tuple[str, ...] = ()
    if isinstance(labels, _AnswerColumns):
        _refuse_other_length(labels, len(x))
        answers, classes = answers_in_columns(
            labels, place, lambda cells, name, where: labels_of(cells, name, where, options)[:2]
        )
        codes = consensus_of(answers, len(classes))
    else:
        given = _values_array(labels, len(x))
        codes, classes, more = labels_of(given, "labels", place, options)
        rank, said = order_of(given, classes, options)
        more = (*more, *said)
    data = LabelledData.of(x, codes, classes=classes)
    features = (replace(data.features[0], how=how),)
    return replace(data, features=features, notes=(*notes, *more), answers=answers, rank=rank)


def _refuse_other_length(answers: Mapping[str, Any], n: int) -> None:
    sizes = {len(column) for column in answers.values()}
    if sizes != {n}:
        raise InputError(f"{n} examples need as many rows of `annotators`, got {max(sizes)}")


def ordered_categories(values: Any) -> tuple[str | int, ...]:
    """The categories of pandas data whose words or whole numbers have an order; else none."""
    kind: Any = getattr(values, "dtype", None)
    own = tuple(kind.categories) if getattr(kind, "ordered", False) else ()
    return own if all(isinstance(value, str | int) for value in own) else ()


def _values_array(labels: Any, n: int, what: str = "labels") -> Any:
    """Labels or groups of any kind as an Arrow array of n values."""
    values = _as_numpy(labels) if hasattr(labels, "detach") else labels
    if isinstance(values, np.ma.MaskedArray):
        values = pa.array(values.data, mask=np.ma.getmaskarray(values))
    if isinstance(values, Iterator):
        values = list(values)
    if hasattr(values, "to_arrow"):  # polars
        values = values.to_arrow()
    elif ordered_categories(values):
        values = pa.array(values)
    elif hasattr(values, "to_numpy") and not isinstance(values, _ARROW):  # pandas
        values = values.to_numpy()
    if isinstance(values, np.ndarray):
        values = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
        values = values.tolist() if values.dtype.kind in "OUS" else values
    unfit = isinstance(values, Mapping | str) or hasattr(values, "tocsr")
    if unfit or not hasattr(values, "__len__") or np.ndim(values) == 0:
        raise InputError(
            f"{what} are a list or an array of {n} values, got {type(labels).__name__}; pass one"
        )
    if len(values) != n:
        raise InputError(f"{n} examples need as many {what}, got {len(values)}")
    try:
        # NaN among words is how pandas says that there is none.
        return values if isinstance(values, _ARROW) else pa.array(values, from_pandas=True)
    except _UNFIT as error:
        raise InputError(
            f"{what} must be whole numbers or texts, one an example ({one_line(error)}); check them"
        ) from None


def _texts(source: Any) -> list[str] | None:
    """A list of strings, None for anything else."""
    to_list: Any = getattr(source, "tolist", None) or getattr(source, "to_list", lambda: source)
    values = to_list()
    if not isinstance(values, list | tuple) or not values:
        return None
    if not all(isinstance(v, str | os.PathLike) or v is None for v in values):
        return None
    return ["" if v is None else os.fspath(v) for v in values]


def _is(source: Any, package: str, name: str) -> bool:
    bases = type(source).__mro__
    return any(b.__name__ == name and b.__module__.split(".")[0] == package for b in bases)


def _as_numpy(value: Any) -> Any:
    """An array of anything; a tensor of any kind, and NaN where an array is masked."""
    if hasattr(value, "detach"):
        try:
            value = value.detach().cpu()
            value = value if str(value.layout) == "torch.strided" else value.to_dense()
            return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
        except (TypeError, RuntimeError) as error:  # quantized, nested, without values
            raise InputError(
                f"the tensor is no array ({one_line(error)}); pass one of equally long rows"
            ) from None
    if isinstance(value, list) and any(isinstance(one, np.ma.MaskedArray) for one in value):
        value = np.ma.stack(value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        return np.ma.filled(value.astype(np.float64), np.nan)
    return np.asarray(value)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
