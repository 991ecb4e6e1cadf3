"""Examples with labels that may be wrong, as every reader hands them over."""

import re
import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError, Problems, suggest_name
from dris.core.noise.annotators import Answers
from dris.core.validate import check_ids, read_only, same_value
from dris.data.files import fingerprint_of, listed, one_line

Value = int | str | bool
Numeric = Literal["number", "gap", "yes/no", "days", "hours", "vector", "image"]
Together = Literal["one-hot", "hashed", "text", "sentence", "components"]  # scaled together
How = Numeric | Together
Missing = Literal["mark", "median", "refuse"]
Text = Literal["auto", "words", "sentences"]
_HEADERLESS = " (of a file without a header, count the columns: `label='1'`)"
NO_GROUP = "none"  # as a group: every row stands for itself
CONSENSUS = "consensus"  # what the label of several annotators is called
_LINES = (".csv", ".tsv", ".txt", ".gz", ".zip")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$")
_EXACT = Context(prec=10_000, Emax=MAX_EMAX, Emin=MIN_EMIN)
_STEPS = 1024  # of float32, into which a column's range falls at least
# How pandas writes its index when nobody asked for it: not a feature.
INDEX_COLUMNS = ("", "Unnamed: 0", "__index_level_0__")


@dataclass(frozen=True, slots=True)
class Feature:
    """One column that is learned from, and how it became numbers.

    `how`: "gap" is 1 where the number is missing; "days" since 1970-01-01, with where in the week,
    year and day; "hashed" how common the value is, a place for each of the commonest, places that
    the others share; "text" components of words and characters; "components" of a sparse matrix.

    >>> Feature("colour", "one-hot", 2, ("blue", "red")).names()
    ('colour=blue', 'colour=red')
    """

    column: str
    how: How
    width: int = 1
    categories: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """A name for each place that the column takes in x."""
        places = [f"={category}" for category in self.categories]
        if self.how == "hashed":
            others = range(self.width - 1 - len(places))
            places = [" (log count)", *places, *(f"=(other {i})" for i in others)]
        elif self.how in ("number", "yes/no", "days", "hours"):
            places = ["", *(f" ({part})" for part in self.categories)]
        elif self.how == "gap":
            places = ["=(missing)"]
        elif self.how != "one-hot":
            places = [f"[{i}]" for i in range(self.width)]
        return tuple(self.column + place for place in places)


