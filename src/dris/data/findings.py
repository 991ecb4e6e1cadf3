"""What is seen in data before anything trains: odd labels, and columns or words that repeat them.

Proxies that read those agree with every given label, wrong ones included.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.checks.neighbours import MAX_EXACT_ROWS, nearest_rows
from dris.core.errors import parameter
from dris.data.files import listed, one_line
from dris.data.labelled import Feature, LabelFinding, LabelledData, Leak, Value, spelling_of
from dris.data.text.ngrams import BUCKETS, hashed_ngrams, normalize

_MISSING = {"nan", "none", "null", "na", "n/a", "#n/a", "?", "-", "--", "unknown", "missing", ""}
_MISSING |= {"(missing)", "tbd", "undefined"}
_MAX_ROWS = 1000
_ODD = np.uint64(0x9E3779B97F4A7C15)
MIN_NAMED = 0.95  # of what the commonest class does not explain: from here on a column is named
MIN_LEFT_OUT = 0.995  # and left out, where it is a list of values
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
MIN_UNITS, MIN_SHARED = 50, 0.9  # values, and near pairs of rows that share one: it names groups
_COMPARED = 4000  # rows of whole groups, of which each is compared with the others
_OF_A_CLASS = 20  # texts at least: of fewer, an honest word may be in all
_WORD = re.compile(r"[^\W_]+")


def add_findings(data: LabelledData, more: Iterable[LabelFinding] = ()) -> LabelledData:
    """The data with everything that is seen in its labels, as findings and as notes."""
    counts = np.bincount(data.labels, minlength=len(data.classes))
    keys = data.copies if data.copies is not None else row_keys(data.x)
    copies = row_groups(keys) if data.x.size else None
    findings = (
        *more,
        *(LabelFinding("leak", len(data), text) for text in describe_leaks(data.leaks)),
        *_missing(data, counts),
        *_spellings(data.classes, counts),
        *_many(data),
        *_several_in_one(data),
        *_few(data, counts),
        *(() if copies is None else _repeated(data, copies)),
    )
    notes = (*data.notes, *(finding.text for finding in findings))
    return replace(data, findings=findings, copies=copies, notes=notes)


def merge_spellings(
    labels: NDArray[np.int64], classes: tuple[Value, ...]
) -> tuple[NDArray[np.int64], tuple[Value, ...], tuple[str, ...]]:
    """Labels with the spellings of one class joined to the commonest of them, and what was."""
    counts = np.bincount(labels, minlength=len(classes))
    best: dict[str, int] = {}
    for i in sorted(range(len(classes)), key=lambda i: (-int(counts[i]), str(classes[i]))):
        best.setdefault(spelling_of(classes[i]), i)
    to = [best[spelling_of(value)] for value in classes]
    kept, place = np.unique(to, return_inverse=True)
    notes = (
        f"{classes[i]!r} became {classes[t]!r} in {_rows(int(counts[i]))}"
        for i, t in enumerate(to)
        if i != t
    )
    return place[labels], tuple(classes[i] for i in kept), tuple(notes)


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
        if part.dtype.kind == "f":  # -0.0 is 0.0
            part = np.ascontiguousarray(part + part.dtype.type(0)).view(f"u{part.itemsize}")
        bits = (part.astype(np.uint64) + np.uint64(1)) * _ODD
        bits ^= bits >> np.uint64(31)
        keys[begin : begin + step] = (bits * each).sum(axis=1, dtype=np.uint64)
    return keys


def row_groups(keys: NDArray[np.integer]) -> NDArray[np.int64] | None:
    """Numbers that are shared by equal rows, in the order of their first; None if all differ."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return None if len(first) == len(keys) else np.argsort(np.argsort(first))[inverse]


def _missing(data: LabelledData, counts: NDArray[np.int64]) -> Iterator[LabelFinding]:
    if (aside := data.unlabelled) is not None:
        names = listed([one_line(name, 40) for name in aside.ids.tolist()], most=3)
        text = (
            f"{_rows(len(aside))} without a label ({names}) put aside: not learned from, not kept, "
            "and listed in issues.csv with a label to consider"
        )
        yield LabelFinding("unlabelled", len(aside), text)
    if odd := [i for i, v in enumerate(data.classes) if spelling_of(v) in _MISSING]:
        total = int(counts[odd].sum())
        names = listed([f"{data.classes[i]!r} ({counts[i]:,})" for i in odd])
        text = (
            f"{_rows(total)} have a label that reads as missing, {names}, and count as a class; "
            f"{parameter('no_label', [str(data.classes[i]) for i in odd])} puts them aside"
        )
        yield LabelFinding("missing", total, text, _where(np.isin(data.labels, odd)))


