"""Folders and files of our own: made when absent, written whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path

from dris.core.errors import InputError
from dris.core.temporaries import temporary_for


def make_folder(path: Path) -> Path:
    """Create the folder unless it exists; raise if it cannot be written to."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; name a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write to {path} ({error.strerror}); name another folder"
        ) from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"cannot write to {path} (no permission); name another folder")
    return path


def write_atomically(path: Path, pieces: Iterable[bytes | memoryview]) -> Path:
    """Write to a temporary name beside `path`, then rename it once every byte is on disk.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder, "note"), [b"a", b"b"]).read_bytes()
    b'ab'
    """
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