@dataclass(frozen=True, slots=True)
class Origin:
    """What was read: `format` ("memory" for none), columns by name, and the options of `reading`.

    `fingerprint` is of every byte.
    """

    format: str
    files: tuple[Path, ...]
    fingerprint: str
    label: str
    id: str | None = None
    columns: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    group: str | None = None

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The columns of labels and of ids, if there are such."""
        label = () if self.reading.get("annotators") else (self.label,)
        return label if self.id is None else (*label, self.id)

    def to_dict(self) -> dict[str, Any]:
        """The origin as values that JSON can hold, for a recipe."""
        names = {name: getattr(self, name) for name in ("fingerprint", "label", "id", "group")}
        return {"format": self.format, "files": list(map(str, self.files)), **names}


@dataclass(frozen=True, slots=True)
class Leak:
    """A column that repeats the given label or nearly determines it.

    While it is learned from, proxies agree with every given label and no limit means anything.
    """

    column: str
    share: float  # of what the commonest class does not explain
    left_out: bool
    words: tuple[str, ...] = ()  # of texts, which say the label: only they are left out
    joint: bool = False  # several columns together
    shared: bool = False  # rows with the same value are in several folds, and tell of each other

    def __str__(self) -> str:
        then = "left out" if self.left_out else "learned from all the same"
        if self.shared:
            what = "several rows share each value, and are learned from apart"
            return f"{self.column}: {what}; `group` names the column whose rows stay in one fold"
        told = "the given label, wrong ones included"
        if self.joint:
            remedy = "leave out those that were made from it with `without`"
            return f"columns {self.column} together tell {told}; {remedy}"
        if self.words:
            some = ", ".join(map(repr, self.words[:6])) + ", …" * (len(self.words) > 6)
            told = f"the given label in words ({some}), wrong ones included"
            return f"column {self.column!r} says {told}, and they are {then}"
        what = "repeats" if self.share >= 0.9995 else f"tells {100 * self.share:.1f} % of"
        return f"column {self.column!r} {what} {told}, and is {then}"


@dataclass(frozen=True, slots=True)
class LabelFinding:
    """Something about the labels that a person should know before anything trains."""

    # "missing", "unlabelled", "spellings", "id", "several labels", "quantity", "few", "conflict",
    # "duplicate", "leak" or "same file"
    kind: str
    count: int  # how many rows (classes for "spellings" and "few") it concerns
    text: str  # a sentence with counts and examples
    rows: tuple[int, ...] = ()  # positions of the rows, the first thousand

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class Unlabelled:
    """Rows that have no label: nothing is learned from them, but a label can be suggested."""

    rows: NDArray[np.int64]  # where they stand among all of the source
    total: int  # rows of the source
    ids: NDArray[Any]
    x: NDArray[np.float32] | NDArray[np.uint8]
    paths: NDArray[np.str_] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    __eq__ = same_value


@dataclass(frozen=True, slots=True, eq=False)
class LabelledData:
    """N examples in the order of their file, with given labels, ids and where they came from.

    >>> data = LabelledData.of(np.eye(2), [0, 1], classes=("cat", "dog"))
    >>> data, data.given().tolist()
    (LabelledData(2 examples × 2, 2 classes, 0 trusted), ['cat', 'dog'])
    """

    # a table (N, D) float32 or images (N, C, H, W) uint8, finite and read-only
    x: NDArray[np.float32] | NDArray[np.uint8]
    labels: NDArray[np.int64]  # given labels as positions in `classes`, int64
    classes: tuple[Value, ...]  # the label values as the user wrote them, sorted
    ids: NDArray[Any]  # the user's ids, whole numbers or text; positions when there are none
    trusted: NDArray[np.bool_]  # true where the user says that the label is right
    features: tuple[Feature, ...]  # which columns x was made from, and how
    origin: Origin  # what was read
    names: tuple[str, ...] = ()  # what to call each class; the values of `classes` by default
    paths: NDArray[np.str_] | None = None  # where each image lies, when images were read from files
    notes: tuple[str, ...] = ()  # what a reader left out, filled in or noticed, a sentence each
    # what was seen in the labels before anything trains; their sentences are notes
    findings: tuple[LabelFinding, ...] = ()
    leaks: tuple[Leak, ...] = ()  # columns that repeat the given label, left out or not
    copies: NDArray[np.int64] | None = None  # equal for those with the same features, if any are
    groups: NDArray[np.int64] | None = None  # equal for those of one patient, user or document
    shown: Any = None  # the table of data that came from memory, for a person to look at
    made_small: bool = False  # if images are smaller than their files and nobody named a size
    unlabelled: Unlabelled | None = None  # the rows of the source that have no label; None without
    columns: NDArray[np.bool_] | None = None  # which columns of an array are left; None for all
    answers: Answers | None = None  # of several annotators, whose consensus the labels are
    rank: NDArray[np.int64] | None = None  # place of each class in their order, as grades have

    def __post_init__(self) -> None:
        n = len(self.x)
        kinds = {"x": self.x.dtype, "labels": np.int64, "ids": self.ids.dtype, "trusted": np.bool_}
        for name, kind in kinds.items():
            object.__setattr__(self, name, read_only(getattr(self, name), kind))
        object.__setattr__(self, "names", self.names or tuple(map(str, self.classes)))
        if not len(self.labels) == len(self.ids) == len(self.trusted) == n:
            sizes = f"{len(self.labels)}, {len(self.ids)} and {len(self.trusted)}"
            raise InputError(f"{n} examples need as many labels, ids and marks, got {sizes}")

    @classmethod
    def of(
        cls,
        x: NDArray[Any],
        labels: Any,
        *,
        classes: tuple[Value, ...],
        ids: Any = None,
        trusted: Any = None,
    ) -> "LabelledData":
        """Data that is in memory already; ids are positions and nothing is trusted by default."""
        images = x.ndim == 4 and x.dtype == np.uint8
        values = x if images else to_float32(np.asarray(x))
        feature = Feature("x", "image" if images else "vector", int(np.prod(values.shape[1:])))
        marks = np.zeros(len(x), np.bool_) if trusted is None else np.asarray(trusted)
        origin, ids = Origin("memory", (), "", label="labels"), check_ids(ids, len(x))
        return cls(values, np.asarray(labels), classes, ids, marks, (feature,), origin)

    def with_features(
        self, x: NDArray[Any], features: tuple[Feature, ...], **more: Any
    ) -> "LabelledData":
        """The same examples with what to learn from, and with `more` notes and attributes."""
        x.flags.writeable = False
        more["notes"] = (*self.notes, *more.get("notes", ()))
        return replace(self, x=x, features=features, **more)

    def __len__(self) -> int:
        return len(self.x)

    __eq__ = same_value

    def __repr__(self) -> str:
        shape = "×".join(map(str, self.x.shape[1:]))
        return (
            f"LabelledData({len(self)} examples × {shape}, {len(self.classes)} classes, "
            f"{int(self.trusted.sum())} trusted)"
        )

    @property
    def rows(self) -> NDArray[np.int64]:
        """Where each example stands among all rows of the source, those without a label counted."""
        if self.unlabelled is None:
            return np.arange(len(self))
        there = np.ones(self.unlabelled.total, dtype=np.bool_)
        there[self.unlabelled.rows] = False
        return np.flatnonzero(there)

    def of_all_rows(self, values: NDArray[Any], aside: NDArray[Any]) -> NDArray[Any]:
        """Values of the examples and of the rows set aside, in the order of the source."""
        if self.unlabelled is None:
            return values
        order = np.argsort(np.concatenate([self.rows, self.unlabelled.rows]))
        return np.concatenate([values, aside])[order]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each column of a table x, or for each value of an image."""
        return tuple(name for feature in self.features for name in feature.names())

    @property
    def column_groups(self) -> tuple[int | tuple[int, int], ...]:
        """The widths of what is scaled together: a number, a date's days, all that words became.

        A date's places in the week, the year and the day weigh as one.
        """
        groups: list[int | tuple[int, int]] = []
        for feature in self.features:
            if feature.how == "days":
                groups += [1, (feature.width - 1, 1)]
            else:
                together = feature.how in get_args(Together)
                groups += [feature.width] if together else [1] * feature.width
        return tuple(groups)

    def given(self, labels: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Labels as the user wrote them; the given ones by default."""
        return np.array(self.classes)[self.labels if labels is None else labels]

    def written(self, labels: NDArray[np.int64] | None = None) -> NDArray[np.str_]:
        """Labels as text; the given ones by default."""
        texts: NDArray[np.str_] = np.array(list(map(str, self.classes)))
        return texts[self.labels if labels is None else labels]

    def to_dict(self) -> dict[str, Any]:
        """What a recipe says about the data, as values that JSON can hold."""
        features = [{"column": f.column, "how": f.how, "width": f.width} for f in self.features]
        return {
            **self.origin.to_dict(),
            "examples": len(self),
            "shape": list(self.x.shape[1:]),
            "classes": list(self.classes),
            "trusted": int(self.trusted.sum()),
            "groups": None if self.groups is None else len(np.unique(self.groups)),
            "features": features,
            "notes": list(self.notes),
            "leaks": [asdict(leak) for leak in self.leaks],
        }


@dataclass(frozen=True, slots=True)
class Change:
    """What a copy of the data differs in, with an entry for every row of the file."""

    keep: NDArray[np.bool_]
    columns: Mapping[str, NDArray[Any]]  # to add
    labels: NDArray[Any] | None
    marks: Mapping[str, NDArray[np.bool_]]
    given: NDArray[Any]  # as they were read, and must be there still
    ids: NDArray[Any]
    blank: NDArray[np.bool_] | None = None  # rows without a label

    def refuse_other_row(self, data: LabelledData, row: int, cells: Sequence[Any]) -> None:
        """Refuse a row whose given label (and id, if there is a column of ids) were not read so."""
        read = {data.origin.id: self.ids, data.origin.label: self.given}
        there = row < len(self.keep)
        blank = there and self.blank is not None and bool(self.blank[row])
        if not there or not all(
            (blank and name == data.origin.label) or _same(cell, read[name][row])
            for name, cell in zip(data.origin.own_columns, cells, strict=True)
        ):
            raise InputError(
                f"row {row} (the first is 0) of {data.origin.files[0]} was read with another "
                "label or id; read it again"
            )

    def edits(self, data: LabelledData, row: int) -> dict[str, Any]:
        """What to write into columns that a row has: another label, its marks."""
        if self.blank is not None and self.blank[row]:
            return {}
        marks = {name: bool(values[row]) for name, values in self.marks.items()}
        if self.labels is None or self.labels[row] == self.given[row]:
            return marks
        return {data.origin.label: self.labels[row].item(), **marks}


def center_of(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """What to subtract so that float32 tells values in these ranges apart; mostly zero."""
    largest = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.spacing(largest.astype(np.float32)).astype(np.float64)
        merged = (high > low) & (high - low < _STEPS * steps)
        return np.where(merged, low + (high - low) / 2, 0.0)


def to_float32(x: NDArray[Any]) -> NDArray[np.float32]:
    """Numbers (N, D) as float32, columns centred where that would merge their values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if x.ndim == 2 and len(x) and x.dtype.itemsize > 2 and x.dtype != np.float32:
            fine = np.where(np.isfinite(x), x, np.nan) if x.dtype.kind == "f" else x
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # columns of nothing
                low, high = np.nanmin(fine, axis=0), np.nanmax(fine, axis=0)
            center = center_of(low.astype(np.float64), high.astype(np.float64))
            x = x - center if center.any() else x
        return np.asarray(x, dtype=np.float32)


def _same(cell: Any, value: Any) -> bool:
    return bool(cell == value or str(cell) == str(value) or spelling_of(cell) == spelling_of(value))


def spelling_of(value: object) -> str:
    """What spellings of one class have in common: no case, outer spaces or marks; exact numbers."""
    text = unicodedata.normalize("NFKC", str(value))
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc") or c.isspace())
    text = " ".join(text.split()).casefold()
    try:
        return str(_EXACT.normalize(Decimal(text)) or 0) if _NUMBER.match(text) else text
    except ArithmeticError:  # an exponent past all numbers
        return text


def refuse_changed(data: LabelledData) -> None:
    """Refuse files that are not those that were read: positions mean nothing in others."""
    files, aside, paths = data.origin.files, data.unlabelled, data.paths
    if paths is not None and data.origin.format != "images":
        if aside is not None and aside.paths is not None:
            paths = data.of_all_rows(paths, aside.paths)
        files = (*files, *map(Path, paths))
    if fingerprint_of(files) != data.origin.fingerprint:
        raise InputError(f"{files[0]} has changed since it was first read; read it again")


def set_unlabelled_aside(data: LabelledData) -> LabelledData:
    """The data without the rows whose label is -1, which become `unlabelled`."""
    there = data.labels >= 0
    if there.all():
        return data
    paths = None if data.paths is None else data.paths[~there]
    names = ("x", "labels", "ids", "trusted", "paths", "copies", "groups")
    each = {name: values for name in names if (values := getattr(data, name)) is not None}
    return replace(
        data,
        **{name: values[there] for name, values in each.items()},
        answers=None if data.answers is None else data.answers.take(there),
        unlabelled=Unlabelled(
            np.flatnonzero(~there), len(there), data.ids[~there], data.x[~there], paths
        ),
    )


def order_classes(data: LabelledData, names: Sequence[str]) -> LabelledData:
    """The same data, its classes in the order of their names, the lowest first."""
    own = [str(value) for value in data.classes]
    unknown = [f"{name!r}{suggest_name(name, own, repr)}" for name in names if name not in own]
    missing = [name for name in own if name not in names]
    problems = Problems("`ordinal`")
    if unknown:
        problems.add(f"`ordinal` names {', '.join(unknown)}, which no row is labelled")
    if missing:
        problems.add(f"`ordinal` lacks {listed(missing)}; name every class, the lowest first")
    if len(set(names)) < len(names):
        problems.add(f"`ordinal` is {listed(names)}; name each class once")
    problems.refuse()
    return replace(data, rank=np.array([names.index(name) for name in own]))


class NothingToLearnError(InputError):
    """A table of labels alone, or of nothing else that can be learned from."""


class ReadKeywords(TypedDict, total=False):
    """The keywords of `read_data`, and of every function that reads data for you."""

    label: str | None
    annotators: Any
    id: str | None
    group: Any
    trusted: str | None
    features: Sequence[str] | None
    without: Sequence[str]
    missing: Missing
    text: Text
    merge_spellings: bool
    no_label: Sequence[str]
    ordinal: Sequence[Value]
    image_size: int | None
    allow_outside: bool
    encoding: str | None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How data is read; `read_data` explains each option."""

    label: str | None = None
    annotators: tuple[str, ...] = ()
    id: str | None = None
    group: str | None = None
    trusted: str | None = None
    features: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    missing: Missing = "mark"
    text: Text = "auto"
    merge_spellings: bool = False
    no_label: tuple[str, ...] = ()
    ordinal: tuple[str, ...] = ()
    image_size: int | None = None
    allow_outside: bool = False
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            raise InputError(f"missing is {self.missing!r}; choose mark, median or refuse")
        if self.text not in get_args(Text):
            raise InputError(f"text is {self.text!r}; choose auto, words or sentences")
        if self.features and self.without:
            raise InputError("features and without exclude each other; name one of them")
        if self.annotators and self.label is not None:
            raise InputError("`label` and `annotators` exclude each other; name one of them")
        if self.answers_file is not None and not self.answers_file.is_file():
            raise InputError(
                f"{one_line(self.answers_file)} is no file; `annotators` needs two columns or "
                "more, or a file of answers: id, annotator, label"
            )

    @property
    def answers_file(self) -> Path | None:
        """The file of the annotators' answers, where they have no columns."""
        return Path(self.annotators[0]) if len(self.annotators) == 1 else None

    @classmethod
    def of(cls, **keywords: Unpack[ReadKeywords]) -> "ReadOptions":
        """The options from keywords, in which lists are lists of any kind."""
        known = [field.name for field in fields(cls)]
        for name in keywords:
            if name not in known:
                raise InputError(f"reading has no option {name!r}{suggest_name(name, known)}")
        values: dict[str, Any] = {**keywords, "annotators": keywords.get("annotators") or ()}
        for name in ("annotators", "features", "without", "no_label", "ordinal"):
            if values.get(name) is not None:
                values[name] = _strings(values[name])
        return cls(**values)

    @property
    def labels_only(self) -> bool:
        """True if labels, ids and trust are read, and nothing to learn from."""
        return self.features == ()

    def special(self, label: str | None) -> list[str]:
        """The columns of labels, ids, groups and trust."""
        labels = (() if self.answers_file else self.annotators) if self.annotators else (label,)
        group = None if self.group == NO_GROUP else self.group
        return [n for n in (*labels, self.id, group, self.trusted) if n is not None]

    def resolve(self, present: Sequence[str], where: Path | str) -> tuple[str, list[str]]:
        """Pick the label and the features among the columns that are there."""
        label = "label" if self.label is None and "label" in present else self.label
        problems = Problems(where)
        there = f"its columns are {listed(present)}"
        aside = {*self.without, *INDEX_COLUMNS}
        if self.annotators:
            label = CONSENSUS
            aside.add("label")  # somebody's earlier consensus
            if CONSENSUS in present:
                problems.add(
                    f"{where} has a column {CONSENSUS!r} already; rename it, or name it with "
                    "`label` in place of `annotators`"
                )
        if label is None:
            problems.add(f"which column of {where} is the label? name it with `label`; {there}")
        special = self.special(label)
        absent = [n for n in (*special, *(self.features or ()), *self.without) if n not in present]
        if absent:
            asked = ", ".join(f"{one_line(n)!r}{suggest_name(n, present, repr)}" for n in absent)
            hint = _HEADERLESS if str(where).lower().endswith(_LINES) else ""
            problems.add(f"{where} has no column {asked}; {there}{hint}")
        others = listed(special)
        if len(set(special)) < len(special):
            problems.add(
                f"label, annotators, id, group and trusted are {others}; name different columns"
            )
        aside.update(special)
        chosen = self.features or tuple(name for name in present if name not in aside)
        if set(special) & set(chosen) or len(set(chosen)) < len(chosen):
            problems.add(f"the features are {listed(chosen)}; name each once, and none of {others}")
        if not chosen and not problems.refusals and not self.labels_only:
            raise NothingToLearnError(
                f"{where} has no column to learn from besides {others}; add one"
            )
        problems.refuse()
        return str(label), list(chosen)


def _strings(values: Sequence[str] | Path) -> tuple[str, ...]:
    return (str(values),) if isinstance(values, str | Path) else tuple(map(str, values))
