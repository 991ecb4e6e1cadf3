"""Files that people hand over: found, fingerprinted, and any failure to read them in a sentence."""

import codecs
import csv
import difflib
import glob
import gzip
import hashlib
import os
import re
import shutil
import stat
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from dris.core.errors import InputError, remedy_for
from dris.core.files import remove_left, temporary_for
from dris.core.sanitize import printable

PathLike = str | os.PathLike[str]
_PACKED = (".gz", ".zip")
_ADDRESS = re.compile(r"^([a-z][a-z0-9+.-]+):/{1,3}(?=[^/])", re.I)

# What the libraries below raise over bytes that are not what they expect.
UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RuntimeError),
    *(EOFError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError, zlib.error),
    *(zipfile.BadZipFile, csv.Error, pa.ArrowException),
)


@contextmanager
def reading(path: PathLike, kind: str, passing: type[Exception] = InputError) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one sentence with the remedy.

    An `InputError` passes, and so does `passing`, which the caller explains better.
    """
    refuse_endless(path)
    try:
        yield
    except (InputError, passing):
        raise
    except MemoryError:
        raise InputError(
            f"{path} does not fit into memory; read fewer columns with `features`, or a part of it"
        ) from None
    except UNREADABLE as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(
            f"{one_line(path, 400)} cannot be read ({one_line(why)}); "
            f"check its permissions and that it is a whole {kind}"
        ) from None


def refuse_endless(path: PathLike) -> None:
    """Refuse what is neither a file nor a folder: a pipe may never answer, a device never end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # its reader says what is wrong with it
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(
            f"{one_line(path, 400)} is a pipe, a socket or a device; write what it holds to a file"
        )


def one_line(text: object, most: int = 160) -> str:
    """The text without line breaks or other control characters, cut when it is long."""
    words = printable(" ".join(str(text).split()))
    return words if len(words) <= most else words[: most - 1] + "…"


def listed(names: Sequence[object], most: int = 12) -> str:
    """Names in a row for a message; of many the first few and the last, which often is the label.

    >>> listed(["a", " b", "c", "d"], most=3), listed([""])
    ("a, ' b', … (1 more), d", "''")
    """
    odd = (isinstance(name, str) and (not name or name != name.strip()) for name in names)
    shown = zip(odd, names, strict=True)
    words = [one_line(repr(name) if quoted else name, 40) for quoted, name in shown]
    if len(words) > most:
        words[most - 1 : -1] = [f"… ({len(words) - most} more)"]
    return ", ".join(words)


def files_of(paths: PathLike | Sequence[PathLike]) -> tuple[Path, ...]:
    """The files and folders that are meant: paths, patterns such as part-*.parquet, addresses."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise InputError("no data was named; pass the path of a file or a folder")
    files: list[Path] = []
    for one in given:
        text = os.fspath(one)
        if not isinstance(text, str) or not text or "\0" in text:
            raise InputError(f"{one_line(repr(one))} is not a path; name a file or a folder")
        if not text.isprintable():
            raise InputError(f"the name {one_line(repr(text))} cannot be printed; rename the file")
        if address := address_of(text):
            files.append(fetch(address))
            continue
        path = expanded(text)
        with reading(path, "file"):
            if path.exists():
                files.append(path)
            elif not path.is_symlink() and any(c in text for c in "*?["):
                matches = [Path(match) for match in glob.glob(str(path))]
                if not matches:
                    raise InputError(f"no file matches {text}; check the pattern and the folder")
                files += in_order(matches)
            else:
                why = "is a link that leads nowhere" if path.is_symlink() else "does not exist"
                near = nearest_file(path)
                meant = f" (did you mean {near}?)" if near else ""
                raise InputError(f"{text} {why}{meant}; check the path (here is {Path.cwd()})")
    return tuple(files)


def expanded(path: PathLike) -> Path:
    """The path with ~ as the home folder; as it is where it begins with no user's name."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def nearest_file(path: Path) -> Path | None:
    """The file beside it whose name is most similar; None where none is."""
    try:
        names = sorted(other.name for other in path.parent.iterdir())
    except OSError:
        return None
    longer = [name for name in names if path.stem and name.startswith(path.stem)]
    close = [*difflib.get_close_matches(path.name, names, n=1), *longer]
    return path.with_name(close[0]) if close else None


def address_of(text: str) -> str | None:
    """The address that a path means, slashes that `pathlib` took restored; None for local paths.

    >>> address_of("s3:/bucket/a.csv"), address_of("data/a.csv"), address_of("file:/tmp/a.csv")
    ('s3://bucket/a.csv', None, 'file:///tmp/a.csv')
    """
    match = _ADDRESS.match(text)
    if match is None or len(match[1]) < 2:
        return None
    slashes = "///" if match[1].lower() == "file" else "//"
    return f"{match[1]}:{slashes}{text[match.end() :]}"


