"""What is seen in data before anything trains.

First the labels alone; then columns that repeat the given label, and those that say nothing; last
words that say the label, such as "[spam]" in a subject line or the `__label__` of some training
files. Proxies that read them agree with every given label, wrong ones included, so they are taken
out of the texts.
"""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.errors import parameter
from dris.data.files import listed, one_line
from dris.data.labelled import Feature, LabelFinding, LabelledData, Leak, Value, spelling_of
from dris.data.text.ngrams import BUCKETS, hashed_words, normalize

_MISSING = {"nan", "none", "null", "na", "n/a", "#n/a", "?", "-", "--", "unknown", "missing", ""}
_MISSING |= {"(missing)", "tbd", "undefined"}
_MAX_ROWS = 1000
_ODD = np.uint64(0x9E3779B97F4A7C15)
MIN_NAMED = 0.95  # of what the commonest class does not explain: from here on a column is named
MIN_LEFT_OUT = 0.995  # and from here on left out, where it is a list of values
# More values a class are names of groups, of which the label is a property.
MAX_VALUES_PER_CLASS = 8
MIN_ROWS = 50  # rows: with fewer, an honest column may do so
_SAMPLE = 20_000  # rows by which a column of numbers or texts is judged
MIN_QUANTITY = 21  # different numbers
MAX_BYTES = 1 << 27  # of an array; larger ones stay as they are
MAX_COMPARED = 100  # columns that are compared with the label each: not those of embeddings
_BINS = 64
MIN_JOINT = 0.985  # what columns tell together, from which on they are named
MIN_JOINT_ROWS = 200  # rows before columns are tried together
MAX_JOINT_CLASSES = 20
MAX_JOINT_COLUMNS = {2: MAX_COMPARED, 3: 24}  # of which all pairs, all triples are tried
_JOINT_BINS = 8
_SCREENED = 1000  # rows by which the pair or triple is found
_MIN_TOLD = 0.8  # by bins of values, before a tree is asked
_OTHERS = (0.05, 0.9)  # what the other columns tell where a leak is
_OF_A_CLASS = 20  # texts at least: of fewer, an honest word may be in all
_WORD = re.compile(r"[^\W_]+")


def add_findings(data: LabelledData, more: Sequence[LabelFinding] = ()) -> LabelledData:
    """The data with everything that is seen in its labels, as findings and as notes.

    >>> data = LabelledData.of(np.eye(6), [0, 1, 2, 1, 0, 0], classes=("cat", "dog", "Dog"))
    >>> [f.kind for f in add_findings(data).findings]
    ['spellings', 'few']
    """
    counts = np.bincount(data.labels, minlength=len(data.classes))
    keys = data.copies if data.copies is not None else row_keys(data.x)
    copies = row_groups(keys) if data.x.size else None
    findings = [
        *more,
        *(LabelFinding("leak", len(data), text) for text in describe_leaks(data.leaks)),
        *_unlabelled(data),
        *_missing(data, counts),
        *_spellings(data.classes, counts),
        *_many(data),
        *_several_in_one(data),
        *_quantity(data),
        *_few(data, counts),
        *(() if copies is None else _repeated(data, copies)),
    ]
    return replace(
        data,
        findings=tuple(findings),
        copies=copies,
        notes=(*data.notes, *(finding.text for finding in findings)),
    )


def merge_spellings(
    labels: NDArray[np.int64], classes: tuple[Value, ...]
) -> tuple[NDArray[np.int64], tuple[Value, ...], tuple[str, ...]]:
    """Labels with the spellings of one class joined to the commonest of them, and what was.

    >>> merge_spellings(np.array([0, 1, 1]), ("Dog", "dog"))
    (array([0, 0, 0]), ('dog',), ("'Dog' became 'dog' in 1 row",))
    """
    counts = np.bincount(labels, minlength=len(classes))
    best: dict[str, int] = {}
    for i in sorted(range(len(classes)), key=lambda i: (-int(counts[i]), str(classes[i]))):
        best.setdefault(spelling_of(classes[i]), i)
    to = [best[spelling_of(value)] for value in classes]
    kept = sorted(set(to))
    place = {old: new for new, old in enumerate(kept)}
    notes = [
        f"{classes[i]!r} became {classes[t]!r} in {_rows(int(counts[i]))}"
        for i, t in enumerate(to)
        if i != t
    ]
    new = np.array([place[t] for t in to], dtype=np.int64)[labels]
    return new, tuple(classes[i] for i in kept), tuple(notes)


