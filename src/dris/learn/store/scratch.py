"""Scratch space beside results: a folder that carries a mark, and is removed only with the mark."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dris.core.errors import InputError
from dris.core.files import make_folder, remove_left, write_atomically
from dris.learn.store.locks import LOCK, folder_lock

MARK = "made-by-dris"
_TEXT = b"Work in progress of dris; the command that made this folder removes it at its end.\n"


@contextmanager
def scratch(folder: Path, *, wait: bool = True) -> Iterator[Path]:
    """The folder, held by this process alone, and removed when its work is done.

    Work that fails or is killed leaves it to the next. Without `wait`, a folder that another
    process holds is an error.
    """
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
