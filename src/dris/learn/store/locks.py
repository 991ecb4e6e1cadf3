"""One process at a time in a folder, by a lock that the system takes back when a process dies.

Scratch space, a folder for work in progress, carries a mark and is removed only with the mark.
"""

import errno
import logging
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dris.core.errors import InputError
from dris.core.files import make_folder, remove_left, write_atomically

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = "lock"
_POLL = 0.01
# Whoever lists runs holds a lock for a moment; only one that stays is a reason to give up.
_MOMENT = 0.1
_log = logging.getLogger("dris.store")


class LockedError(InputError):
    """Another process holds what was asked for; the message names it."""


@contextmanager
def folder_lock(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold `folder`, made when absent; without `wait`, one that is held is an error."""
    lock, holder = _acquire(folder, wait), os.getpid()
    try:
        _write(folder / LOCK, str(holder).encode())
        yield
    finally:
        if os.getpid() == holder:  # a forked child has let go already
            try:
                _write(folder / LOCK, b"")
            finally:
                lock.release()


def is_lock(path: Path) -> bool:
    """True if a file holds what a lock does: nothing, or the number of a process."""
    held = b""
    with suppress(FileNotFoundError, PermissionError):  # Windows lets nobody read what is locked
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > 20:
            return False
        held = path.read_bytes()
    return not held or held.isdigit()


def is_locked(folder: Path) -> bool:
    """True if some process holds the folder right now."""
    from filelock import Timeout

    if not (folder / LOCK).is_file():
        return False
    lock = _lock(folder)
    try:
        lock.acquire(timeout=_MOMENT, poll_interval=_POLL)
    except Timeout:
        return True
    except OSError:  # cleaned away in between, or another's
        return False
    lock.release()
    return False


def _lock(folder: Path) -> "BaseFileLock":
    from filelock import FileLock

    # A lock by existence would outlive whoever is killed: better an error where a disk knows none.
    return FileLock(folder / LOCK, mode=0o644, fallback_to_soft=False)


def _acquire(folder: Path, wait: bool) -> "BaseFileLock":
    from filelock import Timeout

    path = folder / LOCK
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            path.touch(mode=0o644)
            before = path.lstat()
            if not is_lock(path):
                raise InputError(
                    f"{path} was not written by dris, which would use it as its lock; move it away"
                )
            lock = _lock(folder)
            try:
                lock.acquire(timeout=_MOMENT, poll_interval=_POLL)
            except Timeout:
                _name_holder(folder, wait)
                lock.acquire(timeout=-1, poll_interval=_POLL)
        except FileNotFoundError:
            continue  # the folder was cleaned away in between
        except (OSError, NotImplementedError) as error:  # a disk without locks does not say where
            number = getattr(error, "errno", None) or errno.ENOLCK
            raise OSError(number, os.strerror(number), str(path)) from error
        with suppress(FileNotFoundError):
            if os.path.samestat(before, path.lstat()):
                return lock
        lock.release()  # a lock on a folder that was cleaned away holds nothing


def _name_holder(folder: Path, wait: bool) -> None:
    """Say who holds the folder, as an error where nobody waits for them."""
    holder = ""
    with suppress(OSError):
        holder = (folder / LOCK).read_bytes().decode(errors="replace")
    holder = holder or "of unknown number"
    if not wait:
        raise LockedError(
            f"{folder} is in use by process {holder}; let it finish, or wait for it with wait=True"
        )
    _log.info("waiting for process %s, which holds %s", holder, folder)


def _write(path: Path, content: bytes) -> None:
    """What the lock says, where the system lets it be written while it is held."""
    with suppress(OSError), path.open("r+b") as file:
        file.truncate(0)
        file.write(content)


MARK = "made-by-dris"
_TEXT = b"Work in progress of dris; the command that made this folder removes it at its end.\n"


@contextmanager
def scratch(folder: Path, *, wait: bool = True) -> Iterator[Path]:
    """The folder, held by this process alone, and removed unless its work fails or is killed."""
    with folder_lock(make_scratch(folder), wait=wait):
        yield make_scratch(folder)  # anew, when another process has just removed it
        remove_scratch(folder)


def make_scratch(folder: Path) -> Path:
    """The folder with its mark, made when it is not there; one that others made is refused."""
    _refuse_foreign(folder)
    if not (make_folder(folder) / MARK).exists():
        write_atomically(folder / MARK, [_TEXT])
    return folder


def empty_scratch(folder: Path) -> None:
    """Remove all that is in the folder but for its mark and its lock."""
    _refuse_foreign(folder)
    for path in folder.iterdir():
        if path.name in (MARK, LOCK):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def remove_scratch(folder: Path) -> None:
    """Remove the folder, its mark last: killed half-way, what is left is still known."""
    empty_scratch(folder)
    for name in (LOCK, MARK):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # a process that waited for the folder has it now
        folder.rmdir()


def _refuse_foreign(folder: Path) -> None:
    """A folder is ours when it has the mark, or holds nothing but a lock (killed before it had)."""
    if not folder.is_symlink() and not folder.exists():
        return
    remove_left(folder, f".{MARK}.")  # of a process that was killed while it made the mark
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else {""}
    if folder.is_symlink() or not (MARK in names or names <= {LOCK}):
        raise InputError(
            f"{folder} was not made by dris, which would work there and remove it; move it away, "
            "or name another `out`"
        )