def row_keys(x: NDArray[np.floating] | NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A number for each row, the same for rows with the same values.

    >>> keys = row_keys(np.array([[0.0, 1], [-0.0, 1], [2, 1]], dtype=np.float32))
    >>> bool(keys[0] == keys[1]), bool(keys[0] == keys[2])
    (True, False)
    """
    flat = x.reshape(len(x), -1)
    width = flat.shape[1]
    each = (np.arange(1, width + 1, dtype=np.uint64) * _ODD) | np.uint64(1)
    each = (each ^ (each >> np.uint64(32))) * _ODD | np.uint64(1)
    keys = np.zeros(len(flat), dtype=np.uint64)
    step = max(1, (1 << 20) // max(1, width))
    for begin in range(0, len(flat), step):
        part = flat[begin : begin + step]
        if part.dtype == np.float32:
            bits = (part + np.float32(0)).view(np.uint32).astype(np.uint64)
        elif part.dtype == np.float64:
            bits = np.ascontiguousarray(part + 0.0).view(np.uint64)
        else:
            bits = part.astype(np.uint64)
        bits = (bits + np.uint64(1)) * _ODD
        bits ^= bits >> np.uint64(31)
        keys[begin : begin + step] = (bits * each).sum(axis=1, dtype=np.uint64)
    return keys


def row_groups(keys: NDArray[np.integer]) -> NDArray[np.int64] | None:
    """Numbers that are shared by equal rows, in the order of their first; None if all differ."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(keys):
        return None
    return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.int64)


def _unlabelled(data: LabelledData) -> list[LabelFinding]:
    aside = data.unlabelled
    if aside is None:
        return []
    names = listed([one_line(name, 40) for name in aside.ids.tolist()], most=3)
    text = (
        f"{_rows(len(aside))} without a label ({names}) put aside: not learned from, not kept, and "
        "listed in issues.csv with a label to consider"
    )
    return [LabelFinding("unlabelled", len(aside), text)]


def _missing(data: LabelledData, counts: NDArray[np.int64]) -> list[LabelFinding]:
    odd = [i for i, v in enumerate(data.classes) if spelling_of(v) in _MISSING]
    if not odd:
        return []
    total = int(counts[odd].sum())
    names = listed([f"{data.classes[i]!r} ({counts[i]:,})" for i in odd])
    remedy = parameter("no_label", [str(data.classes[i]) for i in odd])
    text = (
        f"{_rows(total)} have a label that reads as missing, {names}, and count as a class; "
        f"{remedy} puts them aside"
    )
    return [LabelFinding("missing", total, text, _where(np.isin(data.labels, odd)))]


def _spellings(classes: Sequence[Value], counts: NDArray[np.int64]) -> list[LabelFinding]:
    alike: dict[str, list[int]] = {}
    for i, value in enumerate(classes):
        alike.setdefault(spelling_of(value), []).append(i)
    several = [group for group in alike.values() if len(group) > 1]
    if not several:
        return []
    ways = [" / ".join(f"{classes[i]!r} ({counts[i]:,})" for i in group) for group in several]
    more = f" and {len(ways) - 5} more" if len(ways) > 5 else ""
    text = (
        f"{len(several)} {'class is' if len(several) == 1 else 'classes are'} spelled in several "
        f"ways: {'; '.join(ways[:5])}{more}; `merge_spellings` joins them"
    )
    return [LabelFinding("spellings", len(several), text)]


def _many(data: LabelledData) -> list[LabelFinding]:
    classes, n = len(data.classes), len(data)
    if classes <= n // 2 or n < 20:
        return []
    text = (
        f"the label has {classes:,} different values in {n:,} rows, as an id has; "
        "name the column of classes with `label` if it is another"
    )
    return [LabelFinding("id", classes, text)]


