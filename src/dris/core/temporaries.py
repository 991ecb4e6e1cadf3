"""Temporary names that say which process drew them, so that what a killed one left can be removed.

A name holds eight digits of the machine, eight of the process and sixteen drawn at random. What a
living process or another machine made is left alone.
"""

import hashlib
import os
import platform
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

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
    if os.name != "posix" or pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
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
