"""Folders and files of our own: made when absent, written whole or not at all."""

import hashlib
import os
import platform
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from dris.core.errors import InputError


def make_folder(path: Path) -> Path:
    """Create the folder unless it exists; raise if it cannot be written to."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; name a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        why = None if os.access(path, os.W_OK | os.X_OK) else "no permission"
    except OSError as error:
        why = error.strerror
    if why is not None:
        raise InputError(f"cannot write to {path} ({why}); name another folder")
    return path


def write_atomically(path: Path, pieces: Iterable[bytes | memoryview]) -> Path:
    """Write to a temporary name beside `path`, then rename it once every byte is on disk."""
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder; create it before saving into it")
    # Created as any other file would be, so that its permissions are the usual ones.
    temporary = temporary_for(path)
    try:
        with temporary.open("xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk does not name the file
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
        raise
    return path


def plain_bytes(path: Path) -> bytes:
    """The bytes of a file; a pipe or a device, which may never end, counts as absent."""
    if not path.is_file():
        raise FileNotFoundError(path)
    return path.read_bytes()


_LEFT = re.compile(r"\.?.+[.-]([0-9a-f]{8})([0-9a-f]{8})[0-9a-f]{16}(\.tmp)?")
_PREFIX = "dris-"


def temporary_for(path: Path) -> Path:
    """An unused hidden name beside `path`."""
    return path.with_name(f".{path.name}.{_drawn()}.tmp")


@contextmanager
def temporary_folder(where: Path | None = None, prefix: str = _PREFIX) -> Iterator[Path]:
    """A new folder that is removed at the end, in the system's temporary one by default."""
    with temporary_place(where, prefix) as path:
        path.mkdir(mode=0o700)
        yield path


@contextmanager
def temporary_place(where: Path | None = None, prefix: str = _PREFIX) -> Iterator[Path]:
    """An unused name, removed at the end together with what killed processes left."""
    parent = Path(tempfile.gettempdir()) if where is None else where
    remove_left(parent, prefix)
    path = parent / f"{prefix}{_drawn()}"
    try:
        yield path
    finally:
        _removed(path)


def remove_left(folder: Path, prefix: str = ".") -> None:
    """Remove what has this prefix, a name drawn here, and a process that has ended."""
    with suppress(OSError):  # a folder that cannot be listed has nothing for us
        for name in os.listdir(folder):
            if name.startswith(prefix) and is_left(name):
                _removed(folder / name)


def is_left(name: str) -> bool:
    """True if the name was drawn by a process of this machine that has ended."""
    match = _LEFT.fullmatch(name)
    return match is not None and match[1] == _machine() and not _lives(int(match[2], 16))


def _drawn() -> str:
    return f"{_machine()}{os.getpid():08x}{uuid.uuid4().hex[:16]}"


@cache
def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _lives(pid: int) -> bool:
    """True if the process exists, or if the system cannot be asked."""
    try:
        if os.name == "posix" and pid != os.getpid():
            os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _removed(path: Path) -> None:
    """Remove a file or a folder of our own; a link is removed, not followed."""
    with suppress(OSError):
        if hasattr(os, "getuid") and path.lstat().st_uid != os.getuid():
            return
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
