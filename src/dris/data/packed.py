"""Files that are packed as gzip or zip, opened as what is inside."""

import gzip
import zipfile
from pathlib import Path
from typing import IO, Any

from dris.core.errors import InputError
from dris.data.files import listed, reading, refuse_larger_than_memory


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its name ends in .gz or .zip."""
    name = path.name.lower()
    if name.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if name.endswith(".zip"):
        return zipfile.ZipFile(path).open(only_member(path))
    return path.open("rb")


def source(path: Path) -> Any:
    """What Arrow reads from: the path itself where nothing is packed, which is fastest."""
    return opened(path) if path.name.lower().endswith((".gz", ".zip")) else str(path)


def only_member(path: Path) -> str:
    """The one file inside an archive; of several, the folders and hidden ones aside."""
    with reading(path, "zip archive"), zipfile.ZipFile(path) as archive:
        names = [
            entry.filename
            for entry in archive.infolist()
            if not entry.is_dir() and not entry.filename.startswith(("__MACOSX/", "."))
        ]
    if len(names) != 1:
        raise InputError(
            f"{path} holds {len(names)} files ({listed(names) or 'none'}), and one table is "
            "expected; unpack it and name the files"
        )
    return names[0]


def unpacked_size(path: Path) -> int:
    """How many bytes are inside, refused when they are more than this machine's memory."""
    name = path.name.lower()
    with reading(path, "file"):
        if not path.is_file():
            return 0
        size = path.stat().st_size
        if name.endswith(".gz") and size > 8:
            with path.open("rb") as file:
                file.seek(-4, 2)
                size = max(size, int.from_bytes(file.read(4), "little"))
        elif name.endswith(".zip"):
            member = only_member(path)
            with zipfile.ZipFile(path) as archive:
                size = archive.getinfo(member).file_size
    refuse_larger_than_memory(path, size)
    return size
