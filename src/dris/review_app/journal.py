"""The file of ticks: lines that are only ever added, each on the disk before the next is asked.

The first line is the worklist, every other one an act of a person. The file appears with its first
line whole. A process that is killed while it writes leaves at most half of another one; the next
process steps over it. What no longer fits on the disk is taken back, and the person is told.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dris.core.errors import InputError
from dris.core.sanitize import from_json
from dris.core.temporaries import remove_left, temporary_for
from dris.data.files import refuse_endless, writing
from dris.data.writer import place_new
from dris.review_app.worklist import FORMAT, Worklist

MARK = "dris review"
_AS_IS = getattr(os, "O_BINARY", 0)  # Windows would change the ends of lines


def journal_beside(data: Path) -> Path:
    """Where the ticks of a file or a folder lie: beside it, never in it.

    >>> str(journal_beside(Path("photos"))), str(journal_beside(Path("people.csv")))
    ('photos.review.jsonl', 'people.review.jsonl')
    """
    name = data.name if data.is_dir() else data.stem
    return data.with_name(f"{name}.review.jsonl")


class Journal:
    """An open file of ticks that no other process may write to meanwhile.

    >>> import tempfile
    >>> from dris.review_app.worklist import Worklist
    >>> none = Worklist([], [], [], [], [], 0, 0, 0, "", "y", ("cat", "dog"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.review.jsonl")
    ...     with Journal(path, none) as journal:
    ...         journal.add({"act": "tick", "at": 3})
    ...     with Journal(path) as journal:
    ...         list(journal.acts())
    [{'act': 'tick', 'at': 3}]
    """

    def __init__(self, path: Path, worklist: Worklist | None = None) -> None:
        """Open the file, or begin it with a worklist.

        A file that is there must be a review; a worklist given for it is not used.
        """
        self.path = path
        refuse_place(path)
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._handle)

    def add(self, act: Mapping[str, Any]) -> None:
        """Write one act; it is on the disk on return."""
        self._put(_line(act))

    def acts(self) -> Iterator[dict[str, Any]]:
        """Every act so far; half lines are stepped over."""
        for line in self.path.read_bytes().split(b"\n")[1:]:
            try:
                act = from_json(line)
            except ValueError:
                continue
            if isinstance(act, dict):
                yield act

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
            "another file with `ticks`, or move it away"
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
                _written(self._handle, line)
            except OSError:
                # Half a line would swallow the next answer.
                os.truncate(self.path, size)
                raise


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _written(handle: int, line: bytes) -> None:
    while line:
        line = line[os.write(handle, line) :]
    os.fsync(handle)


def _begin(path: Path, worklist: Worklist) -> None:
    """Make the file with its first line, whole or not at all."""
    target = Path(os.path.realpath(path))
    temporary = temporary_for(target)
    with writing(path):
        remove_left(target.parent)
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _AS_IS, 0o644)
            try:
                _written(handle, _line({"file": MARK, "worklist": worklist.to_dict()}))
            finally:
                os.close(handle)
            if os.path.lexists(target):  # an empty file, such as mktemp makes
                temporary.replace(target)
            else:
                place_new(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


def refuse_place(path: Path) -> None:
    """Stop where no file of answers can be, before anything is trained for it.

    >>> refuse_place(Path("people.review.jsonl"))
    """
    refuse_endless(path)
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file for the answers with `ticks`")
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name a file for the answers with `ticks`")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(
            f"{path} cannot be written (no permission); name a file for the answers with `ticks`"
        )


def holds_review(path: Path) -> bool:
    """Whether a review was begun in this file."""
    return path.is_file() and path.stat().st_size > 0