def _several_in_one(data: LabelledData) -> list[LabelFinding]:
    """Labels such as "red;tall": lists of a few words that come together in many ways."""
    for mark in ";|,/+":
        parts = [[p.strip() for p in v.split(mark)] for v in data.classes if isinstance(v, str)]
        times = Counter(part for own in parts for part in set(own))
        lists = sum(len(own) > 1 for own in parts)
        again = sum(count > 1 for count in times.values())
        if lists > 2 and len(times) <= len(parts) and again >= 0.8 * len(times):
            one = next(v for v in data.classes if isinstance(v, str) and mark in v)
            text = (
                f"labels such as {one!r} seem to be several labels in one; each combination of the "
                f"{len(times)} counts as a class of its own, so make a column of each"
            )
            return [LabelFinding("several labels", lists, text)]
    return []


def _quantity(data: LabelledData) -> list[LabelFinding]:
    """Many whole numbers that do not count classes, as ages and prices are."""
    values = [v for v in data.classes if isinstance(v, int) and not isinstance(v, bool)]
    if len(values) < max(len(data.classes), MIN_QUANTITY) or len(values) > len(data) // 2:
        return []
    if values[0] in (0, 1) and values[-1] - values[0] == len(values) - 1:
        return []
    text = (
        f"the label has {len(values)} different numbers from {values[0]} to {values[-1]}, as a "
        "quantity has; each counts as a class of its own, so put them into a few ranges"
    )
    return [LabelFinding("quantity", len(values), text)]


def _few(data: LabelledData, counts: NDArray[np.int64]) -> list[LabelFinding]:
    rare = np.flatnonzero(counts <= 2)
    if not len(rare) or len(data.classes) > len(data) // 2:
        return []
    names = listed([f"{data.classes[i]!r} ({counts[i]})" for i in rare.tolist()], most=6)
    what = "1 class has" if len(rare) == 1 else f"{len(rare)} classes have"
    text = f"{what} one or two rows only, of which nothing can be learned: {names}"
    return [LabelFinding("few", len(rare), text, _where(np.isin(data.labels, rare)))]


def _repeated(data: LabelledData, groups: NDArray[np.int64]) -> list[LabelFinding]:
    """Rows that occur twice, and those among them whose labels differ."""
    size = np.bincount(groups)
    low = np.full(len(size), len(data.classes))
    high = np.full(len(size), -1)
    np.minimum.at(low, groups, data.labels)
    np.maximum.at(high, groups, data.labels)
    torn = low < high
    again = int((size - 1).sum())
    text = f"{_rows(again)} {'repeats' if again == 1 else 'repeat'} the features of another exactly"
    findings = [LabelFinding("duplicate", again, text, _where(size[groups] > 1))]
    if torn.any():
        at = np.flatnonzero(torn[groups])
        members = np.flatnonzero(groups == groups[at[0]])
        one = members[0]
        other = members[data.labels[members] != data.labels[one]][0]
        pair = " and ".join(
            f"{one_line(data.ids[i], 40)} ({one_line(data.names[data.labels[i]], 30)!r})"
            for i in (one, other)
        )
        why = "one side of each is wrong, unless what tells them apart is not in the data"
        if len(at) > len(data) // 10:
            why = "their features cannot tell them apart, or one side of each is wrong"
        groups_torn = "1 group" if torn.sum() == 1 else f"{torn.sum():,} groups"
        text = (
            f"{_rows(len(at))} in {groups_torn} have the same features and different labels, such "
            f"as {pair}: {why}"
        )
        findings.append(LabelFinding("conflict", len(at), text, _where(torn[groups])))
    return findings


def _where(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask)[:_MAX_ROWS].tolist())


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def determined_share(codes: NDArray[np.integer], labels: NDArray[np.int64], classes: int) -> float:
    """How much of the label a list of values tells: 0 as much as the commonest class, 1 all.

    Each row is judged by the other rows of its value, so that a value of its own says nothing.

    >>> determined_share(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 1]), 2)
    1.0
    """
    n = len(labels)
    _, dense = np.unique(codes, return_inverse=True)
    pairs, counts = np.unique(dense.astype(np.int64) * classes + labels, return_counts=True)
    value = pairs // classes
    order = np.lexsort((-counts, value))
    value, counts = value[order], counts[order]
    first = np.flatnonzero(np.diff(np.concatenate([[-1], value])))
    best = counts[first]
    second = np.zeros_like(best)
    more = np.append(np.diff(first) > 1, len(value) - first[-1] > 1)
    second[more] = counts[first[more] + 1]
    right = int(best[best - 1 > second].sum())
    commonest = np.bincount(labels, minlength=classes).max()
    return float((right - commonest) / max(1, n - commonest))


