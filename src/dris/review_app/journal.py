"""The file of answers: append-only, each entry on the disk before the next is asked for.

The first line is the worklist, every other line one entry of a person. The file appears with its
first line whole. A process that is killed while it writes leaves at most half a line, which the
next one skips. An entry that does not fit on the disk is removed again, and the person is told.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from dris.core.errors import InputError
from dris.core.files import remove_left, write_atomically
from dris.core.sanitize import from_json
from dris.data.files import refuse_endless, writing
from dris.review_app.worklist import FORMAT, Worklist

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
    >>> from dris.review_app.worklist import Worklist
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
        os.close(self._handle)

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