def check_named(path: Path) -> Path:
    """The path of a file to write, which must have a name."""
    if not path.name or path.name == "..":
        raise InputError(f"{str(path)!r} names no file to write; name one, such as out.csv")
    return path


def in_order(paths: Sequence[Path]) -> list[Path]:
    """Sorted by name, numbers in names by their value."""

    def key(path: Path) -> list[tuple[bool, int, str]]:
        pieces = re.split(r"([0-9]+)", str(path))
        return [(p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in pieces]

    return sorted(paths, key=key)


def digests_of(files: Sequence[Path]) -> tuple[bytes, ...]:
    """SHA-256 of the bytes of each file."""

    def digest(path: Path) -> bytes:
        with reading(path, "file"), path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()

    return tuple(map(digest, files))


def fingerprint_of(files: Sequence[Path]) -> str:
    """SHA-256 over the bytes of every file in order; where the files lie does not matter."""
    return hashlib.sha256(b"".join(digests_of(files))).hexdigest()


def refuse_larger_than_memory(path: PathLike, size: int) -> None:
    """Stop before an allocation that this machine cannot hold."""
    if not hasattr(os, "sysconf"):  # Windows
        return
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > most:
        raise InputError(
            f"{path} would take {size / 1e9:,.1f} GB in memory and this machine has "
            f"{most / 1e9:,.1f} GB; read fewer columns with `features`, or a part of it"
        )


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its name ends in .gz or .zip."""
    name = path.name.lower()
    if name.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if name.endswith(".zip"):
        return zipfile.ZipFile(path).open(only_member(path))
    return path.open("rb")


def text_in(path: Path) -> str:
    """The text of a file as programs save it: UTF-16 by its mark, UTF-8, else Windows-1252."""
    with reading(path, "text"), opened(path) as file:
        data = file.read()
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return data.decode("cp1252")


def source(path: Path) -> Any:
    """What Arrow reads from: the path itself where nothing is packed, which is fastest."""
    return opened(path) if path.name.lower().endswith(_PACKED) else str(path)


def only_member(path: Path) -> str:
    """The one file inside an archive; of several, the folders and hidden ones aside."""
    with reading(path, "zip archive"), zipfile.ZipFile(path) as archive:
        files = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    names = [name for name in files if not name.startswith(("__MACOSX/", "."))]
    if len(names) != 1:
        held = f"holds {len(names)} files ({listed(names) or 'none'})"
        raise InputError(f"{path} {held}, and one table is expected; unpack it")
    return names[0]


def refuse_large(path: Path) -> None:
    """Refuse a file that unpacks to more bytes than this machine's memory."""
    name = path.name.lower()
    with reading(path, "file"):
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


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a full disk or a folder without write access into one sentence."""
    try:
        yield
    except OSError as error:
        why = one_line(error.strerror or error)
        do = remedy_for(error, "name another place")
        raise InputError(f"{path} cannot be written ({why}); {do}") from None


def fetch(address: str) -> Path:
    """Copy what lies elsewhere (s3://, gs://, hf://) once; the file or folder that holds it here.

    The copy in the user's cache is made anew when size or time of the original differ.
    """
    from pyarrow import fs

    try:
        system, inner = fs.FileSystem.from_uri(address)
        local = isinstance(system, fs.LocalFileSystem)
        return Path(inner) if local else _copied(system, inner, address)
    except InputError:
        raise
    except ImportError:
        raise InputError(
            f"{address} is read by huggingface_hub; pip install '.[huggingface]', or download it"
        ) from None
    except Exception as error:  # a library for each storage, with errors of its own
        raise InputError(
            f"{address} cannot be read ({one_line(error)}); check the address, your credentials "
            "and the network"
        ) from None


def _copied(system: Any, inner: str, address: str) -> Path:
    from pyarrow import fs

    files = [system.get_file_info(inner)]
    if files[0].type == fs.FileType.NotFound:
        raise InputError(f"{address} does not exist; check the address")
    if files[0].type == fs.FileType.Directory:
        inside = system.get_file_info(fs.FileSelector(inner, recursive=True))
        files = sorted((f for f in inside if f.type == fs.FileType.File), key=lambda f: str(f.path))
    stamp = address + "".join(f"{f.path} {f.size} {f.mtime_ns}\n" for f in files)
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    kept = Path(root, "dris", "fetched", hashlib.sha256(stamp.encode()).hexdigest()[:24])
    for one in files:
        target = kept / os.path.relpath(one.path, Path(inner).parent)
        if target.is_file() and target.stat().st_size == one.size:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_left(target.parent)
        part = temporary_for(target)
        with system.open_input_stream(one.path) as stream, part.open("wb") as out:
            shutil.copyfileobj(stream, out, 1 << 22)
        part.replace(target)
    return kept / Path(inner).name
