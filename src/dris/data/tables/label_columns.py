"""Columns that say what an example is: its label, its id, whether its label is trusted."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dris.core.errors import InputError, Problems
from dris.core.noise.annotators import Answers, find_consensus
from dris.core.validate import check_ids
from dris.data.files import listed, one_line, reading
from dris.data.findings import leaks_in, merge_spellings, telltale_words, unnamed_groups
from dris.data.labelled import (
    INDEX_COLUMNS,
    LabelledData,
    Leak,
    Origin,
    ReadOptions,
    Value,
    spelling_of,
)
from dris.data.tables.annotators import Place, answers_in_columns, answers_in_file
from dris.data.tables.encoding import Encoded, encode
from dris.data.tables.groups import Groups, may_name_groups, read_groups
from dris.data.tables.rows import Rows, bad_column, is_text, is_text_id, plain, whole_ids

_LABEL = "a whole number or text; name another column with `label`"
_RANGES = "put numbers into a few ranges, or name another column with `label`"
_YES, _NO = {"1", "true", "yes", "t", "y"}, {"0", "false", "no", "f", "n", ""}


def read_labels(
    column: Callable[[str], tuple[Any, Place]],
    origin: Origin,
    n: int,
    options: ReadOptions,
    problems: Problems,
    may_group: Sequence[str] = (),
    *,
    written: bool = False,
) -> tuple[LabelledData, tuple[str, ...]]:
    """Labels, ids, groups and trust of n rows without features, and the columns that name groups.

    What is wrong with them is added to the problems. `column` gives the cells of a column and says
    where they stand; `may_group` may name groups.
    """
    labels, ids, trusted = np.full(n, -1), check_ids(None, n), np.zeros(n, dtype=np.bool_)
    classes: tuple[Value, ...] = ()
    notes: list[str] = []
    answers: Answers | None = None
    rank: NDArray[np.int64] | None = None
    groups = Groups()

    def typed(name: str) -> tuple[Any, str, Place]:
        cells, place = column(name)
        return typed_text(cells) if written else cells, name, place

    def read(cells: Any, name: str, place: Place) -> tuple[NDArray[np.int64], tuple[Value, ...]]:
        text = written and is_text(plain(cells).type)
        codes, classes, joined = labels_of(cells, name, place, options, written=text)
        notes.extend(joined)
        return codes, classes

    with problems.collected():
        if not options.annotators:
            cells, place = column(origin.label)
            labels, classes = read(cells, origin.label, place)
            rank, said = order_of(cells, classes, options)
            notes.extend(said)
    with problems.collected():
        if options.id is not None:
            ids = ids_of(*typed(options.id))
    with problems.collected():
        if options.answers_file is not None:
            answers, classes = answers_in_file(options.answers_file, ids, read)
        elif options.annotators:
            columns = {name: column(name)[0] for name in options.annotators}
            answers, classes = answers_in_columns(columns, column(options.annotators[0])[1], read)
        if answers is not None:
            labels = consensus_of(answers, len(classes))
    with problems.collected():
        if options.trusted is not None:
            trusted = trusted_of(*typed(options.trusted))
    with problems.collected():
        if classes:
            groups = read_groups(lambda name: column(name)[0], may_group, labels, options)
    x, origin = np.zeros((n, 0), np.float32), replace(origin, group=groups.column)
    data = LabelledData(x, labels, classes, ids, trusted, (), origin, answers=answers, rank=rank)
    data = replace(data, notes=(*notes, *groups.notes), leaks=groups.leaks, groups=groups.codes)
    return data, groups.columns


def consensus_of(answers: Answers, classes: int) -> NDArray[np.int64]:
    """The consensus of the answers as labels; -1 where nobody answered."""
    labels = find_consensus(answers, classes).labels
    labels[np.bincount(answers.row, minlength=answers.examples) == 0] = -1
    return labels


def typed_text(array: Any) -> Any:
    """Text of a CSV file as whole numbers where every cell is written back the same, unlike 007.

    >>> typed_text(pa.array(["2", "10"])).type, typed_text(pa.array(["007", "1"])).type
    (DataType(int64), DataType(string))
    """
    try:
        numbers = array.cast(pa.int64())
    except pa.ArrowInvalid:
        return array
    return numbers if numbers.cast(array.type).equals(array) else array


def labels_of(
    column: Any, name: str, place: Place, options: ReadOptions, *, written: bool = False
) -> tuple[NDArray[np.int64], tuple[Value, ...], tuple[str, ...]]:
    """Labels as positions in the sorted tuple of their values, -1 where there is none; notes.

    `written` are the cells of a CSV file, whose numbers must each be written in one way.
    """
    merge = options.merge_spellings
    array = _drop_blanks(plain(column), name, options.no_label)
    if written:
        array = typed_text(array)
        if not merge and is_text(array.type):
            _refuse_decimals(array, name, place)
    codes, classes = _classes_of(array, name, place)
    if not merge:
        return codes, classes, ()
    there = codes >= 0
    codes[there], classes, notes = merge_spellings(codes[there], classes)
    _refuse_one_class(classes, int(there.sum()), name)
    return codes, classes, notes


def order_of(
    column: Any, classes: Sequence[Value], options: ReadOptions
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    """The place of each class where a column's categories have an order, as in pandas; a note.

    >>> grades = pa.DictionaryArray.from_arrays([0, 1, 1], ["low", "high"], ordered=True)
    >>> order_of(grades, ("high", "low"), ReadOptions())
    (array([1, 0]), ('the classes have an order: low, high',))
    """
    own = pa.types.is_dictionary(column.type) and column.type.ordered
    if not own or options.ordinal:
        return None, ()
    whole = column.unify_dictionaries() if isinstance(column, pa.ChunkedArray) else column
    first = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    order = [value for value in first.dictionary.to_pylist() if value in classes]
    if len(order) < len(classes):  # spellings were joined
        return None, ()
    rank = np.array([order.index(value) for value in classes])
    return rank, (f"the classes have an order: {listed(order)}",)


def _drop_blanks(array: Any, name: str, no_label: Sequence[str]) -> Any:
    """The labels with null wherever there is none: empty, blank, no number or in `no_label`."""
    none = pa.scalar(None, array.type)
    if is_text(array.type):
        array = pc.if_else(pc.equal(pc.utf8_trim_whitespace(array), ""), none, array)
    elif pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), none, array)
    if no_label:
        meant = {spelling_of(word) for word in no_label}
        gone = [v for v in pc.unique(array).drop_null().to_pylist() if spelling_of(v) in meant]
        array = pc.if_else(pc.is_in(array, pa.array(gone, array.type)), none, array)
    if array.null_count == len(array):
        raise bad_column(name, "has no label in any row; check `label`")
    return array


def _classes_of(array: Any, name: str, place: Place) -> tuple[NDArray[np.int64], tuple[Value, ...]]:
    """Labels without blanks as positions among their values; null is -1."""
    kind, there = array.type, len(array) - array.null_count
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        array = _whole(array, name, place)
    elif not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise bad_column(name, f"holds {one_line(kind)}, and a label is {_LABEL}")
    encoded = pc.dictionary_encode(array)
    values = encoded.dictionary.to_pylist()
    _refuse_one_class(values, there, name)
    if len(values) == there > 2:
        id_like = f"differs in each of the {there} rows, as an id does"
        raise bad_column(name, f"{id_like}; name the column of classes with `label`")
    # More than twenty numbers that do not count classes, or each in fewer than ten rows, are none.
    counts = pa.types.is_integer(array.type) and max(values) - min(values) == len(values) - 1
    rows_each = 10 if counts and min(values) in (0, 1) else 20
    if pa.types.is_integer(array.type) and len(values) > 20 and there < rows_each * len(values):
        many = f"holds {len(values)} different numbers in {there} rows, as a quantity does"
        raise bad_column(name, f"{many}, and a label is a class; {_RANGES}")
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.full(len(values) + 1, -1, dtype=np.int64)  # the last is that of null
    rank[order] = np.arange(len(values))
    codes = encoded.indices.fill_null(len(values)).to_numpy()
    return rank[codes], tuple(values[i] for i in order)


def _refuse_one_class(values: Sequence[Any], n: int, name: str) -> None:
    if len(values) < 2:
        one = f"{one_line(repr(values[0]))} in all {n} rows"
        rule = "at least two are needed, so check `label`"
        raise bad_column(name, f"holds one class only ({one}); {rule}")


def ids_of(column: Any, name: str, place: Place) -> NDArray[Any]:
    """Ids as int64 or text, each of them once."""
    array = plain(column)
    empty = pc.is_null(array, nan_is_null=True)
    if is_text(array.type):
        empty = pc.or_kleene(empty, pc.equal(array, "")).fill_null(True)
    if (row := pc.index(empty, True).as_py()) >= 0:
        count = pc.sum(empty).as_py()
        more = f" and in {count - 1:,} more rows" if count > 1 else ""
        raise InputError(
            f"the id in column {one_line(name)!r} is missing in {place(row)}{more}; fill it in or "
            f"remove the row{'s' * (count > 1)}"
        )
    is_text_id(array.type, name)
    array = whole_ids(array, name)
    codes = pc.dictionary_encode(array).indices.to_numpy()
    _, first = np.unique(codes, return_index=True)
    if len(first) < len(codes):
        row = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        before = int(np.flatnonzero(codes == codes[row])[0])
        raise InputError(
            f"the id {one_line(repr(array[row].as_py()))} is in {place(before)} and again in "
            f"{place(row)}; ids must differ, so remove one or name another column with `id` "
            "(rows that belong together: `group`)"
        )
    if not is_text(array.type):
        return np.array(array.to_numpy(), dtype=np.int64)
    words = array.to_pylist()
    bad = next((i for i, word in enumerate(words) if word.endswith("\0")), None)
    if bad is not None:  # NumPy's text drops these, and two ids might become one
        raise InputError(f"the id in {place(bad)} ends in a null character; remove it")
    return np.array(words, dtype=np.str_)


def trusted_of(column: Any, name: str, place: Place) -> NDArray[np.bool_]:
    """Yes or no for each row; an empty cell is a no."""
    array = plain(column)
    kind = array.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        rule = "`trusted` needs yes or no (true/false or 1/0); name another column"
        raise bad_column(name, f"holds {one_line(kind)}, and {rule}")
    encoded = pc.dictionary_encode(array)
    values = ["" if v is None else str(v) for v in encoded.dictionary.to_pylist()]
    meant = [v.strip().lower() for v in values]
    wrong = next((i for i, v in enumerate(meant) if v not in _YES | _NO), None)
    if wrong is not None:
        row = pc.index(encoded.indices, wrong).as_py()
        says = f"says {one_line(repr(values[wrong]))} in {place(row)}"
        raise bad_column(name, f"{says}; for `trusted` write yes or no (true/false or 1/0)")
    yes = np.array([v in _YES for v in meant] + [False])
    return np.asarray(yes[encoded.indices.fill_null(len(values)).to_numpy()])


def _whole(array: Any, name: str, place: Place) -> Any:
    """Decimal numbers that are all whole, as whole numbers: pandas makes 1.0 of 1 at times."""
    gaps = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
    values = array.cast(pa.float64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False)
    bad = np.flatnonzero((values != np.floor(values)) | (np.abs(values) > 2**53))
    if bad.size:
        raise _no_class(name, array[int(bad[0])].as_py(), place(int(bad[0])))
    return pa.array(values.astype(np.int64), mask=gaps)


def _refuse_decimals(array: Any, name: str, place: Place) -> None:
    """Refuse labels of a CSV file that are fractions, or one number written in several ways."""
    words = pc.unique(array).drop_null()
    try:
        numbers = pc.utf8_trim_whitespace(words).cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return
    spellings = words.to_pylist()
    bad = np.flatnonzero(numbers != np.floor(numbers))
    if bad.size:
        word = spellings[int(bad[0])]
        raise _no_class(name, word, place(pc.index(array, pa.scalar(word, array.type)).as_py()))
    ways = Counter(numbers.tolist())
    if twice := [w for w, v in zip(spellings, numbers.tolist(), strict=True) if ways[v] > 1]:
        remedy = "write each in one way, or join them with `merge_spellings`"
        raise bad_column(
            name, f"writes one label in several ways ({listed(sorted(twice))}); {remedy}"
        )


def _no_class(name: str, value: object, where: str) -> InputError:
    what = f"holds the decimal number {one_line(value)} in {where}"
    return bad_column(name, f"{what}, and a label is a class; {_RANGES}")


def read_columns(
    rows: Rows, label: str, chosen: Sequence[str], options: ReadOptions
) -> LabelledData:
    """Labels and features of the rows; all that is wrong with them in one message."""
    problems = Problems(rows.where)
    with reading(rows.where, f"{rows.format} file"):
        marks, shared = labels_in(rows, label, options, problems)
        encoded = None
        with problems.collected():
            if not options.labels_only:
                encoded = encode(rows, chosen, options, shared)
        problems.refuse()
        if encoded is None:
            return marks
        texts = [f.column for f in encoded.features if f.how in ("text", "sentence")]
        words, left_out = {}, True
        for name in texts:  # those that say the given label
            cells, classes = rows.column(name), len(marks.classes)
            if own := telltale_words(cells, marks.labels, classes, encoded.keys):
                words[name] = own
        if words:
            try:
                encoded = encode(rows, chosen, options, shared, without=words)
            except InputError:  # nothing else to learn from
                left_out = False
        data = _drop_leaks(marks, encoded, options)
        leaks = (Leak(name, 1.0, left_out, words=tuple(own)) for name, own in words.items())
        return replace(data, leaks=(*data.leaks, *leaks))


def labels_in(
    rows: Rows, label: str, options: ReadOptions, problems: Problems
) -> tuple[LabelledData, tuple[str, ...]]:
    """Labels, ids, groups and trust of every row; problems are collected."""
    may_group = [name for name in may_name_groups(rows.schema.names, options) if name != label]
    special = [*options.special(label), *may_group]
    whole = pa.Table.from_batches(list(rows.batches(special))).combine_chunks()

    def column(name: str) -> tuple[Any, Place]:
        return whole.column(special.index(name)), rows.place

    fingerprint = hashlib.sha256(b"".join(rows.digests)).hexdigest()
    columns = tuple(rows.schema.names)
    origin = Origin(rows.format, rows.files, fingerprint, label, options.id, columns)
    data, shared = read_labels(
        column, origin, rows.count, options, problems, may_group, written=rows.format == "csv"
    )
    shown = None if rows.files else rows
    return replace(data, shown=shown, notes=(*rows.notes, *data.notes)), shared


def _drop_leaks(marks: LabelledData, encoded: Encoded, options: ReadOptions) -> LabelledData:
    """Labels and features as one object, without columns that repeat the label."""
    x, features = encoded.x, encoded.features
    there = np.flatnonzero(marks.labels >= 0)
    some: Any = slice(None) if len(there) == len(x) else there
    codes = {name: values[some] for name, values in encoded.codes.items()}
    given = marks.labels[some]
    leaks = leaks_in(x[some], features, codes, given, len(marks.classes), encoded.keys[some])
    if marks.groups is None and not leaks:
        groups = unnamed_groups(x[some], features, codes, encoded.keys[some])
        leaks += [Leak(name, 1.0, False, shared=True) for name in groups]
    if options.features is not None:
        leaks = [replace(leak, left_out=False) for leak in leaks]
    gone = {leak.column for leak in leaks if leak.left_out}
    if gone == {f.column for f in features}:  # nothing else to learn from
        leaks = [replace(leak, left_out=False) for leak in leaks]
    elif gone:
        keep = np.repeat([f.column not in gone for f in features], [f.width for f in features])
        x = keep_columns(x, keep)
        features = tuple(f for f in features if f.column not in gone)
    aside = [n for n in marks.origin.columns if options.features is None and n in INDEX_COLUMNS]
    index = [f"column {name!r}" if name else "a column without a name" for name in aside]
    notes = (*encoded.notes, *(f"{what} is taken for an index and left out" for what in index))
    _, copies = np.unique(encoded.keys, return_inverse=True)
    return marks.with_features(
        x, features, notes=notes, leaks=(*leaks, *marks.leaks), copies=copies
    )


def keep_columns(x: NDArray[np.float32], keep: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The columns that stay, moved together in the memory that x has already."""
    n, width = len(x), int(keep.sum())
    flat = x.reshape(-1)
    step = max(1, (1 << 22) // max(1, x.shape[1]))
    for begin in range(0, n, step):
        part = x[begin : begin + step][:, keep]  # a copy: what it is written over may be its own
        flat[begin * width : begin * width + part.size] = part.reshape(-1)
    return flat[: n * width].reshape(n, width)