def leaks_in(
    x: NDArray[np.float32],
    features: Sequence[Feature],
    codes: Mapping[str, NDArray[np.int32]],
    labels: NDArray[np.int64],
    classes: int,
    keys: NDArray[np.uint64],
) -> list[Leak]:
    """Columns that tell nearly all of the label, each with how much.

    `keys` are numbers of the rows, by which a sample is drawn whatever their order.
    """
    if len(labels) < MIN_ROWS or classes > len(labels) // 4:
        return []
    drawn: NDArray[np.int64] | slice = slice(None)
    if len(labels) > _SAMPLE:
        drawn = np.argsort(keys, kind="stable")[:_SAMPLE]
    some = labels[drawn]
    leaks: list[Leak] = []
    pairs: dict[str, NDArray[np.bool_]] = {}  # columns of two values
    at = 0
    for feature in features:
        begin, at = at, at + feature.width
        if feature.column in codes:
            own = codes[feature.column]
            share, many = determined_share(own, labels, classes), len(np.unique(own))
        elif feature.how in ("number", "yes/no", "days", "hours"):
            column = x[drawn, begin]
            distinct = np.unique(column)
            many = len(distinct)
            if many == 2:
                pairs[feature.column] = column == distinct[1]
            edges = distinct
            if many > _BINS:
                edges = np.quantile(column, np.linspace(0, 1, _BINS + 1)[1:-1])
            share = determined_share(np.searchsorted(edges, column), some, classes)
        else:
            continue
        known = feature.how == "gap" or any(leak.column == feature.column for leak in leaks)
        if share >= MIN_NAMED and not known:
            few = many <= min(_BINS, MAX_VALUES_PER_CLASS * classes)
            leaks.append(Leak(feature.column, share, few and share >= MIN_LEFT_OUT))
    return leaks or [Leak(name, 1.0, True) for name in one_hot_label(pairs, some, classes)]


def one_hot_label(
    pairs: Mapping[str, NDArray[np.bool_]], labels: NDArray[np.int64], classes: int
) -> list[str]:
    """Columns of two values that are the label together: one for each class, or for all but one.

    >>> y = np.arange(9) % 3
    >>> one_hot_label({"a": y == 0, "b": y == 1, "c": np.arange(9) < 4}, y, 3)
    ['a', 'b']
    """
    columns: dict[int, str] = {}
    if len(pairs) < classes - 1:
        return []
    n = len(labels)
    for name, there in pairs.items():
        hits = np.bincount(labels[there], minlength=classes)
        likeliest = int(hits.argmax())
        own = labels == likeliest
        missed = int((there != own).sum())
        if missed <= (1 - MIN_LEFT_OUT) * min(int(own.sum()), n - int(own.sum())):
            columns.setdefault(likeliest, name)
    return list(columns.values()) if len(columns) >= classes - 1 else []


def describe_leaks(leaks: Sequence[Leak]) -> list[str]:
    """A sentence for each; one for several that are the label together."""
    if len(leaks) < 2 or any(leak.share < 1 or not leak.left_out or leak.words for leak in leaks):
        return [str(leak) for leak in leaks]
    names = listed([leak.column for leak in leaks], 6)
    return [f"columns {names} repeat the given label, wrong ones included, and are left out"]


def joint_leak(
    columns: Mapping[str, NDArray[np.floating]], labels: NDArray[np.int64], classes: int
) -> Leak | None:
    """Two or three columns that tell the given label together, as two whose XOR it is.

    A small tree over them is right about nearly every held-out row, where the other columns tell
    something of the label and not nearly all: so they have its errors as well. Among 899 columns of
    real tables, each taken for the label, it named nine.
    """
    names = list(columns)
    if len(labels) < MIN_JOINT_ROWS or classes > MAX_JOINT_CLASSES or len(names) < 3:
        return None
    values = np.column_stack([columns[name] for name in names])
    binned = [_binned(values[:_SCREENED, i]) for i in range(len(names))]
    leaves = max(64, 8 * classes)
    for size in (2, 3):
        if len(names) > MAX_JOINT_COLUMNS[size]:
            break
        chosen, told = _most_telling(binned, size, labels[:_SCREENED], classes)
        if told < _MIN_TOLD:
            continue
        from sklearn.ensemble import ExtraTreesClassifier
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
        share = _held_out_share(tree, values[:, chosen], labels)
        if share >= MIN_JOINT:
            others = np.delete(values, chosen, axis=1)
            forest = ExtraTreesClassifier(50, random_state=0)
            if (
                not others.size
                or not _OTHERS[0] < _held_out_share(forest, others, labels) < _OTHERS[1]
            ):
                return None
            return Leak(" and ".join(names[i] for i in chosen), share, False, joint=True)
    return None


