"""Published files on disk: where they are looked for, how they are checked and opened."""

import gzip
import hashlib
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from dris import InputError
from experiments.dris_internals import temporary_folder

# What a tree of images may hold; anything else in its archive is left inside.
_TREE_FILE = re.compile(r"(images/[\w-]+/[\w-]+\.jpg|meta/[\w-]+\.(txt|json)|[\w-]+\.txt)")


@dataclass(frozen=True, slots=True)
class Published:
    """One file as its authors publish it, and what is in it.

    `file` lies in the data folder, packed (`.tar.gz`, or `.gz` around a single file); unpacked,
    its `parts` lie in `folder` beside it. A part's checksum is the MD5 or SHA-1 of its bytes, so
    a `.gz` packed anew still passes; `None` means that none is published. `md5` is that of the
    packed file, `None` when the parts alone decide. `sha256` are ours, of parts that had the
    published sums, and checked beside these. Without an address nothing is downloaded, and
    `by_hand` says how one comes by the file.
    """

    address: str
    file: str
    folder: str
    parts: Mapping[str, str | None]
    md5: str | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)
    by_hand: str = ""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A published file that is there: packed (`path` is the file) or not (`path` is the folder)."""

    published: Published
    path: Path
    packed: bool

    @property
    def size(self) -> int:
        """Bytes on disk."""
        parts = [self.path / part for part in self.published.parts]
        roots = [self.path] if self.packed else parts
        files = (file for root in roots for file in (root, *root.rglob("*")))
        return sum(file.stat().st_size for file in files if file.is_file())


def search_folders(data_dir: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
    """Where data sets are looked for, in order: the argument, DRIS_DATA, the user's cache.

    >>> search_folders("/data")[0].as_posix()
    '/data'
    """
    given = [Path(d).expanduser() for d in (data_dir, os.environ.get("DRIS_DATA")) if d]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "dris"
    return tuple(dict.fromkeys([*given, cache]))


def find(published: Published, folders: tuple[Path, ...]) -> LocalFile | None:
    """The first folder that holds the file, whole: unpacked before packed; None when none does."""
    for folder in folders:
        unpacked = folder / published.folder
        if all((unpacked / part).exists() for part in published.parts):
            return LocalFile(published, unpacked, packed=False)
        if (folder / published.file).is_file():
            return LocalFile(published, folder / published.file, packed=True)
    return None


def read_parts(local: LocalFile) -> dict[str, bytes]:
    """The bytes of every part, each checked; a part that is damaged or missing is named."""
    published = local.published
    if not local.packed:
        with _readable(local):
            parts = {name: (local.path / name).read_bytes() for name in published.parts}
        paths = {name: local.path / name for name in parts}
    else:
        check_packed(local)
        with _readable(local):
            is_tar = published.file.endswith(".tar.gz")
            parts = _tar_parts(local) if is_tar else _gzip_part(local)
        paths = dict.fromkeys(parts, local.path)
    for name, want in published.parts.items():
        if name not in parts:
            raise _damaged(local.path, f"it lacks {name}", published)
        for sum_ in (want, published.sha256.get(name)):
            if sum_ is not None:
                _check(_digest(parts[name], sum_), sum_, paths[name], published)
    return parts


def check_packed(local: LocalFile) -> None:
    """Refuse a packed file whose MD5 is not the published one."""
    want = local.published.md5
    if want is not None:
        with _readable(local), local.path.open("rb") as file:
            got = hashlib.file_digest(file, "md5").hexdigest()
        _check(got, want, local.path, local.published)


def unpack_tree(local: LocalFile) -> Path:
    """Unpack a checked tree of images beside its archive, all or nothing; returns the folder."""
    published = local.published
    check_packed(local)
    data_dir = local.path.parents[len(PurePosixPath(published.file).parts) - 1]
    target = data_dir / published.folder
    if target.exists():
        raise InputError(
            f"{target} lacks {' or '.join(published.parts)}, and {local.path} is not unpacked "
            f"over it; move {target} away and try again"
        )
    try:
        with temporary_folder(data_dir, ".unpacking-") as scratch:
            fresh = scratch / "tree"
            for name, stream in _members(local):
                if _TREE_FILE.fullmatch(name):
                    (fresh / name).parent.mkdir(parents=True, exist_ok=True)
                    with (fresh / name).open("wb") as out:
                        shutil.copyfileobj(stream, out)
            missing = [part for part in published.parts if not (fresh / part).exists()]
            if missing:
                raise _damaged(local.path, f"it lacks {missing[0]}", published)
            fresh.rename(target)
    except (EOFError, zlib.error, tarfile.TarError) as error:
        raise _damaged(local.path, str(error), published) from None
    except OSError as error:
        raise InputError(
            f"{local.path} could not be unpacked into {data_dir} ({error}); "
            "make room and write access there, or unpack it by hand"
        ) from None
    return target


def _members(local: LocalFile) -> Iterator[tuple[str, IO[bytes]]]:
    """The regular files of a tar, by their name inside its folder; one outside it ends the read."""
    with tarfile.open(local.path, "r|gz") as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            inside = path.parts[:1] == (local.published.folder,) and ".." not in path.parts
            if not inside or not (member.isfile() or member.isdir()):
                raise InputError(
                    f"{local.path} holds the unexpected entry {member.name!r} and was not used; "
                    f"replace it by the file from {local.published.address}"
                )
            stream = archive.extractfile(member)
            if stream is not None:
                yield PurePosixPath(*path.parts[1:]).as_posix(), stream


def _tar_parts(local: LocalFile) -> dict[str, bytes]:
    wanted = local.published.parts
    return {name: stream.read() for name, stream in _members(local) if name in wanted}


def _gzip_part(local: LocalFile) -> dict[str, bytes]:
    (name,) = local.published.parts
    return {name: gzip.decompress(local.path.read_bytes())}


@contextmanager
def _readable(local: LocalFile) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise _damaged(local.path, str(error), local.published) from None


def _digest(blob: bytes, like: str) -> str:
    """The MD5 (32 digits), SHA-1 (40) or SHA-256 (64) of the bytes, whichever kind is known."""
    return hashlib.new({40: "sha1", 64: "sha256"}.get(len(like), "md5"), blob).hexdigest()


def _check(got: str, want: str, path: Path, published: Published) -> None:
    if got != want:
        raise _damaged(path, f"checksum {got}, published {want}", published)


def _damaged(path: Path, why: str, published: Published) -> InputError:
    return InputError(
        f"{path} is damaged ({why}); move it away and replace it by the file from "
        f"{published.address}"
    )
