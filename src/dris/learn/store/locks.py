"""One process at a time in a folder, by a lock that the kernel takes back when a process dies."""

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dris.core.errors import InputError

LOCK = "lock"
_log = logging.getLogger("dris")
_held: set[int] = set()


class LockedError(InputError):
    """Another process holds what was asked for; the message names it."""


@contextmanager
def folder_lock(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold `folder`, made when absent, against every other process and thread.

    Without `wait`, a folder that another process holds is an error naming that process.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root, folder_lock(Path(root)):
    ...     is_locked(Path(root))
    True
    """
    handle = _acquire(folder, wait)
    _held.add(handle)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        if handle in _held:  # not in a forked child, which has let go already
            _held.discard(handle)
            try:
                os.ftruncate(handle, 0)
            finally:
                os.close(handle)


def is_lock(path: Path) -> bool:
    """Whether a file holds what a lock does: nothing, or the number of a process.

    >>> is_lock(Path("absent"))
    True
    """
    try:
        held = path.read_bytes() if path.lstat().st_size <= 20 else b"long"
    except FileNotFoundError:
        return True
    return not held or held.isdigit()


def is_locked(folder: Path) -> bool:
    """Whether some process holds the folder right now.

    >>> is_locked(Path("absent"))
    False
    """
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _acquire(folder: Path, wait: bool) -> int:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except FileNotFoundError:
            continue  # the folder was cleaned away in between
        try:
            if not is_lock(folder / LOCK):
                raise InputError(
                    f"{folder / LOCK} was not written by dris, which would use it as its lock; "
                    "move it away"
                )
            _flock(handle, folder, wait)
            if _is_still(handle, folder / LOCK):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # a lock on a folder that was cleaned away holds nothing


def _flock(handle: int, folder: Path, wait: bool) -> None:
    # Whoever lists runs holds a lock for a moment; only one that stays is a reason to give up.
    for _ in range(10):
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
    holder = os.pread(handle, 20, 0).decode(errors="replace") or "of unknown number"
    if not wait:
        raise LockedError(
            f"{folder} is in use by process {holder}; let it finish, or wait for it with wait=True"
        )
    _log.info("waiting for process %s, which holds %s", holder, folder)
    return fcntl.flock(handle, fcntl.LOCK_EX)


def _is_still(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _let_go() -> None:
    """A forked child shares its parent's lock and would keep it when the parent is killed."""
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_let_go)
