"""How data is read: which column is what, and what becomes of gaps, text and images."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from dris.core.errors import InputError, Problems, suggest_name
from dris.data.files import listed, one_line

Missing = Literal["mark", "median", "refuse"]
Text = Literal["auto", "words", "sentences"]
_HEADERLESS = " (of a file without a header, count the columns: `label='1'`)"
_LINES = (".csv", ".tsv", ".txt", ".gz", ".zip")
# How pandas writes its index when nobody asked for it: not a feature.
INDEX_COLUMNS = ("", "Unnamed: 0", "__index_level_0__")


class NothingToLearnError(InputError):
    """A table of labels alone, or of nothing else that can be learned from."""


class ReadKeywords(TypedDict, total=False):
    """The keywords of `read_data`, and of every function that reads data for you."""

    label: str | None
    id: str | None
    trusted: str | None
    features: Sequence[str] | None
    without: Sequence[str]
    missing: Missing
    text: Text
    merge_spellings: bool
    no_label: Sequence[str]
    image_size: int | None
    allow_outside: bool


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How data is read; `read_data` explains each option.

    >>> ReadOptions.of(label="y", no_label="?").no_label
    ('?',)
    """

    label: str | None = None
    id: str | None = None
    trusted: str | None = None
    features: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    missing: Missing = "mark"
    text: Text = "auto"
    merge_spellings: bool = False
    no_label: tuple[str, ...] = ()
    image_size: int | None = None
    allow_outside: bool = False

    def __post_init__(self) -> None:
        if self.missing not in ("mark", "median", "refuse"):
            raise InputError(f"missing is {self.missing!r}; choose mark, median or refuse")
        if self.text not in ("auto", "words", "sentences"):
            raise InputError(f"text is {self.text!r}; choose auto, words or sentences")
        if self.features and self.without:
            raise InputError("features and without exclude each other; name one of them")

    @classmethod
    def of(cls, **keywords: Unpack[ReadKeywords]) -> "ReadOptions":
        """The options from keywords, in which lists are lists of any kind."""
        known = [field.name for field in fields(cls)]
        for name in keywords:
            if name not in known:
                raise InputError(f"reading has no option {name!r}{suggest_name(name, known)}")
        values: dict[str, Any] = {**keywords}
        for name in ("features", "without", "no_label"):
            if values.get(name) is not None:
                values[name] = _strings(values[name])
        return cls(**values)

    @property
    def labels_only(self) -> bool:
        """True if labels, ids and trust are read, and nothing to learn from."""
        return self.features == ()

    def special(self, label: str | None) -> list[str]:
        """The columns of labels, ids and trust."""
        return [name for name in (label, self.id, self.trusted) if name is not None]

    def resolve(self, present: Sequence[str], where: Path | str) -> tuple[str, list[str]]:
        """Pick the label and the features among the columns that are there."""
        label = "label" if self.label is None and "label" in present else self.label
        problems = Problems(where)
        if label is None:
            problems.add(
                f"which column of {where} is the label? name it with `label`; "
                f"its columns are {listed(present)}"
            )
        special = self.special(label)
        absent = [n for n in (*special, *(self.features or ()), *self.without) if n not in present]
        if absent:
            asked = ", ".join(f"{one_line(n)!r}{suggest_name(n, present, repr)}" for n in absent)
            problems.add(
                f"{where} has no column {asked}; its columns are {listed(present)}"
                + (_HEADERLESS if str(where).lower().endswith(_LINES) else "")
            )
        if len(set(special)) < len(special):
            problems.add(f"label, id and trusted are {listed(special)}; name different columns")
        chosen = self.features
        if not chosen:
            aside = {*special, *self.without, *INDEX_COLUMNS}
            chosen = tuple(name for name in present if name not in aside)
        if set(special) & set(chosen) or len(set(chosen)) < len(chosen):
            others = listed(special)
            problems.add(f"the features are {listed(chosen)}; name each once, and none of {others}")
        if not chosen and not problems.refusals and not self.labels_only:
            only = listed(special)
            raise NothingToLearnError(
                f"{where} has no column to learn from besides {only}; add one"
            )
        problems.refuse()
        return str(label), list(chosen)


def _strings(values: Sequence[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(map(str, values))
