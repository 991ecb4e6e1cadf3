"""Labels looked at before anything trains: what a person would want to know first."""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import parameter
from dris.data.files import listed, one_line
from dris.data.findings.leaks import describe_leaks
from dris.data.labelled import LabelFinding, LabelledData, Value

_MISSING = {"nan", "none", "null", "na", "n/a", "#n/a", "?", "-", "--", "unknown", "missing", ""}
_MISSING |= {"(missing)", "tbd", "undefined"}
_MAX_ROWS = 1000
_ODD = np.uint64(0x9E3779B97F4A7C15)


def add_findings(data: LabelledData, more: Sequence[LabelFinding] = ()) -> LabelledData:
    """The data with everything that is seen in its labels, as findings and as notes.

    >>> data = LabelledData.of(np.eye(6), [0, 1, 2, 1, 0, 0], classes=("cat", "dog", "Dog"))
    >>> [f.kind for f in add_findings(data).findings]
    ['spellings', 'few']
    """
    counts = np.bincount(data.labels, minlength=len(data.classes))
    keys = data.groups if data.groups is not None else row_keys(data.x)
    groups = row_groups(keys) if data.x.size else None
    findings = [
        *more,
        *(LabelFinding("leak", len(data), text) for text in describe_leaks(data.leaks)),
        *_unlabelled(data),
        *_missing(data, counts),
        *_spellings(data.classes, counts),
        *_many(data),
        *_few(data, counts),
        *(() if groups is None else _repeated(data, groups)),
    ]
    return replace(
        data,
        findings=tuple(findings),
        groups=groups,
        notes=(*data.notes, *(finding.text for finding in findings)),
    )


def spelling_of(value: Value) -> str:
    """What spellings of one class have in common: letters, without case, spaces or marks."""
    text = unicodedata.normalize("NFKC", str(value))
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc") or c.isspace())
    text = " ".join(text.split()).casefold()
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:g}" if np.isfinite(number) else text


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


def row_keys(x: NDArray[np.float32] | NDArray[np.uint8]) -> NDArray[np.uint64]:
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
