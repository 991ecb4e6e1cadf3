"""Data in object storage (s3://, gs://, ...): copied once, then read like any file.

Everything that is read from is a file here: formats that seek, fingerprints, and the rows that are
written back need one. The copy is kept under the user's cache, and made anew when size or time of
the original differ.
"""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from dris.core.errors import InputError
from dris.core.files import remove_left, temporary_for
from dris.data.files import one_line


def fetch(address: str) -> Path:
    """Fetch what lies at an address; the file or folder of this machine that holds it."""
    from pyarrow import fs

    try:
        system, inner = fs.FileSystem.from_uri(address)
        if isinstance(system, fs.LocalFileSystem):
            return Path(inner)
        return _copied(system, inner, address)
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        raise InputError(
            f"{address} cannot be read ({one_line(error)}); check the address and your credentials"
        ) from None


def _copied(system: Any, inner: str, address: str) -> Path:
    from pyarrow import fs

    info = system.get_file_info(inner)
    if info.type == fs.FileType.NotFound:
        raise InputError(f"{address} does not exist; check the address")
    if info.type == fs.FileType.File:
        target = _cache(f"{address} {info.size} {info.mtime_ns}") / Path(inner).name
        _copy(system, info, target)
        return target
    inside = system.get_file_info(fs.FileSelector(inner, recursive=True))
    files = sorted((f for f in inside if f.type == fs.FileType.File), key=lambda f: str(f.path))
    stamp = "".join(f"{f.path} {f.size} {f.mtime_ns}\n" for f in files)
    folder = _cache(address + stamp) / Path(inner).name
    for one in files:
        _copy(system, one, folder / os.path.relpath(one.path, inner))
    return folder


def _copy(system: Any, info: Any, target: Path) -> None:
    if target.is_file() and target.stat().st_size == info.size:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_left(target.parent)
    part = temporary_for(target)
    with system.open_input_stream(info.path) as stream, part.open("wb") as out:
        shutil.copyfileobj(stream, out, 1 << 22)
    part.replace(target)


def _cache(key: str) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root, "dris", "fetched", hashlib.sha256(key.encode()).hexdigest()[:24])
