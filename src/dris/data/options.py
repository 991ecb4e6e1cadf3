"""Which column of a table is what, and whether the columns that were named are there."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from dris.core.errors import InputError
from dris.data.files import listed, one_line
from dris.data.findings.problems import Problems, nearest

Missing = Literal["mark", "median", "refuse"]
TextHow = Literal["auto", "words", "sentences"]
_HEADERLESS = " (of a file without a header, count the columns: --label 1)"
_DEFAULTS = {"missing": "mark", "text": "auto"}
_LINES = (".csv", ".tsv", ".txt", ".gz", ".zip")
# How pandas writes its index when nobody asked for it: not a feature.
INDEX_COLUMNS = ("", "Unnamed: 0", "__index_level_0__")


class NothingToLearnError(InputError):
    """A table of labels alone, or of nothing else that can be learned from."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column is what, and how the data is to be read.

    Attributes:
        label: The given label; a column called "label" when not said.
        id: A name for each example; positions when not said.
        trusted: Yes where the label is known to be right.
        features: What to learn from; every column that can be encoded when not said.
        without: Columns to leave out when `features` is not said.
        missing: Fill gaps with the median and "mark" them, fill in the "median" alone, or
            "refuse" them.
        text: "words", "sentences" (needs the extra `text`), or "auto": sentences where they can be.
        merge_spellings: Take labels that differ in case, spaces or invisible marks for one.
        no_label: Labels that mean there is none, beside empty ones.
        marks_only: Read labels, ids and trust, and nothing to learn from.
        allow_outside: Follow paths of images that leave the folder of their table.
    """

    label: str | None = None
    id: str | None = None
    trusted: str | None = None
    features: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    missing: Missing = "mark"
    text: TextHow = "auto"
    merge_spellings: bool = False
    no_label: tuple[str, ...] = ()
    marks_only: bool = False
    allow_outside: bool = False

    def __post_init__(self) -> None:
        if self.missing not in ("mark", "median", "refuse"):
            raise InputError(f"missing is {self.missing!r}; choose mark, median or refuse")
        if self.text not in ("auto", "words", "sentences"):
            raise InputError(f"text is {self.text!r}; choose auto, words or sentences")
        if self.features is not None and self.without:
            raise InputError("features and without exclude each other; name one of them")

    def special(self, label: str) -> list[str]:
        """The columns that are said to be label, id and trusted."""
        return [name for name in (label, self.id, self.trusted) if name is not None]

    def resolved(self, present: Sequence[str], where: Path | str) -> tuple[str, list[str]]:
        """The label and the features among the columns that are there, or one message."""
        label = "label" if self.label is None and "label" in present else self.label
        problems = Problems(where)
        if label is None:
            problems.add(
                f"which column of {where} is the label? name it with --label; "
                f"its columns are {listed(present)}"
            )
        special = [name for name in (label, self.id, self.trusted) if name is not None]
        absent = [n for n in (*special, *(self.features or ()), *self.without) if n not in present]
        if absent:
            asked = ", ".join(f"{one_line(n)!r}{nearest(n, present)}" for n in absent)
            problems.add(
                f"{where} has no column {asked}; its columns are {listed(present)}"
                + (_HEADERLESS if str(where).lower().endswith(_LINES) else "")
            )
        if len(set(special)) < len(special):
            problems.add(
                f"label, id and trusted are {listed(special)}; name three different columns"
            )
        chosen = self.features
        if chosen is None:
            aside = {*special, *self.without, *INDEX_COLUMNS}
            chosen = tuple(name for name in present if name not in aside)
        clash = sorted(set(special) & set(chosen))
        if clash or len(set(chosen)) < len(chosen):
            problems.add(
                f"the features are {listed(chosen)}; name different columns and none of "
                f"{listed(special)}"
            )
        if not chosen and not problems.found and not self.marks_only:
            raise NothingToLearnError(
                f"{where} has no column to learn from besides {listed(special)}; add features, "
                "text or a column of embeddings"
            )
        problems.refuse()
        return str(label), list(chosen)

    def command(self, files: Sequence[Path], label: str, *, id: bool = True) -> str:
        """The whole command that reads these files so, to be typed."""
        asked = {**asdict(self), "label": label, "id": self.id if id else None}
        del asked["marks_only"]
        return shlex.join(["dris", "clean", *map(str, files), *reading_words(asked)])


def reading_words(asked: Mapping[str, Any]) -> list[str]:
    """The options by which data was read, to be typed again after another command.

    >>> reading_words({"label": "y", "id": None, "missing": "mark", "merge_spellings": True})
    ['--label', 'y', '--merge-spellings']
    """
    words: list[str] = []
    for name, value in asked.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value and _DEFAULTS.get(name) != value:
            text = ",".join(value) if isinstance(value, list | tuple) else str(value)
            words += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return words
