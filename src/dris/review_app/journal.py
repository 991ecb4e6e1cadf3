"""The file of answers: its first line is the worklist, every other line one entry of a person.

An entry is on the disk before the next is asked for. A process that is killed while it writes
leaves at most half a line, which the next one skips. An entry that does not fit on the disk is
removed again, and the person is told.

Editors, git and sync clients replace files. Before each entry the path is compared with the open
file: a copy is taken over, a file that is gone is written again, and where another program changed
it nothing more is taken.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
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
    """The file of answers for a file or a folder: beside it, never in it."""
    name = data.name if data.is_dir() else data.stem
    return data.with_name(f"{name}.review.jsonl")


class Journal:
    """An open file of answers that no other process may write to meanwhile."""

    def __init__(self, path: Path, begin: Callable[[], Worklist]) -> None:
        """Open the file; where it holds no review yet, begin it with the worklist of `begin()`."""
        self.path = path
        self._apart: Path | None = None  # where the answers went when another program changed them
        self._held = ExitStack()
        check_place(path)
        target = Path(os.path.realpath(path))
        try:
            self._lock(target.with_name(f".{target.name}.lock"))
            if not holds_review(path):
                first = _head(begin().to_dict())
                with writing(path):
                    remove_left(target.parent)
                    write_atomically(target, [first])
            with writing(path):
                self._open()
            self.worklist = self._first()
            if not self._written.endswith(b"\n"):
                self._put(b"\n")  # half a line of a process that was killed
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        with suppress(OSError):  # Windows removes no file that is open
            self._held.close()

    def add(self, entry: Mapping[str, Any]) -> None:
        """Write one entry; it is on the disk on return."""
        self._put(_line(entry))

    def entries(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every entry so far with the line it stands on; half lines are skipped."""
        for number, line in enumerate(self._written.split(b"\n")[1:], 2):
            with suppress(ValueError):
                entry = from_json(line)
                if isinstance(entry, dict):
                    yield number, entry

    def _first(self) -> Worklist:
        try:
            held = from_json(self._written.partition(b"\n")[0])["worklist"]
            if held["format"] == FORMAT and self._written.startswith(_head(held)):
                return Worklist.from_dict(held)
        except (ValueError, LookupError, TypeError):
            pass
        raise InputError(
            f"{self.path} is no review that dris can go on with, and is never replaced; name "
            "another file with `answers`, or move it away"
        )

    def _lock(self, place: Path) -> None:
        """Lock a file beside it, for itself can be replaced; refuse where another process has."""
        from filelock import FileLock, Timeout

        lock = FileLock(place, timeout=0, fallback_to_soft=False)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(
                f"{self.path} is open in another dris review; go on there (several people may, "
                "each by name), or end it first"
            ) from None
        except (OSError, NotImplementedError):
            return  # a folder in which nothing can be made, or a disk that knows no locks
        self._held.callback(lock.release)
        if not place.stat().st_size:  # nobody else's
            self._held.callback(place.unlink, missing_ok=True)

    def _open(self) -> None:
        self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | _AS_IS)
        self._held.callback(os.close, self._handle)
        self._written = self.path.read_bytes()

    def _put(self, line: bytes) -> None:
        with writing(self.path):
            self._follow()
            left = line
            try:
                while left:
                    left = left[os.write(self._handle, left) :]
                os.fsync(self._handle)
            except OSError:
                # Half a line would swallow the next answer.
                os.ftruncate(self._handle, len(self._written))
                raise
            self._written += line

    def _follow(self) -> None:
        """Make sure that the path names the open file, as it was left; raise where it cannot be."""
        size, there = len(self._written), None
        with suppress(FileNotFoundError):
            there = os.stat(self.path)
        if there is None:
            write_atomically(Path(os.path.realpath(self.path)), [self._written])
        elif there.st_size != size or os.fstat(self._handle).st_size != size:
            self._refuse_changed()
        elif os.path.samestat(there, os.fstat(self._handle)):
            return
        elif self.path.read_bytes() != self._written:
            self._refuse_changed()
        self._open()

    def _refuse_changed(self) -> None:
        """Put the answers so far into a file of their own and say so."""
        number = 1
        while self._apart is None:
            apart = self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}")
            number += 1
            if not apart.exists():
                self._apart = write_atomically(apart, [self._written])
        raise InputError(
            f"another program changed {self.path}, so this answer is not saved; all before it are "
            f"in {self._apart}. End dris review and start it again with `answers` naming either"
        )


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _head(worklist: Mapping[str, Any]) -> bytes:
    """The first line, sealed: a worklist that was damaged is not gone on with."""
    seal = hashlib.sha256(_line(worklist)).hexdigest()
    return _line({"file": MARK, "seal": seal, "worklist": worklist})


def check_place(path: Path) -> None:
    """Refuse a place where no file of answers can be, before anything is trained for it."""
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