def _spellings(classes: Sequence[Value], counts: NDArray[np.int64]) -> Iterator[LabelFinding]:
    alike: dict[str, list[int]] = {}
    for i, value in enumerate(classes):
        alike.setdefault(spelling_of(value), []).append(i)
    if several := [group for group in alike.values() if len(group) > 1]:
        ways = [" / ".join(f"{classes[i]!r} ({counts[i]:,})" for i in group) for group in several]
        more = f" and {len(ways) - 5} more" if len(ways) > 5 else ""
        text = (
            f"{len(several)} {'class is' if len(several) == 1 else 'classes are'} spelled in "
            f"several ways: {'; '.join(ways[:5])}{more}; `merge_spellings` joins them"
        )
        yield LabelFinding("spellings", len(several), text)


def _many(data: LabelledData) -> Iterator[LabelFinding]:
    """Values of an id, or many whole numbers that do not count classes, as ages and prices are."""
    classes, n = len(data.classes), len(data)
    if classes > n // 2 and n >= 20:
        text = (
            f"the label has {classes:,} different values in {n:,} rows, as an id has; "
            "name the column of classes with `label` if it is another"
        )
        yield LabelFinding("id", classes, text)
    values = [v for v in data.classes if isinstance(v, int) and not isinstance(v, bool)]
    if not max(classes, MIN_QUANTITY) <= len(values) <= n // 2:
        return
    if values[0] not in (0, 1) or values[-1] - values[0] != len(values) - 1:
        text = (
            f"the label has {len(values)} different numbers from {values[0]} to {values[-1]}, as a "
            "quantity has; each counts as a class of its own, so put them into a few ranges"
        )
        yield LabelFinding("quantity", len(values), text)


def _several_in_one(data: LabelledData) -> Iterator[LabelFinding]:
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
            yield LabelFinding("several labels", lists, text)
            return


def _few(data: LabelledData, counts: NDArray[np.int64]) -> Iterator[LabelFinding]:
    rare = np.flatnonzero(counts <= 2)
    if len(rare) and len(data.classes) <= len(data) // 2:
        names = listed([f"{data.classes[i]!r} ({counts[i]})" for i in rare.tolist()], most=6)
        what = "1 class has" if len(rare) == 1 else f"{len(rare)} classes have"
        text = f"{what} one or two rows only, of which nothing can be learned: {names}"
        yield LabelFinding("few", len(rare), text, _where(np.isin(data.labels, rare)))


def _repeated(data: LabelledData, groups: NDArray[np.int64]) -> Iterator[LabelFinding]:
    """Rows that occur twice, and those among them whose labels differ."""
    size = np.bincount(groups)
    low = np.full(len(size), len(data.classes))
    high = np.full(len(size), -1)
    np.minimum.at(low, groups, data.labels)
    np.maximum.at(high, groups, data.labels)
    torn = low < high
    again = int((size - 1).sum())
    text = f"{_rows(again)} {'repeats' if again == 1 else 'repeat'} the features of another exactly"
    yield LabelFinding("duplicate", again, text, _where(size[groups] > 1))
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
        yield LabelFinding("conflict", len(at), text, _where(torn[groups]))


def _where(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask)[:_MAX_ROWS].tolist())


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def determined_share(codes: NDArray[np.integer], labels: NDArray[np.int64], classes: int) -> float:
    """How much of the label a list of values tells: 0 as much as the commonest class, 1 all.

    Each row is judged by the other rows of its value, so that a value of its own says nothing.
    """
    _, dense = np.unique(codes, return_inverse=True)
    pairs, counts = np.unique(dense.astype(np.int64) * classes + labels, return_counts=True)
    value = pairs // classes
    order = np.lexsort((-counts, value))
    value, counts = value[order], counts[order]
    first = np.flatnonzero(np.diff(value, prepend=-1))
    best = counts[first]
    second = np.append(np.where(np.diff(value) == 0, counts[1:], 0), 0)[first]
    return _beyond_commonest(int(best[best - 1 > second].sum()), labels)


