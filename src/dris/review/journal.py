"""The file of ticks: lines that are only ever added, each on the disk before the next is asked.

The first line is the worklist, every other one an act of a person. A process that is killed while
it writes leaves at most half a line; the next one steps over it.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dris.core.errors import InputError
from dris.data.files import writing
from dris.review.worklist import FORMAT, Worklist

MARK = "dris review"


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
    >>> from dris.review.worklist import Worklist
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
        with writing(path):
            as_is = getattr(os, "O_BINARY", 0)  # Windows would change the ends of lines
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | as_is, 0o644)
        try:
            self._lock()
            text = path.read_bytes()
            if not text:
                if worklist is None:
                    raise InputError(f"{path} holds no review yet; begin it with dris review DATA")
                self._write({"file": MARK, "worklist": worklist.to_dict()})
            elif not text.endswith(b"\n"):
                self._put(b"\n")  # half a line of a process that was killed
            self.worklist = self._first()
        except BaseException:
            os.close(self._handle)
            if worklist is not None and path.stat().st_size == 0:
                path.unlink()
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
        self._write(act)

    def acts(self) -> Iterator[dict[str, Any]]:
        """Every act so far; half lines are stepped over."""
        for line in self.path.read_bytes().split(b"\n")[1:]:
            try:
                act = json.loads(line)
            except ValueError:
                continue
            if isinstance(act, dict):
                yield act

    def _first(self) -> Worklist:
        head = self.path.read_bytes().partition(b"\n")[0]
        try:
            first = json.loads(head)
            if first["file"] == MARK and first["worklist"]["format"] == FORMAT:
                return Worklist.from_dict(first["worklist"])
        except (ValueError, KeyError, TypeError):
            pass
        raise InputError(
            f"{self.path} is no review that dris can go on with, and is never replaced; name "
            "another file with --ticks, or move it away"
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

    def _write(self, act: Mapping[str, Any]) -> None:
        self._put(json.dumps(act, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")

    def _put(self, line: bytes) -> None:
        with writing(self.path):
            while line:
                line = line[os.write(self._handle, line) :]
            os.fsync(self._handle)


def holds_review(path: Path) -> bool:
    """Whether a review was begun in this file."""
    return path.is_file() and path.stat().st_size > 0
