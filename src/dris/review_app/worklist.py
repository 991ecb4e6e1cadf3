"""What a person is asked: the suspects, and mixed in among them a blind random sample.

The sample is drawn once, from the labels that are no suspects, before the first answer. Nothing
distinguishes its cards from the others: each shows the likeliest *other* label.

The journal is the file of answers. Its first line is the worklist, every other line one entry of a
person, on the disk before the next is asked for. The file appears with its first line whole. A
process that is killed while it writes leaves at most half a line, which the next one skips. An
entry that does not fit on the disk is removed again, and the person is told.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.random_audit import draw_audit
from dris.core.errors import InputError
from dris.core.files import remove_left, write_atomically
from dris.core.sanitize import from_json
from dris.core.streams import rng_for
from dris.core.subset import Subset
from dris.core.validate import read_only
from dris.data.files import refuse_endless, writing
from dris.data.labelled import LabelledData
from dris.pipeline.decision import Decision

FORMAT = 1
SAMPLE = 60  # none wrong of so many proves at most 4.9 % of the rest
SAMPLE_SPACING = 5  # one card of the sample in every five, until it is used up
NO_LABEL = -1
_ARRAYS = {
    "positions": np.int64,
    "suggested": np.int64,
    "suspicion": np.float64,
    "against": np.int64,
    "sampled": np.bool_,
}


@dataclass(frozen=True, slots=True, eq=False)
class Worklist:
    """The cards in order, and what they were drawn from."""

    positions: NDArray[np.int64]  # each card's example in the data
    suggested: NDArray[np.int64]  # the likeliest other label, `NO_LABEL` (-1) where there is none
    suspicion: NDArray[np.float64]  # larger is more suspicious
    against: NDArray[np.int64]  # how many proxies give another label; -1 where it is not known
    sampled: NDArray[np.bool_]  # true for cards of the random sample
    rest: int  # how many labels the sample was drawn from: neither suspects nor trusted
    proxies: int  # K
    seed: int  # of the draw, and of the samples of cells
    fingerprint: str  # of the data
    label: str  # the column of the given labels
    classes: tuple[str, ...]  # names of the classes

    def __post_init__(self) -> None:
        for name, kind in _ARRAYS.items():
            object.__setattr__(self, name, read_only(np.asarray(getattr(self, name)), kind))

    def __len__(self) -> int:
        return self.positions.size

    @property
    def suspects(self) -> NDArray[np.int64]:
        """Positions of the suspects."""
        return self.positions[~self.sampled]

    @property
    def sample(self) -> NDArray[np.int64]:
        """Positions of the blind random sample."""
        return self.positions[self.sampled]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for the first line of the journal."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        arrays["suspicion"] = [float(f"{value:.4g}") for value in arrays["suspicion"]]
        arrays["sampled"] = np.flatnonzero(self.sampled).tolist()
        names = ("rest", "proxies", "seed", "fingerprint", "label")
        values = {name: getattr(self, name) for name in names}
        return {"format": FORMAT, **arrays, **values, "classes": list(self.classes)}

    @classmethod
    def from_dict(cls, held: dict[str, Any]) -> "Worklist":
        """What `to_dict` wrote; raises ValueError where it was damaged since."""
        sampled = np.zeros(len(held["positions"]), dtype=np.bool_)
        sampled[np.asarray(held["sampled"], dtype=np.int64)] = True
        arrays: dict[str, Any] = {name: np.asarray(held[name]) for name in _ARRAYS}
        for name, values in arrays.items():
            if _ARRAYS[name] is np.int64 and values.size and values.dtype.kind not in "iu":
                raise ValueError("the worklist counts with fractions")
        worklist = cls(
            **{**arrays, "sampled": sampled},
            rest=int(held["rest"]),
            proxies=int(held["proxies"]),
            seed=int(held["seed"]),
            fingerprint=str(held["fingerprint"]),
            label=str(held["label"]),
            classes=tuple(map(str, held["classes"])),
        )
        if any(getattr(worklist, name).shape != sampled.shape for name in _ARRAYS):
            raise ValueError("the columns of the worklist are not of one length")
        repeated = np.unique(worklist.positions).size < len(worklist)
        if repeated or min(worklist.rest, worklist.proxies) < 0:
            raise ValueError("the worklist names an example twice, or a count below zero")
        return worklist

    def check(self, data: LabelledData, where: object) -> None:
        """Raise where the data is not what this was made of."""
        at, other = self.positions, self.suggested
        why = None
        if self.fingerprint != data.origin.fingerprint:
            why = "is a review of other data, or the data has changed since"
        elif (self.label, self.classes) != (data.origin.label, data.names):
            why = (
                f"is a review of the column {self.label!r} with {len(self.classes)} classes, now "
                f"{data.origin.label!r} with {len(data.names)} is read; read it the same way"
            )
        elif at.size and not (
            0 <= at.min() <= at.max() < len(data)
            and NO_LABEL <= other.min() <= other.max() < len(self.classes)
        ):
            why = "was damaged: its worklist names examples or labels that are not there"
        if why:
            raise InputError(f"{where} {why}; name another file with `answers`, or move it away")


def worklist_of(decision: Decision, *, sample: int = SAMPLE, seed: int = 0) -> Worklist:
    """Every suspect, the surest first, and a random sample of the rest mixed in.

    >>> from dris.pipeline.suspects import Suspects
    >>> data = LabelledData.of(np.eye(4), [0, 1, 0, 1], classes=("cat", "dog"))
    >>> two, one = np.array([2]), np.array([1])
    >>> suspects = Suspects(two, one - 1, one, one * 0.9, one, one > 0, two, ("cat", "dog"), 3)
    >>> decision = Decision(data, np.arange(4), np.zeros(4), suspects, "clean", None)
    >>> worklist = worklist_of(decision, sample=2)
    >>> len(worklist), worklist.rest, worklist.suspects.tolist()
    (3, 3, [2])
    """
    data, suspects = decision.data, decision.suspects
    at = np.array([], dtype=np.int64) if suspects is None else suspects.positions
    others = other_labels(decision)
    open_ = ~data.trusted
    open_[at] = False
    rest = np.flatnonzero(open_)
    count = min(sample, rest.size)
    drawn = np.array([], dtype=np.int64)
    if count:
        drawn = draw_audit(
            Subset(rest, "rest", {}, len(data)), count, rng=rng_for(seed, "review", "sample")
        )
    sampled = _mix_in(at.size, count, rng=rng_for(seed, "review", "places"))
    positions = np.empty(at.size + count, dtype=np.int64)
    positions[sampled], positions[~sampled] = drawn, at
    against = np.full(len(data), -1, dtype=np.int64)
    if suspects is not None:
        against[at] = suspects.against
    return Worklist(
        positions=positions,
        suggested=others[positions],
        suspicion=decision.suspicion[positions],
        against=against[positions],
        sampled=sampled,
        rest=int(rest.size),
        proxies=0 if suspects is None else suspects.proxies,
        seed=seed,
        fingerprint=data.origin.fingerprint,
        label=data.origin.label,
        classes=data.names,
    )


def other_labels(decision: Decision) -> NDArray[np.int64]:
    """The likeliest label of each example besides the given one.

    Where it is not known, the commonest suggestion for its class, so that a card without a
    suspicion does not stand out.
    """
    data, suspects = decision.data, decision.suspects
    probabilities = (
        None if decision.ensemble is None else decision.ensemble.assessment.probabilities
    )
    if probabilities is not None:
        others = np.array(probabilities)
        np.put_along_axis(others, data.labels[:, None], -np.inf, axis=1)
        likeliest = np.asarray(others.argmax(axis=1), dtype=np.int64)
    else:
        likeliest = _commonest(decision)[data.labels]
    if suspects is not None:
        likeliest[suspects.positions] = np.where(
            suspects.suggested == suspects.given, NO_LABEL, suspects.suggested
        )
    return likeliest


def _commonest(decision: Decision) -> NDArray[np.int64]:
    """For each class the label that is suggested most often in its place; -1 for a lone class."""
    size, suspects = len(decision.data.classes), decision.suspects
    counts = np.zeros((size, size))
    if suspects is not None:
        known = suspects.suggested >= 0
        np.add.at(counts, (suspects.given[known], suspects.suggested[known]), 1)
    counts += np.bincount(decision.data.labels, minlength=size) / (len(decision.data) + 1)
    np.fill_diagonal(counts, -1)
    return np.where(size > 1, counts.argmax(axis=1), NO_LABEL).astype(np.int64)


def _mix_in(suspects: int, sample: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """True for the sample's cards: one at a random place of every five, or more often."""
    sampled = np.zeros(suspects + sample, dtype=np.bool_)
    if sample:
        step = min(SAMPLE_SPACING, sampled.size // sample)
        sampled[np.arange(sample) * step + rng.integers(step, size=sample)] = True
    return sampled


MARK = "dris review"
_AS_IS = getattr(os, "O_BINARY", 0)  # Windows would change the ends of lines


def journal_beside(data: Path) -> Path:
    """The file of answers for a file or a folder: beside it, never in it.

    >>> str(journal_beside(Path("photos"))), str(journal_beside(Path("people.csv")))
    ('photos.review.jsonl', 'people.review.jsonl')
    """
    name = data.name if data.is_dir() else data.stem
    return data.with_name(f"{name}.review.jsonl")


class Journal:
    """An open file of answers that no other process may write to meanwhile.

    >>> import tempfile
    >>> none = Worklist([], [], [], [], [], 0, 0, 0, "", "y", ("cat", "dog"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.review.jsonl")
    ...     with Journal(path, none) as journal:
    ...         journal.add({"entry": "answer", "at": 3})
    ...     with Journal(path) as journal:
    ...         list(journal.entries())
    [{'entry': 'answer', 'at': 3}]
    """

    def __init__(self, path: Path, worklist: Worklist | None = None) -> None:
        """Open the file; where it holds no review yet, begin it with the worklist."""
        self.path = path
        check_place(path)
        if not holds_review(path):
            if worklist is None:
                raise InputError(f"{path} holds no review yet; begin it with dris review DATA")
            _begin(path, worklist)
        with writing(path):
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND | _AS_IS)
        try:
            self._lock()
            self.worklist = self._first()
            if not path.read_bytes().endswith(b"\n"):
                self._put(b"\n")  # half a line of a process that was killed
        except BaseException:
            os.close(self._handle)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        handle, self._handle = self._handle, -1
        os.close(handle)

    def add(self, entry: Mapping[str, Any]) -> None:
        """Write one entry; it is on the disk on return."""
        self._put(_line(entry))

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every entry so far; half lines are skipped."""
        for line in self.path.read_bytes().split(b"\n")[1:]:
            try:
                entry = from_json(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry

    def _first(self) -> Worklist:
        with writing(self.path):
            head = self.path.read_bytes().partition(b"\n")[0]
        try:
            first = from_json(head)
            if first["file"] == MARK and first["worklist"]["format"] == FORMAT:
                return Worklist.from_dict(first["worklist"])
        except (ValueError, LookupError, TypeError, ArithmeticError):
            pass
        raise InputError(
            f"{self.path} is no review that dris can go on with, and is never replaced; name "
            "another file with `answers`, or move it away"
        )

    def _lock(self) -> None:
        try:
            if sys.platform == "win32":
                import msvcrt

                os.lseek(self._handle, 2**40, os.SEEK_SET)  # past every line, which all may read
                msvcrt.locking(self._handle, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise InputError(
                f"{self.path} is open in another dris review; go on there (several people may, "
                "each by name), or end it first"
            ) from None
        except OSError:
            pass  # a disk that knows no locks

    def _put(self, line: bytes) -> None:
        with writing(self.path):
            size = os.fstat(self._handle).st_size
            try:
                _write_whole(self._handle, line)
            except OSError:
                # Half a line would swallow the next answer.
                os.truncate(self.path, size)
                raise


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _write_whole(handle: int, line: bytes) -> None:
    while line:
        line = line[os.write(handle, line) :]
    os.fsync(handle)


def _begin(path: Path, worklist: Worklist) -> None:
    """Create the file with its first line, whole or not at all."""
    target = Path(os.path.realpath(path))
    with writing(path):
        remove_left(target.parent)
        write_atomically(target, [_line({"file": MARK, "worklist": worklist.to_dict()})])


def check_place(path: Path) -> None:
    """Refuse a place where no file of answers can be, before anything is trained for it.

    >>> check_place(Path("people.review.jsonl"))
    """
    refuse_endless(path)
    folder = Path(os.path.realpath(path)).parent
    why = None
    if path.is_dir():
        why = f"{path} is a folder"
    elif not folder.is_dir():
        why = f"{folder}: no such folder"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        why = f"{path} cannot be written (no permission)"
    if why:
        raise InputError(f"{why}; name another file with `answers`")


def holds_review(path: Path) -> bool:
    """True if a review was begun in this file."""
    return path.is_file() and path.stat().st_size > 0


def open_journal(path: Path, begin: Callable[[], Worklist]) -> Journal:
    """The journal in `path`, begun with the worklist of `begin()` where there is none yet."""
    check_place(path)
    return Journal(path) if holds_review(path) else Journal(path, begin())