def _beyond_commonest(right: int, labels: NDArray[np.int64]) -> float:
    """The share of what the commonest class does not explain that is explained by so many right."""
    commonest = np.bincount(labels).max()
    return float((right - commonest) / max(1, len(labels) - commonest))


def leaks_in(
    x: NDArray[np.float32],
    features: Sequence[Feature],
    codes: Mapping[str, NDArray[np.int32]],
    labels: NDArray[np.int64],
    classes: int,
    keys: NDArray[np.uint64],
) -> list[Leak]:
    """Columns that tell nearly all of the label; `keys` draw a sample whatever the rows' order."""
    if len(labels) < MIN_ROWS or classes > len(labels) // 4:
        return []
    drawn: NDArray[np.int64] | slice = slice(None)
    if len(labels) > _SAMPLE:
        drawn = np.argsort(keys, kind="stable")[:_SAMPLE]
    some = labels[drawn]
    leaks: list[Leak] = []
    pairs: dict[str, NDArray[np.bool_]] = {}  # columns of two values
    begins = np.cumsum([0, *(feature.width for feature in features)]).tolist()
    for feature, begin in zip(features, begins, strict=False):
        if feature.column in codes:
            own = codes[feature.column]
            share, many = determined_share(own, labels, classes), len(np.unique(own))
        elif feature.how in ("number", "yes/no", "days", "hours"):
            column = x[drawn, begin]
            distinct = np.unique(column)
            many = len(distinct)
            if many == 2:
                pairs[feature.column] = column == distinct[1]
            share = determined_share(_binned(column, _BINS), some, classes)
        else:
            continue
        known = feature.how == "gap" or any(leak.column == feature.column for leak in leaks)
        if share >= MIN_NAMED and not known:
            few = many <= min(_BINS, MAX_VALUES_PER_CLASS * classes)
            leaks.append(Leak(feature.column, share, few and share >= MIN_LEFT_OUT))
    return leaks or [Leak(name, 1.0, True) for name in one_hot_label(pairs, some, classes)]


def unnamed_groups(
    x: NDArray[np.float32],
    features: Sequence[Feature],
    codes: Mapping[str, NDArray[np.int32]],
    keys: NDArray[np.uint64],
) -> list[str]:
    """Columns of words that name groups whatever their name says, as those of patients do.

    Several rows share each of many values, and the row that is nearest by its numbers nearly
    always has the same one. Exact copies, which share all values, count once.
    """
    numbers = np.repeat(
        [f.how in ("number", "vector") for f in features], [*(f.width for f in features)]
    )
    _, first = np.unique(keys, return_index=True)
    found = []
    for name, column in codes.items():
        values, own = np.unique(column[first], return_inverse=True)
        if not MIN_UNITS <= len(values) <= len(first) // 2 or not numbers.any():
            continue
        least = np.full(len(values), np.iinfo(np.uint64).max)  # draws groups in any order of rows
        np.minimum.at(least, own, keys[first])
        drawn = np.argsort(least)
        drawn = drawn[: np.searchsorted(np.cumsum(np.bincount(own)[drawn]), _COMPARED) + 1]
        rows = np.flatnonzero(np.isin(own, drawn))[:MAX_EXACT_ROWS]
        table = x[first[rows]][:, numbers]
        table = (table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-9)
        near, _ = nearest_rows(table.astype(np.float32), 1, rng=np.random.default_rng(0))
        if (own[rows][near[:, 0]] == own[rows]).mean() >= MIN_SHARED:
            found.append(name)
    return found