def _binned(column: NDArray[np.floating]) -> NDArray[np.int64]:
    edges = np.unique(column)
    if len(edges) > _JOINT_BINS:
        edges = np.unique(np.quantile(column, np.linspace(0, 1, _JOINT_BINS + 1)[1:-1]))
    return np.searchsorted(edges, column)


def _most_telling(
    binned: Sequence[NDArray[np.int64]], size: int, labels: NDArray[np.int64], classes: int
) -> tuple[list[int], float]:
    """The columns that tell the most together, each row judged by the others in its cell."""
    step = _JOINT_BINS + 1
    best, right = list(range(size)), 0
    for chosen in itertools.combinations(range(len(binned)), size):
        cells = labels.copy()
        for place, i in enumerate(chosen):
            cells += binned[i] * (classes * step**place)
        counts = np.bincount(cells, minlength=classes * step**size).reshape(-1, classes)
        first = counts.max(axis=1)
        clear = 2 * first - 1 > counts.sum(axis=1)
        if first[clear].sum() > right:
            best, right = list(chosen), int(first[clear].sum())
    commonest = np.bincount(labels).max()
    return best, float((right - commonest) / max(1, len(labels) - commonest))


def _held_out_share(model: Any, x: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """How much of the label a model tells of rows that it has not seen, beyond the commonest."""
    half = np.arange(len(labels)) % 2 == 0
    right = sum(
        int((model.fit(x[own], labels[own]).predict(x[~own]) == labels[~own]).sum())
        for own in (half, ~half)
    )
    commonest = np.bincount(labels).max()
    return float((right - commonest) / max(1, len(labels) - commonest))


def _columns_by_name(data: LabelledData) -> dict[str, NDArray[np.floating]]:
    """Each number, date and list of values as one column; no texts and no pictures."""
    columns: dict[str, NDArray[np.floating]] = {}
    at = 0
    for feature in data.features:
        part = data.x[:, at : at + feature.width]
        at += feature.width
        if feature.how in ("one-hot", "hashed"):
            columns[feature.column] = part.argmax(axis=1).astype(np.float32)
        elif feature.how in ("number", "yes/no", "days", "hours"):
            columns[feature.column] = np.asarray(part[:, 0], np.float32)
        elif feature.how == "vector" and feature.width <= MAX_COMPARED:
            columns |= dict(zip(feature.names(), np.asarray(part.T, np.float32), strict=True))
    return columns


def drop_uninformative_columns(data: LabelledData) -> LabelledData:
    """The data as it is learned from, whatever door it came through.

    Arrays lose constants, copies and columns that repeat the label, which files leave out as they
    are read, so that the same numbers give the same decision. Columns that tell the given label
    together are named.

    >>> x = np.array([[0.0, 1.0, 5.0, 1.0], [0.0, 2.0, 7.0, 2.0]])
    >>> drop_uninformative_columns(LabelledData.of(x, [0, 1], classes=("a", "b"))).x.tolist()
    [[1.0, 5.0], [2.0, 7.0]]
    """
    if data.x.ndim != 2 or data.x.nbytes > MAX_BYTES or len(data) < 2:
        return data
    if all(feature.how in ("vector", "number") for feature in data.features):
        data = _drop_columns(data)
    drawn = np.argsort(row_keys(data.x), kind="stable")[:_SAMPLE]
    columns = {name: values[drawn] for name, values in _columns_by_name(data).items()}
    joint = None
    if not any(leak.left_out is False for leak in data.leaks):
        joint = joint_leak(columns, data.labels[drawn], len(data.classes))
    if joint is None:
        return data
    return replace(data, leaks=(*data.leaks, joint), notes=(*data.notes, str(joint)))


def _drop_columns(data: LabelledData) -> LabelledData:
    """Arrays without constants, copies and columns that repeat the label."""
    x = data.x
    keep = x.max(axis=0) > x.min(axis=0)
    seen: set[bytes] = set()
    for column in np.flatnonzero(keep).tolist():
        key = blake2b(x[:, column].tobytes(), digest_size=16).digest()
        keep[column] = key not in seen
        seen.add(key)
    if not keep.any():
        return data
    names = np.array(data.feature_names)
    leaks: list[Leak] = []
    if keep.sum() <= MAX_COMPARED and not data.leaks:
        each = [Feature(str(name), "number") for name in names[keep]]
        values = np.asarray(x[:, keep], np.float32)
        leaks = leaks_in(values, each, {}, data.labels, len(data.classes), row_keys(x))
    left = keep & ~np.isin(names, [leak.column for leak in leaks if leak.left_out])
    if not left.any():  # nothing else to learn from
        left, leaks = keep, [replace(leak, left_out=False) for leak in leaks]
    if left.all() and not leaks:
        return data
    widths = np.add.reduceat(left, np.cumsum([0, *(f.width for f in data.features)])[:-1])
    features = tuple(
        replace(f, width=int(w)) for f, w in zip(data.features, widths, strict=True) if w
    )
    return replace(
        data,
        x=x[:, left],
        columns=left,
        features=features,
        leaks=(*data.leaks, *leaks),
        notes=(*data.notes, *describe_leaks(leaks)),
    )


def telltale_words(
    cells: Any, labels: NDArray[np.int64], classes: int, keys: NDArray[np.uint64]
) -> list[str]:
    """The words of a column of texts that are the label together, of all classes but one at least.

    `keys` are numbers of the rows, by which a sample is drawn whatever their order; rows without
    a label have -1.

    >>> texts = pa.array(["[Red] a b", "[blue] b c", "[red] c", "[blue] a"] * 15)
    >>> telltale_words(texts, np.arange(60) % 2, 2, np.arange(60, dtype=np.uint64))
    ['blue', 'red']
    """
    drawn = np.flatnonzero(labels >= 0)
    drawn = np.sort(drawn[np.argsort(keys[drawn], kind="stable")[:_SAMPLE]])
    given = labels[drawn]
    sizes = np.bincount(given, minlength=classes)
    counted = np.minimum(sizes, len(drawn) - sizes) >= _OF_A_CLASS
    if counted.sum() < 2:
        return []
    texts = normalize(cells.take(pa.array(drawn)))
    owner, bucket = hashed_words(texts)
    each = np.unique(bucket * len(texts) + owner)  # each bucket of a text once
    bucket, owner = np.divmod(each, len(texts))
    # Only words that are in as many texts as a class has can be that class.
    allowed = (1 - MIN_LEFT_OUT) * np.minimum(sizes, len(drawn) - sizes)
    within = np.bincount(bucket, minlength=BUCKETS)
    close = np.zeros(BUCKETS, dtype=np.bool_)
    for size, most in zip(sizes[counted], allowed[counted], strict=True):
        close |= np.abs(within - size) <= most
    named, words = set(), []
    for candidate in np.flatnonzero(close).tolist():
        begin, end = np.searchsorted(bucket, [candidate, candidate + 1])
        hits = np.bincount(given[owner[begin:end]], minlength=classes)
        label = int(hits.argmax())
        missed = sizes[label] + (end - begin) - 2 * hits[label]
        if counted[label] and missed <= allowed[label]:
            named.add(label)
            words += _words_in(str(texts[int(owner[begin])]), candidate)
    return sorted(set(words)) if len(named) >= counted.sum() - 1 else []


def remove_words(cells: Any, words: Sequence[str]) -> Any:
    """The texts without these words, whatever their case.

    >>> remove_words(pa.array(["__label__Red a redder b", None]), ["red"]).to_pylist()
    ['__label__ a redder b', None]
    """
    spelled = "|".join(map(re.escape, words))
    pattern = re.compile(rf"(?<![^\W_])(?:{spelled})(?![^\W_])", re.IGNORECASE)
    texts = (None if text is None else pattern.sub("", text) for text in cells.to_pylist())
    return pa.array(texts, pa.large_string())


def _words_in(text: str, bucket: int) -> list[str]:
    """The word of a text that falls into a bucket; none where a pair of words does."""
    words = list(dict.fromkeys(_WORD.findall(text)))
    at, buckets = hashed_words(pa.array(words, pa.large_string()))
    return [words[i] for i in at[buckets == bucket]]