def one_hot_label(
    pairs: Mapping[str, NDArray[np.bool_]], labels: NDArray[np.int64], classes: int
) -> list[str]:
    """Columns of two values that are the label together: one for each class, or for all but one."""
    columns: dict[int, str] = {}
    for name, there in pairs.items():
        likeliest = int(np.bincount(labels[there], minlength=classes).argmax())
        own = labels == likeliest
        if (there != own).sum() <= (1 - MIN_LEFT_OUT) * min(own.sum(), (~own).sum()):
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

    A small tree over them is right about nearly every held-out row, and the other columns tell
    something of the label, not nearly all: so these have its errors as well.
    """
    names = list(columns)
    if len(labels) < MIN_JOINT_ROWS or classes > MAX_JOINT_CLASSES or len(names) < 3:
        return None
    values = np.column_stack([columns[name] for name in names])
    binned = [_binned(column, _JOINT_BINS) for column in values[:_SCREENED].T]
    for size in (2, 3):
        if len(names) > MAX_JOINT_COLUMNS[size]:
            break
        chosen, told = _most_telling(binned, size, labels[:_SCREENED], classes)
        if told < _MIN_TOLD:
            continue
        from sklearn.ensemble import ExtraTreesClassifier
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_leaf_nodes=max(64, 8 * classes), random_state=0)
        share = _held_out_share(tree, values[:, chosen], labels)
        if share >= MIN_JOINT:
            others = np.delete(values, chosen, axis=1)
            forest = ExtraTreesClassifier(50, random_state=0)
            told = _held_out_share(forest, others, labels) if others.size else 0
            if not _OTHERS[0] < told < _OTHERS[1]:
                return None
            return Leak(" and ".join(names[i] for i in chosen), share, False, joint=True)
    return None


def _binned(column: NDArray[np.floating], bins: int) -> NDArray[np.int64]:
    edges = np.unique(column)
    if len(edges) > bins:
        edges = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)[1:-1]))
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
    return best, _beyond_commonest(right, labels)


def _held_out_share(model: Any, x: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """How much of the label a model tells of rows that it has not seen, beyond the commonest."""
    half = np.arange(len(labels)) % 2 == 0
    right = sum(
        int((model.fit(x[own], labels[own]).predict(x[~own]) == labels[~own]).sum())
        for own in (half, ~half)
    )
    return _beyond_commonest(right, labels)


def _columns_by_name(data: LabelledData) -> dict[str, NDArray[np.floating]]:
    """Each number, date and list of values as one column; no texts and no pictures."""
    columns: dict[str, NDArray[np.floating]] = {}
    ends = np.cumsum([feature.width for feature in data.features]).tolist()
    for feature, end in zip(data.features, ends, strict=True):
        part = data.x[:, end - feature.width : end]
        if feature.how in ("one-hot", "hashed"):
            columns[feature.column] = part.argmax(axis=1).astype(np.float32)
        elif feature.how in ("number", "yes/no", "days", "hours"):
            columns[feature.column] = np.asarray(part[:, 0], np.float32)
        elif feature.how == "vector" and feature.width <= MAX_COMPARED:
            columns |= dict(zip(feature.names(), np.asarray(part.T, np.float32), strict=True))
    return columns


def drop_uninformative_columns(data: LabelledData) -> LabelledData:
    """The data as it is learned from, so that the same numbers decide the same through every door.

    Arrays lose constants, copies and columns that repeat the label, which files leave out as they
    are read. Columns that tell the given label together are named.
    """
    if data.x.ndim != 2 or data.x.nbytes > MAX_BYTES or len(data) < 2:
        return data
    if {feature.how for feature in data.features} <= {"vector", "number"}:
        data = _drop_columns(data)
    if not all(leak.left_out for leak in data.leaks):
        return data
    drawn = np.argsort(row_keys(data.x), kind="stable")[:_SAMPLE]
    columns = {name: values[drawn] for name, values in _columns_by_name(data).items()}
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

    Rows without a label have -1; `keys` of the rows draw a sample whatever their order.
    """
    drawn = np.flatnonzero(labels >= 0)
    drawn = np.sort(drawn[np.argsort(keys[drawn], kind="stable")[:_SAMPLE]])
    given = labels[drawn]
    sizes = np.bincount(given, minlength=classes)
    counted = np.minimum(sizes, len(drawn) - sizes) >= _OF_A_CLASS
    if counted.sum() < 2:
        return []
    texts = normalize(cells.take(pa.array(drawn)))
    owner, bucket = hashed_ngrams(texts, sizes=())[0]
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
    """The texts without these words, whatever their case."""
    spelled = "|".join(map(re.escape, words))
    pattern = re.compile(rf"(?<![^\W_])(?:{spelled})(?![^\W_])", re.IGNORECASE)
    texts = (None if text is None else pattern.sub("", text) for text in cells.to_pylist())
    return pa.array(texts, pa.large_string())


def _words_in(text: str, bucket: int) -> list[str]:
    """The word of a text that falls into a bucket; none where a pair of words does."""
    words = list(dict.fromkeys(_WORD.findall(text)))
    at, buckets = hashed_ngrams(pa.array(words, pa.large_string()), sizes=())[0]
    return [words[i] for i in at[buckets == bucket]]
